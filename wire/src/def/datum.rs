//! Values to write or to keep, independent of the bytes from which they were read.

use std::sync::Arc;

use super::model::{Def, Field, Type};
use super::record::{Decoded, Record, Source, Value};

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Datum {
    /// A missing optional field.
    Absent,
    /// A number.
    Int(i64),
    /// Text or raw bytes. For an enum a label, for flags labels separated by `|`.
    Bytes(Vec<u8>),
    /// The elements of a list.
    List(Vec<Datum>),
    /// Fields of a message, object or struct, by name. Missing fields have their default values.
    Group(Vec<(Arc<str>, Datum)>),
}

impl Datum {
    /// Creates a group from the fields of a message.
    pub fn group<'n>(fields: impl IntoIterator<Item = (&'n str, Self)>) -> Self {
        Self::Group(
            fields
                .into_iter()
                .map(|(name, value)| (name.into(), value))
                .collect(),
        )
    }

    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Absent => "nothing",
            Self::Int(_) => "a number",
            Self::Bytes(_) => "text",
            Self::List(_) => "a list",
            Self::Group(_) => "fields",
        }
    }
}

impl From<i64> for Datum {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<i32> for Datum {
    fn from(value: i32) -> Self {
        Self::Int(value.into())
    }
}

impl From<&str> for Datum {
    fn from(text: &str) -> Self {
        Self::Bytes(text.as_bytes().to_vec())
    }
}

/// The reason why a value cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The message does not have this field.
    #[error("`{message}` has no field `{field}`")]
    UnknownField {
        /// The message, or the struct in it.
        message: Arc<str>,
        /// The name.
        field: Arc<str>,
        /// The most similar field.
        meant: Option<Arc<str>>,
    },
    /// The value has another kind than the field.
    #[error("`{field}` is {wanted}, not {found}")]
    WrongKind {
        /// The field.
        field: Arc<str>,
        /// The kind of the field.
        wanted: &'static str,
        /// The kind of the value.
        found: &'static str,
    },
    /// The number has no room in the wire form.
    #[error("{value} does not fit `{field}`")]
    TooLarge {
        /// The field.
        field: Arc<str>,
        /// The number.
        value: i64,
    },
    /// The enum or flags do not have this label.
    #[error("`{field}` has no value `{label}`")]
    UnknownLabel {
        /// The field.
        field: Arc<str>,
        /// The label.
        label: String,
    },
    /// The text contains a NUL, which would end it.
    #[error("text for `{0}` contains a NUL")]
    Nul(Arc<str>),
    /// The field has another number of bytes or elements.
    #[error("`{field}` takes {wanted}, not {found}")]
    WrongLength {
        /// The field.
        field: Arc<str>,
        /// The number that the field requires.
        wanted: usize,
        /// The number given.
        found: usize,
    },
    /// The field is required, or precedes a given field.
    #[error("`{0}` cannot be left out")]
    Required(Arc<str>),
    /// An object was given where a message is needed, or a message for an object.
    #[error("`{0}` is not of this kind")]
    WrongClass(Arc<str>),
}

impl Field {
    /// Returns the kind of the value with its article, for errors.
    pub(super) const fn kind(&self) -> &'static str {
        match self.ty {
            Type::Text(_) | Type::Packed(_) => "text",
            Type::Raw(..) | Type::Uuid | Type::Sha256 | Type::Addr | Type::AddrLegacy => "bytes",
            Type::Group { .. } => "fields",
            _ => "a number",
        }
    }
}

impl Decoded {
    /// Returns everything that was read as values. Missing fields are [`Datum::Absent`].
    pub fn datum(&self, def: &Def, source: Source<'_>) -> Datum {
        self.group(def, None, None, source)
    }

    /// Returns one record as a value.
    pub(super) fn datum_of(&self, def: &Def, record: &Record, source: Source<'_>) -> Datum {
        match record.value {
            Value::Int(value) => Datum::Int(value),
            Value::Text(_) | Value::Bytes => Datum::Bytes(def.bytes(record, source).into_owned()),
            Value::List(_) => {
                let elements = self.parts(Some(record));
                Datum::List(
                    elements
                        .map(|element| self.datum_of(def, element, source))
                        .collect(),
                )
            }
            Value::Group => self.group(def, Some(record.field), Some(record), source),
        }
    }

    fn group(&self, def: &Def, field: Option<u16>, record: Option<&Record>, source: Source<'_>) -> Datum {
        let mut records = self.parts(record).peekable();
        let value = |(at, field): (u16, &Field)| {
            let record = records.next_if(|record| record.field == at);
            let value = record.map_or(Datum::Absent, |record| self.datum_of(def, record, source));
            (field.name.clone(), value)
        };
        Datum::Group(def.parts(field).map(value).collect())
    }
}
