//! A datagram event, decoded: header, messages, and the decision about each.
//!
//! The messages are those that were received, in their order. Messages that only left (a rule, a person or the proxy
//! made them) follow; they have no sequence number of a sender.
//!
//! Law: one pass over the messages, in which the filters decide about each before it is decoded. Only messages that are
//! shown are decoded, and nothing is rendered: text, JSON and trees are made of a message on demand.

mod message;

use std::fmt;

use teetap_wire::{Code, Flags, Note, PacketError, Seq, Token, def::Record};

pub use message::{Done, Layer, Message};

use crate::stream::Detail;

/// A datagram, decoded.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Bytes as received; `None` when no peer sent it.
    pub size: Option<usize>,
    /// Bytes of the payload as received, inflated; 0 when it could not be read.
    pub payload: usize,
    /// Bytes of each datagram that left because of it.
    pub sizes_out: Vec<usize>,
    /// Flags as received, or as sent when nothing was.
    pub flags: Flags,
    /// Chunks that the header announces.
    pub num_chunks: u8,
    /// Token as received; `None` where there is none.
    pub token: Option<Token>,
    /// The values that were expected where some have a note.
    pub expected: Expected,
    /// Ack as received.
    pub ack: Option<Seq>,
    /// Ack as sent on (of the first datagram that left).
    pub ack_out: Option<Seq>,
    /// The messages of the datagram.
    pub messages: Vec<Message>,
    /// Oddities of the datagram that belong to no message.
    pub notes: Vec<Note>,
    /// The values behind notes about numbers, acks and pace, of the datagram and of its messages.
    pub details: Vec<Detail>,
    /// More oddities than are kept.
    pub more_notes: bool,
    /// True if its end was not recorded: the oddities that come of that are left out.
    pub is_cut: bool,
    /// The reason why its bytes could not be read; `None` when they could.
    pub error: Option<Unreadable>,
    /// True if it was refused: a note says why its receiver would drop it.
    pub is_refused: bool,
    /// The datagram has no messages and passes the filter.
    pub shown: bool,
    /// The subscriptions whose filters it passes as a datagram without messages, a bit for each.
    pub(crate) subscribers: u64,
    /// The inflated payload as received, then the data of messages that only left.
    pub(crate) bytes: Vec<u8>,
    /// The fields of all messages that are shown.
    pub(crate) records: Vec<Record>,
}

/// The values that were expected in a datagram, as far as the ones before it show them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// The token, of a datagram with a wrong one.
    pub token: Option<Token>,
    /// The highest ack possible, of a datagram that acks more; the lowest, of one that acks less.
    pub ack: Option<Seq>,
}

/// The reason why a datagram could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// A datagram that is not a packet.
    Packet(PacketError),
    /// A datagram whose end was not recorded.
    Cut,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packet(error) => error.fmt(f),
            Self::Cut => f.write_str("its end was not recorded"),
        }
    }
}

impl Reading {
    /// Returns the inflated payload as received.
    pub(crate) fn payload_bytes(&self) -> &[u8] {
        self.bytes.get(..self.payload).unwrap_or_default()
    }

    /// Returns true for a datagram that has a line of its own: without messages its notes would stand on none.
    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.messages.is_empty() && (!self.notes.is_empty() || self.error.is_some())
    }

    /// Returns the values behind a note about numbers, acks or pace.
    #[must_use]
    pub fn detail(&self, note: &Note) -> Option<&Detail> {
        let mut details = self.details.iter();
        details.find(|detail| detail.code == note.code && detail.at == note.at)
    }

    /// Returns the subscriptions that it or one of its messages is for.
    pub(crate) fn subscribers(&self) -> u64 {
        let messages = self.messages.iter();
        messages.fold(self.subscribers, |slots, message| slots | message.subscribers)
    }

    /// Returns true unless the token of what was received was wrong, or missing where this leg has one.
    #[must_use]
    pub fn token_ok(&self) -> bool {
        !self
            .notes
            .iter()
            .any(|note| matches!(note.code, Code::WrongToken | Code::MissingToken))
    }

    /// Returns the sequence numbers of the first and the last vital message, as received and as sent.
    #[must_use]
    pub fn seqs(&self) -> [Option<(Seq, Seq)>; 2] {
        let ends = |number: fn(&Message) -> Option<Seq>| {
            let mut numbers = self.messages.iter().filter_map(number);
            let first = numbers.next()?;
            Some((first, numbers.next_back().unwrap_or(first)))
        };
        [ends(|message| message.seq), ends(|message| message.seq_out)]
    }

    /// Returns the number of bytes of memory that its buffers hold, and the snapshots in its messages.
    pub(crate) fn held(&self) -> usize {
        let messages: usize = self.messages.iter().map(Message::held).sum();
        self.bytes.capacity()
            + self.records.capacity() * size_of::<Record>()
            + self.messages.capacity() * size_of::<Message>()
            + self.details.capacity() * size_of::<Detail>()
            + messages
    }

    /// Empties it, so that its buffers can be used again.
    pub(crate) fn clear(&mut self) {
        let Self {
            messages,
            sizes_out,
            notes,
            details,
            bytes,
            records,
            ..
        } = std::mem::take(self);
        (self.messages, self.sizes_out, self.notes) = (messages, sizes_out, notes);
        (self.bytes, self.records, self.details) = (bytes, records, details);
        self.details.clear();
        self.messages.clear();
        self.sizes_out.clear();
        self.notes.clear();
        self.bytes.clear();
        self.records.clear();
    }
}

#[cfg(test)]
mod tests;
