//! Counter-based random numbers.
//!
//! Law: a draw is a function of its [`LineKey`], the number of the datagram, the copy and the purpose. There is no
//! generator whose state could be shifted.

use teetap_wire::Dir;

use crate::dice::hash;
use crate::units::Share;

/// Key of all draws of one line in one direction of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineKey(u64);

/// Decision for which a number is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    Loss,
    State,
    Dup,
    Corrupt,
    Bit,
    Jitter,
    /// Second number for a jitter that mixes two distributions.
    Mixed,
    Reorder,
}

/// Draws of one copy of one datagram.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draws(u64);

impl LineKey {
    pub(super) fn new(seed: u64, identity: &str, session: u32, dir: Dir) -> Self {
        let dir = match dir {
            Dir::C2s => 1,
            Dir::S2c => 2,
        };
        Self(joined(
            joined(mix(seed), hash(identity)),
            (u64::from(session) << 2) | dir,
        ))
    }

    /// Returns the draws of a copy of a datagram; copy 0 is the datagram itself.
    pub(super) fn draws(self, ordinal: u64, copy: usize) -> Draws {
        Draws(joined(joined(self.0, ordinal), copy as u64))
    }
}

impl Draws {
    /// Returns a number in which every bit is random.
    pub(super) fn number(self, purpose: Purpose) -> u64 {
        joined(self.0, purpose as u64)
    }

    /// Returns true with the probability `share`.
    pub(super) fn hits(self, purpose: Purpose, share: Share) -> bool {
        let millionths = ((self.number(purpose) >> 32) * u64::from(Share::WHOLE.millionths())) >> 32;
        millionths < u64::from(share.millionths())
    }

    /// Returns a number in the open interval (0, 1).
    pub(super) fn fraction(self, purpose: Purpose) -> f64 {
        const PARTS: f64 = (1u64 << 52) as f64;
        #[expect(clippy::cast_precision_loss, reason = "52 bits are exact")]
        let part = (self.number(purpose) >> 12) as f64;
        (part + 0.5) / PARTS
    }
}

fn joined(a: u64, b: u64) -> u64 {
    mix(a ^ mix(b.wrapping_add(0x9e37_79b9_7f4a_7c15)))
}

/// The finaliser of SplitMix64.
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
