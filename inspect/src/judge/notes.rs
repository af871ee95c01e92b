//! Turns the notes of datagrams and their messages into findings.

use std::borrow::Cow;

use teetap_proxy::session::{Action, Connless, Datagram, Origin, SessionId, Time};
use teetap_wire::{Code, Dir, Note, Property, Seq, Severity, printable};

use super::{
    Judge,
    entries::Oddity,
    finding::Occurrence,
    finding_code::{Role, Topic},
    peers::{Culprit, Peers},
};
use crate::{After, Message, Reading, meant::second_message, reading::MessageOutcome, sentence, track::Fact};

/// The text for an ack that does not advance, if nothing shows that the peer receives anything.
const NOT_ACKED: &str = "vital chunks are not acked: their receiver ignores them, or they are lost on the way; their sender ends the connection";

/// A datagram of a session with its decoded contents.
pub(super) struct Seen<'a> {
    pub(super) at: Time,
    pub(super) session: Option<SessionId>,
    pub(super) datagram: &'a Datagram,
    pub(super) reading: &'a Reading,
}

impl Judge {
    pub(super) fn datagram(&mut self, seen: &Seen<'_>) {
        if Peers::may_learn(seen.datagram, seen.reading)
            && let Some(session) = self.entries.session(seen.session)
        {
            session.peers.learn(seen.datagram, seen.reading);
        }
        let is_dropped = |note: &Note| note.code.has(Property::DropsDatagram);
        let is_read = seen.datagram.origin == Origin::Peer && seen.reading.error.is_none();
        if let Some(ack) = seen.reading.header.ack.filter(|_| is_read)
            && !seen.datagram.notes.iter().any(|note| is_dropped(&note))
            && !seen.reading.notes.iter().any(is_dropped)
        {
            let by = seen.datagram.dir.sender().into();
            self.entries.acked(seen.session, by, ack);
        }
        if seen.datagram.dir == Dir::C2s
            && let Some(session) = self.entries.session(seen.session)
        {
            session.has_late_inputs |= makes_inputs_late(seen);
            session.has_invalid_text |= seen.reading.messages.iter().any(has_invalid_text);
        }
        for note in &seen.reading.notes {
            self.note(seen, None, note);
        }
        for message in &seen.reading.messages {
            for note in &message.notes {
                self.note(seen, Some(message), note);
            }
            if let Some(after) = &message.after {
                self.changed(seen, message, after);
            }
        }
    }

    /// Records the notes on a message that a rule, a person or the link changed.
    fn changed(&mut self, seen: &Seen<'_>, message: &Message, after: &After) {
        let names = message.handling.rules.join("; ");
        let by = match (after.is_by_link, names.is_empty()) {
            (true, _) => "changed by the link".to_owned(),
            (false, true) => "changed on the way".to_owned(),
            (false, false) => format!("changed by the rule {}", printable(names.as_bytes())),
        };
        for note in &after.notes {
            let topic = Topic::Note(note.code);
            if let Some(entry) = self.entries.known(seen.session, topic, Culprit::Proxy) {
                entry.again(seen.at);
                continue;
            }
            let place = Occurrence {
                dir: Some(seen.datagram.dir),
                datagram: Some(seen.datagram.ordinal).filter(|ordinal| *ordinal > 0),
                frame: seen.datagram.ends.frame,
                message: Some(seen.reading.label(message)),
                ..Occurrence::at(seen.at)
            };
            let text = Cow::Borrowed(note.code.text());
            let detail = Some(by.clone().into());
            if let Some(session) = self.entries.room(seen.session) {
                session
                    .entries
                    .push(Oddity::new(topic, Culprit::Proxy, (text, detail), place));
            }
        }
    }

    fn note(&mut self, seen: &Seen<'_>, message: Option<&Message>, note: &Note) {
        let Seen {
            at,
            session,
            datagram,
            reading,
        } = *seen;
        let origin = message.map_or(datagram.origin, |message| message.handling.origin);
        let of_server = self.entries.session(session).filter(|_| datagram.dir == Dir::S2c);
        let of_server = of_server.map(|session| (session.has_invalid_text, session.has_late_inputs));
        let (echoes_texts, has_late_inputs) = of_server.unwrap_or_default();
        if echoes_texts && note.code == Code::InvalidUtf8 {
            // Servers forward the texts of clients as they are.
            return;
        }
        let by = match origin {
            // The server applies the ack of a late input, and the client no longer has the snapshot.
            Origin::Peer if has_late_inputs && note.code == Code::SnapNoBase => Culprit::Proxy,
            Origin::Peer => datagram.dir.sender().into(),
            Origin::Rule | Origin::User | Origin::Proxy => Culprit::Proxy,
        };
        let is_announced = |other: &Note| other.code != Code::ChunkCountTooLow;
        if note.code == Code::TrailingBytes && !reading.notes.iter().all(is_announced) {
            // The bytes are chunks that the header does not announce.
            return;
        }
        let mut of_message = message.into_iter().flat_map(|message| &message.notes);
        if note.code == Code::SnapIgnored && of_message.any(|other| other.code == Code::MissingField) {
            // The data is shorter than its stated length, which has a note of its own.
            return;
        }
        let topic = Topic::Note(note.code);
        let sender = Culprit::from(datagram.dir.sender());
        if by == Culprit::Proxy
            && origin == Origin::Proxy
            && self.entries.known(session, topic, sender).is_some()
        {
            // The proxy copies oddities of the peer's handshake when it repeats the handshake on the other leg.
            return;
        }
        // An empty datagram loses no data. If the chunk count wrapped from 256 to 0, the wrapped count is the fault.
        let mut notes = reading.notes.iter();
        let mut has_wrapped = || notes.any(|other| other.code == Code::ChunkCountCut);
        let is_empty = note.code == Code::EmptyNoResend && (reading.sizes.payload == 0 || has_wrapped());
        let is_beside = match reading.detail(note).map(|detail| &detail.fact) {
            Some(Fact::OutOfTurn(turn)) => !turn.leads(),
            _ => false,
        };
        let leads = topic.leads() && !is_empty && !is_beside;
        if note.code == Code::KeepaliveLate {
            self.is_back(session, by);
        }
        if let Some(entry) = self.entries.known(session, topic, by) {
            entry.leads |= leads;
            if let Some(Fact::AckMistake { mistake, .. }) = reading.detail(note).map(|detail| &detail.fact) {
                entry.add_detail(mistake);
            }
            return entry.again(at);
        }
        let secrets = self.secrets;
        let Some(session) = self.entries.room(session) else {
            return;
        };
        session.peers.odd(datagram, reading);
        let place = Occurrence {
            dir: Some(datagram.dir),
            datagram: Some(datagram.ordinal).filter(|ordinal| *ordinal > 0),
            frame: datagram.ends.frame,
            message: message.map(|message| reading.label(message)),
            ..Occurrence::at(at)
        };
        let detail = sentence::values(reading, message, Some(datagram), note, secrets);
        let text = Cow::Borrowed(note.code.text());
        let mut entry = Oddity::new(topic, by, (text, detail), place);
        entry.leads = leads;
        entry.refuted_by = unproven(reading, note);
        let second = message.and_then(|message| second(datagram, reading, message, note));
        entry.severity = second.map(|_| Severity::Warning);
        if entry.refuted_by.is_some() && note.code == Code::AckStuck {
            // All copies may have been lost in an outage of one direction.
            entry.role = Some(Role::Network);
            entry.text = Cow::Borrowed(NOT_ACKED);
        }
        session.entries.push(entry);
    }

    pub(super) fn connless(&mut self, at: Time, connless: &Connless, reading: &Reading) {
        let Some(message) = reading.messages.first() else {
            return;
        };
        for note in &message.notes {
            let topic = Topic::Note(note.code);
            let by = connless.dir.sender().into();
            if let Some(entry) = self.entries.known(None, topic, by) {
                entry.again(at);
                continue;
            }
            let place = Occurrence {
                dir: Some(connless.dir),
                frame: connless.ends.frame,
                message: Some(reading.label(message)),
                client: Some(connless.client),
                ..Occurrence::at(at)
            };
            let detail = sentence::values(reading, Some(message), None, note, self.secrets);
            let text = Cow::Borrowed(note.code.text());
            if let Some(session) = self.entries.room(None) {
                session
                    .entries
                    .push(Oddity::new(topic, by, (text, detail), place));
            }
        }
    }
}

/// Returns true if the server gets inputs of the client in another order, because a rule or the link delays an input in
/// this datagram.
fn makes_inputs_late(seen: &Seen<'_>) -> bool {
    let is_reordered = seen.datagram.link.iter().any(|transit| transit.reordered);
    let mut inputs = seen
        .reading
        .messages
        .iter()
        .filter(|message| message.name == Some("input"));
    inputs.any(|message| {
        let done = message.handling.done;
        is_reordered || message.handling.made.is_some() || done == MessageOutcome::Placed(Action::Hold)
    })
}

/// Returns true for a message with a text that is not UTF-8, as received or as sent.
fn has_invalid_text(message: &Message) -> bool {
    let after = message.after.as_deref().map_or(&[][..], |after| &after.notes);
    let mut notes = message.notes.iter().chain(after);
    notes.any(|note| note.code == Code::InvalidUtf8)
}

/// Returns the name of the message after the first one of a chunk, which no receiver reads; `None` if the note is about
/// other bytes.
fn second(datagram: &Datagram, reading: &Reading, message: &Message, note: &Note) -> Option<&'static str> {
    let surplus = reading.data(message).get(note.at..note.at + note.len)?;
    let surplus = Some(surplus).filter(|_| note.code == Code::SurplusBytes)?;
    second_message(datagram.proto, datagram.dir, surplus)
}

/// Returns the number whose ack refutes a note about an ack that does not advance; `None` for other notes, and if the
/// peer has shown that it receives the messages that it does not ack.
fn unproven(reading: &Reading, note: &Note) -> Option<Seq> {
    match &reading.detail(note)?.fact {
        Fact::Stuck {
            missing,
            is_proven: false,
            ..
        } => Some(*missing),
        Fact::NotInflating { deaf, .. } => Some(deaf.missing()),
        _ => None,
    }
}
