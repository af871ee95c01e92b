//! Text snapshots of explanations: one real datagram for each variant and kind from `tests/captures`, and broken
//! datagrams.

use teetap_wire::def::{Registry, Secrets};

use super::{Options, explain, first, input, text};

macro_rules! samples {
    ($($name:literal)*) => {
        /// Name of a sample, and its file: hex in the first line, an empty line, the explanation.
        const SAMPLES: &[(&str, &str)] = &[$(($name, include_str!(concat!("snapshots/", $name, ".txt"))),)*];
    };
}

samples! {
    "06-connect-accept"
    "06-start-info"
    "06-challenge-compressed"
    "06-connless-info"
    "065-connect"
    "065-connect-accept"
    "065-info"
    "065-two-chunks"
    "065-input-compressed"
    "ddnet-connect"
    "ddnet-accept"
    "ddnet-version-uuid"
    "ddnet-capabilities-uuid"
    "ddnet-compressed"
    "ddnet-connless-extended"
    "07-token-request"
    "07-accept"
    "07-info"
    "07-three-chunks"
    "07-input-compressed"
    "07-connless-info"
    "065-close"
    "07-close"
    "ddnet-close"
    "ddnet-keepalive"
    "07-resend-request"
    "07-resent-chunk"
    "broken-07-header"
    "ddnet-snap-delta"
    "07-snap-complete-extended"
    "broken-065-huffman"
    "broken-chunk-cut"
    "broken-07-unknown-message"
}

/// Returns the names and datagrams of the samples.
pub(super) fn samples() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    SAMPLES.iter().map(|(name, sample)| {
        let hex = sample.lines().next().unwrap();
        (*name, input::from_text(hex).unwrap().datagram)
    })
}

#[test]
fn explanations_stay_the_same() {
    let options = Options {
        registry: Registry::builtin(),
        secrets: Secrets::Hide,
        proto: None,
        dir: None,
    };
    for ((name, sample), (_, datagram)) in SAMPLES.iter().zip(samples()) {
        let (_, expected) = sample.split_once("\n\n").unwrap();
        let text = text::text(
            first(&datagram, options),
            &explain(&datagram, options),
            text::WIDTH,
        );
        assert_eq!(text, expected, "{name}:\n{text}");
    }
}
