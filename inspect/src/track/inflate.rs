//! Detects peers that cannot inflate compressed datagrams.
//!
//! Law: an ack covers all earlier messages, so the acks of such a peer stop for good before the first message that it
//! cannot read. A peer is reported if it does not ack a message that was sent repeatedly, always compressed, although
//! the peer accepts uncompressed messages: it has acked some of them, or it requests the missing message, as receivers
//! do after a later message. A peer that has ever acked a message sent only in compressed datagrams can inflate,
//! however bad the network is later.
//!
//! Memory is bounded: at most [`MOST`] messages per direction.

use std::{collections::VecDeque, fmt, time::Duration};

use teetap_proxy::session::Time;
use teetap_wire::Seq;

use super::{
    acks::{APART, REPLIES, SIGHTS, STUCK},
    words::Seconds,
};

/// Maximum number of messages kept.
const MOST: usize = 64;

/// Minimum number of requests for the missing message. So many requests show that the peer receives later messages.
const REQUESTS: u16 = 3;

/// Unacked messages of one direction, and the evidence whether their receiver can inflate.
#[derive(Debug, Default)]
pub(super) struct Inflation {
    open: VecDeque<CompressedMessage>,
    /// The last ack.
    acked: Option<Seq>,
    /// True if the receiver can inflate, since it has acked a message that was only sent compressed.
    is_proven: bool,
    /// Number of acked messages that were sent uncompressed.
    plain: u16,
    /// Number of datagrams and resend requests from the receiver since the oldest unacked message was sent.
    replies: u8,
    requests: u16,
    is_reported: bool,
}

/// An unacked message.
#[derive(Clone, Copy, Debug)]
struct CompressedMessage {
    seq: Seq,
    /// True if all copies were compressed.
    is_packed: bool,
    since: Time,
    sights: u8,
    last_sight: Time,
}

/// Evidence that a peer does not read compressed messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotInflating {
    pub(super) missing: Seq,
    pub(super) for_: Duration,
    pub(super) sights: u8,
    pub(super) plain: u16,
    pub(super) requests: u16,
}

impl Inflation {
    /// Records a vital message sent to the receiver. `counts` is true if every receiver accepts the datagram.
    pub(super) fn sent(&mut self, seq: Seq, at: Time, is_packed: bool, counts: bool) {
        if self.is_proven {
            return;
        }
        if let Some(open) = self.open.iter_mut().find(|open| open.seq == seq) {
            open.is_packed &= is_packed;
            if counts && at.since(open.last_sight) >= APART {
                open.sights = open.sights.saturating_add(1);
                open.last_sight = at;
            }
            return;
        }
        let is_acked = self.acked.is_some_and(|acked| seq.is_behind(acked));
        if is_acked || self.open.len() >= MOST {
            return;
        }
        // First copies of a message that is sent after later messages may have been lost.
        let place = self.open.partition_point(|open| open.seq.is_behind(seq));
        if place == 0 {
            (self.replies, self.requests) = (0, 0);
        }
        let open = CompressedMessage {
            seq,
            is_packed,
            since: at,
            sights: u8::from(counts),
            last_sight: at,
        };
        self.open.insert(place, open);
    }

    /// Records that the receiver has replied to a message, even if it has not acked the message.
    pub(super) fn answered(&mut self, seq: Seq) {
        self.is_proven |= self.open.iter().any(|open| open.seq == seq && open.is_packed);
    }

    /// Returns true if all copies of the message `seq` were compressed, and the receiver has not shown that it
    /// inflates.
    pub(super) fn is_packed(&self, seq: Seq) -> bool {
        !self.is_proven && self.open.iter().any(|open| open.seq == seq && open.is_packed)
    }

    /// Returns true once the receiver was reported.
    pub(super) const fn is_reported(&self) -> bool {
        self.is_reported
    }

    /// Records a valid ack. `is_request` is true if its header also requests a resend. Returns, at most once, the
    /// evidence that the receiver does not inflate.
    pub(super) fn acked(&mut self, ack: Seq, is_request: bool, at: Time) -> Option<NotInflating> {
        if self.is_proven {
            return None;
        }
        self.acked = Some(ack);
        while let Some(open) = self.open.pop_front_if(|open| open.seq.is_behind(ack)) {
            (self.replies, self.requests) = (0, 0);
            self.is_proven |= open.is_packed;
            self.plain = self.plain.saturating_add(u16::from(!open.is_packed));
        }
        let open = self.open.front()?;
        self.replies = self.replies.saturating_add(1);
        self.requests = self.requests.saturating_add(u16::from(is_request));
        let for_ = at.since(open.since);
        let takes_others = self.plain > 0 || self.requests >= REQUESTS;
        let is_clear = open.is_packed
            && open.seq == ack.next()
            && open.sights >= SIGHTS
            && for_ >= STUCK
            && self.replies >= REPLIES
            && takes_others;
        if !is_clear || std::mem::replace(&mut self.is_reported, true) {
            return None;
        }
        Some(NotInflating {
            missing: open.seq,
            for_,
            sights: open.sights,
            plain: self.plain,
            requests: self.requests,
        })
    }
}

impl NotInflating {
    /// Returns the number of the message that is not acked.
    pub(crate) const fn missing(&self) -> Seq {
        self.missing
    }
}

impl fmt::Display for NotInflating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            for_,
            sights,
            plain,
            requests,
            ..
        } = self;
        let after = Seconds(*for_);
        write!(f, "sent {sights} times in {after}, compressed each time; ")?;
        match (plain, requests) {
            (0, requests) => write!(f, "requested {requests} times"),
            (1, _) => f.write_str("the message acked before was not"),
            (plain, _) => write!(f, "the {plain} messages acked before were not"),
        }
    }
}
