//! Tests of recordings that start before or during a session, and of other traffic.

mod acks;
mod odd;
mod repeats;

use std::collections::BTreeMap;

use proptest::prelude::*;
use teetap_kit::{
    capture,
    codec::{Variant, control},
};
use teetap_wire::{Code, Packet, Proto, Scratch};

use super::*;
use teetap_proxy::session::{EventKind, Notice, State};

fn observe<'a>(sightings: impl IntoIterator<Item = Sighting<'a>>) -> (Vec<Event>, Tally) {
    let mut observer = Observer::new();
    let mut events = Vec::new();
    for sighting in sightings {
        observer.see(sighting);
        assert!(observer.waiting.len() <= MAX_WAITING + 2 && observer.flows.open() <= MAX_FLOWS);
        events.extend(std::iter::from_fn(|| observer.poll()));
    }
    observer.finish();
    events.extend(std::iter::from_fn(|| observer.poll()));
    assert!(observer.waiting.is_empty());
    (events, observer.tally())
}

fn sightings(packets: &[capture::Packet]) -> impl Iterator<Item = Sighting<'_>> {
    let start = packets.first().map_or(0, |packet| packet.time);
    packets.iter().map(move |packet| Sighting {
        at: Time(packet.time - start),
        from: packet.from,
        to: packet.to,
        bytes: &packet.payload,
        len: packet.payload.len(),
        frame: 0,
    })
}

/// Returns client and protocol of each session that was found, and the number of guessed sessions.
fn found(events: &[Event]) -> (Vec<(SocketAddr, Proto)>, usize) {
    let mut sessions = BTreeMap::new();
    let mut guessed = 0;
    for event in events {
        match (event.session, &event.what) {
            (Some(session), EventKind::Session(change)) => {
                sessions.insert(session, (change.client, change.proto));
            }
            (Some(_), EventKind::Notice(Notice::Guessed { .. })) => guessed += 1,
            _ => {}
        }
    }
    (sessions.into_values().collect(), guessed)
}

const V6: Proto = Proto::V6;
const V65: Proto = Proto::V65;
const DD: Proto = Proto::Ddnet;
const V7: Proto = Proto::V7;

/// Names of captures, and the protocols of their clients in the order of their first datagrams.
const CAPTURES: [(&str, &[Proto]); 14] = [
    ("dd-session", &[DD]),
    ("dd16-to-tw06", &[V6]),
    ("ddh20-to-dd20", &[DD]),
    ("info-requests", &[]),
    ("loss-tw07", &[V7]),
    ("map-dd", &[DD]),
    ("map-tw07", &[V7]),
    ("npm-to-dd16", &[DD]),
    ("rich-dd16", &[DD, DD, DD]),
    ("rich-tw07", &[V7, V7, V7]),
    ("sixup-session", &[V7]),
    ("tw06-session", &[V65]),
    ("tw06c-to-dd20-antispoof", &[V6]),
    ("tw07-session", &[V7]),
];

/// Returns the clients of a capture: the senders of CONNECT.
fn clients(packets: &[capture::Packet]) -> Vec<SocketAddr> {
    let mut clients = Vec::new();
    for packet in packets {
        let connects = matches!(
            packet.payload[..],
            [0x10, 0, 0, 1, ..] | [0x04, _, _, _, _, _, _, 1, ..]
        );
        if connects && !clients.contains(&packet.from) {
            clients.push(packet.from);
        }
    }
    clients
}

#[test]
fn every_recorded_session_is_found_whole() {
    assert_eq!(capture::names().unwrap(), CAPTURES.map(|(name, _)| name));
    for (name, protos) in CAPTURES {
        let packets = capture::recorded(name).unwrap();
        let (events, tally) = observe(sightings(&packets));
        let expected: Vec<_> = clients(&packets)
            .into_iter()
            .zip(protos.iter().copied())
            .collect();
        assert_eq!(expected.len(), protos.len(), "{name}");
        assert_eq!(found(&events), (expected, 0), "{name}");
        assert_eq!(tally.sessions, protos.len() as u64, "{name}");
        assert_eq!(
            (
                tally.foreign,
                tally.traffic.iter().map(|traffic| traffic.datagrams).sum::<u64>()
            ),
            (0, packets.len() as u64),
            "{name}"
        );
        let emitted = events
            .iter()
            .filter(|event| matches!(event.what, EventKind::Datagram(_) | EventKind::Connless(_)));
        assert!(
            emitted
                .clone()
                .map(|event| event.at)
                .eq(sightings(&packets).map(|sighting| sighting.at))
        );
        let odd = emitted.filter(
            |event| matches!(&event.what, EventKind::Datagram(datagram) if !datagram.notes.is_empty()),
        );
        assert_eq!(odd.count(), 0, "{name}");
    }
}

#[test]
fn every_recorded_session_is_found_from_any_seventh_datagram_on() {
    for (name, protos) in CAPTURES {
        let packets = capture::recorded(name).unwrap();
        let known: BTreeMap<_, _> = clients(&packets)
            .into_iter()
            .zip(protos.iter().copied())
            .collect();
        for start in (0..packets.len()).step_by(7) {
            let rest = &packets[start..];
            // A session is expected only if a datagram follows its exchange of tokens.
            let mut expected: Vec<(SocketAddr, Proto)> = Vec::new();
            for packet in rest {
                let client = [packet.from, packet.to]
                    .into_iter()
                    .find(|address| known.contains_key(address));
                let is_token = matches!(packet.payload[..], [0x04, _, _, _, _, _, _, 5, ..]);
                let Some(client) = client.filter(|_| packet.payload[0] & 0x20 == 0 && !is_token) else {
                    continue;
                };
                if !expected.iter().any(|(known, _)| *known == client) {
                    expected.push((client, known[&client]));
                }
            }
            let (events, tally) = observe(sightings(rest));
            assert_eq!(found(&events).0, expected, "{name} from {start} on");
            assert_eq!(tally.foreign, 0, "{name} from {start} on");
        }
    }
}

/// Returns a pair of addresses that is unique for `number`.
fn addresses(number: u16) -> (SocketAddr, SocketAddr) {
    (
        ([10, 0, 0, 1], 10_000 + number).into(),
        ([10, 0, 0, 2], 9_999).into(),
    )
}

/// Returns `datagrams` as sightings, one per millisecond. True marks datagrams of the client.
fn script(datagrams: &[(bool, Vec<u8>)], number: u16, start: u64) -> Vec<Sighting<'_>> {
    let (client, server) = addresses(number);
    let mut sightings = Vec::new();
    for (at, (is_client, bytes)) in (0..).zip(datagrams) {
        sightings.push(Sighting {
            at: Time(start + 1000 * at),
            from: if *is_client { client } else { server },
            to: if *is_client { server } else { client },
            bytes,
            len: bytes.len(),
            frame: 0,
        });
    }
    sightings
}

/// Returns the datagrams of the only session in a capture.
fn only_session(name: &str) -> Vec<(bool, Vec<u8>)> {
    let packets = capture::recorded(name).unwrap();
    let client = clients(&packets)[0];
    let own = packets
        .into_iter()
        .filter(|packet| [packet.from, packet.to].contains(&client));
    own.map(|packet| (packet.from == client, packet.payload))
        .collect()
}

fn states(events: &[Event]) -> Vec<(u32, State)> {
    events
        .iter()
        .filter_map(|event| match &event.what {
            EventKind::Session(change) => Some((event.session.unwrap().0, change.state)),
            _ => None,
        })
        .collect()
}

#[test]
fn a_client_that_restarts_on_its_port_begins_a_session() {
    for name in ["tw07-session", "tw06-session", "dd-session"] {
        let whole = only_session(name);
        // A session without a CLOSE ends when the next one begins.
        let unclosed = whole[..whole.len() / 2].to_vec();
        for (first, ends) in [(whole.clone(), true), (unclosed, false)] {
            // A CONNECT in the first seconds of a session may be a delayed copy.
            let restart = script(&whole, 0, 3_000_000);
            let (events, tally) = observe(script(&first, 0, 0).into_iter().chain(restart));
            use State::{Closed, Online, Opening};
            let one = [Opening, Online, Closed];
            let expected: Vec<_> = [1, 2]
                .into_iter()
                .flat_map(|id| one.map(|state| (id, state)))
                .collect();
            assert_eq!(states(&events), expected, "{name} {ends}");
            assert_eq!((tally.sessions, tally.foreign), (2, 0));
        }
    }
}

#[test]
fn a_late_or_spoofed_connect_ends_no_session() {
    for name in ["tw07-session", "tw06-session", "dd-session"] {
        let mut datagrams = only_session(name);
        let connect = datagrams
            .iter()
            .find(|(is_client, _)| *is_client)
            .unwrap()
            .clone();
        for at in [3, datagrams.len() / 2] {
            datagrams.insert(at, connect.clone());
        }
        assert_eq!(states(&observe(script(&datagrams, 0, 0)).0).len(), 3, "{name}");
    }
}

#[test]
fn a_capture_that_cuts_datagrams_off_says_so_and_is_understood() {
    for (name, proto) in [("tw07-session", V7), ("tw06-session", V65), ("dd-session", DD)] {
        let datagrams = only_session(name);
        let cut = script(&datagrams, 0, 0).into_iter().map(|sighting| Sighting {
            bytes: &sighting.bytes[..sighting.bytes.len().min(60)],
            ..sighting
        });
        let (events, _) = observe(cut);
        let (client, _) = addresses(0);
        assert_eq!(found(&events), (vec![(client, proto)], 0), "{name}");
        let marked = events.iter().filter(
            |event| matches!(&event.what, EventKind::Datagram(datagram) if datagram.notes.contains(Code::CutByCapture)),
        );
        let long = datagrams
            .iter()
            .filter(|(_, bytes)| bytes.len() > 60 && bytes[0] & 0x20 == 0);
        assert_eq!(marked.count(), long.count());
    }
}

#[test]
fn a_wrong_token_is_marked() {
    let mut datagrams = only_session("tw07-session");
    let middle = datagrams.len() / 2;
    datagrams[middle].1[4] ^= 1;
    let (events, _) = observe(script(&datagrams, 0, 0));
    let marked: Vec<u64> = events
        .iter()
        .filter(|event| matches!(&event.what, EventKind::Datagram(datagram) if datagram.notes.contains(Code::WrongToken)))
        .map(|event| event.at.0 / 1000)
        .collect();
    assert_eq!(marked, [middle as u64]);
}

/// A receiver ignores a CLOSE with a wrong token or without one, so anybody may have sent it.
#[test]
fn a_close_with_a_wrong_token_ends_no_session() {
    for (name, variant, proto) in [
        ("tw07-session", Variant::V7, V7),
        ("tw06-session", Variant::V65, V65),
        ("dd-session", Variant::Ddnet, DD),
    ] {
        let mut datagrams = only_session(name);
        datagrams.truncate(datagrams.len() / 2);
        for is_client in [false, true] {
            let mut scratch = Scratch::new();
            let last = datagrams
                .iter()
                .rfind(|(from_client, _)| *from_client == is_client);
            let header = Packet::parse(proto, &last.unwrap().1, &mut scratch)
                .unwrap()
                .header;
            let own = header.token.unwrap().0;
            let mut wrong = own;
            wrong[3] ^= 1;
            for (token, state) in [(own, State::Closed), (wrong, State::Online)] {
                let close = control::close(variant, header.ack.get(), Some(token), "bye");
                let mut closed = datagrams.clone();
                closed.push((is_client, close));
                let (events, _) = observe(script(&closed, 0, 0));
                let last = states(&events).last().copied();
                assert_eq!(last, Some((1, state)), "{name} {is_client} {token:02x?}");
            }
        }
    }
}

#[test]
fn a_token_other_than_that_of_the_handshake_is_marked_from_the_first_datagram_on() {
    // Position of the token, or of the header flag for a token.
    for (name, at, code) in [
        ("tw07-session", Some(3), Code::WrongToken),
        ("tw06-session", Some(3), Code::WrongToken),
        ("tw06-session", Some(0), Code::MissingToken),
        ("dd-session", None, Code::WrongToken),
    ] {
        let mut datagrams = only_session(name);
        let is_data = |bytes: &[u8]| match name {
            "tw07-session" => bytes[0] & 0x24 == 0,
            // The ACCEPT of DDNet.
            "dd-session" => bytes[0] == 0x10 && bytes[3] == 3,
            _ => bytes[0] & 0x30 == 0,
        };
        let first = datagrams
            .iter()
            .position(|(is_client, bytes)| *is_client && is_data(bytes));
        let first = first.unwrap();
        let bytes = &mut datagrams[first].1;
        // Changes the token, which is at the end in DDNet, or clears the header flag for a token.
        let at = at.unwrap_or(bytes.len() - 1);
        bytes[at] ^= if at == 0 { 0x08 } else { 1 };
        let (events, _) = observe(script(&datagrams, 0, 0));
        let marked = events.iter().filter_map(|event| match &event.what {
            EventKind::Datagram(datagram) if datagram.notes.contains(code) => Some(event.at.0 / 1000),
            _ => None,
        });
        assert_eq!(marked.collect::<Vec<_>>(), [first as u64], "{name} {code:?}");
    }
}

/// Returns DNS queries and replies, and datagrams of random bytes.
fn strangers(number: u16) -> Vec<(bool, Vec<u8>)> {
    let query = |id: u8| {
        [
            &[id, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0][..],
            b"\x07example\x03org\0\0\x01\0\x01",
        ]
        .concat()
    };
    let noise = |seed: u32| {
        (0..40)
            .map(|at| seed.wrapping_add(at).wrapping_mul(0x9e37_79b9).to_be_bytes()[1] & 0xdf)
            .collect()
    };
    let of = |at: u8| {
        if number.is_multiple_of(2) {
            query(at & 0xdf)
        } else {
            noise(u32::from(at) * 77)
        }
    };
    (0..20).map(|at| (at % 2 == 0, of(at))).collect()
}

#[test]
fn what_is_not_understood_is_counted_and_reported_once() {
    for number in [0, 1] {
        let (events, tally) = observe(script(&strangers(number), number, 0));
        assert_eq!((tally.foreign, tally.sessions), (20, 0), "{events:?}");
        assert!(
            matches!(
                events[..],
                [Event {
                    what: EventKind::Notice(Notice::Foreign { .. }),
                    ..
                }]
            ),
            "{events:?}"
        );
    }
}

#[test]
fn the_order_of_the_recording_is_kept_while_a_stranger_is_undecided() {
    let (strange, session) = (strangers(0), only_session("dd-session"));
    let mut both = [script(&strange, 0, 0), script(&session, 1, 500)].concat();
    both.sort_by_key(|sighting| sighting.at);
    let (events, tally) = observe(both);
    assert_eq!((tally.foreign, tally.sessions), (20, 1));
    assert!(events.is_sorted_by_key(|event| event.at));
}

#[test]
fn idle_sessions_and_surplus_ones_are_dropped() {
    let datagrams = only_session("dd-session")[..30].to_vec();
    let strange = strangers(0);
    let later = script(&strange, 1, 200_000_000);
    let (events, _) = observe(script(&datagrams, 0, 0).into_iter().chain(later));
    assert_eq!(states(&events).last(), Some(&(1, State::Closed)));
    let connect = vec![datagrams[0].clone()];
    let mut observer = Observer::new();
    for number in 0..u16::try_from(2 * MAX_FLOWS).unwrap() {
        script(&connect, number, 0)
            .into_iter()
            .for_each(|sighting| observer.see(sighting));
        while observer.poll().is_some() {}
        assert!(observer.flows.open() <= MAX_FLOWS && observer.flows.len() <= MAX_FLOWS);
    }
    assert_eq!(observer.tally().sessions, 2 * MAX_FLOWS as u64);
}

proptest! {
    /// Any datagrams between a few addresses, such as mutated real datagrams, are emitted in order or counted.
    #[test]
    fn any_datagrams_are_emitted_or_counted(
        datagrams in prop::collection::vec((any::<bool>(), 0u16..3, prop::collection::vec(any::<u8>(), 0..80), any::<prop::sample::Index>(), 0usize..100), 1..200),
    ) {
        let real = only_session("dd-session");
        let mut bytes: Vec<(bool, u16, Vec<u8>, usize)> = Vec::new();
        for (is_client, number, noise, index, extra) in datagrams {
            let mut datagram = real[index.index(real.len())].1.clone();
            if number == 0 {
                datagram = noise;
            } else if let (Some(first), Some(byte)) = (noise.first(), datagram.get_mut(extra)) {
                *byte = *first;
            }
            bytes.push((is_client, number, datagram, extra));
        }
        let count = bytes.len() as u64;
        let sightings = (0..).zip(&bytes).map(|(at, (is_client, number, bytes, extra))| {
            let (client, server) = addresses(*number);
            let (from, to) = if *is_client { (client, server) } else { (server, client) };
            Sighting { at: Time(100_000 * at), from, to, bytes, len: bytes.len() + extra % 3, frame: 0 }
        });
        let (events, tally) = observe(sightings);
        prop_assert!(events.is_sorted_by_key(|event| event.at));
        let emitted = events.iter().filter(|event| matches!(event.what, EventKind::Datagram(_) | EventKind::Connless(_))).count();
        prop_assert_eq!(emitted as u64 + tally.foreign, count);
        prop_assert_eq!(tally.traffic.iter().map(|traffic| traffic.datagrams).sum::<u64>(), emitted as u64);
    }
}
