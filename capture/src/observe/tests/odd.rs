//! Tests of incomplete or disordered recordings: truncated datagrams, a single direction, a system clock that was set,
//! and sessions without an end.

use teetap_proxy::session::OpensNothing;

use super::*;

/// Returns protocol and notes of each datagram, in order.
fn readings(events: &[Event]) -> Vec<(Proto, Vec<Code>)> {
    let datagrams = events.iter().filter_map(|event| match &event.what {
        EventKind::Datagram(datagram) => Some(datagram),
        _ => None,
    });
    datagrams
        .map(|datagram| {
            let codes = datagram.notes.iter().map(|note| note.code).collect();
            (datagram.proto, codes)
        })
        .collect()
}

fn protos(events: &[Event]) -> Vec<Proto> {
    readings(events).into_iter().map(|(proto, _)| proto).collect()
}

/// Returns the datagrams with times changed by `time`.
fn moved<'a>(
    sightings: impl IntoIterator<Item = Sighting<'a>>,
    time: impl Fn(usize, u64) -> u64,
) -> Vec<Sighting<'a>> {
    let indexed = sightings.into_iter().enumerate();
    indexed
        .map(|(index, sighting)| Sighting {
            at: Time(time(index, sighting.at.0)),
            ..sighting
        })
        .collect()
}

const HOUR: u64 = 3_600_000_000;

#[test]
fn what_the_recording_cuts_off_is_not_odd_about_the_datagram() {
    for (name, _) in CAPTURES {
        let packets = capture::recorded(name).unwrap();
        let whole = observe(sightings(&packets)).0;
        // With the headers of Ethernet, IPv4 and UDP, these lengths are the common snap lengths 68, 96 and 128.
        for keep in [26, 54, 86] {
            let cut = sightings(&packets).map(|sighting| Sighting {
                bytes: &sighting.bytes[..sighting.bytes.len().min(keep)],
                ..sighting
            });
            let events = observe(cut).0;
            assert_eq!(protos(&events), protos(&whole), "{name} {keep}");
            assert_eq!(states(&events), states(&whole), "{name} {keep}");
            for (_, codes) in readings(&events) {
                assert!(
                    codes.iter().all(|code| *code == Code::CutByCapture),
                    "{name} {keep}: {codes:?}"
                );
            }
        }
    }
}

/// A malformed handshake is reported once per flow, even in a capture without sessions. Other protocols are not.
#[test]
fn a_malformed_handshake_is_named_in_a_capture_without_a_session() {
    let padded = |start: &[u8], len: usize| {
        let mut bytes = start.to_vec();
        bytes.resize(len, 0);
        bytes
    };
    let magic = |start: &[u8]| [start, b"TKEN\xff\xff\xff\xff"].concat();
    let dns = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x03www\x02de\0\0\x01\0\x01".to_vec();
    for (bytes, expected) in [
        (
            padded(b"\x10\0\0\xff\xff\xff\xff\x05\x24\x05\xcd\xfd", 520),
            Some(OpensNothing::FlagOfSix),
        ),
        (
            padded(b"\x01\0\0\xff\xff\xff\xff\x05\x24\x05\xcd\xfd", 520),
            Some(OpensNothing::FlagNotShifted),
        ),
        (
            padded(b"\x04\0\0\0\0\0\0\x05\x24\x05\xcd\xfd", 520),
            Some(OpensNothing::ZeroToken),
        ),
        (
            padded(b"\x04\0\0\x92\x3a\xf3\x6c\x01", 8),
            Some(OpensNothing::NoResponseToken),
        ),
        (
            padded(b"\x04\0\0\x05\x24\x05\xcd\xfd", 516),
            Some(OpensNothing::NoTokenField),
        ),
        (magic(b"\x04\0\0\x01"), Some(OpensNothing::FlagOfSeven)),
        (magic(b"\x90\0\0\x01"), Some(OpensNothing::NotCompressed)),
        (b"\x10\0".to_vec(), None),
        (dns, None),
    ] {
        let datagrams = vec![(true, bytes); 5];
        let (events, tally) = observe(script(&datagrams, 0, 0));
        let named: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.what {
                EventKind::Notice(Notice::UnknownSender { what, client, .. }) => Some((*what, *client)),
                _ => None,
            })
            .collect();
        let client = script(&datagrams, 0, 0)[0].from;
        let expected: Vec<_> = expected.into_iter().map(|what| (what, client)).collect();
        assert_eq!(named, expected, "{events:?}");
        assert!(tally.sessions <= 1);
    }
}

#[test]
fn a_request_of_the_browser_that_is_cut_off_says_so() {
    let request = [b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffgie3\x01", &[0; 85][..]].concat();
    let datagrams = [(true, request)];
    for keep in [15, 100] {
        let cut = script(&datagrams, 0, 0).into_iter().map(|sighting| Sighting {
            bytes: &sighting.bytes[..keep],
            ..sighting
        });
        let (events, _) = observe(cut);
        assert!(
            matches!(&events[..], [Event { what: EventKind::Connless(connless), .. }] if connless.cut == 100 - keep),
            "{events:?}"
        );
    }
}

#[test]
fn more_than_receivers_read_is_not_the_fault_of_the_recording() {
    let mut datagrams = only_session("dd-session");
    let last = datagrams.len() - 1;
    datagrams[last].1.resize(1_500, 0);
    let (events, _) = observe(script(&datagrams, 0, 0));
    assert_eq!(readings(&events)[last].1, [Code::Oversized]);
}

/// A server that refuses a client sends a CLOSE without a token. A banned player also gets a CLOSE without a token,
/// which DDNet clients drop.
#[test]
fn a_close_without_a_token_is_read_whole() {
    let close = b"\x10\0\0\x04This server is full\0".to_vec();
    let refused = [
        (true, b"\x10\0\0\x01TKEN\xff\xff\xff\xff".to_vec()),
        (false, close.clone()),
    ];
    let (events, _) = observe(script(&refused, 0, 0));
    assert_eq!(readings(&events), [(DD, vec![]), (DD, vec![])]);
    let is_whole = |event: &Event| matches!(&event.what, EventKind::Session(change) if change.reason.as_deref() == Some(b"This server is full"));
    assert!(
        events.iter().any(is_whole),
        "the session has another reason: {events:?}"
    );

    let mut banned = only_session("dd-session");
    let middle = banned.len() / 2;
    banned.insert(middle, (false, close));
    let (events, _) = observe(script(&banned, 0, 0));
    assert_eq!(readings(&events)[middle].1, [Code::MissingToken]);
}

#[test]
fn an_idle_server_of_0_6_5_is_known_by_few_datagrams_of_its_own() {
    // The datagrams also fit 0.7, but each of them would request a resend there.
    let whole = only_session("tw06-session");
    let servers: Vec<_> = whole.into_iter().filter(|(is_client, _)| !is_client).collect();
    for start in (1..servers.len() - 3).step_by(3) {
        let (events, tally) = observe(script(&servers[start..start + 3], 0, 0));
        assert_eq!(
            (found(&events).0, tally.foreign),
            (vec![(addresses(0).0, V65)], 0),
            "{start}"
        );
    }
}

#[test]
fn the_handshake_of_0_7_is_read_as_that_where_another_session_was() {
    let mut first = only_session("dd-session");
    first.truncate(100);
    let second = only_session("tw07-session");
    let both = [first.clone(), second.clone()].concat();
    let (events, _) = observe(script(&both, 0, 0));
    let expected = [vec![DD; first.len()], vec![V7; second.len()]].concat();
    assert_eq!(protos(&events), expected);
}

#[test]
fn what_the_client_takes_note_of_stands_for_the_answer() {
    // A DDNet client and a server without tokens. All datagrams of the server are missing.
    let whole = only_session("dd16-to-tw06");
    let clients: Vec<_> = whole.into_iter().filter(|(is_client, _)| *is_client).collect();
    let (events, _) = observe(script(&clients, 0, 0));
    let expected = [vec![DD], vec![V6; clients.len() - 1]].concat();
    assert_eq!(protos(&events), expected);
}

#[test]
fn a_clock_that_is_set_ends_no_session() {
    for (name, _) in CAPTURES {
        let packets = capture::recorded(name).unwrap();
        let whole = states(&observe(sightings(&packets)).0);
        let middle = packets.len() / 2;
        let forth = moved(sightings(&packets), |index, at| {
            at + if index > middle { 3 * HOUR } else { 0 }
        });
        let back = moved(sightings(&packets), |index, at| {
            at + if index > middle { 0 } else { 3 * HOUR }
        });
        let once = moved(sightings(&packets), |index, at| {
            at + if index == middle { 3 * HOUR } else { 0 }
        });
        let reversed = moved(sightings(&packets), |_, at| HOUR - at);
        for (how, sightings) in [
            ("forth", forth),
            ("back", back),
            ("once", once),
            ("reversed", reversed),
        ] {
            assert_eq!(states(&observe(sightings).0), whole, "{name} {how}");
        }
    }
}

#[test]
fn a_clock_that_was_set_back_leaves_time_to_look() {
    let stranger = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffgie3\x01".to_vec();
    for name in ["tw07-session", "tw06-session", "dd-session"] {
        let datagrams = only_session(name);
        for start in (9..datagrams.len() - 60).step_by(7) {
            let before = [(true, stranger.clone())];
            let rest = script(&datagrams[start..], 0, 0);
            let expected = found(&observe(rest.clone()).0);
            let (events, _) = observe(script(&before, 1, 3 * HOUR).into_iter().chain(rest));
            assert_eq!(found(&events), expected, "{name} from {start} on");
        }
    }
}

#[test]
fn a_client_that_connects_after_a_long_time_begins_a_session() {
    let connect = only_session("dd-session")[..1].to_vec();
    let first = only_session("dd-session")[..60].to_vec();
    let later = script(&connect, 0, 2 * HOUR);
    let (events, tally) = observe(script(&first, 0, 0).into_iter().chain(later));
    use State::{Closed, Online, Opening};
    assert_eq!(
        states(&events),
        [(1, Opening), (1, Online), (1, Closed), (2, Opening)]
    );
    assert_eq!(tally.sessions, 2);
}

#[test]
fn what_falls_silent_is_closed_while_others_go_on_and_at_the_end() {
    let silent = only_session("dd-session")[..60].to_vec();
    let busy = only_session("tw07-session");
    // One datagram each second, and one after a pause.
    let others = moved(script(&busy[..200], 1, 0), |index, _| index as u64 * 1_000_000);
    let (events, _) = observe(script(&silent, 0, 0).into_iter().chain(others));
    let closed = events
        .iter()
        .find(|event| matches!(&event.what, EventKind::Session(change) if change.state == State::Closed));
    let at = closed.unwrap().at.0;
    assert!((120_000_000..140_000_000).contains(&at), "{at}");
    let late = moved(script(&busy[..2], 1, 0), |_, at| at + HOUR);
    let (events, _) = observe(script(&silent, 0, 0).into_iter().chain(late));
    assert_eq!(states(&events).last(), Some(&(1, State::Closed)));
    assert_eq!(events.last().unwrap().at.0, HOUR + 1_000);
}

/// A DDNet server refuses a client without a token. A reason of three letters and a NUL must not be mistaken for a
/// token.
#[test]
fn a_refusal_of_three_letters_is_no_token() {
    let (client, server) = ("10.0.0.1:7000".parse().unwrap(), "10.0.0.2:8303".parse().unwrap());
    let connect = b"\x10\0\0\x01TKEN\xff\xff\xff\xff";
    for reason in ["a", "no", "bye", "full"] {
        let close = [b"\x10\0\0\x04", reason.as_bytes(), b"\0"].concat();
        let sighting = |at, from, to, bytes| Sighting {
            at: Time(at),
            from,
            to,
            bytes,
            len: bytes.len(),
            frame: at,
        };
        let all = [
            sighting(1, client, server, &connect[..]),
            sighting(2, server, client, &close),
        ];
        let events = observe(all).0;
        let reasons = events.iter().filter_map(|event| match &event.what {
            EventKind::Session(change) => change.reason.clone(),
            _ => None,
        });
        assert_eq!(reasons.collect::<Vec<_>>(), [reason.as_bytes().into()]);
        let form = if reason == "bye" { Proto::V6 } else { Proto::Ddnet };
        assert_eq!(
            readings(&events),
            [(Proto::Ddnet, vec![]), (form, vec![])],
            "{reason}"
        );
    }
}
