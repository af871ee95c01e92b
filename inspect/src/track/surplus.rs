//! Detects amplification: replies that are much larger than their requests, to addresses that may be spoofed.
//!
//! Law: a client that has sent a token or an ack has received datagrams at its address, so the address is not spoofed.
//! Large replies to such clients are legitimate, because the games answer each resend request with all unacked
//! messages, up to 32 KiB (`Resend` in `network_conn.cpp`).
//!
//! Memory is bounded: at most [`ADDRESSES`] addresses outside of sessions.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use teetap_proxy::session::Time;
use teetap_wire::{Dir, Token};

/// Time after a request during which datagrams count as part of the reply.
const ANSWER: Duration = Duration::from_secs(1);

/// Minimum size of a reply to report, in bytes. Larger than any reply of a map download.
const MUCH: u32 = 16 << 10;

/// Minimum ratio of reply bytes to request bytes to report.
const TIMES: u32 = 20;

/// Minimum number of reply bytes per request outside a connection. The games send less: a server list has up to 16
/// datagrams (`mastersrv.cpp` of Teeworlds 0.6.5), and the player list of a full server has fewer. Requests are counted
/// because a browser asks many servers at once, and a capture may contain all replies.
const FOR_EACH: u32 = 24 << 10;

/// Maximum number of client addresses tracked outside of sessions.
const ADDRESSES: usize = 256;

/// Sizes of a client's recent requests and of the replies to them.
#[derive(Clone, Copy, Debug, Default)]
struct Surplus {
    since: Option<Time>,
    questions: u32,
    asked: u32,
    answered: u32,
    is_reported: bool,
}

/// Sizes of a reply that is much larger than its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Amplified {
    /// Size of the requests, in bytes.
    pub(super) asked: u32,
    /// Size of the reply, in bytes.
    pub(super) answered: u32,
}

impl Surplus {
    /// Records a request of `bytes` bytes.
    fn asked(&mut self, at: Time, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        if self.since.is_none_or(|since| at.since(since) >= ANSWER) {
            *self = Self {
                since: Some(at),
                ..Self::default()
            };
        }
        self.questions = self.questions.saturating_add(1);
        self.asked = self.asked.saturating_add(bytes);
    }

    /// Records a part of a reply. Returns the sizes, once, if the reply is much larger than its requests and has at
    /// least `for_each` bytes per request.
    fn answered(&mut self, at: Time, bytes: usize, for_each: u32) -> Option<Amplified> {
        self.since.filter(|since| at.since(*since) < ANSWER)?;
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.answered = self.answered.saturating_add(bytes);
        let least = MUCH.max(for_each.saturating_mul(self.questions));
        let is_much = self.answered >= least && self.answered / TIMES >= self.asked;
        if !is_much || std::mem::replace(&mut self.is_reported, true) {
            return None;
        }
        Some(Amplified {
            asked: self.asked,
            answered: self.answered,
        })
    }
}

/// Whether the address of a client may be spoofed, and the bytes sent to it in the meantime.
#[derive(Debug, Default)]
pub(super) struct Unproven {
    surplus: Surplus,
    is_proven: bool,
}

impl Unproven {
    /// Records an accepted datagram of the client. A token, or an ack of a message (`acks`), proves the address.
    pub(super) fn asked(&mut self, at: Time, bytes: usize, token: Option<Token>, acks: bool) {
        if token.is_some() || acks {
            self.is_proven = true;
        } else if !self.is_proven {
            self.surplus.asked(at, bytes);
        }
    }

    /// Records a datagram to the client. Returns the sizes, once, if the address is unproven and the reply is much
    /// larger than its request.
    pub(super) fn answered(&mut self, at: Time, bytes: usize) -> Option<Amplified> {
        let surplus = &mut self.surplus;
        (!self.is_proven)
            .then(|| surplus.answered(at, bytes, 0))
            .flatten()
    }
}

/// Sizes of requests and replies outside of sessions, by client address.
#[derive(Debug, Default)]
pub(super) struct Browsers(BTreeMap<SocketAddr, Surplus>);

impl Browsers {
    /// Records a datagram outside a connection. Returns the sizes, once, if a reply is much larger than its requests.
    pub(super) fn record(
        &mut self,
        at: Time,
        client: SocketAddr,
        dir: Dir,
        bytes: usize,
    ) -> Option<Amplified> {
        if dir == Dir::S2c {
            return self.0.get_mut(&client)?.answered(at, bytes, FOR_EACH);
        }
        if self.0.len() >= ADDRESSES && !self.0.contains_key(&client) {
            let oldest = self.0.iter().min_by_key(|(_, surplus)| surplus.since);
            if let Some(oldest) = oldest.map(|(address, _)| *address) {
                self.0.remove(&oldest);
            }
        }
        self.0.entry(client).or_default().asked(at, bytes);
        None
    }

    /// Forgets all clients.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
