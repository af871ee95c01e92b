//! A server: slots keyed by the clients' addresses, and the stateless part of the handshakes.
//!
//! Law: opens, ignores, refuses and resets sessions exactly if the real server of its variant does. A server of DDNet
//! ([`Variant::Ddnet`] or [`Variant::D7`], which are the same here) accepts tokenless, token and 0.7 clients.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::{Drop, Events, Options, Peer, Role, State};
use crate::codec::{Token, Variant, control};
use crate::link::Random;

pub(super) mod challenge;
mod stateless;
mod tokens;

use tokens::Tokens;

/// A reason to refuse clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No slot is free.
    Full,
    /// The address is banned, with the text of the ban.
    Banned(String),
    /// The first vital message of a session is answered with CLOSE "Wrong password".
    WrongPassword,
}

/// The policy of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Number of slots.
    pub max_clients: usize,
    /// Number of slots for one IP address.
    pub max_clients_per_ip: usize,
    /// The reason to refuse every client; `None` to accept them.
    pub refusal: Option<Refusal>,
    /// Vital messages sent after a client's first vital message, as a real server sends its map; sent again after a
    /// rejoin. A client that had to prove its address receives them immediately.
    pub greeting: Vec<Vec<u8>>,
    /// True if clients without tokens have to prove their address by the tick that they ack: `sv_allow_old_clients`
    /// of 0.6.5, which does not answer such clients without it, and `sv_vanilla_antispoof` of DDNet, which trusts
    /// them without it.
    pub challenges: bool,
    /// Options of the slots.
    pub options: Options,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            max_clients: 64,
            max_clients_per_ip: 64,
            refusal: None,
            greeting: Vec::new(),
            challenges: false,
            options: Options::default(),
        }
    }
}

impl Policy {
    /// Returns the policy of a server that answers the first message of each client with `text`.
    pub fn greets(text: &[u8]) -> Self {
        let greeting = vec![text.to_vec()];
        Self {
            greeting,
            ..Self::default()
        }
    }

    /// Returns the policy of a server that refuses every client.
    pub fn refuses(refusal: Refusal) -> Self {
        let refusal = Some(refusal);
        Self {
            refusal,
            ..Self::default()
        }
    }
}

/// The counters of a server for everything outside its slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerCounters {
    /// Slots opened.
    pub opened: u64,
    /// CLOSE sent to clients without a slot.
    pub refused: u64,
    /// Stateless answers to CONNECT and token requests.
    pub answers: u64,
    /// CONNECTs of addresses that have a slot.
    pub repeated_connects: u64,
    /// DDNet: ACCEPTs inside a session, which restart the numbering. A proxy must never cause one.
    pub rejoins: u64,
    /// Datagrams of addresses without a slot that do not open one.
    pub stray: u64,
    /// Connless datagrams.
    pub connless: u64,
}

/// The ends of several sessions at one server address.
#[derive(Clone, Debug)]
pub struct Server {
    /// The policy; it can be changed at any time.
    pub policy: Policy,
    /// The counters for everything outside the slots.
    pub counters: ServerCounters,
    /// Ended sessions in the order of their ends, with everything they received.
    pub finished: Vec<(SocketAddr, Peer)>,
    variant: Variant,
    tokens: Tokens,
    slots: BTreeMap<SocketAddr, Slot>,
    outgoing: Vec<(SocketAddr, Vec<u8>)>,
    ban_replies: BTreeMap<SocketAddr, u64>,
}

#[derive(Clone, Debug)]
struct Slot {
    peer: Peer,
    greeted: bool,
}

impl Server {
    /// Creates a server without clients.
    pub fn new(variant: Variant, policy: Policy, seed: u64) -> Self {
        Self {
            policy,
            counters: ServerCounters::default(),
            finished: Vec::new(),
            variant,
            tokens: Tokens::new(variant, Random::new(seed).bits()),
            slots: BTreeMap::new(),
            outgoing: Vec::new(),
            ban_replies: BTreeMap::new(),
        }
    }

    /// Returns the slot of a client address.
    pub fn peer(&self, address: SocketAddr) -> Option<&Peer> {
        self.slots.get(&address).map(|slot| &slot.peer)
    }

    /// Returns the slot of a client address, for sending.
    pub fn peer_mut(&mut self, address: SocketAddr) -> Option<&mut Peer> {
        self.slots.get_mut(&address).map(|slot| &mut slot.peer)
    }

    /// Returns all slots by address.
    pub fn peers(&self) -> impl Iterator<Item = (SocketAddr, &Peer)> {
        self.slots.iter().map(|(address, slot)| (*address, &slot.peer))
    }

    /// Returns all slots by address, for sending.
    pub fn peers_mut(&mut self) -> impl Iterator<Item = (SocketAddr, &mut Peer)> {
        self.slots
            .iter_mut()
            .map(|(address, slot)| (*address, &mut slot.peer))
    }

    /// Returns the token that the server currently gives this address.
    pub fn token(&self, address: SocketAddr, now: u64) -> Token {
        self.tokens.current(address, now)
    }

    /// Handles a datagram of a client address.
    pub fn receive(&mut self, from: SocketAddr, bytes: &[u8], now: u64) -> Events {
        if let Some(Refusal::Banned(text)) = &self.policy.refusal {
            let text = text.clone();
            self.answer_banned(from, bytes, &text, now);
            return Events::default();
        }
        if self.slots.contains_key(&from) && self.known(from, bytes, now) {
            return self.feed(from, bytes, now);
        }
        if !self.slots.contains_key(&from) {
            return self.unknown(from, bytes, now);
        }
        Events {
            dropped: Some(Drop::Stray),
            ..Events::default()
        }
    }

    /// Does everything that is due by `now` in all slots, and retires the ended ones.
    pub fn update(&mut self, now: u64) {
        for slot in self.slots.values_mut() {
            slot.peer.update(now);
        }
        if self.slots.values().any(|slot| slot.peer.is_over()) {
            let outgoing = self.collect();
            self.outgoing.extend(outgoing);
            let ended = self.slots.extract_if(.., |_, slot| slot.peer.is_over());
            self.finished
                .extend(ended.map(|(address, slot)| (address, slot.peer)));
        }
    }

    /// Removes and returns the datagrams to send: stateless answers first, then the slots' datagrams by address.
    pub fn take_outgoing(&mut self) -> Vec<(SocketAddr, Vec<u8>)> {
        let mut outgoing = std::mem::take(&mut self.outgoing);
        outgoing.extend(self.collect());
        outgoing
    }

    fn greet(&mut self, to: SocketAddr, now: u64) {
        if let Some(slot) = self.slots.get_mut(&to) {
            slot.greeted = true;
            slot.greet(&self.policy.greeting, now);
        }
    }

    fn collect(&mut self) -> Vec<(SocketAddr, Vec<u8>)> {
        let slots = self.slots.iter_mut();
        slots
            .flat_map(|(address, slot)| slot.peer.outgoing.drain(..).map(|bytes| (*address, bytes)))
            .collect()
    }

    fn feed(&mut self, from: SocketAddr, bytes: &[u8], now: u64) -> Events {
        let Some(slot) = self.slots.get_mut(&from) else {
            return Events::default();
        };
        let events = slot.peer.receive(bytes, now);
        let fresh = slot.peer.delivered.iter().rev().take(events.delivered);
        if slot.greeted || !slot.peer.is_online() || !fresh.into_iter().any(|message| message.vital) {
            return events;
        }
        slot.greeted = true;
        if self.policy.refusal == Some(Refusal::WrongPassword) {
            slot.peer.close("Wrong password", now);
        } else {
            slot.greet(&self.policy.greeting, now);
        }
        events
    }

    /// Returns true if a slot is free for the address; otherwise sends it a CLOSE with `token`.
    fn admit(&mut self, format: Variant, from: SocketAddr, token: Token) -> bool {
        let neighbours = self
            .slots
            .keys()
            .filter(|address| address.ip() == from.ip())
            .count();
        let limit = self.policy.max_clients_per_ip;
        let reason = if neighbours >= limit {
            format!("Only {limit} players with the same IP are allowed")
        } else if self.slots.len() >= self.policy.max_clients || self.policy.refusal == Some(Refusal::Full) {
            "This server is full".to_owned()
        } else {
            return true;
        };
        self.refuse(format, from, token, &reason);
        false
    }

    fn refuse(&mut self, format: Variant, to: SocketAddr, token: Token, reason: &str) {
        self.counters.refused += 1;
        let token = (format != Variant::V6).then_some(token);
        self.outgoing.push((to, control::close(format, 0, token, reason)));
    }

    fn open(
        &mut self,
        format: Variant,
        from: SocketAddr,
        (own, client): (Token, Token),
        state: State,
        now: u64,
    ) -> &mut Peer {
        self.counters.opened += 1;
        let variant = if format == Variant::V6 && self.variant.is_ddnet() {
            Variant::Ddnet
        } else {
            format
        };
        let mut peer = Peer::new(Role::Server, variant, self.policy.options.clone(), 0);
        peer.format = format;
        peer.state = state;
        (peer.own_token, peer.peer_token) = (own, client);
        (peer.last_send, peer.last_receive) = (now, now);
        let slot = Slot { peer, greeted: false };
        &mut self.slots.entry(from).insert_entry(slot).into_mut().peer
    }
}

impl Slot {
    fn greet(&mut self, greeting: &[Vec<u8>], now: u64) {
        for message in greeting {
            self.peer.send_vital(message, now);
        }
        self.peer.flush(now);
    }
}

impl Peer {
    /// Implements DDNet's `Reset(true)`: the slot stays, but its numbers and buffers are reset.
    fn rejoin(&mut self) {
        self.counters.rejoined += 1;
        (self.sequence, self.ack, self.peer_ack) = (0, 0, 0);
        (self.last_send, self.last_receive) = (0, 0);
        self.unacked.clear();
        self.unacked_bytes = 0;
        self.construct = super::Construct::default();
    }
}
