//! The sessions that are over, so that a part of one in a later session is known.
//!
//! Law: bounded: the last ones are known.

use std::{collections::VecDeque, net::IpAddr};

use teetap_proxy::session::SessionId;
use teetap_wire::{Dir, Seq, Token};

use super::{Stream, copies::Copies};

/// The most sessions that are known.
const MOST: usize = 32;

/// The distance of a number from the last one of a session that it continues.
const NEAR: u16 = 8;

/// The sessions that are over.
#[derive(Debug, Default)]
pub(super) struct Past(VecDeque<Over>);

/// A session that is over.
#[derive(Debug)]
struct Over {
    session: SessionId,
    client: Option<IpAddr>,
    ways: [Rest; 2],
}

/// The end of one direction.
#[derive(Debug, Default)]
struct Rest {
    token: Option<Token>,
    /// The last number in order.
    last: Option<Seq>,
    /// The last ack of these numbers.
    acked: Option<Seq>,
    copies: Copies,
}

impl Past {
    /// Takes a session that is over.
    pub(super) fn add(&mut self, session: SessionId, stream: Stream) {
        let client = stream.client;
        let ways = stream.ways.map(|way| Rest {
            token: way.token,
            last: way.numbers.last(),
            acked: way.acks.last,
            copies: way.copies.into_messages(),
        });
        self.0.push_back(Over {
            session,
            client,
            ways,
        });
        if self.0.len() > MOST {
            self.0.pop_front();
        }
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the session that had this token in this direction.
    pub(super) fn with_token(&self, dir: Dir, token: Token) -> Option<SessionId> {
        self.find(|over| {
            over.ways
                .get(dir as usize)
                .is_some_and(|way| way.token == Some(token))
        })
    }

    /// Returns the session that had this message under this number.
    pub(super) fn with_message(&self, dir: Dir, seq: Seq, hash: u64) -> Option<SessionId> {
        self.find(|over| {
            let way = over.ways.get(dir as usize);
            way.is_some_and(|way| way.copies.holds(seq, hash))
        })
    }

    /// Returns the session of the same client whose numbers this one continues.
    pub(super) fn with_number(&self, client: Option<IpAddr>, dir: Dir, seq: Seq) -> Option<SessionId> {
        self.continued(client, dir, seq, |way| way.last)
    }

    /// Returns the session of the same client whose acks this one continues; `dir` is that of the numbers.
    pub(super) fn with_ack(&self, client: Option<IpAddr>, dir: Dir, ack: Seq) -> Option<SessionId> {
        self.continued(client, dir, ack, |way| way.acked)
    }

    fn continued(
        &self,
        client: Option<IpAddr>,
        dir: Dir,
        number: Seq,
        end: impl Fn(&Rest) -> Option<Seq>,
    ) -> Option<SessionId> {
        client?;
        self.find(|over| {
            let last = over.ways.get(dir as usize).and_then(&end);
            over.client == client && last.is_some_and(|last| last.distance_to(number) <= NEAR)
        })
    }

    fn find(&self, is_it: impl Fn(&Over) -> bool) -> Option<SessionId> {
        let over = self.0.iter().rev().find(|over| is_it(over));
        over.map(|over| over.session)
    }
}
