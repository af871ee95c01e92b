//! Recognizes tokens, numbers and messages of closed sessions in later sessions.
//!
//! Law: memory is bounded, since only the last [`MOST`] closed sessions are kept.

use std::{collections::VecDeque, net::IpAddr};

use teetap_proxy::session::SessionId;
use teetap_wire::{Dir, PerDir, Seq, Token};

use super::{Stream, copies::Copies};

/// Maximum number of closed sessions kept.
const MOST: usize = 32;

/// Maximum distance between the last number of a session and a number that continues it.
const NEAR: u16 = 8;

/// The last closed sessions, oldest first.
#[derive(Debug, Default)]
pub(super) struct Past(VecDeque<ClosedSession>);

/// A closed session.
#[derive(Debug)]
struct ClosedSession {
    session: SessionId,
    client: Option<IpAddr>,
    ways: PerDir<ClosedDirection>,
}

/// The final state of one direction.
#[derive(Debug, Default)]
struct ClosedDirection {
    token: Option<Token>,
    /// The last in-order number.
    last: Option<Seq>,
    /// The last ack for the direction.
    acked: Option<Seq>,
    copies: Copies,
}

impl Past {
    /// Adds a closed session. Forgets the oldest session if there are more than [`MOST`].
    pub(super) fn add(&mut self, session: SessionId, stream: Stream) {
        let client = stream.client;
        let ways = stream.ways.map(|way| ClosedDirection {
            token: way.token,
            last: way.numbers.last(),
            acked: way.acks.last,
            copies: way.copies.into_messages(),
        });
        self.0.push_back(ClosedSession {
            session,
            client,
            ways,
        });
        if self.0.len() > MOST {
            self.0.pop_front();
        }
    }

    /// Forgets all sessions.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the latest session with the same token in the same direction.
    pub(super) fn with_token(&self, dir: Dir, token: Token) -> Option<SessionId> {
        self.find(|over| over.ways[dir].token == Some(token))
    }

    /// Returns the latest session with the same message under the same number, if the message was not acked there.
    pub(super) fn with_unacked(&self, dir: Dir, seq: Seq, hash: u64) -> Option<SessionId> {
        let is_open = |way: &ClosedDirection| way.acked.is_none_or(|acked| !seq.is_behind(acked));
        self.find(|over| {
            let way = &over.ways[dir];
            is_open(way) && way.copies.holds(seq, hash)
        })
    }

    /// Returns the latest session of the same client whose sequence numbers `seq` continues.
    pub(super) fn with_number(&self, client: Option<IpAddr>, dir: Dir, seq: Seq) -> Option<SessionId> {
        self.continued(client, dir, seq, |way| way.last)
    }

    /// Returns the latest session of the same client whose acks `ack` continues. `dir` is the direction of the acked
    /// messages.
    pub(super) fn with_ack(&self, client: Option<IpAddr>, dir: Dir, ack: Seq) -> Option<SessionId> {
        self.continued(client, dir, ack, |way| way.acked)
    }

    fn continued(
        &self,
        client: Option<IpAddr>,
        dir: Dir,
        number: Seq,
        end: impl Fn(&ClosedDirection) -> Option<Seq>,
    ) -> Option<SessionId> {
        client?;
        self.find(|over| {
            let last = end(&over.ways[dir]);
            over.client == client && last.is_some_and(|last| last.distance_to(number) <= NEAR)
        })
    }

    fn find(&self, is_it: impl Fn(&ClosedSession) -> bool) -> Option<SessionId> {
        let over = self.0.iter().rev().find(|over| is_it(over));
        over.map(|over| over.session)
    }
}
