//! Checked expressions, in which all names and kinds of values are resolved.

use teetap_wire::def::{Dialect, Id, Path};
use teetap_wire::{Code, Dir};

use super::facts::{Flag, PacketFact, SessionFact, SnapFact};
use super::key::{Key, Target};
use super::test::{IntTest, Test, TextTest};
use crate::syntax::{Arith, Compare};

/// A checked expression. Its conditions refer to fields, targets and so on by their index in these lists.
#[derive(Debug, Clone, Default)]
pub(crate) struct Program {
    pub(crate) root: Cond,
    /// The condition for the messages that `n` counts; `None` if they are those that match.
    pub(crate) matches: Option<Cond>,
    pub(crate) fields: Vec<Field>,
    /// The messages that conditions name.
    pub(crate) targets: Vec<Target>,
    /// Bytes of memory of the compiled regexes, at most.
    pub(crate) regex_bytes: usize,
    /// The counted messages, as indices into `targets`.
    pub(crate) counted: Vec<u16>,
    /// The fields whose last value is kept, as indices into `fields`.
    pub(crate) kept: Vec<u16>,
}

/// A condition.
#[derive(Debug, Clone, Default)]
pub(crate) enum Cond {
    /// A condition without a value.
    #[default]
    Unknown,
    All(Box<[Cond]>),
    Any(Box<[Cond]>),
    Not(Box<Cond>),
    Dir(Dir),
    /// The message belongs to a target.
    Is(u16),
    Flag(Flag),
    Lint(Option<Code>),
    /// A text of the message passes the test.
    Search(TextTest),
    /// A field passes the test of its entry.
    Field(u16, Box<[Test]>),
    Number(Number, IntTest),
    Text(Text, TextTest),
    Compare(Compare, Box<(Number, Number)>),
    /// Two texts are equal, or not; or the first contains the second.
    CompareText(Compare, Text, Text),
    /// A value is present.
    Has(u16),
    /// A message was seen before: an index into `counted`.
    Seen(u16),
    /// The condition holds for one, or for all, elements of a list field.
    Each {
        all: bool,
        list: u16,
        inner: Box<Cond>,
    },
}

/// A number.
#[derive(Debug, Clone)]
pub(crate) enum Number {
    Fixed(i64),
    Field(u16),
    /// The length of a field: bytes of text, elements of a list.
    Length(u16),
    /// The bytes of a text that is not a field.
    TextLength(Text),
    /// A variable of rules, by its index.
    Variable(u16),
    Packet(PacketFact),
    Session(SessionFact),
    State,
    Proto,
    Leg,
    Snap(SnapFact),
    Time,
    Ordinal,
    /// The index of a counter in `counted`.
    Count(u16),
    Since(u16),
    Negate(Box<Number>),
    Arith(Arith, Box<(Number, Number)>),
}

/// A text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Text {
    Field(u16),
    Player,
    /// The address of the client.
    Client,
    /// A variable of rules, by its index.
    Variable(u16),
}

/// The place of a value in messages or snapshot items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) source: Source,
    /// The entries for all definitions that have it, in the order in which they are tried.
    pub(crate) entries: Vec<Entry>,
    /// True if only elements have a value: it is a list, or inside one.
    pub(crate) list: bool,
}

/// The source of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// This message.
    Message,
    /// The last earlier message: an index into `kept`.
    Last(u16),
    /// The snapshot item with this id, or any item.
    Item(Option<u16>),
}

/// The place of a value in one definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) dialect: Dialect,
    pub(crate) key: Key,
    pub(crate) id: Id,
    /// The path; `None` for all of it.
    pub(crate) path: Option<Path>,
}
