//! Tests of explanations: every byte is shown, no secret is shown, and broken datagrams are explained, too.

use proptest::prelude::*;
use teetap_wire::{Code, Severity};

use super::{snapshots::samples, *};

fn options(secrets: Secrets) -> Options {
    Options {
        registry: Registry::builtin(),
        secrets,
        proto: None,
        dir: None,
    }
}

fn as_proto(proto: Proto, dir: Option<Dir>, datagram: &[u8]) -> Explanation {
    let options = Options {
        proto: Some(proto),
        dir,
        ..options(Secrets::Show)
    };
    explain(datagram, options).remove(0)
}

fn codes(reading: &Explanation) -> Vec<Code> {
    let notes = reading.rows.iter().flat_map(|row| &row.notes);
    notes.map(|note| note.code).collect()
}

fn row<'r>(reading: &'r Explanation, label: &str) -> &'r ExplainRow {
    reading.rows.iter().find(|row| row.label == label).unwrap()
}

/// Checks that every byte is in a row, that ranges are within their space, and that texts have no control characters.
fn check(datagram: &[u8], readings: &[Explanation]) {
    for reading in readings {
        let clear = reading
            .clear
            .as_ref()
            .map_or(0, |clear| clear.chars().count() / 2);
        for (space, len) in [(Space::Datagram, datagram.len()), (Space::Clear, clear)] {
            let mut covered = vec![false; len];
            for row in reading.rows.iter().filter(|row| row.span.space == space) {
                assert!(row.span.end() <= len, "{row:?}");
                if row.kind == Kind::Bytes {
                    covered[row.span.at..row.span.end()].fill(true);
                }
                for note in &row.notes {
                    assert!(note.at + note.len <= len, "{row:?}");
                }
            }
            let missed = covered.iter().position(|covered| !covered);
            assert_eq!(missed, None, "{space:?} of {} {:?}", reading.proto, reading.rows);
        }
        for row in &reading.rows {
            let hex = row.hex.chars().count() / 2;
            assert_eq!(
                hex,
                if row.kind == Kind::Group { 0 } else { row.span.len },
                "{row:?}"
            );
            let texts = [&row.label, &row.value, &row.hex];
            assert!(
                texts.iter().all(|text| !text.contains(char::is_control)),
                "{row:?}"
            );
        }
    }
    for width in [0, 60, 79, text::WIDTH, 240] {
        for line in text::text(first(datagram, options(Secrets::Hide)), readings, width).lines() {
            assert!(
                textwrap::core::display_width(line) <= width.max(text::MIN_WIDTH),
                "{width}: {line}"
            );
            assert!(
                !line.contains(char::is_control) && line.trim_end() == line,
                "{line:?}"
            );
        }
    }
}

/// Returns a packet with the 0.7 `info` message and a password.
fn secret_packet() -> Vec<u8> {
    let info = b"\x030.7\0hunter2\0";
    let mut datagram = b"\x00\x00\x01\x67\xec\x52\xa9\x40".to_vec();
    datagram.push(info.len().try_into().unwrap());
    datagram.push(1);
    datagram.extend_from_slice(info);
    datagram
}

/// Returns the packet with a compressed payload.
fn compressed(datagram: &[u8]) -> Vec<u8> {
    let mut out = datagram[..7].to_vec();
    out[0] |= 0x10;
    teetap_wire::compress(&datagram[7..], teetap_wire::Trailing::Always, &mut out);
    out
}

#[test]
fn a_first_datagram_shows_its_mistake() {
    let first = |bytes: &[u8], dir| {
        let options = Options {
            dir,
            ..options(Secrets::Hide)
        };
        first(bytes, options)
    };
    let mut request = b"\x10\0\0\xff\xff\xff\xff\x05\x24\x05\xcd\xfd".to_vec();
    request.resize(520, 0);
    assert_eq!(first(&request, None), Some(OpensNothing::FlagOfSix));
    assert_eq!(first(&request, Some(Dir::C2s)), Some(OpensNothing::FlagOfSix));
    // Servers never send such a datagram.
    assert_eq!(first(&request, Some(Dir::S2c)), None);
    // Bytes beyond the maximum that receivers read change nothing.
    request.resize(1500, 1);
    assert_eq!(first(&request, None), Some(OpensNothing::FlagOfSix));
    let text = text::text(
        first(&request, None),
        &explain(&request, options(Secrets::Hide)),
        60,
    );
    let start = "as the first datagram of a client: byte 0 is 10, the control\n";
    assert!(text.starts_with(start), "{text}");
}

/// No datagram sent by a real peer shows a mistake.
#[test]
fn real_datagrams_show_no_mistake() {
    for (name, datagram) in super::snapshots::samples().filter(|(name, _)| !name.starts_with("broken")) {
        assert_eq!(first(&datagram, options(Secrets::Hide)), None, "{name}");
    }
}

#[test]
fn no_explanation_shows_a_secret_unless_asked_to() {
    let plain = secret_packet();
    for datagram in [plain.clone(), compressed(&plain)] {
        for proto in [
            None,
            Some(Proto::V6),
            Some(Proto::V65),
            Some(Proto::Ddnet),
            Some(Proto::V7),
        ] {
            for dir in [None, Some(Dir::C2s), Some(Dir::S2c)] {
                let hidden = explain(
                    &datagram,
                    Options {
                        proto,
                        dir,
                        ..options(Secrets::Hide)
                    },
                );
                check(&datagram, &hidden);
                let all = format!("{hidden:?}{}", text::text(None, &hidden, text::WIDTH));
                assert!(
                    !all.contains("hunter") && !all.contains("68756e74"),
                    "{proto:?} {dir:?} {all}"
                );
                assert!(
                    !all.contains("unter") && !all.contains("756e74"),
                    "{proto:?} {dir:?} {all}"
                );
            }
        }
        let hidden = explain(&datagram, options(Secrets::Hide));
        assert_eq!(
            (hidden[0].proto, row(&hidden[0], "password").value.as_str()),
            (Proto::V7, "•••")
        );
        let shown = explain(&datagram, options(Secrets::Show));
        assert_eq!(row(&shown[0], "password").value, "\"hunter2\"");
        assert_eq!(row(&shown[0], "password").hex, "68756e7465723200");
    }
    // Bytes that a reader could inflate are hidden, too.
    let datagram = compressed(&plain);
    let hidden = explain(&datagram, options(Secrets::Hide));
    let tail = "••".repeat(datagram.len() - 7);
    assert!(hidden.iter().all(|reading| reading.datagram.ends_with(&tail)));
}

#[test]
fn no_explanation_shows_the_rest_of_a_cut_secret() {
    let plain = secret_packet();
    for whole in [plain.clone(), compressed(&plain)] {
        for len in 8..whole.len() {
            let datagram = &whole[..len];
            let hidden = explain(datagram, options(Secrets::Hide));
            check(datagram, &hidden);
            let all = format!("{hidden:?}{}", text::text(None, &hidden, text::WIDTH));
            assert!(!all.contains("hunt") && !all.contains("68756e"), "{len} {all}");
        }
    }
}

#[test]
fn a_cut_stream_shows_its_bytes_up_to_the_cut() {
    let whole = compressed(&secret_packet());
    let cut = &whole[..whole.len() - 4];
    let reading = as_proto(Proto::V7, Some(Dir::C2s), cut);
    assert_eq!(reading.verdict, Verdict::No);
    assert!(codes(&reading).contains(&Code::BadHuffman));
    assert_eq!(row(&reading, "version").value, "\"0.7\"");
    assert!(
        row(&reading, "password").value.starts_with("\"hunt"),
        "{reading:?}"
    );
    check(cut, &[reading]);
}

/// Cut and odd datagrams: hex, protocol, and a note, a row and its value in the explanation.
const CUT: &str = r#"
04000067ec | 0.7 | too-short | token | 2 of 4 bytes
10 | 0.6 | too-short | packet header | 1 of 3 bytes
- | 0.6.5 | too-short | packet header | 0 of 3 bytes
1000000001 | ddnet | missing-token | token | missing
100000 | 0.6 | control-empty | control message | empty
100000096162 | 0.6 | unknown-control | unknown message | control.9
ffffff | 0.6 | too-short | connless header | 3 of 6 bytes
21010203 | 0.7 | too-short | receiver's token | 3 of 4 bytes
00000140 | 0.6 | chunk-truncated | chunk 1 of 1 | 1 of 3 bytes of its header
000001000509 | 0.6 | chunk-truncated | chunk 1 of 1 | con_ready, not vital, 5 bytes announced, 1 there
000002000109 | 0.6 | chunk-count-too-high | number of chunks | 2
00000100010955 | 0.6 | trailing-bytes | after the last chunk | 1 byte
00000100027f55 | 0.6 | unknown-message | unknown message | game.-32
0000014002010261 | 0.6 | unterminated-text | message | "a"
00000140010102 | 0.6 | missing-field | message | missing
0c000000 | 0.6 | unknown-flags | flags | unused
000001000b0f01020006000100090002 | 0.6 | snap-truncated | not complete | 0 bytes
000001000a0f010200050001004000 | 0.6 | snap-bad-item | item | type -1, id 0
"#;

#[test]
fn a_cut_is_noted_at_its_place() {
    for line in CUT.trim().lines() {
        let columns: Vec<&str> = line.split(" | ").collect();
        let [hex, proto, code, label, value] = columns[..] else {
            panic!("{line}")
        };
        let datagram = match hex {
            "-" => Vec::new(),
            hex => input::from_text(hex).unwrap().datagram,
        };
        let reading = as_proto(proto.parse().unwrap(), Some(Dir::S2c), &datagram);
        assert_eq!(row(&reading, label).value, value, "{line}");
        let found = codes(&reading);
        assert!(found.iter().any(|found| found.name() == code), "{line} {found:?}");
        assert_ne!(reading.verdict, Verdict::Fits, "{line}");
        check(&datagram, &[reading]);
    }
}

#[test]
fn bytes_of_snapshot_data_outside_of_items_are_shown() {
    let later = b"\x00\x00\x01\x00\x09\x0b\x01\x02\x02\x01\x00\x02\x01\x02";
    let reading = as_proto(Proto::V6, Some(Dir::S2c), later);
    let data = row(&reading, "data");
    assert_eq!(
        data.value,
        "2 bytes, part 1 from 0 of 2, which continues the item of the part before"
    );
    assert_eq!(row(&reading, "bytes").hex, "0102");
    check(later, &[reading]);

    let surplus = b"\x00\x00\x01\x00\x09\x0f\x01\x02\x00\x04\x00\x00\x00\x07";
    let reading = as_proto(Proto::V6, Some(Dir::S2c), surplus);
    assert_eq!(row(&reading, "surplus").hex, "07");
    assert_eq!(codes(&reading), [Code::SurplusBytes]);
    check(surplus, &[reading]);
}

#[test]
fn both_copies_of_the_bits_of_a_sequence_are_compared() {
    for (second, twice) in [
        (0x31, "equal to the other copy"),
        (0x01, "differs from the other copy: receivers or both"),
    ] {
        let datagram = [0, 0, 1, 0x40, second, 0xc0, 0x09];
        let reading = as_proto(Proto::V6, None, &datagram);
        let mut bits = reading
            .rows
            .iter()
            .filter(|row| row.label == "sequence, bits 7 and 6");
        assert_eq!(bits.next_back().unwrap().value, twice);
    }
}

#[test]
fn a_datagram_is_read_no_further_than_receivers_read_it() {
    let mut datagram = b"\x00\x00\x01\x00\x01\x09".to_vec();
    datagram.resize(3000, 0x55);
    let readings = explain(&datagram, options(Secrets::Hide));
    check(&datagram, &readings);
    assert_eq!(
        row(&readings[0], "not received").span,
        Span::new(Space::Datagram, 1400, 1600)
    );
}

#[test]
fn every_sample_fits_without_a_warning() {
    for (name, datagram) in samples().filter(|(name, _)| !name.starts_with("broken")) {
        let readings = explain(&datagram, options(Secrets::Hide));
        check(&datagram, &readings);
        assert_eq!(readings[0].verdict, Verdict::Fits, "{name}");
        assert!(
            name.starts_with(&format!("{}-", readings[0].proto).replace('.', "")),
            "{name}"
        );
        let heavy = |code: &Code| code.severity() > Severity::Info;
        assert!(!codes(&readings[0]).iter().any(heavy), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_covered_and_harmless(datagram in prop::collection::vec(any::<u8>(), 0..1600)) {
        check(&datagram, &explain(&datagram, options(Secrets::Hide)));
    }

    #[test]
    fn broken_samples_are_covered_and_harmless(
        pick in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
        whole in any::<bool>(),
    ) {
        let all: Vec<_> = samples().collect();
        let mut datagram = pick.get(&all).1.clone();
        for (at, byte) in changes {
            let at = at.index(datagram.len());
            datagram[at] = byte;
        }
        if !whole {
            datagram.truncate(cut.index(datagram.len() + 1));
        }
        for secrets in [Secrets::Hide, Secrets::Show] {
            check(&datagram, &explain(&datagram, options(secrets)));
        }
    }
}
