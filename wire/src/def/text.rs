//! Checks of strings, as receivers make them.

use super::model::{Clean, Field, Type};
use crate::note::Code;

/// Notes changes and limits: whether a receiver of this field would reject or change the text.
pub(super) fn check(field: &Field, text: &[u8], limit: Option<u16>, mut note: impl FnMut(Code)) {
    let Type::Text(clean) = field.ty else { return };
    let replaced = |byte: &u8| match clean {
        Clean::Raw => false,
        Clean::Text => *byte < 32 && !matches!(byte, b'\r' | b'\n' | b'\t'),
        Clean::Line | Clean::Strict => *byte < 32,
    };
    let skipped = clean == Clean::Strict
        && text
            .first()
            .is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    if skipped || text.iter().any(replaced) {
        note(Code::TextCleaned);
    }
    if !text.is_ascii() && std::str::from_utf8(text).is_err() {
        note(Code::InvalidUtf8);
    }
    if limit.is_some_and(|limit| text.len() > usize::from(limit)) {
        note(Code::TextTooLong);
    }
}
