//! Receiving: the checks of a datagram in the reference's order, then its control message or its chunks.

use super::{Delivered, Drop, Events, Flaw, Peer, SEQUENCES, State, in_backroom, in_window};
use crate::codec::{Head, NO_TOKEN, Opened, Token, Variant, control, open};

impl Peer {
    /// Handles a datagram of the other side.
    pub fn receive(&mut self, bytes: &[u8], now: u64) -> Events {
        self.counters.received += 1;
        let mut events = Events::default();
        if let Err(drop) = self.feed(bytes, now, &mut events) {
            let count = match drop {
                Drop::Ahead => &mut self.counters.ahead,
                Drop::Behind => &mut self.counters.behind,
                Drop::WrongToken => &mut self.counters.wrong_token,
                Drop::Malformed => &mut self.counters.malformed,
                Drop::Connless => &mut self.counters.connless,
                Drop::Stray => &mut self.counters.stray,
            };
            *count += 1;
            events.dropped = Some(drop);
        }
        events
    }

    fn feed(&mut self, bytes: &[u8], now: u64, events: &mut Events) -> Result<(), Drop> {
        if self.is_over() || self.state == State::Idle {
            return Err(Drop::Stray);
        }
        // A DDNet client learns only from the answer to CONNECT whether there are tokens.
        let unsure = self.variant == Variant::Ddnet && self.state == State::Connecting;
        let format = if unsure { Variant::V6 } else { self.format };
        let opened = open(format, bytes).map_err(|_| Drop::Malformed)?;
        let head = opened.head;
        if head.flags.connless {
            return Err(Drop::Connless);
        }
        if head.flags.compressed && self.options.flaw == Some(Flaw::NoInflate) {
            return Err(Drop::Malformed);
        }
        if self.variant.is_ddnet() && self.options.strict && !is_sound(&opened) {
            return Err(Drop::Malformed);
        }
        // 0.7 checks the ack first: a datagram with a wrong token still moves the window.
        if self.variant == Variant::V7 {
            self.check_ack(head.ack)?;
            self.check_token(&opened)?;
        } else {
            self.check_token(&opened)?;
            self.check_ack(head.ack)?;
        }
        if head.flags.resend {
            self.counters.resend_requests += 1;
            self.answer_resend(now);
        }
        if head.flags.control {
            self.control(&head, &opened.payload, now, events);
        } else if self.state == State::Pending {
            self.state = State::Online;
            events.online = true;
        }
        if self.is_online() {
            self.last_receive = now;
            self.take_ack(head.ack);
        }
        if !self.is_over() {
            self.chunks(&opened, now, events);
        }
        Ok(())
    }

    fn check_ack(&mut self, ack: u16) -> Result<(), Drop> {
        if !in_window(ack, self.peer_ack, self.sequence) {
            return Err(if in_backroom(ack, self.peer_ack) {
                Drop::Behind
            } else {
                Drop::Ahead
            });
        }
        self.peer_ack = ack;
        Ok(())
    }

    fn check_token(&self, opened: &Opened<'_>) -> Result<(), Drop> {
        let fits = match (self.format, opened.head.token) {
            (Variant::V6, _) => true,
            (Variant::Ddnet, _) if self.state == State::Connecting => true,
            // 0.6.5 accepts one message without token: the answer of an older server.
            (Variant::V65, None) => {
                opened.head.flags.control && opened.payload.first() == Some(&control::CONNECT_ACCEPT)
            }
            (_, token) => token == Some(self.own_token),
        };
        if fits { Ok(()) } else { Err(Drop::WrongToken) }
    }

    fn control(&mut self, head: &Head, payload: &[u8], now: u64, events: &mut Events) {
        let Some((message, extra)) = payload.split_first() else {
            return;
        };
        match (*message, &self.state) {
            (control::CLOSE, _) => {
                self.state = State::Closed {
                    reason: reason(extra),
                    by_peer: true,
                };
                events.closed = true;
            }
            (control::TOKEN, State::WantToken) => self.got_token(extra, now),
            (control::CONNECT_ACCEPT, State::Connecting) => {
                events.online = self.got_connect_accept(head, extra, now);
            }
            (control::TOKEN, State::Online) if self.variant == Variant::V7 => {
                self.counters.rekeyed += 1;
                self.peer_token = first_token(extra).unwrap_or(NO_TOKEN);
            }
            (control::KEEPALIVE, _) => self.counters.keepalives += 1,
            _ => {}
        }
    }

    fn chunks(&mut self, opened: &Opened<'_>, now: u64, events: &mut Events) {
        let mut walk = opened.chunks();
        for chunk in walk.by_ref() {
            match chunk.seq {
                None => {}
                Some(seq) if self.ack_is_unknown => {
                    self.ack_is_unknown = false;
                    self.ack = seq;
                }
                Some(seq) if seq == (self.ack + 1) % SEQUENCES => self.ack = seq,
                Some(seq) if in_backroom(seq, self.ack) => {
                    self.counters.duplicates += 1;
                    continue;
                }
                Some(seq) if self.options.flaw == Some(Flaw::AcksSeen) => self.ack = seq,
                Some(_) => {
                    self.counters.gaps += 1;
                    self.construct.resend = true;
                    continue;
                }
            }
            events.delivered += 1;
            self.delivered.push(Delivered {
                vital: chunk.seq.is_some(),
                data: chunk.data.to_vec(),
            });
            self.answer_join(chunk.data, now);
        }
        self.counters.missing_chunks += u64::from(walk.left());
        let data = !opened.head.flags.control;
        self.counters.trailing += u64::from(data && walk.left() == 0 && !walk.rest().is_empty());
    }
}

/// Returns the first four bytes of a control message's extra data.
pub(super) fn first_token(extra: &[u8]) -> Option<Token> {
    extra.first_chunk().copied()
}

/// Returns true if DDNet since 19.4 accepts the packet (DDNet network.cpp, `IsValidConnectionOrientedPacket`).
fn is_sound(opened: &Opened<'_>) -> bool {
    let Head {
        flags,
        spare,
        ack,
        num_chunks,
        ..
    } = opened.head;
    let known_flags = spare == 0 && ack < SEQUENCES;
    let whole = if flags.control {
        !flags.compressed && num_chunks == 0 && !opened.payload.is_empty()
    } else {
        num_chunks > 0 || flags.resend
    };
    known_flags && whole
}

fn reason(extra: &[u8]) -> String {
    let text = extra.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text.get(..127).unwrap_or(text)).into_owned()
}
