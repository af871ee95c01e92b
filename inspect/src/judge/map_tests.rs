//! Downloads of a map with one fault each: the first finding names the side, the received and the expected value. Correct
//! peers are not accused, whatever part of the session is recorded.

use std::io::Cursor;

use teetap_capture::Playback;
use teetap_kit::{
    codec::Variant,
    faulty::{MAP_FAULTS, MapTransfer},
};
use teetap_wire::{Severity, def::Registry};

use super::*;

/// A fault: its name, the code and the side of the first finding, its received and expected values, and a part of its
/// sentence. `|` separates alternatives, `*` is any text.
type Row = (
    &'static str,
    &'static str,
    Culprit,
    &'static str,
    &'static str,
    &'static str,
);

use Culprit::{Client, Server};

#[rustfmt::skip]
const EXPECTED: &[Row] = &[
    ("parts of another map", "map-part-wrong", Server, "a part of the map with the crc 16fbe99e", "16fbe9cb as in map_change", "the client ignores the part"),
    ("part never sent", "map-part-wrong", Server, "part 2", "part 1", "part 2 was not requested; the client ignores it and waits"),
    ("parts in reverse order", "map-part-wrong", Server, "part 4", "part 0", "part 4 was not requested; the client ignores it and waits"),
    ("first part again", "map-part-wrong", Server, "part 0 again", "part 1", "as requested; the client ignores the other part and waits"),
    ("last part too early", "map-part-wrong", Server, "part 2 as the last after 2688 bytes", "4000 bytes as in map_change", "the client loads an incomplete map"),
    ("no last part", "map-part-wrong", Server, "part 4 not marked as the last", "the mark: the map has 4000 bytes and is complete", "the client requests part 5, which does not exist"),
    ("size too small", "map-part-wrong", Server, "3584 bytes so far|1232 bytes in part 2", "3000 as in map_change|232", "the client loads all of them|the client reads only the first bytes of the part"),
    ("size too large", "map-part-wrong", Server, "part 4 as the last after 4000 bytes|1232 bytes in part 2", "4100 bytes as in map_change|1332", "the client loads an incomplete map|the client ignores the part"),
    ("part without data", "map-part-wrong", Server, "part 0 without data", "its data", "the client ignores the part"),
    ("parts too small", "map-part-wrong", Server, "1000 bytes in part 0", "1384", "for a map of 4000 bytes; the client ignores the part"),
    ("a wrong byte", "map-differs", Server, "crc32 *", "16fbe9cb as in map_change", "a client that compares them closes the connection"),
    ("a wrong digest", "map-differs", Server, "sha256 960c1e92df206a8fe9e47b2c2a14f72d47b6fb82ee1e43007081b20eed5f4b0e", "1111111111111111111111111111111111111111111111111111111111111111 as announced", "a client that compares them closes the connection"),
    ("details of another map", "map-details-differ", Server, "crc 16fbe9cb", "16fbe9ca as in map_details", "a client of DDNet ignores the details"),
    ("first part never requested", "map-request-wrong", Client, "a request for part 1", "part 0", "the client has not requested part 0"),
    ("part never requested", "map-request-wrong", Client, "a request for part 3", "part 2", "the client has not requested part 2"),
    ("same part again and again", "map-request-wrong", Client, "3 more requests for part 0", "part 1", "the client has acked part 0"),
    ("part beyond the end", "map-request-wrong", Client, "a request for part 77", "0 to 4", "servers of the games ignore the request"),
    ("a size that clients refuse", "out-of-range", Server, "0", "1 to 2147483647", "a value outside its range"),
    ("ready during the download", "map-ready-early", Client, "it without part *", "it after all parts", "the server lets the client go on without the map"),
    ("ready after the first request", "map-ready-early", Client, "it without part 0 of *", "it after all parts", "the server lets the client go on without the map"),
    ("request for each part", "map-request-wrong", Client, "request 2 after 1 part", "it after 2", "the server sends the next parts before the client has the last"),
    ("request after the end", "map-request-wrong", Client, "request 3", "none", "all 3 parts were requested"),
];

/// The variants whose downloads differ.
const VARIANTS: [Variant; 4] = [Variant::V6, Variant::Ddnet, Variant::V7, Variant::D7];

/// The codes of the checks of map transfers.
const CODES: [&str; 5] = [
    "map-details-differ",
    "map-differs",
    "map-part-wrong",
    "map-ready-early",
    "map-request-wrong",
];

/// Returns the findings of a pcap file.
fn findings(file: Vec<u8>) -> Vec<Finding> {
    let mut playback = Playback::pcap(Cursor::new(file)).unwrap();
    let mut decoder = Decoder::new(Registry::builtin());
    let mut judge = Judge::new(Secrets::Hide, decoder.stated().clone());
    while let Some(item) = playback.read().unwrap() {
        tests::take(&mut judge, &mut decoder, item);
    }
    judge.finish(&mut decoder);
    judge.findings().list
}

fn sentences(list: &[Finding]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

/// Returns true if `text` is one of the alternatives.
fn is_one_of(text: Option<&str>, alternatives: &str) -> bool {
    alternatives.split('|').any(|one| match one.split_once('*') {
        Some((start, end)) => text.is_some_and(|text| text.starts_with(start) && text.ends_with(end)),
        None => text == Some(one),
    })
}

#[test]
fn the_first_finding_names_the_fault_of_a_map_transfer() {
    assert_eq!(EXPECTED.len(), MAP_FAULTS.len());
    let mut wrong = Vec::new();
    for (fault, (name, code, by, got, expected, parts)) in MAP_FAULTS.iter().zip(EXPECTED) {
        assert_eq!(fault.name, *name);
        for variant in fault.variants {
            let list = findings(MapTransfer::with(*variant, fault).recording());
            let is_right = list.first().is_some_and(|first| {
                let values = first.detail.as_ref();
                let sentence = first.sentence();
                (first.topic.name(), first.by, first.role) == (*code, *by, Role::Fault)
                    && is_one_of(values.and_then(crate::Values::got), got)
                    && is_one_of(values.and_then(crate::Values::expected), expected)
                    && parts.split('|').any(|part| sentence.contains(part))
            });
            if !is_right {
                wrong.push(format!("{variant:?} {name}: {:#?}", sentences(&list)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// A join that fails because of the map blames the side that has the fault.
#[test]
fn the_end_of_a_failed_download_names_the_right_side() {
    for name in [
        "a wrong byte",
        "a wrong digest",
        "size too small",
        "size too large",
        "no last part",
        "a size that clients refuse",
    ] {
        let fault = MAP_FAULTS.iter().find(|fault| fault.name == name).unwrap();
        for variant in fault.variants {
            let list = findings(MapTransfer::with(*variant, fault).recording());
            let sides: Vec<_> = list.iter().map(|one| (one.topic.name(), one.by)).collect();
            let end = sides.iter().find(|(code, _)| *code == "never-entered");
            assert_eq!(
                end,
                Some(&("never-entered", Server)),
                "{variant:?} {name}: {:#?}",
                sentences(&list)
            );
        }
    }
}

/// Splits a pcap file into its header and its packets.
fn packets(file: &[u8]) -> (&[u8], Vec<&[u8]>) {
    let (header, mut rest) = file.split_at(24);
    let mut packets = Vec::new();
    while let Some(len) = rest.get(8..12) {
        let len = u32::from_le_bytes(len.try_into().unwrap()) as usize;
        let (packet, next) = rest.split_at(16 + len);
        packets.push(packet);
        rest = next;
    }
    (header, packets)
}

/// Asserts that no finding accuses a peer of a mistake in a map transfer.
fn assert_silent(file: Vec<u8>, what: &str) {
    let mut list = findings(file);
    list.retain(|one| CODES.contains(&one.topic.name()));
    assert!(list.is_empty(), "{what}: {:#?}", sentences(&list));
}

#[test]
fn correct_downloads_have_no_findings() {
    for variant in VARIANTS {
        let list = findings(MapTransfer::new(variant).recording());
        let accuses = |one: &&Finding| one.severity > Severity::Info && one.role == Role::Fault;
        let accused: Vec<_> = list.iter().filter(accuses).collect();
        assert!(accused.is_empty(), "{variant:?}: {accused:#?}");
    }
}

/// Recordings that begin late, end early, or lack one or two packets.
#[test]
fn nobody_is_accused_of_what_is_not_recorded() {
    for variant in VARIANTS {
        let file = MapTransfer::new(variant).recording();
        let (header, all) = packets(&file);
        for at in 0..all.len() {
            let (before, after) = all.split_at(at);
            let file = |parts: &[&[&[u8]]]| [&[header][..], &parts.concat()].concat().concat();
            assert_silent(file(&[before]), &format!("{variant:?} before {at}"));
            assert_silent(file(&[after]), &format!("{variant:?} after {at}"));
            let lost = after.get(1..).unwrap_or_default();
            assert_silent(file(&[before, lost]), &format!("{variant:?} without {at}"));
        }
    }
}

/// A server that changes its map during a download.
#[test]
fn nobody_is_accused_after_a_change_of_the_map() {
    for variant in VARIANTS {
        let transfer = MapTransfer::new(variant);
        for count in 0..transfer.len() - 1 {
            assert_silent(
                transfer.reloaded_after(count),
                &format!("{variant:?} reloaded after {count}"),
            );
            assert_silent(
                transfer.left_after(count),
                &format!("{variant:?} left after {count}"),
            );
        }
    }
}
