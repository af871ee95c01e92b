//! The lines of an enum or of flags.

use winnow::combinator::not;
use winnow::prelude::*;

use crate::def::error::Errors;
use crate::def::lex::{Input, Parsed, Word, fail, key_value, name, number_within, plain_number, word, words};
use crate::def::model::{Label, Set};
use crate::def::syntax::Name;
use crate::printable;

/// The attribute of a label that states the number of its parameters.
pub(in crate::def) const PARAMS: &str = "params=";
/// The attribute of a label that is shown as another text.
const SHOWN_AS: &str = "as=";

/// Parses `enum NAME` or `flags NAME`, after its first word.
pub(super) fn set<'t>(first: Word<'t>, i: &mut Input<'t>) -> Parsed<(Name<'t>, Set)> {
    let Ok([name]) = words(i) else {
        return fail(first, format!("expected `{} NAME`", first.text), None);
    };
    let name = Name::from(self::name(name)?);
    let set = Set {
        name: name.text.clone(),
        flags: first.text == "flags",
        labels: Vec::new(),
        doc: None,
        mask: 0,
    };
    Ok((name, set))
}

/// Parses `VALUE NAME [params=N | as=TEXT]`, after the value.
pub(super) fn label(set: &Set, first: Word<'_>, i: &mut Input<'_>, errors: &mut Errors<'_>) -> Parsed<Label> {
    let (Ok(name), attribute, Ok(())) = (word(i), word(i).ok(), not(word).parse_next(i)) else {
        return fail(first, "expected `VALUE NAME`", None);
    };
    let (mut params, mut shown) = (None, None);
    if let Some(attribute) = attribute {
        match key_value(attribute)? {
            // The label is kept, so that a wrong number causes no further errors.
            (PARAMS, value) if !set.flags => params = errors.accept(number_within(value, 0, 64)),
            (SHOWN_AS, value) if !set.flags && !value.text.is_empty() => shown = Some(value.text),
            _ => {
                let help = (!set.flags).then(|| format!("{PARAMS}N or {SHOWN_AS}TEXT"));
                return fail(
                    attribute,
                    format!("unknown attribute `{}`", attribute.shown()),
                    help,
                );
            }
        }
    }
    if plain_number(first.text).is_none() {
        let what = format!("expected a number, found `{}`", first.shown());
        return fail(
            first,
            what,
            Some("the line of a label is `VALUE NAME`".to_owned()),
        );
    }
    let (min, max) = if set.flags {
        (1, u32::MAX.into())
    } else {
        (i32::MIN.into(), i32::MAX.into())
    };
    let value = number_within(first, min, max);
    if value.is_err() {
        // Both words of the line may be wrong.
        errors.accept(self::name(name));
    }
    let (value, name) = (value?, self::name(name)?);
    if set.labels.iter().any(|label| *label.name == *name.text) {
        return fail(name, format!("duplicate label `{}`", name.text), None);
    }
    let overlaps = |label: &&Label| {
        if set.flags {
            label.value & value != 0
        } else {
            label.value == value
        }
    };
    if let Some(label) = set.labels.iter().find(overlaps) {
        return fail(first, format!("`{}` has this value already", label.name), None);
    }
    Ok(Label {
        value,
        name: name.text.into(),
        params: params.and_then(|params| u16::try_from(params).ok()),
        shown: shown.map(|text| printable(text.as_bytes()).into()),
        doc: None,
    })
}

/// Adds a label.
pub(super) fn add(set: &mut Set, label: Label) {
    if set.flags {
        set.mask |= u32::try_from(label.value).unwrap_or(0);
    }
    set.labels.push(label);
}
