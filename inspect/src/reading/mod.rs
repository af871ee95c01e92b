//! A decoded datagram event: header, messages, and the decision about each message.
//!
//! Received messages are listed first, in order. Messages that were only sent, because a rule, the user or the proxy
//! inserted them, follow; they have no sequence number of the sender.
//!
//! Law: the messages are processed in one pass. Filters are evaluated before a message is decoded, and only shown
//! messages are decoded. Messages are rendered as text, JSON or trees on demand.

mod message;

use std::fmt;

use teetap_wire::{Code, Flags, Note, PacketError, Seq, Token, def::Record};

pub use message::{
    CompletedSnapshot, Handling, Layer, Message, MessageOutcome, Ranges, Transport, Visibility,
};

use crate::track::{Detail, Expected};

/// Highest ordinal of a datagram that can identify its sender. High enough that the introduction may be lost and sent
/// again.
pub(crate) const INTRODUCTIONS: u64 = 64;

/// A decoded datagram.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The sizes of the datagram.
    pub sizes: Sizes,
    /// The header as received, and its ack as sent.
    pub header: Header,
    /// The messages of the datagram.
    pub messages: Vec<Message>,
    /// Notes on the datagram that belong to no message.
    pub notes: Vec<Note>,
    /// The values behind notes about sequence numbers, acks and pace, for the datagram and its messages.
    pub details: Vec<Detail>,
    /// True if notes were dropped because the datagram has more than the maximum.
    pub more_notes: bool,
    /// True if the end of the datagram was not recorded. Notes that the cut may have caused are omitted.
    pub is_cut: bool,
    /// The reason why the bytes could not be read; `None` if they could.
    pub error: Option<Unreadable>,
    /// The reason why the receiver cannot read a datagram whose bits the link flipped; `None` if it can.
    pub damage: Option<PacketError>,
    /// True if the proxy refused the datagram: a note says why its receiver would drop it.
    pub is_refused: bool,
    /// True if the datagram has no messages and passes the filter.
    pub shown: bool,
    /// Bitmask of the subscriptions whose filters this datagram passes as a datagram without messages.
    pub(crate) subscribers: u64,
    /// The inflated payload as received, followed by the data of messages that were only sent.
    pub(crate) bytes: Vec<u8>,
    /// The fields of all decoded messages.
    pub(crate) records: Vec<Record>,
}

/// The sizes of a datagram, in bytes.
#[derive(Clone, Debug, Default)]
pub struct Sizes {
    /// Size as received; `None` if no peer sent the datagram.
    pub received: Option<usize>,
    /// Size of the inflated payload as received, in bytes; 0 if the payload could not be read.
    pub payload: usize,
    /// Sizes of the datagrams that were sent for this datagram.
    pub sent: Vec<usize>,
}

/// The header of a datagram.
#[derive(Clone, Copy, Debug, Default)]
pub struct Header {
    /// Flags as received; as sent if nothing was received.
    pub flags: Flags,
    /// Number of chunks that the header announces.
    pub num_chunks: u8,
    /// Token as received; `None` if the datagram has none.
    pub token: Option<Token>,
    /// The values that were expected in place of values with a note.
    pub expected: Expected,
    /// Ack as received.
    pub ack: Option<Seq>,
    /// Ack as sent, in the first datagram that was sent.
    pub ack_out: Option<Seq>,
}

/// The reason why a datagram could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// The bytes are not a packet.
    Packet(PacketError),
    /// The end of the datagram was not recorded.
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
        self.bytes.get(..self.sizes.payload).unwrap_or_default()
    }

    /// Returns true if the datagram needs its own line, because it has notes or an error but no messages.
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

    /// Returns the bitmask of subscriptions that want the datagram or one of its messages.
    pub(crate) fn subscribers(&self) -> u64 {
        let messages = self.messages.iter();
        messages.fold(self.subscribers, |slots, message| {
            slots | message.visibility.subscribers
        })
    }

    /// Returns false if the received token was wrong, or missing on a leg with tokens.
    #[must_use]
    pub(crate) fn token_ok(&self) -> bool {
        !self
            .notes
            .iter()
            .any(|note| matches!(note.code, Code::WrongToken | Code::MissingToken))
    }

    /// Returns the sequence numbers of the first and the last vital message: as received, then as sent.
    #[must_use]
    pub(crate) fn seqs(&self) -> [Option<(Seq, Seq)>; 2] {
        let ends = |number: fn(&Message) -> Option<Seq>| {
            let mut numbers = self.messages.iter().filter_map(number);
            let first = numbers.next()?;
            Some((first, numbers.next_back().unwrap_or(first)))
        };
        [
            ends(|message| message.transport.seq),
            ends(|message| message.transport.seq_out),
        ]
    }

    /// Returns the memory held by the buffers of this reading and the snapshots in its messages, in bytes.
    pub(crate) fn held(&self) -> usize {
        let messages: usize = self.messages.iter().map(Message::held).sum();
        self.bytes.capacity()
            + self.records.capacity() * size_of::<Record>()
            + self.messages.capacity() * size_of::<Message>()
            + self.details.capacity() * size_of::<Detail>()
            + messages
    }

    /// Resets the reading and keeps the capacity of its buffers for reuse.
    pub(crate) fn clear(&mut self) {
        let Self {
            messages,
            sizes,
            notes,
            details,
            bytes,
            records,
            ..
        } = std::mem::take(self);
        self.sizes.sent = sizes.sent;
        (self.messages, self.notes) = (messages, notes);
        (self.bytes, self.records, self.details) = (bytes, records, details);
        self.details.clear();
        self.messages.clear();
        self.sizes.sent.clear();
        self.notes.clear();
        self.bytes.clear();
        self.records.clear();
    }
}

#[cfg(test)]
mod tests;
