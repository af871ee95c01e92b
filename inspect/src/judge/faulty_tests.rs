//! Clients with one fault each, on four protocols: the first finding names it.

use std::io::Cursor;

use teetap_capture::Playback;
use teetap_kit::{
    codec::Variant,
    faulty::{self, FAULTS, Fault, Step},
};
use teetap_wire::{Severity, def::Registry};

use super::*;
use crate::Decoder;

/// The codes of the first finding, one of which it must have, for each fault.
const EXPECTED: &[(&str, &[&str])] = &[
    ("wrong token", &["wrong-token"]),
    ("no token in the header", &["missing-token"]),
    ("no token at the end", &["wrong-token", "missing-token"]),
    ("ack ahead", &["ack-ahead"]),
    ("ack behind", &["ack-ahead", "ack-behind"]),
    ("too long", &["oversized"]),
    ("one chunk too many announced", &["chunk-count-too-high"]),
    (
        "one chunk too few announced",
        &["trailing-bytes", "empty-without-resend"],
    ),
    ("chunk longer than the datagram", &["chunk-truncated"]),
    ("plain data marked as compressed", &["bad-huffman"]),
    ("unknown flag", &["unknown-flags"]),
    ("control with chunks", &["control-with-chunks"]),
    ("control compressed", &["control-compressed"]),
    ("control without an id", &["control-empty"]),
    ("unknown control message", &["unknown-control"]),
    ("neither chunks nor a request", &["empty-without-resend"]),
    ("too short", &["too-short"]),
    ("bytes after the compressed data", &["huffman-surplus"]),
    (
        "more payload than there is room",
        &["payload-oversized", "bad-huffman"],
    ),
    ("info forgotten", &["never-entered"]),
    ("ready forgotten", &["never-entered"]),
    ("start info forgotten", &["never-entered"]),
    ("enter game forgotten", &["never-entered"]),
    ("start info in place of ready", &["never-entered"]),
    ("number skipped", &["seq-gap"]),
    ("info not vital", &["not-vital"]),
    ("ready not vital", &["not-vital"]),
    ("start info not vital", &["not-vital"]),
    ("enter game not vital", &["not-vital"]),
    ("unterminated text", &["unterminated-text"]),
    ("fields missing", &["missing-field"]),
    ("text that is not UTF-8", &["invalid-utf8"]),
    ("input vital", &["unexpected-vital"]),
    ("input cut", &["missing-field"]),
    ("unknown message", &["unknown-message"]),
    ("message of the server", &["wrong-direction"]),
    ("value out of range", &["out-of-range"]),
    ("int with padding", &["int-padding"]),
    ("empty message", &["unknown-message", "missing-field"]),
    ("magic almost right", &["unexpected-bytes"]),
];

fn findings(variant: Variant, fault: Option<&Fault>) -> (Findings, Option<Step>) {
    let session = faulty::play(variant, fault);
    let mut playback = Playback::pcap(Cursor::new(faulty::pcap(&session.packets))).unwrap();
    let mut decoder = Decoder::new(Registry::builtin());
    let mut judge = Judge::default();
    while let Some(item) = playback.read().unwrap() {
        tests::take(&mut judge, &mut decoder, item);
    }
    judge.finish(&mut decoder);
    (judge.findings(), session.reached)
}

#[test]
fn a_client_without_a_fault_has_no_findings() {
    for variant in Variant::ALL {
        let (found, reached) = findings(variant, None);
        let found: Vec<_> = found.list.iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{variant:?}: {found:#?}");
        assert_eq!(reached, Some(Step::EnterGame));
    }
}

#[test]
fn the_first_finding_names_the_fault_of_the_client() {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for fault in FAULTS {
        let Some((_, codes)) = EXPECTED.iter().find(|(name, _)| *name == fault.name) else {
            continue;
        };
        for variant in fault.variants {
            tried += 1;
            let (found, _) = findings(*variant, Some(fault));
            let first = found.list.first();
            let is_right = first.is_some_and(|first| {
                let is_about_it = codes.contains(&first.topic.name());
                is_about_it && first.by == By::Client && first.role != Role::Network
            });
            if !is_right {
                let found: Vec<_> = found.list.iter().map(ToString::to_string).collect();
                wrong.push(format!("{} of {variant:?}: {found:#?}", fault.name));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {tried}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(tried > 100, "{tried}");
}

#[test]
fn every_expectation_is_of_a_fault() {
    for (name, codes) in EXPECTED {
        assert!(FAULTS.iter().any(|fault| fault.name == *name), "{name}");
        for code in *codes {
            let topic = Topic::named(code).unwrap();
            assert!(topic.severity_as(topic.role()) >= Severity::Info);
        }
    }
}
