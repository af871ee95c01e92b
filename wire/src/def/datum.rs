//! Values that somebody gives, or takes away with him: free of the bytes they came from.

use std::sync::Arc;

use super::model::{Def, Field, Type};
use super::record::{Decoded, Record, Source, Value};

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Datum {
    /// A field that may be missing, and is.
    Absent,
    /// A number.
    Int(i64),
    /// Text or raw bytes; of an enum a label, of flags labels with `|` between them.
    Bytes(Vec<u8>),
    /// The elements of a list.
    List(Vec<Datum>),
    /// Fields by name: of a message, object or struct. What is not in it takes its default.
    Group(Vec<(Arc<str>, Datum)>),
}

impl Datum {
    /// The fields of a message.
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

impl From<&str> for Datum {
    fn from(text: &str) -> Self {
        Self::Bytes(text.as_bytes().to_vec())
    }
}

/// Why a value cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A field that the message does not have.
    #[error("`{message}` has no field `{field}`")]
    UnknownField {
        /// The message, or the struct in it.
        message: Arc<str>,
        /// The name.
        field: Arc<str>,
        /// The field that was meant.
        meant: Option<Arc<str>>,
    },
    /// A value of another kind.
    #[error("`{field}` is {wanted}, not {found}")]
    WrongKind {
        /// The field.
        field: Arc<str>,
        /// What it is.
        wanted: &'static str,
        /// What was given.
        found: &'static str,
    },
    /// A number that the wire form has no room for.
    #[error("{value} does not fit `{field}`")]
    TooLarge {
        /// The field.
        field: Arc<str>,
        /// The number.
        value: i64,
    },
    /// A name that the enum or flags do not have.
    #[error("`{field}` has no value `{label}`")]
    UnknownLabel {
        /// The field.
        field: Arc<str>,
        /// The name.
        label: String,
    },
    /// A NUL in text, which would end it.
    #[error("text for `{0}` contains a NUL")]
    Nul(Arc<str>),
    /// More or fewer bytes or elements than the field always has.
    #[error("`{field}` takes {wanted}, not {found}")]
    WrongLength {
        /// The field.
        field: Arc<str>,
        /// How many it takes.
        wanted: usize,
        /// How many were given.
        found: usize,
    },
    /// A field that must be there, or comes before one that is.
    #[error("`{0}` cannot be left out")]
    Required(Arc<str>),
    /// An object where a message is wanted, or the other way round.
    #[error("`{0}` is not of this kind")]
    WrongClass(Arc<str>),
}

impl Field {
    /// What it is, for people.
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
    /// Everything that was read, as values. Fields that are missing are [`Datum::Absent`].
    #[must_use]
    pub fn datum(&self, def: &Def, source: Source<'_>) -> Datum {
        self.group(def, None, None, source)
    }

    /// One record as a value.
    #[must_use]
    pub fn datum_of(&self, def: &Def, record: &Record, source: Source<'_>) -> Datum {
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
