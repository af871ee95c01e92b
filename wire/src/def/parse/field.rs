//! The line of a field: `NAME TYPE[?][[COUNT]] [MIN..MAX] [attribute...]`.

use std::sync::Arc;

use super::word::{at, name, number, plain_number, shortened};
use crate::def::error::Errors;
use crate::def::lex::Word;
use crate::def::mark::Name;
use crate::def::suggest::meant_or_all;
use crate::def::syntax::{Bound, RawBounds, RawField, RawLen, RawRepeat, RawSecrecy, RawType};

/// The form of a range.
pub(in crate::def) const RANGE: &str = "MIN..MAX";
/// The maximum number of elements of a list of fixed length.
const MAX_REPEAT: i64 = 1024;
/// The largest scale.
const MAX_SCALE: i64 = 1_000_000_000;

/// An attribute after the type, except the range.
#[derive(Debug, Clone, Copy)]
pub(in crate::def) enum Attribute {
    Limit,
    Default,
    Len,
    Rest,
    Expect,
    Ints,
    Bytes,
    Max,
    Scale,
    Secret,
    HideAfter,
    HideCommand,
    HideWith,
    Transient,
    After,
}

impl Attribute {
    /// The attributes as written; a value follows a `=`.
    pub(in crate::def) const NAMES: [(&'static str, Self); 15] = [
        ("limit=", Self::Limit),
        ("default=", Self::Default),
        ("len=", Self::Len),
        ("rest", Self::Rest),
        ("expect=", Self::Expect),
        ("ints=", Self::Ints),
        ("bytes=", Self::Bytes),
        ("max=", Self::Max),
        ("scale=", Self::Scale),
        ("secret", Self::Secret),
        ("hide_after=", Self::HideAfter),
        ("hide_command=", Self::HideCommand),
        ("hide_with=", Self::HideWith),
        ("transient", Self::Transient),
        ("after=", Self::After),
    ];
}

pub(super) fn field(
    first: Word<'_>,
    rest: &[Word<'_>],
    doc: Option<Arc<str>>,
    errors: &mut Errors,
) -> Option<RawField> {
    let Some((ty, attributes)) = rest.split_first() else {
        let help = "such as `message str_strict`".to_owned();
        errors.push(first.mark, "a field needs a type", Some(help));
        return None;
    };
    let name = name(first, errors)?;
    let mut field = typed(name, *ty, doc, errors)?;
    for word in attributes {
        attribute(&mut field, *word, errors)?;
    }
    Some(field)
}

/// Reads `TYPE[?][[COUNT]]`, the last two in any order.
fn typed(name: Name, word: Word<'_>, doc: Option<Arc<str>>, errors: &mut Errors) -> Option<RawField> {
    let len = word.text.find(['?', '[']).unwrap_or(word.text.len());
    let (ty, mut rest) = word.text.split_at_checked(len)?;
    let ty = self::name(
        Word {
            text: ty,
            mark: word.mark,
        },
        errors,
    )?;
    let (mut optional, mut repeat) = (false, RawRepeat::One);
    while !rest.is_empty() {
        let here = word.from(word.text.len() - rest.len());
        if let Some(after) = rest.strip_prefix('?').filter(|_| !optional) {
            (optional, rest) = (true, after);
        } else if let Some((count, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'))
            && matches!(repeat, RawRepeat::One)
        {
            let count = Word {
                text: count,
                mark: here.from(1).mark,
            };
            (repeat, rest) = (self::repeat(count, errors)?, after);
        } else {
            errors.push(here.mark, format!("unexpected `{}`", shortened(rest)), None);
            return None;
        }
    }
    Some(RawField {
        name,
        ty: RawType::new(ty),
        optional,
        repeat,
        bounds: RawBounds::default(),
        default: None,
        scale: None,
        secrecy: RawSecrecy::Open,
        transient: false,
        after: None,
        doc,
    })
}

/// Reads the part in brackets: `*`, a number, `FIELD` or `FIELD.params`.
fn repeat(word: Word<'_>, errors: &mut Errors) -> Option<RawRepeat> {
    if word.text == "*" {
        return Some(RawRepeat::Rest);
    }
    if word.text.starts_with(|c: char| c.is_ascii_digit()) {
        let count = number(word, 1, MAX_REPEAT, errors)?;
        return u16::try_from(count).ok().map(RawRepeat::Fixed);
    }
    let (field, params) = match word.text.strip_suffix(".params") {
        Some(field) => (field, true),
        None => (word.text, false),
    };
    let field = name(
        Word {
            text: field,
            mark: word.mark,
        },
        errors,
    )?;
    Some(if params {
        RawRepeat::Params(field)
    } else {
        RawRepeat::Field(field)
    })
}

fn attribute(field: &mut RawField, word: Word<'_>, errors: &mut Errors) -> Option<()> {
    if let Some((min, max)) = word.text.split_once("..") {
        let skip = min.len() + 2;
        let lower = Word {
            text: min,
            mark: word.mark,
        };
        let upper = Word {
            text: max,
            mark: word.from(skip).mark,
        };
        field.bounds.range = Some((bound(lower, errors)?, bound(upper, errors)?, word.mark));
        return Some(());
    }
    let key = word.text.split_inclusive('=').next().unwrap_or_default();
    let Some((_, attribute)) = Attribute::NAMES.iter().find(|(name, _)| *name == key) else {
        unknown(word, key, errors);
        return None;
    };
    let value = word.from(key.len());
    if key.ends_with('=') && value.text.is_empty() {
        errors.push(
            word.mark,
            format!("`{key}` needs a value directly after it"),
            None,
        );
        return None;
    }
    let small = |max: i64, errors: &mut Errors| {
        let number = number(value, 1, max, errors)?;
        u16::try_from(number).ok()
    };
    match attribute {
        Attribute::Rest => field.ty.len = Some(RawLen::Rest),
        Attribute::Secret => field.secrecy = RawSecrecy::Secret,
        Attribute::Transient => field.transient = true,
        Attribute::Limit => field.bounds.limit = Some(small(0xffff, errors)?),
        Attribute::Ints => field.ty.ints = Some(small(64, errors)?),
        Attribute::Max => field.bounds.count_max = Some(small(0xffff, errors)?),
        Attribute::Scale => field.scale = u32::try_from(number(value, 2, MAX_SCALE, errors)?).ok(),
        Attribute::Default => field.default = Some(at(value.mark, value.text)),
        Attribute::Expect => field.ty.expect = Some(value.text.into()),
        Attribute::After => field.after = Some(value.text.into()),
        Attribute::Bytes => field.ty.bytes = Some(name(value, errors)?),
        Attribute::Len => {
            field.ty.len = Some(match plain_number(value.text) {
                Some(_) => RawLen::Fixed(small(0xffff, errors)?),
                None => RawLen::Field(name(value, errors)?),
            });
        }
        Attribute::HideAfter => field.secrecy = RawSecrecy::After(name(value, errors)?),
        Attribute::HideCommand => field.secrecy = RawSecrecy::Command(name(value, errors)?),
        Attribute::HideWith => field.secrecy = with(value, errors)?,
    }
    Some(())
}

/// Reads `FIELD:WORDS`.
fn with(word: Word<'_>, errors: &mut Errors) -> Option<RawSecrecy> {
    let Some((field, _)) = word.text.split_once(':') else {
        errors.push(word.mark, "expected `hide_with=FIELD:WORDS`", None);
        return None;
    };
    let words = word.from(field.len() + 1);
    let field = Word {
        text: field,
        mark: word.mark,
    };
    Some(RawSecrecy::With(name(field, errors)?, name(words, errors)?))
}

fn bound(word: Word<'_>, errors: &mut Errors) -> Option<Bound> {
    if word.text.is_empty() {
        return Some(Bound::Open);
    }
    if word.text.starts_with(|c: char| c.is_ascii_lowercase()) {
        return name(word, errors).map(Bound::Const);
    }
    number(word, i64::MIN, i64::MAX, errors).map(Bound::Int)
}

fn unknown(word: Word<'_>, key: &str, errors: &mut Errors) {
    let names = Attribute::NAMES.iter().map(|(name, _)| *name);
    let help = meant_or_all(key, names.chain([RANGE]));
    errors.push(
        word.mark,
        format!("unknown attribute `{}`", shortened(word.text)),
        Some(help),
    );
}
