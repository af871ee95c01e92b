//! Texts that rules compose of values, and the secrets in them.
//!
//! Law: a secret is copied only to where output hides it.

use teetap_wire::def::{Def, HIDDEN, Record, Records, Source};

use super::action_error::ActionError;
use crate::syntax::Quantity;

/// Maximum length of a text that a rule reports, in characters.
const MAX_LOG: usize = 1000;

/// Text that a rule reports.
#[derive(Default)]
pub(super) struct Text {
    /// Text with dots for secrets.
    pub(super) shown: String,
    pub(super) whole: String,
    /// True if a value is missing, so that the text contains `?` in its place.
    pub(super) lacks_value: bool,
    /// The secrets in `whole`.
    pub(super) secrets: Vec<Box<[u8]>>,
}

impl Text {
    pub(super) fn push(&mut self, part: &str, is_secret: bool) {
        self.whole.push_str(part);
        self.shown.push_str(if is_secret { HIDDEN } else { part });
        if is_secret && !part.is_empty() {
            self.secrets.push(part.as_bytes().into());
        }
    }

    /// Appends literal text. If a secret follows, one space precedes its dots, as in the line of a message.
    pub(super) fn before(&mut self, part: &str, has_secret: bool) {
        self.whole.push_str(part);
        if has_secret && !part.is_empty() {
            self.shown.push_str(part.trim_end());
            self.shown.push(' ');
        } else {
            self.shown.push_str(part);
        }
    }
}

/// Checks that output hides the secrets that were copied to a field: the field, or the part of it that contains them,
/// must be secret, too.
pub(super) fn hides(
    def: &Def,
    (records, record): (Records<'_>, Option<&Record>),
    data: &[u8],
    copied: &[Box<[u8]>],
) -> Result<(), ActionError> {
    let record = record.ok_or(ActionError::Secret)?;
    let secret = records.secret(def, record, Source::Bytes(data));
    let secret = secret.ok_or(ActionError::Secret)?;
    let (start, end) = (record.at as usize, (record.at + record.len) as usize);
    let open = [start..secret.start, secret.end..end];
    let mut open = open.into_iter().filter_map(|range| data.get(range));
    let shows = |open: &[u8], secret: &[u8]| open.windows(secret.len().max(1)).any(|part| part == secret);
    match open.any(|open| copied.iter().any(|secret| shows(open, secret))) {
        true => Err(ActionError::Secret),
        false => Ok(()),
    }
}

/// Returns a number with its unit. Times are in seconds.
pub(super) fn shown(value: Option<i64>, quantity: Quantity) -> String {
    match (value, quantity) {
        (None, _) => "?".to_owned(),
        (Some(micros), Quantity::Duration) => {
            let sign = if micros < 0 { "-" } else { "" };
            let micros = micros.unsigned_abs();
            let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
            let text = text.trim_end_matches('0').trim_end_matches('.');
            format!("{sign}{text}s")
        }
        (Some(value), _) => value.to_string(),
    }
}

/// Returns a text without control characters, which a peer may have sent, truncated to [`MAX_LOG`] characters.
pub(super) fn plain(text: &str) -> Box<str> {
    let shown = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().take(MAX_LOG).map(shown).collect::<String>().into()
}
