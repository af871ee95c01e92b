//! The proxy's own tokens. All derive from one secret, so that the core needs no randomness and can answer a
//! request without storing anything.

use std::{
    hash::{Hash, Hasher},
    net::SocketAddr,
};

use siphasher::sip::SipHasher24;
use teetap_wire::Token;

/// The purpose of a token. Tokens for different purposes are unrelated.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) enum Purpose {
    /// For a client that names a token of its own (0.6.5 CONNECT, 0.7 TOKEN).
    Named(Token),
    /// For the client of the n-th session, if it names no token.
    Session(u32),
    /// For an answer without a session: the number of the listen socket, and the index of the period in which
    /// the token is given.
    Stateless(u32, u64),
    /// The proxy's token on the n-th upstream socket.
    Upstream(u32),
    /// The counterpart, on the server leg of the n-th session, of a token that the client names.
    Name(u32, Token),
}

/// Derives tokens: SipHash-2-4 of the client's address and the purpose, keyed with the secret.
#[derive(Clone, Copy)]
pub(crate) struct Tokens {
    secret: [u8; 16],
}

impl std::fmt::Debug for Tokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The secret is never displayed, because all tokens of a run can be computed from it.
        f.write_str("Tokens")
    }
}

impl Tokens {
    pub(crate) fn new(secret: [u8; 16]) -> Self {
        Self { secret }
    }

    /// Returns the token for a purpose. Skips the values that have another meaning on the wire.
    pub(crate) fn token(&self, client: SocketAddr, purpose: Purpose) -> Token {
        let mut hasher = SipHasher24::new_with_key(&self.secret);
        client.hash(&mut hasher);
        purpose.hash(&mut hasher);
        let mut bits = hasher.finish();
        loop {
            let [a, b, c, d, ..] = bits.to_be_bytes();
            let token = Token([a, b, c, d]);
            if token != Token::NONE && token != Token::TKEN && token != Token([0; 4]) {
                return token;
            }
            bits = bits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
        }
    }
}
