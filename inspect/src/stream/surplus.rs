//! Answers that are much larger than what they answer.
//!
//! Law: an address that has shown a token or an ack cannot be a false one, so nothing that is sent to it floods another: the games answer
//! each of its resend requests with all that is not acked, up to 32 KiB (`Resend` in `network_conn.cpp`). Bounded: of the addresses outside of sessions the last [`ADDRESSES`] are known.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use teetap_proxy::session::Time;
use teetap_wire::{Dir, Token};

/// The time after a question in which what comes answers it.
const ANSWER: Duration = Duration::from_secs(1);

/// The bytes of an answer that are more than a map in download takes.
const MUCH: u32 = 16 << 10;

/// The times the bytes of the question.
const TIMES: u32 = 20;

/// The bytes for each request outside a connection that are more than games send: a list of servers takes up to 16 datagrams
/// (`mastersrv.cpp` of Teeworlds 0.6.5), the players of a full server less. A browser asks many servers at once, which a capture may have.
const FOR_EACH: u32 = 24 << 10;

/// The most addresses outside of sessions.
const ADDRESSES: usize = 256;

/// The bytes of questions of one side, and of the answers to them.
#[derive(Clone, Copy, Debug, Default)]
struct Surplus {
    since: Option<Time>,
    questions: u32,
    asked: u32,
    answered: u32,
    is_reported: bool,
}

/// An answer much larger than its question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Amplified {
    /// Bytes of the question.
    pub(super) asked: u32,
    /// Bytes of the answer.
    pub(super) answered: u32,
}

impl Surplus {
    /// Takes a question of this many bytes.
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

    /// Takes a part of an answer. Returns the bytes of one that is much larger than its question, and has this many bytes for each
    /// question, once.
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

/// The address of a client, which may be that of another one until it has shown that it gets what is sent to it.
#[derive(Debug, Default)]
pub(super) struct Unproven {
    surplus: Surplus,
    is_proven: bool,
}

impl Unproven {
    /// Takes a datagram of the client that is not dropped, with its token and true if it acks a message.
    pub(super) fn asked(&mut self, at: Time, bytes: usize, token: Option<Token>, acks: bool) {
        if token.is_some() || acks {
            self.is_proven = true;
        } else if !self.is_proven {
            self.surplus.asked(at, bytes);
        }
    }

    /// Takes a datagram to the client. Returns the bytes of an answer that is much larger than what it answers, once.
    pub(super) fn answered(&mut self, at: Time, bytes: usize) -> Option<Amplified> {
        let surplus = &mut self.surplus;
        (!self.is_proven)
            .then(|| surplus.answered(at, bytes, 0))
            .flatten()
    }
}

/// The clients outside of sessions, by their addresses.
#[derive(Debug, Default)]
pub(super) struct Browsers(BTreeMap<SocketAddr, Surplus>);

impl Browsers {
    /// Takes a datagram outside a connection. Returns the bytes of an answer that is much larger than its request, once.
    pub(super) fn take(&mut self, at: Time, client: SocketAddr, dir: Dir, bytes: usize) -> Option<Amplified> {
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

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}
