//! Values that rules write.

use teetap_wire::def::Datum;

use super::facts::Facts;
use super::key::Key;
use super::memory::Memory;
use super::program::{Number, Program, Text};

/// A value for a field.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// The same for every message.
    Fixed(Datum),
    Number(Number),
    Text(Text),
}

impl Program {
    /// Returns a number of a message. `None` if it has none.
    pub(crate) fn number(
        &self,
        number: &Number,
        facts: &impl Facts,
        key: Option<&Key>,
        memory: &Memory,
    ) -> Option<i64> {
        self.run(facts, key, memory).number(number)
    }

    /// Returns the value for a message. `None` if it has none: a field is missing, or a number is too large.
    pub(crate) fn value(
        &self,
        value: &Value,
        facts: &impl Facts,
        key: &Key,
        memory: &Memory,
    ) -> Option<Datum> {
        let run = self.run(facts, Some(key), memory);
        match value {
            Value::Fixed(datum) => Some(datum.clone()),
            Value::Number(number) => run.number(number).map(Datum::Int),
            Value::Text(text) => run.text(*text, |bytes| Datum::Bytes(bytes.to_vec())),
        }
    }
}
