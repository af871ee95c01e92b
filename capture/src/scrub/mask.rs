//! Replacements for texts.

/// Stands for the path of a file.
pub(super) const FILE: &str = "FILE";

/// Returns as many `*` as a text has characters.
pub(super) fn stars(text: &str) -> String {
    text.chars().map(|_| '*').collect()
}
