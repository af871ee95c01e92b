//! The tokens that clients of 0.7 named in their last TOKEN requests.

use std::{
    collections::{BTreeMap, VecDeque},
    net::SocketAddr,
};

use teetap_wire::Token;

use crate::session::Time;

/// Maximum number of tokens that are remembered. A flood of requests with forged addresses must not displace
/// the token of a client between its request and its CONNECT.
const MAX_NAMED: usize = 16_384;
/// Maximum per address. DDNet's client names a new token in every request and may use any of the answers.
const MAX_NAMED_PER_ADDRESS: usize = 4;

/// The tokens that clients of 0.7 named in their last TOKEN requests. Only DDNet's 0.7 client needs them: it
/// repeats its CONNECT with `TKEN` in place of its token, and its browser requests name other tokens than the
/// TOKEN requests before them. The oldest tokens are forgotten first.
#[derive(Debug, Default)]
pub(super) struct NamedTokens {
    /// The tokens of each address, newest last.
    of: BTreeMap<SocketAddr, VecDeque<Named>>,
    /// Number and address of all requests that are remembered, oldest first.
    requests: VecDeque<(u64, SocketAddr)>,
    last: u64,
}

/// A token and the last request that named it.
#[derive(Debug)]
struct Named {
    number: u64,
    token: Token,
    at: Time,
}

impl NamedTokens {
    pub(super) fn remember(&mut self, client: SocketAddr, token: Token, now: Time) {
        self.last += 1;
        let of_client = self.of.entry(client).or_default();
        of_client.retain(|named| named.token != token);
        of_client.push_back(Named {
            number: self.last,
            token,
            at: now,
        });
        if of_client.len() > MAX_NAMED_PER_ADDRESS {
            of_client.pop_front();
        }
        self.requests.push_back((self.last, client));
        if self.requests.len() > MAX_NAMED
            && let Some(oldest) = self.requests.pop_front()
        {
            self.forget(oldest);
        }
    }

    /// Forgets the token of a request, unless a newer request has named it again.
    fn forget(&mut self, (request, client): (u64, SocketAddr)) {
        let Some(of_client) = self.of.get_mut(&client) else {
            return;
        };
        of_client.retain(|named| named.number != request);
        if of_client.is_empty() {
            self.of.remove(&client);
        }
    }

    /// Returns the tokens that an address named, newest first.
    pub(super) fn tokens_named_by(&self, client: SocketAddr) -> impl Iterator<Item = Token> {
        let of_client = self.of.get(&client).into_iter().flatten();
        of_client.rev().map(|named| named.token)
    }

    /// Returns the time of the last request of an address that named a token; `None` if unknown.
    pub(super) fn requested_at(&self, client: SocketAddr, token: Token) -> Option<Time> {
        let of_client = self.of.get(&client)?;
        let named = of_client.iter().find(|named| named.token == token)?;
        Some(named.at)
    }
}
