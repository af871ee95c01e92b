//! Replacements for texts.

/// Replaces the path of a file.
pub(super) const FILE: &str = "FILE";

/// Returns one `*` for each character of a text.
pub(super) fn stars(text: &str) -> String {
    text.chars().map(|_| '*').collect()
}
