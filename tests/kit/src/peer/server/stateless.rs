//! A server's handling of addresses without a slot: answers to CONNECT and token requests, opening and refusing.

use std::net::SocketAddr;

use super::Server;
use crate::codec::{NO_TOKEN, TKEN, Token, Variant, control, open};
use crate::link::SECOND;
use crate::peer::{Drop, Events, Peer, State};

impl Server {
    /// Handles messages that a real server handles before the slot: CONNECT and ACCEPT inside a session. Returns true
    /// if the slot receives the datagram too.
    pub(super) fn known(&mut self, from: SocketAddr, bytes: &[u8], now: u64) -> bool {
        let Some(format) = self.peer(from).map(Peer::format) else {
            return false;
        };
        if format.is_seven() {
            let connect = control::offered(bytes).is_some() && bytes.get(7) == Some(&control::CONNECT);
            self.counters.repeated_connects += u64::from(connect);
            return true;
        }
        let Ok(opened) = open(Variant::V6, bytes) else {
            return true;
        };
        let flags = opened.head.flags;
        if !flags.control || flags.connless {
            return true;
        }
        match opened.payload.split_first() {
            Some((&control::CONNECT, extra)) => {
                self.counters.repeated_connects += 1;
                if !self.variant.is_ddnet() {
                    return false;
                }
                if extra.starts_with(&TKEN) && extra.len() >= 8 {
                    self.answer_connect(Variant::Ddnet, from, NO_TOKEN, now);
                }
                true
            }
            Some((&control::ACCEPT, token)) if self.variant.is_ddnet() && token == self.token(from, now) => {
                self.counters.rejoins += 1;
                if let Some(slot) = self.slots.get_mut(&from) {
                    slot.peer.rejoin();
                    slot.greet(&self.policy.greeting, now);
                }
                true
            }
            _ => true,
        }
    }

    pub(super) fn unknown(&mut self, from: SocketAddr, bytes: &[u8], now: u64) -> Events {
        if bytes.first().is_some_and(|first| first & 0x20 != 0) {
            self.counters.connless += 1;
            return Events {
                dropped: Some(Drop::Connless),
                ..Events::default()
            };
        }
        let seven = bytes.first().is_some_and(|first| first & 0xfc == 0x04);
        match self.variant {
            Variant::V7 => self.unknown_seven(Variant::V7, from, bytes, now),
            Variant::V6 => self.unknown_tokenless(from, bytes, now),
            Variant::V65 => self.unknown_65(from, bytes, now),
            Variant::Ddnet | Variant::D7 if seven => self.unknown_seven(Variant::D7, from, bytes, now),
            Variant::Ddnet | Variant::D7 => self.unknown_ddnet(from, bytes, now),
        }
    }

    fn unknown_tokenless(&mut self, from: SocketAddr, bytes: &[u8], now: u64) -> Events {
        let Ok(opened) = open(Variant::V6, bytes) else {
            return self.stray();
        };
        let is_connect = opened.head.flags.control && opened.payload.first() == Some(&control::CONNECT);
        // The slot's window begins and ends with 0 (0.6.4 `CNetConnection::Feed`); twelve bits are read.
        if !is_connect || opened.head.ack != 0 {
            return self.stray();
        }
        if self.admit(Variant::V6, from, NO_TOKEN) {
            let slot = self.open(Variant::V6, from, (NO_TOKEN, NO_TOKEN), State::Pending, now);
            slot.send_control(control::CONNECT_ACCEPT, &[], now);
        }
        Events::default()
    }

    /// Handles a datagram as 0.6.5 does. It keeps nothing until a datagram with the right token arrives, of any kind
    /// but CONNECT.
    fn unknown_65(&mut self, from: SocketAddr, bytes: &[u8], now: u64) -> Events {
        let Ok(opened) = open(Variant::V65, bytes) else {
            return self.stray();
        };
        if opened.head.flags.control && opened.payload.first() == Some(&control::CONNECT) {
            let Some(client) = opened.payload.get(5..9).filter(|_| opened.payload.len() >= 513) else {
                // A shorter CONNECT requests the handshake of older clients.
                if self.policy.challenges {
                    self.challenge(from, now);
                    return Events::default();
                }
                return self.stray();
            };
            let client = client.try_into().unwrap_or(NO_TOKEN);
            self.answer_connect(Variant::V65, from, client, now);
            return Events::default();
        }
        if opened.head.token.is_none() && self.policy.challenges {
            return self.proof(from, bytes, now);
        }
        let Some(token) = opened
            .head
            .token
            .filter(|token| self.tokens.is_valid(*token, from, now))
        else {
            return self.stray();
        };
        if !self.admit(Variant::V65, from, token) {
            return Events::default();
        }
        // The slot has never sent anything (0.6.5 `CNetConnection::Accept`), so its first keepalive is due.
        self.open(Variant::V65, from, (token, token), State::Online, now)
            .last_send = 0;
        let events = self.feed(from, bytes, now);
        Events {
            online: true,
            ..events
        }
    }

    fn unknown_ddnet(&mut self, from: SocketAddr, bytes: &[u8], now: u64) -> Events {
        if let Some(Variant::Ddnet) = control::offered(bytes) {
            self.answer_connect(Variant::Ddnet, from, NO_TOKEN, now);
            return Events::default();
        }
        if control::offered(bytes).is_some() && self.policy.challenges {
            self.challenge(from, now);
            return Events::default();
        }
        if control::offered(bytes).is_some() {
            // Without the anti-spoof handshake an old client has a slot immediately, answered or not.
            self.outgoing
                .push((from, control::connect_accept(Variant::V6, NO_TOKEN, NO_TOKEN)));
            if self.admit(Variant::V6, from, NO_TOKEN) {
                self.open(Variant::V6, from, (NO_TOKEN, NO_TOKEN), State::Online, now);
            }
            return Events::default();
        }
        let token = self.token(from, now);
        match open(Variant::V6, bytes) {
            Ok(opened) if opened.head.flags.control && opened.payload.starts_with(&[control::ACCEPT]) => {
                if opened.payload.get(1..5) != Some(&token) {
                    return self.stray();
                }
                let admitted = self.admit(Variant::Ddnet, from, token);
                if admitted {
                    self.open(Variant::Ddnet, from, (token, token), State::Online, now);
                }
                Events {
                    online: admitted,
                    ..Events::default()
                }
            }
            _ if self.policy.challenges => self.proof(from, bytes, now),
            _ => self.stray(),
        }
    }

    fn unknown_seven(&mut self, variant: Variant, from: SocketAddr, bytes: &[u8], now: u64) -> Events {
        let Ok(opened) = open(variant, bytes) else {
            return self.stray();
        };
        let (payload, token) = (&opened.payload, opened.head.token.unwrap_or(NO_TOKEN));
        let client = payload
            .get(1..5)
            .and_then(|token| token.try_into().ok())
            .unwrap_or(NO_TOKEN);
        if !opened.head.flags.control {
            return self.stray();
        }
        match payload.first() {
            Some(&control::TOKEN)
                if payload.len() >= 512 && (variant == Variant::D7 || token == NO_TOKEN) =>
            {
                self.counters.answers += 1;
                let reply = control::token_reply(variant, client, self.token(from, now));
                self.outgoing.push((from, reply));
                Events::default()
            }
            Some(&control::CONNECT) if payload.len() >= 5 && self.tokens.is_valid(token, from, now) => {
                if !self.admit(variant, from, client) {
                    return Events::default();
                }
                let pending = variant == Variant::V7;
                let state = if pending { State::Pending } else { State::Online };
                let slot = self.open(variant, from, (token, client), state, now);
                // DDNet sends it once and adds its own token, which no client reads.
                slot.send_control(control::CONNECT_ACCEPT, if pending { &[] } else { &token }, now);
                Events {
                    online: !pending,
                    ..Events::default()
                }
            }
            _ => self.stray(),
        }
    }

    fn proof(&mut self, from: SocketAddr, bytes: &[u8], now: u64) -> Events {
        if !self.proves_itself(from, bytes, now) {
            return self.stray();
        }
        Events {
            online: self.slots.contains_key(&from),
            ..Events::default()
        }
    }

    fn stray(&mut self) -> Events {
        self.counters.stray += 1;
        Events {
            dropped: Some(Drop::Stray),
            ..Events::default()
        }
    }

    fn answer_connect(&mut self, variant: Variant, to: SocketAddr, client: Token, now: u64) {
        self.counters.answers += 1;
        self.outgoing
            .push((to, control::connect_accept(variant, client, self.token(to, now))));
    }

    /// Sends the ban to every sender: in 0.7 with the client's token if the packet had one, at most every 5 seconds;
    /// in 0.6.5 with the token of the packet; in DDNet in the tokenless form, whatever the client speaks.
    pub(super) fn answer_banned(&mut self, from: SocketAddr, bytes: &[u8], text: &str, now: u64) {
        let token = match self.variant {
            Variant::V7 => {
                let Ok(opened) = open(Variant::V7, bytes) else {
                    return;
                };
                if self
                    .ban_replies
                    .get(&from)
                    .is_some_and(|last| now - last <= 5 * SECOND)
                {
                    return;
                }
                self.ban_replies.insert(from, now);
                let asking = matches!(opened.payload.first(), Some(&(control::TOKEN | control::CONNECT)));
                let token = opened
                    .payload
                    .get(1..5)
                    .filter(|_| asking && opened.head.flags.control);
                Some((
                    Variant::V7,
                    token.and_then(|token| token.try_into().ok()).unwrap_or(NO_TOKEN),
                ))
            }
            Variant::V65 => {
                let Ok(opened) = open(Variant::V65, bytes) else {
                    return;
                };
                let requested = opened.payload.get(5..9).filter(|_| opened.payload.len() >= 513);
                let requested = requested.and_then(|token| token.try_into().ok());
                opened.head.token.or(requested).map(|token| (Variant::V65, token))
            }
            Variant::V6 | Variant::Ddnet | Variant::D7 => None,
        };
        let (format, token) = token.unwrap_or((Variant::V6, NO_TOKEN));
        self.refuse(format, from, token, text);
    }
}
