//! Values that rules write.

use teetap_wire::def::Datum;

use super::facts::Facts;
use super::key::DefKey;
use super::memory::Memory;
use super::program::{Number, Program, Source, Text};
use crate::syntax::Quantity;

/// A value for a field.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// The value is the same for every message.
    Fixed(Datum),
    Number(Number),
    Text(Text),
    /// A text with values in braces.
    Template(Box<[TextPart]>),
}

/// A part of a text with values in braces.
#[derive(Debug, Clone)]
pub(crate) enum TextPart {
    Text(Box<str>),
    /// A number in the base unit of its quantity.
    Number(Number, Quantity),
    /// A number with named values.
    Named(Number, &'static [(&'static str, i64)]),
    /// A number with named bits.
    Flags(Number, &'static [(&'static str, i64)]),
    Value(Text),
}

impl Program {
    /// Returns a number of a message; `None` if the message lacks it.
    pub(crate) fn number(
        &self,
        number: &Number,
        facts: &impl Facts,
        key: Option<&DefKey>,
        memory: &Memory,
    ) -> Option<i64> {
        self.run(facts, key, memory).number(number)
    }

    /// Returns true if a message with this definition may have a value.
    pub(crate) fn has_value(&self, value: &Value, key: &DefKey) -> bool {
        match value {
            Value::Fixed(_) => true,
            Value::Number(number) => self.has_number(number, key),
            Value::Text(text) => self.has_text(*text, key),
            Value::Template(parts) => parts.iter().all(|part| match part {
                TextPart::Text(_) => true,
                TextPart::Number(number, _) | TextPart::Named(number, _) | TextPart::Flags(number, _) => {
                    self.has_number(number, key)
                }
                TextPart::Value(text) => self.has_text(*text, key),
            }),
        }
    }

    fn has_number(&self, number: &Number, key: &DefKey) -> bool {
        match number {
            Number::Field(field) | Number::Length(field) => self.has_field(*field, key),
            Number::TextLength(text) => self.has_text(*text, key),
            Number::Negate(inner) => self.has_number(inner, key),
            Number::Arith(_, sides) => self.has_number(&sides.0, key) && self.has_number(&sides.1, key),
            _ => true,
        }
    }

    fn has_text(&self, text: Text, key: &DefKey) -> bool {
        match text {
            Text::Field(field) => self.has_field(field, key),
            Text::Player | Text::Client | Text::Rule | Text::Variable(_) => true,
        }
    }

    fn has_field(&self, at: u16, key: &DefKey) -> bool {
        let field = self.fields.get(usize::from(at));
        field.is_none_or(|field| match field.source {
            Source::Message => field.entries.iter().any(|entry| entry.key == *key),
            Source::Last(_) | Source::Item(_) => true,
        })
    }

    /// Returns the value for a message; `None` if a field is missing or a number is too large, and for a text with
    /// values in braces, which the caller composes.
    pub(crate) fn value(
        &self,
        value: &Value,
        facts: &impl Facts,
        key: &DefKey,
        memory: &Memory,
    ) -> Option<Datum> {
        let run = self.run(facts, Some(key), memory);
        match value {
            Value::Fixed(datum) => Some(datum.clone()),
            Value::Number(number) => run.number(number).map(Datum::Int),
            Value::Text(text) => run.text(*text, |bytes| Datum::Bytes(bytes.to_vec())),
            Value::Template(_) => None,
        }
    }
}
