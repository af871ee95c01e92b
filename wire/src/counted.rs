//! Numbers with their nouns.

use std::fmt::{self, Display};

/// A number with its noun, as returned by [`counted`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted<'a, T> {
    count: T,
    noun: &'a str,
}

/// Displays a number and its noun: `1 byte`, `2 bytes`. `noun` is a singular whose plural ends with an additional `s`.
pub const fn counted<T>(count: T, noun: &str) -> Counted<'_, T> {
    Counted { count, noun }
}

impl<T: Display + PartialEq + From<u8>> Display for Counted<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.count == T::from(1) { "" } else { "s" };
        write!(f, "{} {}{plural}", self.count, self.noun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        let texts = [0_u64, 1, 2, 21].map(|count| counted(count, "hit").to_string());
        assert_eq!(texts, ["0 hits", "1 hit", "2 hits", "21 hits"]);
    }
}
