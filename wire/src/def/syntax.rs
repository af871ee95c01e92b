//! The content of a definition file before names are looked up.

use std::sync::Arc;

use super::lex::Word;
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

/// A text with its place, which the definitions of all dialects share.
#[derive(Debug)]
pub(super) struct Name<'t> {
    pub(super) word: Word<'t>,
    pub(super) text: Arc<str>,
}

impl<'t> From<Word<'t>> for Name<'t> {
    fn from(word: Word<'t>) -> Self {
        Self {
            word,
            text: word.text.into(),
        }
    }
}

/// A definition.
#[derive(Debug)]
pub(super) struct Item<'t> {
    pub(super) scope: Scope,
    pub(super) name: Name<'t>,
    pub(super) kind: Kind<'t>,
}

#[derive(Debug)]
pub(super) enum Kind<'t> {
    Const(i64),
    Words(Arc<Words>),
    Set(Arc<Set>),
    Layout(Layout<'t>),
}

/// A struct, message or object.
#[derive(Debug)]
pub(super) struct Layout<'t> {
    /// The header; `None` for a struct.
    pub(super) head: Option<Head<'t>>,
    pub(super) doc: Option<Arc<str>>,
    pub(super) members: Vec<Member<'t>>,
    /// The texts of the `gist` lines, without the quotes.
    pub(super) gist: Vec<Name<'t>>,
}

/// The attributes of a message or object.
#[derive(Debug)]
pub(super) struct Head<'t> {
    pub(super) class: Class,
    pub(super) id: Id,
    pub(super) id_place: Word<'t>,
    pub(super) way: Endpoints,
    pub(super) vitality: Vitality,
    pub(super) frequency: Frequency,
    pub(super) dead: bool,
    pub(super) explicit: bool,
    pub(super) since: Option<Arc<str>>,
    pub(super) aliases: Vec<Arc<str>>,
}

#[derive(Debug)]
pub(super) enum Member<'t> {
    /// Inserts the fields of a struct in this place.
    Include(Word<'t>),
    Field(Box<RawField<'t>>),
}

/// An end of a range.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bound<'t> {
    Open,
    Int(i64),
    Const(Word<'t>),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum RawRepeat<'t> {
    One,
    Fixed(u16),
    Field(Word<'t>),
    Params(Word<'t>),
    Rest,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum RawLen<'t> {
    Fixed(u16),
    Field(Word<'t>),
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

#[derive(Debug, Clone, Copy)]
pub(super) enum RawSecrecy<'t> {
    Open,
    Secret,
    After(Word<'t>),
    Command(Word<'t>),
    With(Word<'t>, Word<'t>),
}

/// A field as written.
#[derive(Debug)]
pub(super) struct RawField<'t> {
    pub(super) name: Name<'t>,
    pub(super) ty: RawType<'t>,
    pub(super) optional: bool,
    pub(super) repeat: RawRepeat<'t>,
    pub(super) bounds: RawBounds<'t>,
    pub(super) default: Option<Word<'t>>,
    pub(super) scale: Option<u32>,
    pub(super) unit: Option<Arc<str>>,
    pub(super) secrecy: RawSecrecy<'t>,
    pub(super) transient: bool,
    pub(super) after: Option<Arc<str>>,
    pub(super) doc: Option<Arc<str>>,
}

/// The type of a field, with the attributes that only one type has.
#[derive(Debug)]
pub(super) struct RawType<'t> {
    pub(super) name: Word<'t>,
    /// `None` for an enum, flags, a struct or an object.
    pub(super) builtin: Option<Builtin>,
    /// For `raw`.
    pub(super) len: Option<RawLen<'t>>,
    /// For `raw`.
    pub(super) expect: Option<Arc<str>>,
    /// For `twstr`.
    pub(super) ints: Option<u16>,
    /// For objects.
    pub(super) bytes: Option<Word<'t>>,
}

impl<'t> RawType<'t> {
    /// Returns the type of a name, without attributes.
    pub(super) fn new(name: Word<'t>) -> Self {
        Self {
            builtin: Builtin::named(name.text),
            name,
            len: None,
            expect: None,
            ints: None,
            bytes: None,
        }
    }
}

/// The limits of a field.
#[derive(Debug, Default)]
pub(super) struct RawBounds<'t> {
    /// Both ends, and the text of the range.
    pub(super) range: Option<(Bound<'t>, Bound<'t>, Word<'t>)>,
    pub(super) limit: Option<u16>,
    pub(super) count_max: Option<u16>,
}
