//! A datagram event, decoded: header, messages, and what became of each.
//!
//! The messages are those that came in, in their order. Messages that only went out (a rule, a person or the proxy
//! made them) follow; they have no number of a sender.

mod decode;

use std::borrow::Cow;

use teetap_proxy::session::{Action, Datagram, Origin, Placed, SessionId, Time};
use teetap_wire::{Code, Flags, Note, Notes, Packet, PacketError, Place, Seq, chunk};

use crate::decoder::Decoder;
use decode::Decode;

/// What kind of message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// Handshake, keepalive, close.
    Control,
    /// The engine's.
    System,
    /// The game's.
    Game,
    /// A chunk whose id cannot be read.
    Unreadable,
}

/// A datagram, decoded.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Bytes as received; `None` when no peer sent it.
    pub size: Option<usize>,
    /// Bytes of each datagram that left because of it.
    pub sizes_out: Vec<usize>,
    /// Flags as received, or as sent when nothing was.
    pub flags: Flags,
    /// Chunks that the header announces.
    pub num_chunks: u8,
    /// Ack as received.
    pub ack: Option<Seq>,
    /// Ack as sent on (of the first datagram that left).
    pub ack_out: Option<Seq>,
    /// Its messages.
    pub messages: Vec<Message>,
    /// Oddities of the datagram that belong to no message.
    pub notes: Vec<Note>,
    /// More oddities than are kept.
    pub more_notes: bool,
    /// Its end was not recorded: what that makes odd is no oddity.
    pub is_cut: bool,
    /// Why the bytes could not be read, if they could not.
    pub error: Option<String>,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What kind.
    pub layer: Layer,
    /// The id; `None` when it cannot be read.
    pub id: Option<i32>,
    /// The id of an extended message.
    pub uuid: Option<[u8; 16]>,
    /// What people call it, or its id as text.
    pub label: Cow<'static, str>,
    /// Whether the label is a name.
    pub named: bool,
    /// Reliable.
    pub vital: bool,
    /// Marked as sent again.
    pub resend: bool,
    /// Number that its sender gave it.
    pub seq: Option<Seq>,
    /// Number under which it left.
    pub seq_out: Option<Seq>,
    /// Whose doing it is.
    pub origin: Origin,
    /// What was done with it.
    pub done: Done,
    /// Its fields, in the form that the decoder gives; empty when the id is not known. In a gist a snapshot stands for
    /// the fields of the message that completes it.
    pub fields: String,
    /// The snapshot that it completes, as a JSON object, if the decoder gives that; else empty.
    pub snap: String,
    /// What has changed in that snapshot, a line for each item, if the decoder gives that.
    pub items: Vec<String>,
    /// Id and fields, without the chunk header.
    pub data: Box<[u8]>,
    /// Its oddities.
    pub notes: Vec<Note>,
    /// No filter is against it.
    pub shown: bool,
}

/// What was done with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// The core decided about this message.
    Placed(Action),
    /// Its datagram was not sent on as a whole.
    Discarded,
    /// It is between the proxy and one peer, and was never to be sent on.
    Ended,
}

impl Done {
    /// With a message that nothing was decided about.
    fn whole(datagram: &Datagram) -> Self {
        match (datagram.leg, datagram.sent().next()) {
            (Some(_), _) => Self::Ended,
            (None, None) => Self::Discarded,
            (None, Some(_)) => Self::Placed(Action::Pass),
        }
    }

    /// Its word, when there is something to tell.
    #[must_use]
    pub fn word(self) -> Option<String> {
        match self {
            Self::Placed(Action::Pass) | Self::Ended => None,
            Self::Placed(action) => Some(action.to_string()),
            Self::Discarded => Some("discard".to_owned()),
        }
    }
}

impl Reading {
    /// Decodes a datagram that was seen `at` this time in this session.
    #[must_use]
    pub fn new(at: Time, session: Option<SessionId>, datagram: &Datagram, decoder: &mut Decoder) -> Self {
        let mut reading = Self {
            size: datagram.received().map(<[u8]>::len),
            sizes_out: datagram.sent().map(<[u8]>::len).collect(),
            flags: Flags::empty(),
            num_chunks: 0,
            ack: None,
            ack_out: None,
            messages: Vec::new(),
            notes: datagram.notes.iter().collect(),
            more_notes: datagram.notes.overflowed(),
            is_cut: datagram.notes.contains(Code::CutByCapture),
            error: None,
        };
        let mut scratch = decoder.lend_scratch();
        let mut decode = Decode {
            at,
            session,
            datagram,
            decoder,
        };
        match datagram.packet(&mut scratch) {
            Some(Ok(packet)) => reading.take_received(&packet, &mut decode),
            Some(Err(error)) => reading.error = Some(reading.explain(error)),
            None => {}
        }
        if datagram.is_unchanged() && datagram.received().is_some() {
            reading.ack_out = reading.ack;
            decoder.give_back(scratch);
            return reading;
        }
        for (index, sent) in datagram.sent().enumerate() {
            match Packet::parse(datagram.proto, sent, &mut scratch) {
                Ok(packet) => reading.take_sent(&packet, index == 0, &mut decode),
                Err(error) => reading.error = Some(reading.explain(error)),
            }
        }
        decoder.give_back(scratch);
        reading
    }

    /// As [`Self::new`]; `None` when there is nothing to show: a filter is against all of its messages. Mostly that is found out
    /// before anything is made of them.
    #[must_use]
    pub fn shown(
        at: Time,
        session: Option<SessionId>,
        datagram: &Datagram,
        decoder: &mut Decoder,
    ) -> Option<Self> {
        if decoder.is_choosy() {
            let mut decode = Decode {
                at,
                session,
                datagram,
                decoder,
            };
            if decode.foresee() == Some(false) {
                decoder.forget_foreseen();
                return None;
            }
        }
        let reading = Self::new(at, session, datagram, decoder);
        reading.is_shown(decoder).then_some(reading)
    }

    /// Whether the token of what came in was right, as far as this leg has one.
    #[must_use]
    pub fn token_ok(&self) -> bool {
        !self
            .notes
            .iter()
            .any(|note| matches!(note.code, Code::WrongToken | Code::MissingToken))
    }

    /// Numbers of the first and the last vital message, as received and as sent.
    #[must_use]
    pub fn seqs(&self) -> [Option<(Seq, Seq)>; 2] {
        let ends = |number: fn(&Message) -> Option<Seq>| {
            let mut numbers = self.messages.iter().filter_map(number);
            let first = numbers.next()?;
            Some((first, numbers.next_back().unwrap_or(first)))
        };
        [ends(|message| message.seq), ends(|message| message.seq_out)]
    }

    /// Whether there is anything to show: a message that no filter is against, or, without a filter, the datagram.
    fn is_shown(&self, decoder: &Decoder) -> bool {
        !decoder.is_choosy() || self.messages.iter().any(|message| message.shown)
    }

    /// Why bytes cannot be read.
    fn explain(&self, error: PacketError) -> String {
        if self.is_cut {
            "its end was not recorded".to_owned()
        } else {
            error.to_string()
        }
    }

    fn take_received(&mut self, packet: &Packet<'_>, decode: &mut Decode<'_>) {
        let datagram = decode.datagram;
        self.flags = packet.header.flags;
        self.num_chunks = packet.header.num_chunks;
        self.ack = Some(packet.header.ack);
        self.add_notes(&packet.notes);
        let whole = Done::whole(datagram);
        if let Some(control) = packet.control() {
            self.messages.push(Message {
                done: datagram
                    .placed
                    .first()
                    .map_or(whole, |placed| Done::Placed(placed.action)),
                ..decode.control(control, packet, &self.notes)
            });
            return;
        }
        // What is odd about the chunks together is known before the first one is asked about.
        self.add_notes(&packet.chunk_notes());
        for (index, chunk) in packet.chunks().enumerate() {
            let (done, seq_out) = match datagram.placed.get(index) {
                Some(Placed { seq_out, action }) => (Done::Placed(*action), *seq_out),
                None => (
                    whole,
                    chunk.header.vital.filter(|_| whole == Done::Placed(Action::Pass)),
                ),
            };
            let heard = matches!(done, Done::Placed(action) if action.is_delivered());
            let by = (datagram.origin, heard);
            let mut message = decode.chunk(&chunk, seq_out, by, packet, &self.notes);
            (message.seq, message.done) = (chunk.header.vital, done);
            message.notes.extend(self.claim_notes(chunk.at..chunk.end()));
            self.messages.push(message);
        }
    }

    /// Takes over what only went out: the ack, and messages that did not come in.
    fn take_sent(&mut self, packet: &Packet<'_>, first: bool, decode: &mut Decode<'_>) {
        let datagram = decode.datagram;
        if first {
            self.ack_out = Some(packet.header.ack);
        }
        if self.size.is_none() && first {
            self.flags = packet.header.flags;
            self.num_chunks = packet.header.num_chunks;
        }
        if let Some(control) = packet.control() {
            if self.size.is_none() {
                self.messages.push(decode.control(control, packet, &self.notes));
            }
            return;
        }
        if self.size.is_some() && datagram.placed.is_empty() {
            return;
        }
        for chunk in packet.chunks() {
            if !self.came_in(&chunk) {
                let origin = if self.size.is_some() {
                    Origin::Rule
                } else {
                    datagram.origin
                };
                // Of what rules and people make the game's state is another one than its server's.
                let message = decode.chunk(&chunk, chunk.header.vital, (origin, false), packet, &self.notes);
                self.messages.push(message);
            }
        }
    }

    /// Whether a chunk that went out is one that came in: by its new number, or by its bytes where it has none.
    fn came_in(&self, chunk: &chunk::Chunk<'_>) -> bool {
        self.messages.iter().any(|message| match chunk.header.vital {
            Some(seq) => message.seq.is_some() && message.seq_out == Some(seq),
            None => {
                !message.vital
                    && match message.done {
                        Done::Placed(Action::Pass) => *message.data == *chunk.data,
                        Done::Placed(Action::Edit) => true,
                        _ => false,
                    }
            }
        })
    }

    fn add_notes(&mut self, found: &Notes) {
        let told = |note: &Note| !(self.is_cut && note.code.comes_of_a_cut());
        for note in found.iter().filter(told) {
            let known = self.notes.contains(&note)
                || self.messages.iter().any(|message| message.notes.contains(&note));
            if !known {
                self.notes.push(note);
            }
        }
    }

    /// Moves the notes about this range of the payload to the message that is there.
    fn claim_notes(&mut self, range: std::ops::Range<usize>) -> Vec<Note> {
        self.notes
            .extract_if(.., |note| {
                note.code.place() == Place::Payload && range.contains(&note.at)
            })
            .collect()
    }
}

#[cfg(test)]
#[path = "reading_tests.rs"]
mod tests;
