//! Whether the messages of a join were delivered, according to the acks of their receivers.

use std::time::Duration;

use teetap_proxy::session::Time;
use teetap_wire::{PerSide, Seq, Side};

use super::acked::Acked;
use crate::reading::Message;

/// Time after which an unacked message is considered lost if its receiver sends datagrams. Longer than a round trip.
const UNHEARD: Duration = Duration::from_millis(500);

/// The last message of a join, and the acks of both sides.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    pub(super) last: Option<Last>,
    /// Sequence numbers acked by each side.
    acks: PerSide<Acked>,
    /// Highest sequence number sent by the client to the server.
    sent: Seq,
    /// True if the server acked a sequence number that was not seen, so datagrams of the client are missing from the
    /// recording.
    pub(super) has_unseen: bool,
}

/// The last message of a join.
#[derive(Clone, Copy, Debug)]
pub(super) struct Last {
    pub(super) name: &'static str,
    pub(super) from: Side,
    /// Sequence number as its receiver sees it; `None` if the message is not vital.
    pub(super) seq: Option<Seq>,
    /// Time of the first ack of the message.
    pub(super) acked: Option<Time>,
    /// Time at which the message was sent.
    at: Time,
    /// True if the receiver sent a datagram without an ack of the message [`UNHEARD`] or more after the message.
    is_unheard: bool,
}

impl Delivery {
    /// Forgets the acks, because both sides restart their sequence numbers.
    pub(super) fn restart(&mut self) {
        self.acks = PerSide::default();
    }

    /// Records the sequence number of a message that the client sent to the server.
    pub(super) fn client_sent(&mut self, message: &Message) {
        let seq = message
            .transport
            .seq_out
            .or(message.transport.seq)
            .filter(|_| message.transport.vital);
        self.sent = seq.filter(|seq| !seq.is_behind(self.sent)).unwrap_or(self.sent);
    }

    /// Records the latest message of the join.
    pub(super) fn on_message(&mut self, at: Time, name: &'static str, from: Side, message: &Message) {
        self.last = Some(Last {
            name,
            from,
            seq: message
                .transport
                .seq_out
                .or(message.transport.seq)
                .filter(|_| message.transport.vital),
            acked: None,
            at,
            is_unheard: false,
        });
    }

    /// Records the ack in a datagram sent by `sender`.
    pub(super) fn on_ack(&mut self, at: Time, sender: Side, ack: Seq) {
        let acked = &mut self.acks[sender];
        acked.advance(ack);
        self.has_unseen |= sender == Side::Server && !ack.is_behind(self.sent);
        if let Some(last) = &mut self.last
            && last.from != sender
            && let Some(seq) = last.seq
        {
            if acked.has(seq) {
                last.acked.get_or_insert(at);
            } else {
                last.is_unheard |= at.since(last.at) >= UNHEARD;
            }
        }
    }

    /// Returns true if the last message was probably lost, because later datagrams of its receiver do not ack it.
    pub(super) fn is_unheard(&self) -> bool {
        self.last.is_some_and(|last| last.is_unheard)
    }
}
