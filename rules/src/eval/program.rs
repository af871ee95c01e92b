//! An expression in which every name is looked up and every kind of value is settled.

use teetap_wire::def::{Dialect, Id, Path};
use teetap_wire::{Code, Dir};

use super::facts::{Flag, PacketFact, SessionFact, SnapFact};
use super::key::{Key, Target};
use super::test::{IntTest, Test, TextTest};
use crate::syntax::{Arith, Compare};

/// All of it. Numbers of fields, targets and so on are places in its lists.
#[derive(Debug, Clone, Default)]
pub(crate) struct Program {
    pub(crate) root: Cond,
    pub(crate) fields: Vec<Field>,
    /// Messages that are asked for.
    pub(crate) targets: Vec<Target>,
    /// Messages that are counted: places in `targets`.
    pub(crate) counted: Vec<u16>,
    /// Fields whose last value is kept: places in `fields`.
    pub(crate) kept: Vec<u16>,
}

/// A condition.
#[derive(Debug, Clone, Default)]
pub(crate) enum Cond {
    /// Has no value.
    #[default]
    Unknown,
    All(Box<[Cond]>),
    Any(Box<[Cond]>),
    Not(Box<Cond>),
    Dir(Dir),
    /// The message is one of a target.
    Is(u16),
    Flag(Flag),
    Lint(Option<Code>),
    /// Any text of the message.
    Search(TextTest),
    /// A field against what is fixed: one test for each of its entries.
    Field(u16, Box<[Test]>),
    Number(Number, IntTest),
    Text(Text, TextTest),
    Compare(Compare, Box<(Number, Number)>),
    /// Equal, or not; or the first contains the second.
    CompareText(Compare, Text, Text),
    /// A value is there.
    Has(u16),
    /// Some message was seen: a place in `counted`.
    Seen(u16),
    /// The condition holds for one, or for all, elements of the list field.
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
    /// Of a field: bytes of text, elements of a list.
    Length(u16),
    PlayerLength,
    Packet(PacketFact),
    Session(SessionFact),
    State,
    Proto,
    Snap(SnapFact),
    Time,
    Ordinal,
    /// Places in `counted`.
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
}

/// A place in messages or snapshot items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) source: Source,
    /// For each definition that has it, in the order in which they are tried.
    pub(crate) entries: Vec<Entry>,
    /// It is a list, or in one, and only its elements have a value.
    pub(crate) list: bool,
}

/// Where a field is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// This message.
    Message,
    /// The last message before: a place in `kept`.
    Last(u16),
    /// The snapshot item with this id, or any item.
    Item(Option<u16>),
}

/// A place in what one definition defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) dialect: Dialect,
    pub(crate) key: Key,
    pub(crate) id: Id,
    /// `None`: the whole of it.
    pub(crate) path: Option<Path>,
}
