//! One end of a connection: sequence numbers, acks, resends, keepalives and timeouts as the games have them
//! (Teeworlds 0.6.4, 0.6.5 and 0.7.5, DDNet 16.4: network_conn.cpp).
//!
//! Law: contains no socket and no clock. `now` is the time since an arbitrary start. The handshake is not part of
//! this module: a connection begins when both tokens are known.

use std::collections::VecDeque;
use std::time::Duration;

use teetap_wire::{
    ChunkHeader, Control, Flags, Header, MAX_CHUNKS, MAX_COMPOSED_PAYLOAD, Packet, Proto, Scratch, Seq,
    Token, Trailing, chunk, control, packet,
};

use crate::message::{Delivered, Message};

/// Silence after which a keepalive is sent.
const KEEPALIVE: Duration = Duration::from_secs(1);
/// Silence after which chunks that were not flushed are sent.
const FLUSH: Duration = Duration::from_millis(500);
/// Age of the last transmission of the oldest unacked chunk at which it is resent.
const RESEND: Duration = Duration::from_secs(1);
/// Silence of the peer, or age of an unacked chunk, that ends the connection.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of unacked chunks. It is below half of the sequence number range, so that no new chunk is mistaken
/// for an older one.
const WINDOW: usize = 500;
/// Smallest time step. The limits apply when they are exceeded, not when they are reached, so deadlines are this much
/// later.
const JUST_AFTER: Duration = Duration::from_nanos(1);

/// The result of handling a datagram.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// The datagram is not valid here: it is damaged, has the wrong token, or has an ack outside the window.
    Dropped,
    /// A control message that changes nothing.
    Control,
    /// The peer closed the connection for this reason.
    Closed(String),
    /// Messages in order, each vital one exactly once. Empty if all were duplicates or came after a gap.
    Messages(Vec<Delivered>),
}

/// The reason why a message was not queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// There is no connection.
    #[error("not connected")]
    NotConnected,
    /// Too many chunks are unacked.
    #[error("too weak connection (out of buffer)")]
    OutOfBuffer,
    /// The message does not fit into a chunk.
    #[error(transparent)]
    TooLarge(#[from] teetap_wire::ChunkTooLarge),
}

/// Counters of one connection.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counters {
    /// Datagrams received and valid.
    pub received: u64,
    /// Datagrams received and not valid.
    pub dropped: u64,
    /// Vital chunks sent again.
    pub resent: u64,
    /// Vital chunks received again.
    pub duplicates: u64,
    /// Vital chunks received after a gap, each answered by a resend request.
    pub gaps: u64,
}

/// The protocol and the tokens of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub(crate) proto: Proto,
    /// Token that every valid datagram of the peer has; `None` in 0.6 without tokens.
    pub(crate) expected: Option<Token>,
    /// Token of every datagram that is sent.
    pub(crate) sent: Option<Token>,
}

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct Connection {
    tokens: Tokens,
    sequence: Seq,
    ack: Seq,
    /// True if the next vital chunk defines the ack, as after a challenge.
    ack_is_unknown: bool,
    peer_ack: Seq,
    unacked: VecDeque<Unacked>,
    building: Vec<u8>,
    chunks: u8,
    wants_resend: bool,
    sent_at: Duration,
    received_at: Duration,
    out: VecDeque<Vec<u8>>,
    counters: Counters,
}

/// A vital chunk that the peer has not acked.
#[derive(Debug)]
struct Unacked {
    seq: Seq,
    data: Vec<u8>,
    first_sent: Duration,
    last_sent: Duration,
}

impl Connection {
    /// Creates a connection at sequence number 0.
    pub(crate) fn new(tokens: Tokens, now: Duration) -> Self {
        Self {
            tokens,
            sequence: Seq::ZERO,
            ack: Seq::ZERO,
            ack_is_unknown: false,
            peer_ack: Seq::ZERO,
            unacked: VecDeque::new(),
            building: Vec::new(),
            chunks: 0,
            wants_resend: false,
            sent_at: now,
            received_at: now,
            out: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Creates a connection that has already sent the vital chunks up to `sequence`. The first vital chunk received
    /// defines the ack (0.6.5 network_conn.cpp, `AcceptLegacy`).
    pub(crate) fn resume(tokens: Tokens, sequence: Seq, now: Duration) -> Self {
        Self {
            sequence,
            ack_is_unknown: true,
            ..Self::new(tokens, now)
        }
    }

    pub(crate) fn proto(&self) -> Proto {
        self.tokens.proto
    }

    pub(crate) fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns the next datagram to send; `None` if there is none.
    pub(crate) fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.out.pop_front()
    }

    /// Handles a datagram of the peer. Checks are in the same order as in the games, except that the token is checked
    /// before the ack, so that an unrelated sender cannot move the window.
    pub(crate) fn handle(&mut self, now: Duration, datagram: &[u8]) -> Received {
        let mut scratch = Scratch::default();
        let valid = Packet::parse(self.tokens.proto, datagram, &mut scratch)
            .ok()
            .filter(|packet| {
                packet.header.token == self.tokens.expected
                    && packet.header.ack.is_within(self.peer_ack, self.sequence)
            });
        let Some(packet) = valid else {
            self.counters.dropped += 1;
            return Received::Dropped;
        };
        self.counters.received += 1;
        self.peer_ack = packet.header.ack;
        self.received_at = now;
        if packet.header.flags.contains(Flags::RESEND) {
            self.resend(now, self.unacked.len());
        }
        let received = if packet.header.flags.contains(Flags::CONTROL) {
            match packet.control() {
                Some(Control::Close { reason }) => {
                    Received::Closed(reason.map(teetap_wire::printable).unwrap_or_default())
                }
                _ => Received::Control,
            }
        } else {
            Received::Messages(self.deliver(&packet))
        };
        while self
            .unacked
            .front()
            .is_some_and(|oldest| oldest.seq.is_behind(self.peer_ack))
        {
            self.unacked.pop_front();
        }
        received
    }

    /// Queues a message. It is sent at once if it has the flush flag, otherwise with the next flush.
    ///
    /// # Errors
    /// Returns a [`SendError`] and queues nothing.
    pub(crate) fn send(&mut self, now: Duration, message: &Message) -> Result<(), SendError> {
        if message.vital && self.unacked.len() >= WINDOW {
            return Err(SendError::OutOfBuffer);
        }
        let seq = message.vital.then(|| self.sequence.next());
        self.add_chunk(now, seq, false, &message.data)?;
        if let Some(seq) = seq {
            self.sequence = seq;
            self.unacked.push_back(Unacked {
                seq,
                data: message.data.clone(),
                first_sent: now,
                last_sent: now,
            });
        }
        if message.flush {
            self.flush(now);
        }
        Ok(())
    }

    /// Sends the queued chunks. If there are none but a resend is wanted, sends an empty datagram with the resend
    /// flag, as the games do.
    pub(crate) fn flush(&mut self, now: Duration) {
        if self.chunks == 0 && !self.wants_resend {
            return;
        }
        let flags = if self.wants_resend {
            Flags::RESEND
        } else {
            Flags::empty()
        };
        let payload = std::mem::take(&mut self.building);
        let header = Header {
            flags,
            ack: self.ack,
            num_chunks: self.chunks,
            token: self.tokens.sent,
        };
        // Both ways of ending the Huffman stream exist, so each is used for one protocol.
        let trailing = if self.tokens.proto == Proto::V7 {
            Trailing::Always
        } else {
            Trailing::WhenPartial
        };
        let mut datagram = Vec::new();
        packet::write(
            self.tokens.proto,
            &header,
            &payload,
            Some(trailing),
            &mut datagram,
        );
        self.out.push_back(datagram);
        self.chunks = 0;
        self.wants_resend = false;
        self.sent_at = now;
    }

    /// Runs the timers.
    ///
    /// # Errors
    /// Returns the reason if the connection has ended. The peer has been sent it in a CLOSE.
    pub(crate) fn tick(&mut self, now: Duration) -> Result<(), &'static str> {
        let age = |since: Duration| now.saturating_sub(since);
        let oldest = self.unacked.front();
        let unacked = oldest.map_or(Duration::ZERO, |oldest| age(oldest.first_sent));
        let unsent = oldest.map_or(Duration::ZERO, |oldest| age(oldest.last_sent));
        let ended = if age(self.received_at) > TIMEOUT {
            Some("Timeout")
        } else {
            (unacked > TIMEOUT).then_some("Too weak connection (not acked for 10 seconds)")
        };
        if let Some(reason) = ended {
            self.close(now, reason);
            return Err(reason);
        }
        if unsent > RESEND {
            self.resend(now, 1);
        }
        let silent = now.saturating_sub(self.sent_at);
        if silent > FLUSH {
            self.flush(now);
        }
        if silent > KEEPALIVE && now.saturating_sub(self.sent_at) > KEEPALIVE {
            let mut keepalive = Vec::new();
            control::keepalive(&mut keepalive);
            self.control(now, &keepalive);
        }
        Ok(())
    }

    /// Returns the earliest time at which [`Connection::tick`] has something to do.
    pub(crate) fn deadline(&self) -> Duration {
        let is_waiting = self.chunks > 0 || self.wants_resend;
        let silent = if is_waiting { FLUSH } else { KEEPALIVE };
        let oldest = self.unacked.front();
        let unacked = oldest.map(|oldest| (oldest.first_sent + TIMEOUT).min(oldest.last_sent + RESEND));
        let first = (self.received_at + TIMEOUT).min(self.sent_at + silent);
        unacked.map_or(first, |unacked| unacked.min(first)) + JUST_AFTER
    }

    /// Sends the queued chunks, then a CLOSE. A CLOSE is neither acked nor repeated.
    pub(crate) fn close(&mut self, now: Duration, reason: &str) {
        self.flush(now);
        let mut payload = Vec::new();
        control::close(reason.as_bytes(), &mut payload);
        self.control(now, &payload);
    }

    /// Sends a control message with the current ack.
    pub(crate) fn control(&mut self, now: Duration, payload: &[u8]) {
        let Tokens { proto, sent, .. } = self.tokens;
        self.out
            .push_back(control_datagram(proto, sent, self.ack, payload));
        self.sent_at = now;
    }

    fn deliver(&mut self, packet: &Packet<'_>) -> Vec<Delivered> {
        let mut messages = Vec::new();
        for chunk in packet.chunks() {
            let vital = chunk.header.vital.is_some();
            if let Some(seq) = chunk.header.vital {
                if std::mem::take(&mut self.ack_is_unknown) {
                    self.ack = seq.prev();
                }
                if seq != self.ack.next() {
                    if seq.is_behind(self.ack) {
                        self.counters.duplicates += 1;
                    } else {
                        self.counters.gaps += 1;
                        self.wants_resend = true;
                    }
                    continue;
                }
                self.ack = seq;
            }
            messages.push(Delivered {
                vital,
                data: chunk.data.to_vec(),
            });
        }
        messages
    }

    /// Queues the `count` oldest unacked chunks again. They are sent when a packet is full or at the next flush.
    fn resend(&mut self, now: Duration, count: usize) {
        let mut unacked = std::mem::take(&mut self.unacked);
        for oldest in unacked.iter_mut().take(count) {
            // The size was accepted when the chunk was first queued.
            if self.add_chunk(now, Some(oldest.seq), true, &oldest.data).is_ok() {
                oldest.last_sent = now;
                self.counters.resent += 1;
            }
        }
        self.unacked = unacked;
    }

    fn add_chunk(
        &mut self,
        now: Duration,
        seq: Option<Seq>,
        resend: bool,
        data: &[u8],
    ) -> Result<(), SendError> {
        let size = ChunkHeader::header_len(seq.is_some()) + data.len();
        if self.building.len() + size > MAX_COMPOSED_PAYLOAD || usize::from(self.chunks) >= MAX_CHUNKS {
            self.flush(now);
        }
        chunk::write_chunk(self.tokens.proto, seq, resend, data, &mut self.building)?;
        self.chunks += 1;
        Ok(())
    }
}

/// Makes a datagram with one control message.
pub(crate) fn control_datagram(proto: Proto, token: Option<Token>, ack: Seq, payload: &[u8]) -> Vec<u8> {
    let header = Header {
        flags: Flags::CONTROL,
        ack,
        num_chunks: 0,
        token,
    };
    let mut datagram = Vec::new();
    packet::write(proto, &header, payload, None, &mut datagram);
    datagram
}
