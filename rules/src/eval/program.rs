//! Checked expressions, in which all names and kinds of values are resolved.

use teetap_wire::def::{Dialect, Id, Path};
use teetap_wire::{Code, Dir};

use super::facts::{DoneFact, Flag, PacketFact, SessionFact, SnapFact};
use super::key::{DefKey, Target};
use super::test::{IntTest, Test, TextTest};
use crate::syntax::{Arith, Compare};

/// A checked expression. Conditions refer to fields, targets and so on by their index in these lists.
#[derive(Debug, Clone, Default)]
pub(crate) struct Program {
    pub(crate) root: Cond,
    /// Condition for the messages that `n` counts; `None` if it counts all that match.
    pub(crate) matches: Option<Cond>,
    pub(crate) fields: Vec<Field>,
    /// Messages that conditions name.
    pub(crate) targets: Vec<Target>,
    /// Maximum bytes of memory of the compiled regexes.
    pub(crate) regex_bytes: usize,
    /// Counted messages, as indices into `targets`.
    pub(crate) counted: Vec<u16>,
    /// Fields whose last value is kept, as indices into `fields`.
    pub(crate) kept: Vec<u16>,
}

/// A condition.
#[derive(Debug, Clone, Default)]
pub(crate) enum Cond {
    /// A condition whose value is unknown.
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
    /// A rule gave the message this mark, or any mark.
    Mark(Option<Box<str>>),
    /// Some text of the message passes the test.
    Search(TextTest),
    /// The field passes the test for its entry.
    Field(u16, Box<[Test]>),
    Number(Number, IntTest),
    Text(Text, TextTest),
    Compare(Compare, Box<(Number, Number)>),
    /// The two texts are equal or unequal, or the first contains the second.
    CompareText(Compare, Text, Text),
    /// The field is present.
    Has(u16),
    /// The message was seen before: an index into `counted`.
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
    /// Length of a field: bytes of text, or elements of a list.
    Length(u16),
    /// Bytes of a text that is not a field.
    TextLength(Text),
    /// Variable of rules, by its index.
    Variable(u16),
    Packet(PacketFact),
    Session(SessionFact),
    State,
    Proto,
    Leg,
    Done(DoneFact),
    Snap(SnapFact),
    Time,
    Ordinal,
    /// Index of a counter in `counted`.
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
    /// Address of the client.
    Client,
    /// Names of the rules that acted on the message. A comparison holds if it holds for one of them.
    Rule,
    /// Variable of rules, by its index.
    Variable(u16),
}

/// A field, and its positions in messages or snapshot items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) source: Source,
    /// Entries for all definitions that have the field, in the order in which they are tried.
    pub(crate) entries: Vec<FieldVariant>,
    /// True if the field is a list or inside a list, so that only its elements have values.
    pub(crate) list: bool,
}

/// Source of a field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// This message.
    Message,
    /// The last earlier message: an index into `kept`.
    Last(u16),
    /// The snapshot item with this id, or any item.
    Item(Option<u16>),
}

/// Position of a field in one definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldVariant {
    pub(crate) dialect: Dialect,
    pub(crate) key: DefKey,
    pub(crate) id: Id,
    /// Path of the field; `None` for the whole message or item.
    pub(crate) path: Option<Path>,
}
