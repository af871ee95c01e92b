//! The line of a field: `NAME TYPE[?][[COUNT]] [MIN..MAX] [attribute...]`.

use winnow::combinator::{delimited, opt, separated_pair};
use winnow::prelude::*;
use winnow::token::{take_till, take_until};

use crate::def::lex::{
    Input, Parsed, Word, count, fail, key_value, name, number_within, placed, plain_number, remainder, word,
};
use crate::def::suggest::meant_or_all;
use crate::def::syntax::{Bound, RawBounds, RawField, RawLen, RawRepeat, RawSecrecy, RawType};

/// The form of a range.
pub(in crate::def) const RANGE: &str = "MIN..MAX";
/// The maximum number of elements of a list of fixed length.
const MAX_REPEAT: u16 = 1024;
/// The maximum number of ints of a `twstr`.
const MAX_INTS: u16 = 64;
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
    Unit,
    Secret,
    HideAfter,
    HideCommand,
    HideWith,
    Transient,
    After,
}

impl Attribute {
    /// The attributes as written; a value follows a `=`.
    pub(in crate::def) const NAMES: [(&'static str, Self); 16] = [
        ("limit=", Self::Limit),
        ("default=", Self::Default),
        ("len=", Self::Len),
        ("rest", Self::Rest),
        ("expect=", Self::Expect),
        ("ints=", Self::Ints),
        ("bytes=", Self::Bytes),
        ("max=", Self::Max),
        ("scale=", Self::Scale),
        ("unit=", Self::Unit),
        ("secret", Self::Secret),
        ("hide_after=", Self::HideAfter),
        ("hide_command=", Self::HideCommand),
        ("hide_with=", Self::HideWith),
        ("transient", Self::Transient),
        ("after=", Self::After),
    ];
}

/// Parses a field, after its name.
pub(super) fn field<'t>(first: Word<'t>, i: &mut Input<'t>) -> Parsed<RawField<'t>> {
    let Ok(ty) = word(i) else {
        let help = "such as `message str_strict`".to_owned();
        return fail(first, "a field needs a type", Some(help));
    };
    let name = name(first)?;
    let (ty, optional, repeat) = typed(&mut ty.input())?;
    let mut field = RawField {
        name: name.into(),
        ty: RawType::new(ty),
        optional,
        repeat,
        bounds: RawBounds::default(),
        default: None,
        scale: None,
        unit: None,
        secrecy: RawSecrecy::Open,
        transient: false,
        after: None,
        doc: None,
    };
    while let Ok(word) = word(i) {
        match range.parse_next(&mut word.input()) {
            Ok((min, max)) => field.bounds.range = Some((bound(min)?, bound(max)?, word)),
            Err(_) => attribute(&mut field, word)?,
        }
    }
    Ok(field)
}

/// Parses `TYPE[?][[COUNT]]`, the last two in any order.
fn typed<'t>(i: &mut Input<'t>) -> Parsed<(Word<'t>, bool, RawRepeat<'t>)> {
    let ty = name(placed(take_till(0.., ['?', '['])).parse_next(i)?)?;
    let is_optional = opt('?').parse_next(i)?.is_some();
    let count = opt(delimited('[', placed(take_till(0.., ']')), ']')).parse_next(i)?;
    let repeat = count.map_or(Ok(RawRepeat::One), repeat)?;
    let is_optional = is_optional || opt('?').parse_next(i)?.is_some();
    let rest = remainder(i)?;
    if !rest.text.is_empty() {
        return fail(rest, format!("unexpected `{}`", rest.shown()), None);
    }
    Ok((ty, is_optional, repeat))
}

/// Returns the meaning of the part in brackets: `*`, a number, `FIELD` or `FIELD.params`.
fn repeat<'t>(word: Word<'t>) -> Parsed<RawRepeat<'t>> {
    if word.text == "*" {
        return Ok(RawRepeat::Rest);
    }
    if word.text.starts_with(|c: char| c.is_ascii_digit()) {
        return count(word, MAX_REPEAT).map(RawRepeat::Fixed);
    }
    match word.text.strip_suffix(".params") {
        Some(field) => name(word.part(0, field.len())).map(RawRepeat::Params),
        None => name(word).map(RawRepeat::Field),
    }
}

/// Parses `MIN..MAX`.
fn range<'t>(i: &mut Input<'t>) -> Parsed<(Word<'t>, Word<'t>)> {
    separated_pair(placed(take_until(0.., "..")), "..", remainder).parse_next(i)
}

/// Returns the meaning of one end of a range: a number, `CONST` or nothing.
fn bound<'t>(word: Word<'t>) -> Parsed<Bound<'t>> {
    match word.text.chars().next() {
        None => Ok(Bound::Open),
        Some('a'..='z') => name(word).map(Bound::Const),
        Some(_) => number_within(word, i64::MIN, i64::MAX).map(Bound::Int),
    }
}

/// Sets the attribute that a word states: `KEY` or `KEY=VALUE`.
fn attribute<'t>(field: &mut RawField<'t>, word: Word<'t>) -> Parsed<()> {
    let (key, value) = key_value(word)?;
    let Some((_, attribute)) = Attribute::NAMES.iter().find(|(name, _)| *name == key) else {
        let names = Attribute::NAMES.iter().map(|(name, _)| *name);
        let help = meant_or_all(key, names.chain([RANGE]));
        return fail(word, format!("unknown attribute `{}`", word.shown()), Some(help));
    };
    if key.ends_with('=') && value.text.is_empty() {
        return fail(word, format!("`{key}` needs a value directly after it"), None);
    }
    match attribute {
        Attribute::Rest => field.ty.len = Some(RawLen::Rest),
        Attribute::Secret => field.secrecy = RawSecrecy::Secret,
        Attribute::Transient => field.transient = true,
        Attribute::Limit => field.bounds.limit = Some(count(value, u16::MAX)?),
        Attribute::Ints => field.ty.ints = Some(count(value, MAX_INTS)?),
        Attribute::Max => field.bounds.count_max = Some(count(value, u16::MAX)?),
        Attribute::Scale => field.scale = u32::try_from(number_within(value, 2, MAX_SCALE)?).ok(),
        Attribute::Unit => field.unit = Some(value.text.into()),
        Attribute::Default => field.default = Some(value),
        Attribute::Expect => field.ty.expect = Some(value.text.into()),
        Attribute::After => field.after = Some(value.text.into()),
        Attribute::Bytes => field.ty.bytes = Some(name(value)?),
        Attribute::Len => {
            field.ty.len = Some(match plain_number(value.text) {
                Some(_) => RawLen::Fixed(count(value, u16::MAX)?),
                None => RawLen::Field(name(value)?),
            });
        }
        Attribute::HideAfter => field.secrecy = RawSecrecy::After(name(value)?),
        Attribute::HideCommand => field.secrecy = RawSecrecy::Command(name(value)?),
        Attribute::HideWith => {
            let Ok((field_name, words)) = with.parse_next(&mut value.input()) else {
                return fail(value, "expected `hide_with=FIELD:WORDS`", None);
            };
            field.secrecy = RawSecrecy::With(name(field_name)?, name(words)?);
        }
    }
    Ok(())
}

/// Parses `FIELD:WORDS`.
fn with<'t>(i: &mut Input<'t>) -> Parsed<(Word<'t>, Word<'t>)> {
    separated_pair(placed(take_till(0.., ':')), ':', remainder).parse_next(i)
}
