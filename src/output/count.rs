//! Counts with their words.

/// Returns a count with its word, in the plural unless the count is 1.
pub(crate) fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        let texts = [0, 1, 2, 21].map(|count| counted(count, "hit"));
        assert_eq!(texts, ["0 hits", "1 hit", "2 hits", "21 hits"]);
    }
}
