//! Random decisions that can be repeated.
//!
//! Law: a draw depends only on its key, never on earlier draws. So a rule makes the same decisions regardless of the
//! other rules.

use teetap_wire::Dir;

/// Key of one decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DrawKey {
    /// Seed of the run.
    pub(crate) seed: u64,
    /// [`hash`] of the rule's identity.
    pub(crate) rule: u64,
    /// Number of the session.
    pub(crate) session: u32,
    pub(crate) dir: Dir,
    /// [`hash`] of the message's name.
    pub(crate) name: u64,
    /// Number of messages of that name in that session and direction so far, including this one.
    pub(crate) ordinal: u64,
}

/// Random generator for one decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DrawRng(u64);

impl DrawRng {
    pub(crate) fn new(key: DrawKey) -> Self {
        let place = u64::from(key.session) << 1 | key.dir as u64;
        let parts = [key.seed, key.rule, place, key.name, key.ordinal];
        Self(parts.into_iter().fold(0, |state, part| mix(state ^ part)))
    }

    /// Returns 64 random bits.
    pub(crate) const fn next(&mut self) -> u64 {
        let bits = mix(self.0);
        self.0 = self.0.wrapping_add(GOLDEN);
        bits
    }

    /// Returns a number below `end`; 0 if `end` is 0.
    pub(crate) const fn below(&mut self, end: u64) -> u64 {
        let product = self.next() as u128 * end as u128;
        (product >> 64) as u64
    }
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Finalizer of splitmix64, including its increment.
const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(GOLDEN);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Returns the 64-bit FNV-1a hash of a text. The meaning of a seed depends on it, so it must not change.
pub(crate) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: DrawKey = DrawKey {
        seed: 42,
        rule: 7,
        session: 1,
        dir: Dir::C2s,
        name: 9,
        ordinal: 1,
    };

    /// Recorded runs rely on these numbers.
    #[test]
    fn draws_stay_as_they_are() {
        let mut dice = DrawRng::new(KEY);
        let draws = [dice.next(), dice.next(), dice.below(100)];
        assert_eq!(draws, [16_760_013_594_868_292_083, 6_676_775_163_177_373_508, 13]);
        // The first output of splitmix64 for seed 0, and a test vector of FNV-1a.
        assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
    }

    #[test]
    fn each_part_of_the_key_matters() {
        let keys = [
            KEY,
            DrawKey { seed: 43, ..KEY },
            DrawKey { rule: 8, ..KEY },
            DrawKey { session: 2, ..KEY },
            DrawKey { dir: Dir::S2c, ..KEY },
            DrawKey { name: 10, ..KEY },
            DrawKey { ordinal: 2, ..KEY },
        ];
        let mut draws = keys.map(|key| DrawRng::new(key).next()).to_vec();
        draws.sort_unstable();
        draws.dedup();
        assert_eq!(draws.len(), keys.len());
    }

    #[test]
    fn numbers_below_an_end_are_even() {
        let mut counts = [0u32; 10];
        for ordinal in 0..100_000 {
            let number = DrawRng::new(DrawKey { ordinal, ..KEY }).below(10);
            counts[usize::try_from(number).unwrap()] += 1;
        }
        // With nine degrees of freedom, one uniform sample in a thousand exceeds 27.9.
        let chi: f64 = counts
            .iter()
            .map(|count| (f64::from(*count) - 10_000.0).powi(2) / 10_000.0)
            .sum();
        assert!(chi < 27.9, "{counts:?}: {chi}");
    }
}
