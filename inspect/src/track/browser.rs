//! The tokens in requests of server browsers, with which the replies are compared.
//!
//! Sources: `CServerBrowser::Set` and `RequestImpl` in `serverbrowser.cpp` of Teeworlds 0.6.5, 0.7.5 and DDNet: a browser
//! ignores a reply with another token. DDNet's browser adds 16 bits to the token of 0.6, and the reply has all of them.
//!
//! Memory is bounded: [`MOST`] requests.

use std::{collections::VecDeque, net::SocketAddr};

/// Maximum number of requests kept.
const MOST: usize = 64;

/// The token in an info that a server sends without a request.
const UNASKED: i64 = -1;

/// The lowest value that does not fit into the token of 0.6.
const BYTE: i64 = 1 << 8;

/// The addresses and tokens of recent requests.
#[derive(Debug, Default)]
pub(super) struct BrowserTokens(VecDeque<(SocketAddr, i64)>);

impl BrowserTokens {
    /// Records a request.
    pub(super) fn asked(&mut self, client: SocketAddr, token: i64) {
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        self.0.push_back((client, token));
    }

    /// Returns the token of the last request of a client if a reply with the token `got` answers none of its requests.
    pub(super) fn expected(&self, client: SocketAddr, got: i64) -> Option<i64> {
        let mut own = self.0.iter().rev().filter(|(address, _)| *address == client);
        let (_, last) = own.next()?;
        let is_same = |token: i64| token == got || token.rem_euclid(BYTE) == got.rem_euclid(BYTE);
        let is_known = got == UNASKED || is_same(*last) || own.any(|(_, token)| is_same(*token));
        // Older requests may be forgotten.
        (!is_known && self.0.len() < MOST).then_some(*last)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_has_the_token_of_a_request() {
        let [one, other] = [1, 2].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let mut tokens = BrowserTokens::default();
        assert_eq!(tokens.expected(one, 9), None);
        tokens.asked(one, 5);
        tokens.asked(one, 6);
        // The last one has the extra bits of DDNet.
        for got in [5, 6, -1, 0x12_3405] {
            assert_eq!(tokens.expected(one, got), None, "{got}");
        }
        assert_eq!(tokens.expected(one, 9), Some(6));
        assert_eq!(tokens.expected(other, 9), None);
    }
}
