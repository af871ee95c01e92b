//! Sending: the packet under construction, the buffer of unacked chunks, control messages.

use super::{Flaw, Peer, SEQUENCES, State, Unacked};
use crate::codec::{Flags, Head, Token, Variant, control, put_chunk, seal};
use crate::link::SECOND;

/// Bytes that the reference's ring buffer of unacked chunks can hold (32 KiB minus its own overhead).
const RING: usize = 32_760;

impl Peer {
    /// Queues a vital message for the next flush. Returns false if the peer is not online, or if the buffer of
    /// unacked chunks was full, which ends the session.
    ///
    /// The message must be below 1024 bytes in 0.6, up to 1388 in 0.7.
    pub fn send_vital(&mut self, message: &[u8], now: u64) -> bool {
        if !self.is_online() {
            return false;
        }
        self.sequence = (self.sequence + 1) % SEQUENCES;
        let seq = self.sequence;
        self.queue(Some(seq), false, message, now);
        self.save(seq, message, now);
        self.is_online()
    }

    /// Queues a message that may get lost. Returns false if the peer is not online.
    pub fn send_nonvital(&mut self, message: &[u8], now: u64) -> bool {
        let online = self.is_online();
        if online {
            self.queue(None, false, message, now);
        }
        online
    }

    /// Returns true if the buffer of unacked chunks has room for a message of this length. A full buffer ends the
    /// session in Teeworlds; DDNet sends without saving.
    pub fn has_room(&self, length: usize) -> bool {
        self.unacked_bytes + block(length) <= RING
    }

    /// Sends the packet under construction if it is not empty.
    pub fn flush(&mut self, now: u64) {
        let construct = &mut self.construct;
        if construct.num_chunks == 0 && !construct.resend {
            return;
        }
        let mut head = Head::new(self.format, self.ack, None);
        head.num_chunks = construct.num_chunks;
        head.flags = Flags {
            resend: construct.resend,
            ..Flags::default()
        };
        head.token = (self.format != Variant::V6).then_some(self.peer_token);
        self.counters.resends_requested += u64::from(construct.resend);
        let bytes = seal(&head, &construct.payload, self.options.packing);
        construct.payload.clear();
        construct.num_chunks = 0;
        construct.resend = false;
        self.emit(bytes, now);
    }

    /// Ends the session with a CLOSE.
    pub fn close(&mut self, reason: &str, now: u64) {
        if self.is_over() || self.state == State::Idle {
            return;
        }
        self.send_close(reason, now);
        self.state = State::Closed {
            reason: reason.to_owned(),
            by_peer: false,
        };
    }

    pub(super) fn send_close(&mut self, reason: &str, now: u64) {
        let bytes = control::close(self.format, self.ack, self.wire_token(), reason);
        self.emit(bytes, now);
    }

    pub(super) fn send_control(&mut self, message: u8, extra: &[u8], now: u64) {
        let bytes = control::control(self.format, self.ack, self.wire_token(), message, &[extra]);
        self.emit(bytes, now);
    }

    pub(super) fn emit(&mut self, bytes: Vec<u8>, now: u64) {
        self.counters.sent += 1;
        self.last_send = now;
        self.outgoing.push(bytes);
    }

    /// Answers a RESEND request: retransmits all unacked chunks, as often as the options allow.
    pub(super) fn answer_resend(&mut self, now: u64) {
        if self.options.flaw == Some(Flaw::SendsOnce) {
            return;
        }
        if let Some(most) = self.options.resends_per_second {
            let second = now / SECOND;
            if self.resend_second.0 != second {
                self.resend_second = (second, 0);
            }
            self.resend_waits = self.resend_second.1 >= most;
            if self.resend_waits {
                return;
            }
            self.resend_second.1 += 1;
        }
        let mut unacked = std::mem::take(&mut self.unacked);
        for chunk in &mut unacked {
            self.resend(chunk, now);
        }
        self.unacked = unacked;
    }

    /// Retransmits the oldest unacked chunk.
    pub(super) fn resend_oldest(&mut self, now: u64) {
        if self.options.flaw == Some(Flaw::SendsOnce) {
            return;
        }
        if let Some(mut oldest) = self.unacked.pop_front() {
            self.resend(&mut oldest, now);
            self.unacked.push_front(oldest);
        }
    }

    fn resend(&mut self, chunk: &mut Unacked, now: u64) {
        self.counters.resent_chunks += 1;
        self.queue(Some(chunk.seq), true, &chunk.data, now);
        chunk.last_sent = now;
    }

    /// Releases the chunks that an ack covers.
    pub(super) fn take_ack(&mut self, ack: u16) {
        if self.options.flaw == Some(Flaw::IgnoresAcks) {
            return;
        }
        while self
            .unacked
            .front()
            .is_some_and(|oldest| super::in_backroom(oldest.seq, ack))
        {
            if let Some(gone) = self.unacked.pop_front() {
                self.unacked_bytes -= block(gone.data.len());
            }
        }
    }

    fn queue(&mut self, seq: Option<u16>, resend: bool, data: &[u8], now: u64) {
        // The references reserve a worst-case header: 5 bytes in 0.6 and DDNet, 3 in 0.7.
        let header = if self.variant == Variant::V7 { 3 } else { 5 };
        let full = self.construct.payload.len() + data.len() + header > self.variant.flush_limit();
        if full || self.construct.num_chunks == u8::MAX {
            self.flush(now);
        }
        put_chunk(&mut self.construct.payload, self.format, seq, resend, data);
        self.construct.num_chunks += 1;
    }

    fn save(&mut self, seq: u16, data: &[u8], now: u64) {
        if self.has_room(data.len()) {
            self.unacked_bytes += block(data.len());
            self.unacked.push_back(Unacked {
                seq,
                data: data.to_vec(),
                first_sent: now,
                last_sent: now,
            });
        } else if self.variant.is_ddnet() {
            self.counters.unsaved += 1;
        } else {
            self.die("too weak connection (out of buffer)", now);
        }
    }

    fn wire_token(&self) -> Option<Token> {
        (self.format != Variant::V6).then_some(self.peer_token)
    }
}

/// Returns the bytes that a chunk occupies in the ring buffer (64 bit).
fn block(length: usize) -> usize {
    (40 + length + 47) / 24 * 24
}
