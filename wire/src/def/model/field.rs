//! Fields: the wire form of values, their repetition, and their secrets.

use std::sync::Arc;

/// The cleaning of a string by its reader (CUnpacker::GetString).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clean {
    /// The string is kept as it is: `cstr`.
    Raw,
    /// Bytes below 32 except CR, LF and TAB become spaces: `str`.
    Text,
    /// All bytes below 32 become spaces: `str_cc`.
    Line,
    /// As `Line`, and leading whitespace is skipped: `str_strict`.
    Strict,
}

/// The number of raw bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Len {
    /// A fixed number.
    Fixed(u16),
    /// The value of an earlier field.
    Field(u16),
    /// All bytes that are left.
    Rest,
}

/// The wire form of one value.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// A packed int; in an object one int. The next five types are ints, too.
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
    /// Raw bytes, with the expected value if they are always the same.
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
    /// Text in this many ints, four bytes in each, with 128 added to every byte; the last byte is NUL.
    Packed(u16),
    /// A group of fields, which follow it in [`Def::fields`](super::Def::fields).
    Group {
        /// The name of the struct or object.
        name: Arc<str>,
        /// The field that states the size of an object in a message: bytes, four for each int.
        bytes: Option<u16>,
    },
}

/// The repetition of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// A single value, not a list.
    One,
    /// A fixed number of elements.
    Fixed(u16),
    /// The value of an earlier field.
    Field(u16),
    /// The `params` of the label of an earlier enum field.
    Params(u16),
    /// All elements up to the end of the message.
    Rest,
}

/// The secrets of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Secrecy {
    /// No secret.
    Open,
    /// The whole field is secret.
    Secret,
    /// The text after one of the words, in any case, is secret: `hide_after`.
    After(Arc<Words>),
    /// The text after one of the words as a chat command, alone or in a `;` list, is secret: `hide_command`.
    Command(Arc<Words>),
    /// The whole field is secret if another field is one of the words: `hide_with`.
    With(u16, Arc<Words>),
}

/// Words that precede secrets.
#[derive(Debug, PartialEq, Eq)]
pub struct Words {
    /// The name of the list.
    pub name: Arc<str>,
    /// The words in lower case.
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

/// The limits of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The smallest legal value of an int.
    pub min: i64,
    /// The largest legal value of an int.
    pub max: i64,
    /// The maximum length in bytes of text that a sender writes and a receiver keeps; some receivers keep one byte
    /// less.
    pub limit: Option<u16>,
    /// The same limit for DDNet peers, which use all protocols.
    pub(in crate::def) ddnet_limit: Option<u16>,
    /// The maximum number of elements of a list, or of ints of an object in a message.
    pub count_max: Option<u16>,
}

/// The place of a field in [`Def::fields`](super::Def::fields), in which a group precedes its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::def) struct Place {
    /// The group that the field is part of.
    pub(in crate::def) parent: Option<u16>,
    /// The index of the first field after it and its parts.
    pub(in crate::def) end: u16,
}

/// One field of a message, object or struct.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The name.
    pub name: Arc<str>,
    /// The wire form.
    pub ty: Type,
    /// The repetition.
    pub repeat: Repeat,
    /// True if it may be missing at the end.
    pub optional: bool,
    /// The limits of its value.
    pub bounds: Bounds,
    /// The value of a missing field; `None` for the legal value nearest to 0.
    pub default: Option<Default>,
    /// The scale stated in the definition; `None` if there is none.
    pub(in crate::def) scale: Option<u32>,
    /// The unit of the value, such as `ms`; documentation.
    pub unit: Option<Arc<str>>,
    /// The secrets.
    pub secrecy: Secrecy,
    /// True if the value differs from run to run, as a token or a measured time does.
    pub transient: bool,
    /// The last release that does not send the field.
    pub after: Option<Arc<str>>,
    /// A description of one line.
    pub doc: Option<Arc<str>>,
    /// Its place among the fields of the definition.
    pub(in crate::def) place: Place,
}

impl Field {
    /// Returns true if the value is a number.
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

    /// Returns true if the value is text.
    #[must_use]
    pub const fn is_text(&self) -> bool {
        matches!(self.ty, Type::Text(_) | Type::Packed(_))
    }

    /// Returns true if it is a list.
    #[must_use]
    pub const fn is_list(&self) -> bool {
        !matches!(self.repeat, Repeat::One)
    }

    /// Returns the scale: the number is the value times this. `None` if the number is the value.
    #[must_use]
    pub const fn scale(&self) -> Option<u32> {
        match self.ty {
            Type::Tune => Some(100),
            _ => self.scale,
        }
    }

    /// Returns the limit of the text for a receiver of DDNet, or of Teeworlds.
    #[must_use]
    pub const fn limit_for(&self, is_ddnet: bool) -> Option<u16> {
        if is_ddnet {
            self.bounds.ddnet_limit
        } else {
            self.bounds.limit
        }
    }

    /// Returns the labels of its enum or flags.
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
    /// The name.
    pub name: Arc<str>,
    /// The number of elements of a list whose length depends on the value.
    pub params: Option<u16>,
    /// The text that is shown in place of the name; `None` for the name.
    pub shown: Option<Arc<str>>,
    /// A description of one line.
    pub doc: Option<Arc<str>>,
}

impl Label {
    /// Returns the text that is shown: the name, unless the value has several meanings.
    #[must_use]
    pub(crate) fn text(&self) -> &str {
        self.shown.as_deref().unwrap_or(&self.name)
    }
}

/// An enum or a set of flags.
#[derive(Debug, PartialEq, Eq)]
pub struct Set {
    /// The name.
    pub name: Arc<str>,
    /// True if values are sums of labels.
    pub flags: bool,
    /// The labels in the order of the text.
    pub labels: Vec<Label>,
    /// A description of one line.
    pub doc: Option<Arc<str>>,
    /// All bits that have a name, for flags.
    pub(in crate::def) mask: u32,
}

impl Set {
    /// Returns the label of a value.
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

    /// Returns the value of a label. The case of the name does not matter.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<i64> {
        let found = self
            .labels
            .iter()
            .find(|label| label.name.eq_ignore_ascii_case(name));
        found.map(|label| label.value)
    }
}
