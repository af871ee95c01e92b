//! One end of a connection: sequence numbers, acks, resends, keepalives and timeouts as the reference peers do them
//! (Teeworlds 0.6.5 and 0.7.5, DDNet: network_conn.cpp).
//!
//! Law: no socket and no clock. `now` is the time since the start of the run; datagrams to send are fetched with
//! [`Endpoint::take`]. The handshake is not in here: an endpoint begins where both tokens are known.

use std::collections::VecDeque;
use std::time::Duration;

use teetap_wire::{
    ChunkHeader, Control, Flags, Header, MAX_CHUNKS, MAX_COMPOSED_PAYLOAD, Packet, Proto, Scratch, Seq,
    Token, Trailing, chunk, control, packet,
};

/// A datagram leaves after this long without one.
const KEEPALIVE: Duration = Duration::from_secs(1);
/// Chunks that were not flushed leave when nothing was sent for this long.
const FLUSH: Duration = Duration::from_millis(500);
/// The oldest unacked chunk is sent again when its last transmission is this old.
const RESEND: Duration = Duration::from_secs(1);
/// Silence of the peer, or a chunk it did not ack, ends the connection after this long.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The most unacked chunks: fewer than half of the sequence numbers, so that none is taken for an older one.
const WINDOW: usize = 500;

/// A message as a chunk carried it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub vital: bool,
    pub data: Vec<u8>,
}

/// The content of a datagram.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    /// Not valid here: damaged, wrong token, or an ack outside the window.
    Dropped,
    /// A control message that changes nothing.
    Control,
    /// The peer closed, with this reason.
    Closed(String),
    /// Messages in order, each vital one exactly once. Empty when all were duplicates or came too early.
    Messages(Vec<Message>),
}

/// More unacked chunks than [`WINDOW`], or a message that is larger than a chunk can be.
#[derive(Debug, PartialEq, Eq)]
pub struct OutOfBuffer;

/// Counts of one connection.
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
    /// Gaps seen, each answered by a resend request.
    pub gaps: u64,
}

/// One end of a connection.
#[derive(Debug)]
pub struct Endpoint {
    proto: Proto,
    /// Token that every valid datagram of the peer has.
    expects: Token,
    /// Token of every datagram sent.
    token: Token,
    sequence: Seq,
    ack: Seq,
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

impl Endpoint {
    /// A connection at sequence 0. In DDNet's 0.6 both tokens are the one the server chose.
    pub fn new(proto: Proto, expects: Token, token: Token, now: Duration) -> Self {
        Self {
            proto,
            expects,
            token,
            sequence: Seq::ZERO,
            ack: Seq::ZERO,
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

    pub fn token(&self) -> Token {
        self.token
    }

    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns the next datagram to send.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        self.out.pop_front()
    }

    /// Takes a datagram of the peer. Checks in the order of the reference, but the token before the ack, so that a
    /// stranger cannot move the window.
    pub fn feed(&mut self, now: Duration, datagram: &[u8]) -> Received {
        let mut scratch = Scratch::default();
        let valid = Packet::parse(self.proto, datagram, &mut scratch)
            .ok()
            .filter(|packet| {
                packet.header.token == Some(self.expects)
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

    /// Queues a message. It leaves with the next flush, or now if `flush`.
    ///
    /// # Errors
    /// [`OutOfBuffer`]; nothing is queued then.
    pub fn send(&mut self, now: Duration, vital: bool, data: &[u8], flush: bool) -> Result<(), OutOfBuffer> {
        if vital && self.unacked.len() >= WINDOW {
            return Err(OutOfBuffer);
        }
        let seq = vital.then(|| self.sequence.next());
        self.add_chunk(now, seq, false, data)?;
        if let Some(seq) = seq {
            self.sequence = seq;
            self.unacked.push_back(Unacked {
                seq,
                data: data.to_vec(),
                first_sent: now,
                last_sent: now,
            });
        }
        if flush {
            self.flush(now);
        }
        Ok(())
    }

    /// Sends what is queued. Without chunks a wanted resend makes an empty datagram, as in the reference.
    pub fn flush(&mut self, now: Duration) {
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
            token: Some(self.token),
        };
        // Both forms of the Huffman stream's end are in use: let the demo show both.
        let trailing = if self.proto == Proto::V7 {
            Trailing::Always
        } else {
            Trailing::WhenPartial
        };
        let mut datagram = Vec::new();
        packet::write(self.proto, &header, &payload, Some(trailing), &mut datagram);
        self.out.push_back(datagram);
        self.chunks = 0;
        self.wants_resend = false;
        self.sent_at = now;
    }

    /// Runs the timers.
    ///
    /// # Errors
    /// The reason, when the connection has ended. The peer has been sent it.
    pub fn tick(&mut self, now: Duration) -> Result<(), &'static str> {
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

    /// Sends what is queued, then a CLOSE. It is neither acked nor repeated.
    pub fn close(&mut self, now: Duration, reason: &str) {
        self.flush(now);
        let mut payload = Vec::new();
        control::close(reason.as_bytes(), &mut payload);
        self.control(now, &payload);
    }

    /// Sends a control message with the current ack.
    pub fn control(&mut self, now: Duration, payload: &[u8]) {
        self.out
            .push_back(control_datagram(self.proto, self.token, self.ack, payload));
        self.sent_at = now;
    }

    fn deliver(&mut self, packet: &Packet<'_>) -> Vec<Message> {
        let mut messages = Vec::new();
        for chunk in packet.chunks() {
            let vital = chunk.header.vital.is_some();
            if let Some(seq) = chunk.header.vital {
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
            messages.push(Message {
                vital,
                data: chunk.data.to_vec(),
            });
        }
        messages
    }

    /// Queues the `count` oldest unacked chunks again. They leave when a packet is full or at the next flush.
    fn resend(&mut self, now: Duration, count: usize) {
        let mut unacked = std::mem::take(&mut self.unacked);
        for oldest in unacked.iter_mut().take(count) {
            // The size was accepted when the chunk was first sent.
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
    ) -> Result<(), OutOfBuffer> {
        let size = ChunkHeader::header_len(seq.is_some()) + data.len();
        if self.building.len() + size > MAX_COMPOSED_PAYLOAD || usize::from(self.chunks) >= MAX_CHUNKS {
            self.flush(now);
        }
        chunk::write_chunk(self.proto, seq, resend, data, &mut self.building).map_err(|_| OutOfBuffer)?;
        self.chunks += 1;
        Ok(())
    }
}

/// A datagram with one control message.
pub fn control_datagram(proto: Proto, token: Token, ack: Seq, payload: &[u8]) -> Vec<u8> {
    let header = Header {
        flags: Flags::CONTROL,
        ack,
        num_chunks: 0,
        token: Some(token),
    };
    let mut datagram = Vec::new();
    packet::write(proto, &header, payload, None, &mut datagram);
    datagram
}
