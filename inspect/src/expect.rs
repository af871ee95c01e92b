//! The values that receivers expect in fields.

use std::ops::Range;

use teetap_wire::{
    def::{Class, Def, Field, Record, Secrets, Source, Type},
    printable,
};

use crate::{Message, Reading, Values};

/// Returns the received value of the field at this range, and the values that receivers expect, such as
/// `target: got 7, expected 0 to 3`. `None` if there is no such field, or any value is valid.
#[must_use]
pub fn expectation(
    reading: &Reading,
    message: &Message,
    range: &Range<usize>,
    secrets: Secrets,
) -> Option<Values> {
    let def = message.def?;
    let records = reading.records(message);
    let source = Source::Bytes(reading.data(message));
    let is_there = |record: &&Record| record.at as usize == range.start && record.len as usize >= range.len();
    // The innermost record is last.
    let record = records.all().iter().rfind(is_there)?;
    let field = def.field(record.field)?;
    if let Some(magic) = magic(def, field) {
        let got = printable(reading.data(message).get(range.clone())?);
        return Some(Values::new(
            format_args!("\"{got}\""),
            Some(format_args!("\"{magic}\"")),
        ));
    }
    let got = records.value_text(def, record, source, secrets);
    let expected = match &field.ty {
        Type::Text(_) => at_most(field.limit_for(message.for_ddnet)?),
        _ => expected(field)?,
    };
    let mut values = Values::from(format!("{}: ", field.name));
    values.add_got(got).ok()?;
    values.add_expected(expected).ok()?;
    Some(values)
}

/// Returns the constant bytes that receivers expect in this field; `None` if it has no constant.
fn magic<'d>(def: &Def, field: &'d Field) -> Option<&'d str> {
    match &field.ty {
        Type::Raw(_, Some(expect)) => Some(expect),
        // A handshake has a note only if its magic is almost DDNet's.
        Type::Raw(..) if def.class == Class::Control => Some("TKEN"),
        _ => None,
    }
}

/// Returns the name of the first field without a record, also within a group; of the last field if each has one.
#[must_use]
pub fn missing<'d>(def: &'d Def, records: &[Record]) -> &'d str {
    let is_read = |at: u16| records.iter().any(|record| record.field == at);
    let mut fields = (0..).zip(&def.fields).filter(|(at, _)| !is_read(*at));
    let last = || def.field(records.last()?.field);
    let first = fields.next().map(|(_, field)| field);
    // All fields were begun: the list or the text of the last one ends too early.
    first.or_else(last).map_or("a field", |field| &*field.name)
}

/// Returns the valid values of a field; `None` if every value is valid.
#[must_use]
pub fn expected(field: &Field) -> Option<String> {
    let whole = (i64::from(i32::MIN), i64::from(i32::MAX));
    match &field.ty {
        Type::Bool => Some("no or yes".to_owned()),
        Type::Enum(set) | Type::Flags(set) => {
            let names: Vec<String> = set
                .labels
                .iter()
                .map(|label| format!("{} ({})", label.value, label.name))
                .collect();
            let any = if set.flags { "any of " } else { "" };
            Some(format!("{any}{}", names.join(", ")))
        }
        Type::Text(_) | Type::Packed(_) => field.bounds.limit.map(at_most),
        _ if field.is_number()
            && (field.bounds.min, field.bounds.max) != whole
            && field.bounds.min < field.bounds.max =>
        {
            Some(format!("{} to {}", field.bounds.min, field.bounds.max))
        }
        _ => None,
    }
}

fn at_most(limit: u16) -> String {
    format!("at most {limit} bytes")
}
