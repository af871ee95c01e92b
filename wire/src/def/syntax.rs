//! The content of a definition file before names are looked up.

use std::sync::Arc;

use super::mark::{Mark, Name};
use super::model::{Class, Clean, Endpoints, Frequency, Id, Set, Vitality, Words};

/// The dialects and the origin of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scope {
    /// The bits of its dialects.
    pub(super) dialects: u8,
    /// 0 for the built-in files, 1 for a user's.
    pub(super) level: u8,
}

impl Scope {
    /// Returns the rank. A user's definition outranks a built-in definition; otherwise, a definition for fewer dialects
    /// outranks a definition for more.
    pub(super) const fn rank(self) -> (u8, u32) {
        (self.level, 8 - self.dialects.count_ones())
    }
}

/// A definition.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) scope: Scope,
    pub(super) name: Name,
    pub(super) kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    Const(i64),
    Words(Arc<Words>),
    Set(Arc<Set>),
    Layout(Layout),
}

/// A struct, message or object.
#[derive(Debug)]
pub(super) struct Layout {
    /// The header; `None` for a struct.
    pub(super) head: Option<Head>,
    pub(super) doc: Option<Arc<str>>,
    pub(super) members: Vec<Member>,
    /// The texts of the `gist` lines, without the quotes.
    pub(super) gist: Vec<Name>,
}

/// The attributes of a message or object.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) class: Class,
    pub(super) id: Id,
    pub(super) id_mark: Mark,
    pub(super) way: Endpoints,
    pub(super) vitality: Vitality,
    pub(super) frequency: Frequency,
    pub(super) dead: bool,
    pub(super) explicit: bool,
    pub(super) since: Option<Arc<str>>,
    pub(super) aliases: Vec<Arc<str>>,
}

#[derive(Debug)]
pub(super) enum Member {
    /// Inserts the fields of a struct in this place.
    Include(Name),
    Field(Box<RawField>),
}

/// An end of a range.
#[derive(Debug, Clone)]
pub(super) enum Bound {
    Open,
    Int(i64),
    Const(Name),
}

#[derive(Debug, Clone)]
pub(super) enum RawRepeat {
    One,
    Fixed(u16),
    Field(Name),
    Params(Name),
    Rest,
}

#[derive(Debug, Clone)]
pub(super) enum RawLen {
    Fixed(u16),
    Field(Name),
    Rest,
}

/// The built-in types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Builtin {
    Int,
    Bool,
    Tick,
    Tune,
    Text(Clean),
    Decimal,
    Raw,
    Uuid,
    Sha256,
    U8,
    Be16,
    Be32,
    Addr,
    AddrLegacy,
    Packed,
}

impl Builtin {
    pub(super) const NAMES: [(&'static str, Self); 18] = [
        ("int", Self::Int),
        ("bool", Self::Bool),
        ("tick", Self::Tick),
        ("tune", Self::Tune),
        ("cstr", Self::Text(Clean::Raw)),
        ("str", Self::Text(Clean::Text)),
        ("str_cc", Self::Text(Clean::Line)),
        ("str_strict", Self::Text(Clean::Strict)),
        ("decstr", Self::Decimal),
        ("raw", Self::Raw),
        ("uuid", Self::Uuid),
        ("sha256", Self::Sha256),
        ("u8", Self::U8),
        ("be16", Self::Be16),
        ("be32", Self::Be32),
        ("addr18", Self::Addr),
        ("addr6", Self::AddrLegacy),
        ("twstr", Self::Packed),
    ];

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|&(_, ty)| ty)
    }
}

#[derive(Debug, Clone)]
pub(super) enum RawSecrecy {
    Open,
    Secret,
    After(Name),
    Command(Name),
    With(Name, Name),
}

/// A field as written.
#[derive(Debug, Clone)]
pub(super) struct RawField {
    pub(super) name: Name,
    pub(super) ty: RawType,
    pub(super) optional: bool,
    pub(super) repeat: RawRepeat,
    pub(super) bounds: RawBounds,
    pub(super) default: Option<Name>,
    pub(super) scale: Option<u32>,
    pub(super) secrecy: RawSecrecy,
    pub(super) transient: bool,
    pub(super) after: Option<Arc<str>>,
    pub(super) doc: Option<Arc<str>>,
}

/// The type of a field, with the attributes that only one type has.
#[derive(Debug, Clone)]
pub(super) struct RawType {
    pub(super) name: Name,
    /// `None` for an enum, flags, a struct or an object.
    pub(super) builtin: Option<Builtin>,
    /// For `raw`.
    pub(super) len: Option<RawLen>,
    /// For `raw`.
    pub(super) expect: Option<Arc<str>>,
    /// For `twstr`.
    pub(super) ints: Option<u16>,
    /// For objects.
    pub(super) bytes: Option<Name>,
}

impl RawType {
    /// Returns the type of a name, without attributes.
    pub(super) fn new(name: Name) -> Self {
        Self {
            builtin: Builtin::named(&name.text),
            name,
            len: None,
            expect: None,
            ints: None,
            bytes: None,
        }
    }
}

/// The limits of a field.
#[derive(Debug, Clone, Default)]
pub(super) struct RawBounds {
    pub(super) range: Option<(Bound, Bound, Mark)>,
    pub(super) limit: Option<u16>,
    pub(super) count_max: Option<u16>,
}
