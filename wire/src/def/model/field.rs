//! Fields: how values are written, how often, and what must not be shown of them.

use std::sync::Arc;

/// How a reader cleans a string (CUnpacker::GetString).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clean {
    /// Not at all: `cstr`.
    Raw,
    /// Bytes below 32 except CR, LF and TAB become spaces: `str`.
    Text,
    /// All bytes below 32 become spaces: `str_cc`.
    Line,
    /// As `Line`, and leading whitespace is skipped: `str_strict`.
    Strict,
}

/// How many raw bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Len {
    /// Always as many.
    Fixed(u16),
    /// As a field before it says.
    Field(u16),
    /// All that are left.
    Rest,
}

/// The wire form of one value.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// A packed int; in an object one int. So are the next five.
    Int,
    /// 0 or 1.
    Bool,
    /// A game tick, 50 per second.
    Tick,
    /// A tuning: the value times 100.
    Tune,
    /// One of the labels.
    Enum(Arc<Set>),
    /// A sum of labels.
    Flags(Arc<Set>),
    /// Bytes up to a NUL.
    Text(Clean),
    /// An ASCII decimal number up to a NUL.
    Decimal,
    /// Bytes; with the ones that are expected there, if it is always the same.
    Raw(Len, Option<Arc<str>>),
    /// 16 bytes; in an object four ints, big-endian.
    Uuid,
    /// 32 bytes.
    Sha256,
    /// One byte.
    U8,
    /// Two bytes, big-endian.
    Be16,
    /// Four bytes, big-endian.
    Be32,
    /// 16 bytes of IPv6 address, two of port, big-endian.
    Addr,
    /// 4 bytes of IPv4 address, two of port, big-endian.
    AddrLegacy,
    /// Text in so many ints, four bytes in each, every byte plus 128, the last one NUL.
    Packed(u16),
    /// Fields of its own, which follow it in [`Def::fields`](super::Def::fields).
    Group {
        /// The name of the struct or object.
        name: Arc<str>,
        /// The field that tells the size of an object in a message, in bytes, four for each int.
        bytes: Option<u16>,
    },
}

/// How often a field is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// It is not a list.
    One,
    /// Always as often.
    Fixed(u16),
    /// As a field before it says.
    Field(u16),
    /// As the label of an enum field before it says.
    Params(u16),
    /// Until the end.
    Rest,
}

/// What must not be shown of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Secrecy {
    /// Nothing to hide.
    Open,
    /// All of it.
    Secret,
    /// What follows one of the words in the text, in any case: `hide_after`.
    After(Arc<Words>),
    /// What follows one of the words as a chat command, alone or in a `;` list: `hide_command`.
    Command(Arc<Words>),
    /// All of it when another field is one of the words: `hide_with`.
    With(u16, Arc<Words>),
}

/// Words that secrets are known by.
#[derive(Debug, PartialEq, Eq)]
pub struct Words {
    /// What the list is called.
    pub name: Arc<str>,
    /// In lower case.
    pub words: Vec<Arc<str>>,
}

/// The value of a missing field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Default {
    /// A number.
    Int(i64),
    /// Text.
    Text(Arc<str>),
}

/// One field of a message, object or struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: Arc<str>,
    /// Its wire form.
    pub ty: Type,
    /// How often it is repeated.
    pub repeat: Repeat,
    /// It may be missing at the end.
    pub optional: bool,
    /// Smallest legal value of an int.
    pub min: i64,
    /// Largest legal value of an int.
    pub max: i64,
    /// Value of a missing field, if it is not the legal one nearest 0.
    pub default: Option<Default>,
    /// Most bytes of text that a sender writes and a receiver keeps; some receivers keep one less.
    pub limit: Option<u16>,
    /// Most elements of a list, or most ints of an object in a message.
    pub count_max: Option<u16>,
    /// What must not be shown.
    pub secrecy: Secrecy,
    /// The last release that does not send the field.
    pub after: Option<Arc<str>>,
    /// One line about it.
    pub doc: Option<Arc<str>>,
    /// The field it is part of.
    pub(in crate::def) parent: Option<u16>,
    /// The first field after it and its parts.
    pub(in crate::def) end: u16,
}

impl Field {
    /// Whether its value is a number.
    #[must_use]
    pub const fn is_number(&self) -> bool {
        matches!(
            self.ty,
            Type::Int
                | Type::Bool
                | Type::Tick
                | Type::Tune
                | Type::Enum(_)
                | Type::Flags(_)
                | Type::Decimal
                | Type::U8
                | Type::Be16
                | Type::Be32
        )
    }

    /// Whether its value is text.
    #[must_use]
    pub const fn is_text(&self) -> bool {
        matches!(self.ty, Type::Text(_) | Type::Packed(_))
    }

    /// Whether it is a list.
    #[must_use]
    pub const fn is_list(&self) -> bool {
        !matches!(self.repeat, Repeat::One)
    }

    /// The labels of its enum or flags.
    #[must_use]
    pub const fn set(&self) -> Option<&Arc<Set>> {
        match &self.ty {
            Type::Enum(set) | Type::Flags(set) => Some(set),
            _ => None,
        }
    }
}

/// A name for a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The value, or the bits of a flag.
    pub value: i64,
    /// Its name.
    pub name: Arc<str>,
    /// Elements of a list whose length depends on the value.
    pub params: Option<u16>,
    /// One line about it.
    pub doc: Option<Arc<str>>,
}

/// An enum or a set of flags.
#[derive(Debug, PartialEq, Eq)]
pub struct Set {
    /// Its name.
    pub name: Arc<str>,
    /// Whether values are sums of labels.
    pub flags: bool,
    /// The labels in the order of the text.
    pub labels: Vec<Label>,
    /// One line about it.
    pub doc: Option<Arc<str>>,
    /// Flags: every bit that has a name.
    pub(in crate::def) mask: u32,
}

impl Set {
    /// The label of a value.
    #[must_use]
    pub fn label(&self, value: i64) -> Option<&Label> {
        // Most enums count up from their first label.
        let guess = self.labels.first().map(|first| value.wrapping_sub(first.value));
        let guess = guess
            .and_then(|at| usize::try_from(at).ok())
            .and_then(|at| self.labels.get(at));
        match guess {
            Some(label) if label.value == value => Some(label),
            _ => self.labels.iter().find(|label| label.value == value),
        }
    }

    /// The value of a label, by its name in any case.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<i64> {
        let found = self
            .labels
            .iter()
            .find(|label| label.name.eq_ignore_ascii_case(name));
        found.map(|label| label.value)
    }
}
