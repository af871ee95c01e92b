//! Facts other than fields: about the packet, the session, the snapshot, and time.

use teetap_wire::def::suggest;
use teetap_wire::{Flags, Proto};

use super::checker::Checker;
use super::value::Operand;
use super::words::Names;
use crate::diagnostic::{Code, Diagnostic};
use crate::eval::{DoneFact, Number, PacketFact, SessionFact, SessionState, SnapFact, Text};
use crate::synonym::{self, Place};
use crate::syntax::{Path, Quantity};

const STATES: Names = &[
    ("opening", SessionState::Opening as i64),
    ("online", SessionState::Online as i64),
    ("closing", SessionState::Closing as i64),
    ("closed", SessionState::Closed as i64),
];

const FLAGS: Names = &[
    ("control", Flags::CONTROL.bits() as i64),
    ("resend", Flags::RESEND.bits() as i64),
    ("compression", Flags::COMPRESSION.bits() as i64),
];

const PROTOS: Names = &[
    ("0.6", Proto::V6 as i64),
    ("0.6.5", Proto::V65 as i64),
    ("ddnet", Proto::Ddnet as i64),
    ("0.7", Proto::V7 as i64),
];

/// A row of the table of facts: name, operand, and the noun that explains it.
type Row = (&'static str, Operand, &'static str);

/// Returns the table of facts.
fn facts() -> impl Iterator<Item = Row> {
    seen().into_iter().chain(done())
}

/// Returns the facts about datagrams and messages as they were received.
fn seen() -> [Row; 15] {
    use Operand::{Named, Truth};
    let number = |number, quantity| Operand::Number(number, quantity);
    [
        (
            "pkt.size",
            number(Number::Packet(PacketFact::Size), Quantity::Size),
            "the size of the datagram",
        ),
        (
            "pkt.ack",
            number(Number::Packet(PacketFact::Ack), Quantity::Plain),
            "the ack of the datagram",
        ),
        (
            "pkt.chunks",
            number(Number::Packet(PacketFact::Chunks), Quantity::Plain),
            "the number of chunks in the datagram",
        ),
        (
            "pkt.seq",
            number(Number::Packet(PacketFact::Seq), Quantity::Plain),
            "the sequence number",
        ),
        (
            "pkt.flags",
            Operand::Flags(Number::Packet(PacketFact::Flags), FLAGS),
            "the set of flags of the datagram",
        ),
        (
            "pkt.resend",
            Truth(Number::Packet(PacketFact::Resend)),
            "`pkt.resend`",
        ),
        (
            "sess.id",
            number(Number::Session(SessionFact::Id), Quantity::Plain),
            "the number of the session",
        ),
        (
            "sess.name",
            Operand::Text(Text::Player, "sess.name".to_owned()),
            "the name of the player",
        ),
        (
            "sess.client",
            Operand::Text(Text::Client, "sess.client".to_owned()),
            "the address of the client",
        ),
        (
            "sess.proto",
            Named(Number::Proto, PROTOS),
            "the protocol of the session",
        ),
        (
            "sess.state",
            Named(Number::State, STATES),
            "the state of the session",
        ),
        (
            "sess.rtt",
            number(Number::Session(SessionFact::Rtt), Quantity::Duration),
            "the round trip to the client",
        ),
        (
            "snap.tick",
            number(Number::Snap(SnapFact::Tick), Quantity::Plain),
            "the tick of the snapshot",
        ),
        (
            "snap.crc_ok",
            Truth(Number::Snap(SnapFact::CrcOk)),
            "`snap.crc_ok`",
        ),
        (
            "snap.parts",
            number(Number::Snap(SnapFact::Parts), Quantity::Plain),
            "the number of parts of the snapshot",
        ),
    ]
}

/// Returns the facts about what link lines did, which only filters have.
fn done() -> [Row; 5] {
    let done = |fact| Operand::Truth(Number::Done(fact));
    let delay = Operand::Number(Number::Done(DoneFact::Delay), Quantity::Duration);
    [
        ("link.lost", done(DoneFact::Lost), "`link.lost`"),
        ("link.delay", delay, "the delay by link lines"),
        ("link.corrupted", done(DoneFact::Corrupted), "`link.corrupted`"),
        ("link.duplicated", done(DoneFact::Duplicated), "`link.duplicated`"),
        ("link.reordered", done(DoneFact::Reordered), "`link.reordered`"),
    ]
}

/// Returns the names of all facts.
pub(super) fn names() -> Vec<&'static str> {
    facts().map(|(name, ..)| name).collect()
}

/// Returns the noun that explains a fact; `None` if no fact has this name.
pub(crate) fn noun(name: &str) -> Option<&'static str> {
    let found = facts().find(|(known, ..)| *known == name);
    found.map(|(.., noun)| noun)
}

/// Returns the facts that begin with `pkt`, `sess` or `snap`, as a list.
pub(super) fn list(head: &str) -> String {
    let mut names = names();
    names.retain(|name| name.starts_with(head));
    names.join(", ")
}

/// Returns the facts that begin with `pkt`, `sess` or `snap`, as help.
pub(super) fn help(head: &str) -> String {
    let mut names = names();
    names.retain(|name| name.starts_with(head));
    let others = names.split_off(names.len().min(1));
    let first = names.first().copied().unwrap_or_default();
    format!("write `{first}`, or another one of {}", others.join(", "))
}

impl Checker<'_> {
    /// Checks a path that starts with `pkt`, `sess`, `snap` or `link`, but is not a snapshot item.
    pub(super) fn fact(&mut self, path: &Path) -> Operand {
        let [head, rest @ ..] = &*path.segments else {
            return Operand::Failed;
        };
        let Some(second) = rest.first() else {
            let what = format!("`{}` is not a value", head.name.text);
            let diagnostic = Diagnostic::new(Code::NotHere, head.name.span, what).help(help(&head.name.text));
            return self.failed(diagnostic);
        };
        let wanted = format!("{}.{}", head.name.text, second.name.text);
        let Some((_, operand, _)) = facts().find(|(name, ..)| *name == wanted) else {
            let mut names = names();
            names.retain(|name| name.starts_with(&*head.name.text));
            let what = format!("unknown fact `{wanted}`");
            let diagnostic = Diagnostic::new(Code::UnknownFact, second.name.span, what);
            let meant = suggest(&wanted, names.iter().copied());
            let typed = synonym::help(Place::Condition, &second.name.text);
            let typed = typed.filter(|help| help.contains(&format!("`{}.", head.name.text)));
            let first = names
                .first()
                .map(|first| format!("write `{first}`, or another fact"));
            let diagnostic = diagnostic.or_help(first).meant(meant).or_help(typed);
            return self.failed(diagnostic.note(format!("there are {}", names.join(", "))));
        };
        if let Some(third) = rest.get(1) {
            let what = format!("`{wanted}` has no parts");
            return self.failed(Diagnostic::new(Code::UnknownFact, third.name.span, what));
        }
        if let Some(index) = head.index.or(second.index) {
            return self.failed(Diagnostic::new(
                Code::NoList,
                index.span,
                format!("`{wanted}` is not a list"),
            ));
        }
        operand
    }
}
