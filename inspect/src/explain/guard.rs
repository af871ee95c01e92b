//! Hides secrets in all explanations of a datagram, even if an explanation does not recognize them as secret.
//!
//! Law: if bytes are secret in the best explanation, or in a nearly equally good explanation, then they are hidden in
//! all explanations, along with the compressed bytes that contain them.

use super::{ExplainRow, Explanation, Kind, Space, Span, tree::HIDDEN};

/// The text shown in place of a value.
const VALUE: &str = "•••";

/// Returns the ranges of the datagram that contain secrets in this explanation.
pub(super) fn places(best: &Explanation) -> Vec<Span> {
    let inside = best.secrets.iter().any(|span| span.space == Space::Clear);
    let plain = best.secrets.iter().filter(|span| span.space == Space::Datagram);
    plain.copied().chain(best.packed.filter(|_| inside)).collect()
}

/// Hides the ranges `secrets` of the datagram in an explanation. `known` is true if the explanation already hides them
/// as secrets.
pub(super) fn guard(reading: &mut Explanation, secrets: &[Span], known: bool) {
    let packed = reading.packed.is_some_and(|span| overlaps(span, secrets)) && !known;
    for row in &mut reading.rows {
        let meant = match row.span.space {
            Space::Datagram => overlaps(row.span, secrets),
            Space::Clear => packed,
        };
        if !meant {
            continue;
        }
        let from_peer = row.kind == Kind::Bytes && !known && !row.value.is_empty();
        if from_peer && reading.packed != Some(row.span) {
            row.value = VALUE.to_owned();
        }
        hide_row(row, secrets);
    }
    reading.datagram = hide(&reading.datagram, 0, secrets);
    if let Some(clear) = reading.clear.as_mut().filter(|_| packed) {
        *clear = HIDDEN.repeat(pairs(clear).count());
    }
}

fn hide_row(row: &mut ExplainRow, secrets: &[Span]) {
    row.hex = match row.span.space {
        Space::Datagram => hide(&row.hex, row.span.at, secrets),
        Space::Clear => HIDDEN.repeat(pairs(&row.hex).count()),
    };
}

/// Returns the hex of bytes at the offset `at`, with secret bytes hidden.
fn hide(hex: &str, at: usize, secrets: &[Span]) -> String {
    let secret = |at: usize| secrets.iter().any(|span| (span.at..span.end()).contains(&at));
    let shown = pairs(hex).enumerate().map(|(place, pair)| {
        if secret(at + place) {
            HIDDEN.to_owned()
        } else {
            pair
        }
    });
    shown.collect()
}

fn overlaps(span: Span, secrets: &[Span]) -> bool {
    secrets
        .iter()
        .any(|secret| span.at < secret.end() && secret.at < span.end())
}

/// Splits hex into the two digits of each byte.
pub(super) fn pairs(hex: &str) -> impl Iterator<Item = String> {
    let mut digits = hex.chars();
    std::iter::from_fn(move || {
        let pair: String = digits.by_ref().take(2).collect();
        (!pair.is_empty()).then_some(pair)
    })
}
