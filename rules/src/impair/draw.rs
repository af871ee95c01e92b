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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_has_the_same_value_in_every_version() {
        let draws = |seed, identity, session, dir, ordinal, copy| {
            LineKey::new(seed, identity, session, dir).draws(ordinal, copy)
        };
        let loss = "link both loss 1%";
        let first = draws(42, loss, 1, Dir::C2s, 1, 0);
        for (purpose, expected) in [
            (Purpose::Loss, 0x0fc8_3ad3_2d69_8d26),
            (Purpose::State, 0xb382_efff_15c4_f6e6),
            (Purpose::Dup, 0x5f81_09a7_41a1_6906),
            (Purpose::Corrupt, 0x38f4_2b3a_2840_6013),
            (Purpose::Bit, 0xcaa4_1de0_33c7_2ce7),
            (Purpose::Jitter, 0xd8a9_94a6_aa96_a396),
            (Purpose::Mixed, 0x8c05_f610_4071_e822),
            (Purpose::Reorder, 0xc86f_7bec_e3e5_38ed),
        ] {
            assert_eq!(first.number(purpose), expected, "{purpose:?}");
        }
        // Each part of the key changes the draw.
        for (draws, expected) in [
            (draws(0, loss, 1, Dir::C2s, 1, 0), 0xb4fa_6d41_17d6_4b32),
            (draws(42, "", 1, Dir::C2s, 1, 0), 0xffa3_5836_a890_a19d),
            (draws(42, loss, 2, Dir::C2s, 1, 0), 0xccae_50cd_0bf3_12b4),
            (draws(42, loss, 1, Dir::S2c, 1, 0), 0x8cd2_1d42_f840_861a),
            (draws(42, loss, 1, Dir::C2s, 2, 0), 0x6e16_0742_2cb0_7c51),
            (draws(42, loss, 1, Dir::C2s, 1, 1), 0xbcdc_6052_819d_0a15),
        ] {
            assert_eq!(draws.number(Purpose::Loss), expected, "{draws:?}");
        }
    }
}
