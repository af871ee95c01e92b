//! Tests of acks in recorded sessions, and of recordings that lack datagrams.

use teetap_inspect::{Decoder, Style, jsonl};
use teetap_wire::{Flags, def::Registry};

use super::*;

const SESSIONS: [(&str, Proto); 4] = [
    ("tw07-session", V7),
    ("tw06-session", V65),
    ("dd-session", DD),
    ("dd16-to-tw06", V6),
];

/// Returns the indexes of the datagrams with a note about their acks.
fn odd(events: &[Event]) -> Vec<(u64, Code)> {
    let datagrams = events.iter().filter_map(|event| match &event.what {
        EventKind::Datagram(datagram) => Some((event.at.0 / 1000, datagram)),
        _ => None,
    });
    datagrams
        .flat_map(|(at, datagram)| datagram.notes.iter().map(move |note| (at, note.code)))
        .filter(|(_, code)| matches!(code, Code::AckAhead | Code::AckBehind))
        .collect()
}

fn holes(events: &[Event]) -> usize {
    let is_hole = |event: &&Event| matches!(event.what, EventKind::Notice(Notice::Hole));
    events.iter().filter(is_hole).count()
}

/// Returns the result of each snapshot, and the codes of all notes.
fn decoded(events: Vec<Event>) -> (Vec<String>, Vec<String>) {
    let mut decoder = Decoder::new(Registry::builtin());
    let style = Style {
        json: true,
        ..Style::default()
    };
    let (mut fates, mut codes) = (Vec::new(), Vec::new());
    for event in events {
        let mut out = Vec::new();
        jsonl::event(&decoder.decode(event), style, &mut out);
        for line in out.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let line: serde_json::Value = serde_json::from_slice(line).unwrap();
            let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
            if line["event"] == "message" {
                fates.extend(text(&line["snap"]["fate"]));
                let notes = line["notes"].as_array().unwrap();
                codes.extend(notes.iter().filter_map(|note| text(&note["code"])));
            }
        }
    }
    (fates, codes)
}

fn with_ack(bytes: &[u8], change: u16) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let ack = u16::from_be_bytes([bytes[0] & 3, bytes[1]]).wrapping_add(change) & 1023;
    let [high, low] = ack.to_be_bytes();
    bytes[0] = bytes[0] & !3 | high;
    bytes[1] = low;
    bytes
}

#[test]
fn an_ack_outside_the_window_is_noted_as_in_a_live_run() {
    for (name, proto) in SESSIONS {
        let whole = only_session(name);
        let middle = whole.len() / 2;
        for is_client in [true, false] {
            let is_plain = |(at, (from, bytes)): &(usize, &(bool, Vec<u8>))| {
                // Selects a datagram with chunks, not a keepalive.
                *at >= middle && *from == is_client && bytes[0] & 0x20 == 0 && bytes.len() > 8
            };
            let (at, _) = whole.iter().enumerate().find(is_plain).unwrap();
            for (change, code) in [(7, Code::AckAhead), (1020, Code::AckBehind)] {
                let mut datagrams = whole.clone();
                datagrams[at].1 = with_ack(&whole[at].1, change);
                let events = observe(script(&datagrams, 0, 0)).0;
                assert_eq!(odd(&events), [(at as u64, code)], "{name} {proto} {is_client}");
                assert_eq!(holes(&events), 0);
            }
        }
    }
}

/// A wrong ack after a silence during a join is the fault of its sender, not a hole, since joins have such silences.
/// The same is true after a silence in the game if the next number shows that none is missing.
#[test]
fn a_wrong_ack_after_a_silence_is_no_hole_without_later_numbers() {
    for (name, proto) in SESSIONS {
        let whole = only_session(name);
        let is_plain = |(_, (is_client, bytes)): &(usize, &(bool, Vec<u8>))| {
            *is_client && bytes[0] & 0x20 == 0 && bytes.len() > 8
        };
        let plain: Vec<usize> = whole
            .iter()
            .enumerate()
            .filter(is_plain)
            .map(|(at, _)| at)
            .collect();
        // The first datagrams after the handshake, and some datagrams in the game.
        let early = plain.iter().copied().filter(|at| (4..14).contains(at));
        let late = plain
            .iter()
            .copied()
            .filter(|at| *at > whole.len() / 2)
            .step_by(9);
        let mut scratch = Scratch::default();
        for (at, copies) in early.map(|at| (at, 3)).chain(late.map(|at| (at, 1))) {
            // The server drops the changed datagrams, and accepts the client's next datagram.
            let mut datagrams = whole.clone();
            let wrong = with_ack(&whole[at].1, 100);
            let has_vital = Packet::parse(proto, &wrong, &mut scratch)
                .is_ok_and(|packet| packet.chunks().any(|chunk| chunk.header.vital.is_some()));
            datagrams.splice(at..at, std::iter::repeat_n((true, wrong), copies));
            let paused = script(&datagrams, 0, 0).into_iter().enumerate();
            let sightings = paused.map(|(index, sighting)| Sighting {
                at: Time(sighting.at.0 + if index >= at { 700_000 } else { 0 }),
                ..sighting
            });
            let events = observe(sightings).0;
            let noted = odd(&events);
            assert_eq!(holes(&events), 0, "{name} {proto} {at}");
            let expected = if has_vital { copies - 1 } else { 0 };
            assert_eq!(noted.len(), expected, "{name} {proto} {at}: {noted:?}");
            assert!(noted.iter().all(|(_, code)| *code == Code::AckAhead));
        }
    }
}

/// A receiver ignores a CLOSE with a wrong ack.
#[test]
fn a_close_with_a_wrong_ack_ends_no_session() {
    let mut datagrams = only_session("tw07-session");
    let close = datagrams
        .iter()
        .rposition(|(_, bytes)| bytes[0] & 0x3c == 0x04 && bytes[7] == 4)
        .unwrap();
    datagrams.truncate(close + 1);
    let closed = states(&observe(script(&datagrams, 0, 0)).0);
    assert_eq!(closed.last(), Some(&(1, State::Closed)));
    datagrams[close].1 = with_ack(&datagrams[close].1, 7);
    let events = observe(script(&datagrams, 0, 0)).0;
    assert_eq!(odd(&events), [(close as u64, Code::AckAhead)]);
    assert_eq!(states(&events).last(), Some(&(1, State::Online)));
}

/// A recording that begins at any datagram has no notes about acks, although the earlier numbers are unknown.
#[test]
fn what_begins_in_the_middle_has_no_odd_acks() {
    for (name, _) in CAPTURES {
        let packets = capture::recorded(name).unwrap();
        for start in (0..packets.len()).step_by(29) {
            let events = observe(sightings(&packets[start..])).0;
            assert_eq!(
                (odd(&events), holes(&events)),
                (vec![], 0),
                "{name} from {start} on"
            );
        }
    }
}

/// A missing second causes at most one notice, if acks reveal it, and at most one snapshot without a base.
#[test]
fn a_hole_is_reported_once() {
    let (mut reported, mut without_base) = (0, 0);
    for (name, _) in [("tw07-session", V7), ("dd-session", DD), ("tw06-session", V65)] {
        let packets = capture::recorded(name).unwrap();
        let start = packets[0].time;
        for second in 1..8 {
            let from = start + second * 1_000_000;
            let hole = from..from + 1_000_000;
            let rest: Vec<_> = packets
                .iter()
                .filter(|packet| !hole.contains(&packet.time))
                .cloned()
                .collect();
            let events = observe(sightings(&rest)).0;
            let case = format!("{name} without second {second}");
            assert_eq!(odd(&events), vec![], "{case}");
            let holes = holes(&events);
            assert!(holes <= 1, "{case}: {holes}");
            reported += holes;
            let (fates, codes) = decoded(events);
            let errors = codes.iter().filter(|code| *code == "snap-no-base").count();
            assert!(errors <= 1, "{case}: {errors}");
            without_base += fates.iter().filter(|fate| *fate == "no base").count();
        }
    }
    assert!(reported > 3 && without_base > 30, "{reported} {without_base}");
}

/// A single missing datagram is revealed by later numbers, or by replies to the client's datagrams.
#[test]
fn a_missing_datagram_is_a_hole_and_not_the_fault_of_the_client() {
    let whole = only_session("tw07-session");
    let mut scratch = Scratch::default();
    let vitals: Vec<usize> = (0..whole.len())
        .filter(|at| {
            let (is_client, bytes) = &whole[*at];
            let packet = Packet::parse(V7, bytes, &mut scratch).ok();
            let is_control = |packet: &Packet<'_>| packet.header.flags.contains(Flags::CONTROL);
            !is_client
                && packet
                    .filter(|packet| !is_control(packet) && bytes[0] & 0x20 == 0)
                    .is_some_and(|packet| packet.chunks().any(|chunk| chunk.header.vital.is_some()))
        })
        .collect();
    let (mut reported, mut noted) = (0, 0);
    for two in vitals.windows(2) {
        let mut datagrams = whole.clone();
        datagrams.remove(two[0]);
        let events = observe(script(&datagrams, 0, 0)).0;
        let (odd, holes) = (odd(&events), holes(&events));
        assert!(holes <= 1, "{two:?}");
        // Notes end when the next number is seen.
        assert!(odd.iter().all(|(at, _)| *at < two[1] as u64), "{two:?} {odd:?}");
        assert_eq!(odd.is_empty(), holes == 0, "{two:?} {odd:?}");
        reported += holes;
        noted += odd.len();
    }
    assert!(reported > 5 && noted > reported, "{reported} {noted}");
}

/// Datagrams that a peer sent before it received a CLOSE are decoded in the context of the closed session.
#[test]
fn snapshots_after_close_have_their_bases() {
    for (name, close) in [("tw07-session", 0x04), ("dd-session", 0x10)] {
        let mut datagrams = only_session(name);
        let is_close = |(is_client, bytes): &(bool, Vec<u8>)| {
            let id = if close == 0x04 { 7 } else { 3 };
            *is_client && bytes[0] & 0xfc == close && bytes.get(id) == Some(&4)
        };
        let at = datagrams.iter().rposition(is_close).unwrap();
        let mut moved = datagrams.remove(at);
        // The moved CLOSE gets the last ack that the client had sent by then.
        let before = datagrams[..at - 40].iter().rfind(|(is_client, _)| *is_client);
        let (_, before) = before.unwrap().clone();
        moved.1[0] = moved.1[0] & !3 | before[0] & 3;
        moved.1[1] = before[1];
        datagrams.insert(at - 40, moved);
        let (events, _) = observe(script(&datagrams, 0, 0));
        assert_eq!(states(&events).last(), Some(&(1, State::Closed)), "{name}");
        let (fates, codes) = decoded(events);
        assert!(fates.len() > 50, "{name}");
        assert!(
            fates.iter().all(|fate| fate == "kept"),
            "{name}: {fates:?} {codes:?}"
        );
    }
}

/// The npm client mistakes the end of an ACCEPT without a token for a token, and appends it to every packet.
#[test]
fn an_npm_client_on_a_server_without_tokens_is_understood_from_its_middle_on() {
    let mut scratch = Scratch::default();
    let mut datagrams = only_session("dd16-to-tw06");
    datagrams.retain(|(_, bytes)| bytes[0] & 0x20 == 0);
    for (is_client, bytes) in &mut datagrams {
        let packet = Packet::parse(V6, bytes, &mut scratch).unwrap();
        let header = [bytes[0] & !0x80, bytes[1], bytes[2]];
        let tail = if *is_client { &[0x10, 0, 0, 2][..] } else { &[] };
        *bytes = [&header[..], packet.payload, tail].concat();
    }
    for start in (10..datagrams.len() - 30).step_by(7) {
        let (events, tally) = observe(script(&datagrams[start..], 0, 0));
        assert_eq!(
            (found(&events).0, tally.foreign),
            (vec![(addresses(0).0, V6)], 0),
            "from {start} on"
        );
    }
}

/// A compressed datagram of 0.7 whose token begins with 01 has the same flags and id as CONNECT of 0.6.
#[test]
fn tokens_of_0_7_that_look_like_connect_are_tokens() {
    for side in [true, false] {
        let mut datagrams = only_session("tw07-session");
        let is_playing = |bytes: &[u8]| bytes[0] & 0x20 == 0 && bytes.get(7).is_some();
        for (is_client, bytes) in datagrams.iter_mut().skip(8) {
            if *is_client == side && is_playing(bytes) {
                bytes[3..7].copy_from_slice(&[1, 2, 3, 4]);
            }
        }
        assert!(
            datagrams
                .iter()
                .any(|(_, bytes)| bytes[0] & 0xfc == 0x10 && bytes[3] == 1)
        );
        for start in (8..datagrams.len() - 30).step_by(7) {
            let rest = &datagrams[start..];
            let (events, tally) = observe(script(rest, 0, 0));
            assert_eq!(
                (found(&events).0, tally.foreign),
                (vec![(addresses(0).0, V7)], 0),
                "{side} from {start} on"
            );
            assert!(events.iter().all(|event| match &event.what {
                EventKind::Datagram(datagram) => datagram.proto == V7,
                _ => true,
            }));
        }
        // The same with a recorded handshake.
        let (events, tally) = observe(script(&datagrams, 0, 0));
        assert_eq!(
            (found(&events), tally.foreign),
            ((vec![(addresses(0).0, V7)], 0), 0)
        );
        assert_eq!(tally.sessions, 1);
    }
}

/// If a client restarts on the same port, its ACCEPT restarts the sequence numbers of both peers.
#[test]
fn an_accept_in_the_session_begins_the_numbers_anew() {
    let whole = only_session("dd-session");
    let is_accept = |(_, bytes): &(bool, Vec<u8>)| bytes.starts_with(&[0x10, 0, 0, 3]);
    let accept = whole.iter().position(is_accept).unwrap();
    let is_close = |(_, bytes): &(bool, Vec<u8>)| bytes[0] & 0x30 == 0x10 && bytes[3] == 4;
    let close = whole.iter().position(is_close).unwrap_or(whole.len());
    let mut datagrams = whole[..close].to_vec();
    datagrams.extend_from_slice(&whole[accept..close]);
    let events = observe(script(&datagrams, 0, 0)).0;
    assert_eq!((odd(&events), holes(&events)), (vec![], 0));
    let is_restart = |event: &&Event| matches!(event.what, EventKind::Notice(Notice::Restart));
    assert_eq!(events.iter().filter(is_restart).count(), 1);
    // Without the ACCEPT, the restarted acks are wrong.
    datagrams.remove(close);
    let events = observe(script(&datagrams, 0, 0)).0;
    assert!(!odd(&events).is_empty());
}
