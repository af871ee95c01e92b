//! Counts with their words.

/// Returns a count with its word, in the plural unless the count is 1.
pub(crate) fn counted(count: u64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}
