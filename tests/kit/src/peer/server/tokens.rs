//! The tokens that servers give to clients, derived from the address so that no state is kept.
//!
//! 0.6.5: address and port, a new salt every 10 s, the previous one stays valid. 0.7: the address without port, a new
//! seed every 16 s, the previous one stays valid. DDNet: the address without port, forever.

use std::net::SocketAddr;

use crate::codec::{Token, Variant};
use crate::link::{Random, SECOND};

#[derive(Clone, Debug)]
pub(super) struct Tokens {
    variant: Variant,
    secret: u64,
}

impl Tokens {
    pub(super) fn new(variant: Variant, secret: u64) -> Self {
        Self { variant, secret }
    }

    pub(super) fn current(&self, address: SocketAddr, now: u64) -> Token {
        self.of_epoch(address, self.epoch(now))
    }

    pub(super) fn is_valid(&self, token: Token, address: SocketAddr, now: u64) -> bool {
        self.any_valid(address, now, |valid| valid == token)
    }

    /// Returns true if `wanted` accepts a token that is valid for the address.
    pub(super) fn any_valid(&self, address: SocketAddr, now: u64, wanted: impl Fn(Token) -> bool) -> bool {
        let epoch = self.epoch(now);
        [epoch, epoch.saturating_sub(1)]
            .into_iter()
            .any(|epoch| wanted(self.of_epoch(address, epoch)))
    }

    fn epoch(&self, now: u64) -> u64 {
        match self.variant {
            Variant::V6 | Variant::Ddnet | Variant::D7 => 0,
            Variant::V65 => now / (10 * SECOND),
            Variant::V7 => now / (16 * SECOND),
        }
    }

    fn of_epoch(&self, address: SocketAddr, epoch: u64) -> Token {
        let octets = match address {
            SocketAddr::V4(address) => u128::from(u32::from(*address.ip())),
            SocketAddr::V6(address) => u128::from(*address.ip()),
        };
        let port = if self.variant == Variant::V65 {
            address.port()
        } else {
            0
        };
        let mut mixed = self.secret ^ epoch.wrapping_mul(0x1234_5678_9abc_def1);
        for byte in octets.to_be_bytes().into_iter().chain(port.to_be_bytes()) {
            mixed = Random::new(mixed ^ u64::from(byte)).bits();
        }
        Random::new(mixed).token()
    }
}
