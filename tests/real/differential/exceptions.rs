//! Cells that differ, each with its reason.

use super::open::OPEN;

/// The name of a cell, and the reason for its difference.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("0.7: Token from another port", OF_A_PORT),
    ("0.7: Connect from another port", OF_A_PORT),
    ("0.7 on ddnet: Token from another port", OF_A_PORT),
    ("0.7 on ddnet: Connect from another port", OF_A_PORT),
    ("ddnet: Connect from another port", OF_A_PORT),
    ("ddnet: Accept from another port", OF_A_PORT),
    ("0.6.4 on antispoof: Connect from another port", OF_A_PORT),
];

/// The tokens of these servers are made of the address without its port.
const OF_A_PORT: &str = "a session of the proxy belongs to one port of its client, and so do its tokens";

/// Returns the reason why a cell differs; `None` if it must not.
pub(crate) fn exception(name: &str) -> Option<&'static str> {
    let row = EXCEPTIONS.iter().find(|(cell, _)| *cell == name);
    let is_open = || {
        let (target, end) = name.split_once(": ")?;
        let (_, ends) = OPEN.iter().find(|(begin, _)| *begin == target)?;
        ends.contains(&end).then_some("open")
    };
    row.map(|(_, reason)| *reason).or_else(is_open)
}
