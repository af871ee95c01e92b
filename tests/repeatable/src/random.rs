//! Random numbers from a seed.

/// A small seeded generator (SplitMix64), good enough for test choices but not for secrets.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Creates a generator. Each seed gives its own sequence.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.bits()) * u128::from(bound);
        u64::try_from(product >> 64).unwrap_or(0)
    }

    /// Returns one of the elements.
    ///
    /// # Panics
    /// If there is none.
    #[expect(clippy::indexing_slicing, reason = "a helper of tests fails by panicking")]
    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        let at = usize::try_from(self.below(all.len() as u64)).unwrap_or_default();
        &all[at]
    }

    /// Returns true with this probability (0.0 to 1.0).
    pub fn chance(&mut self, probability: f64) -> bool {
        // 53 bits fill the mantissa of a double.
        let unit = (self.bits() >> 11) as f64 / (1_u64 << 53) as f64;
        unit < probability
    }

    /// Returns four bytes that are not a special token.
    pub fn token(&mut self) -> [u8; 4] {
        let [a, b, c, d, ..] = self.bits().to_be_bytes();
        [a, b, c, d & 0x7f | 1]
    }
}
