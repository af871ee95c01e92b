//! Tests of whole captures by other programs and by teetap.

use std::{
    net::{Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

use proptest::prelude::*;
use teetap_inspect::Decoder;
use teetap_kit::capture;
use teetap_wire::{Dir, Proto, def::Registry};

use super::super::{
    Capture, Keep, ScrubError, Scrubbed, Scrubber,
    stream::{PacketOrigin, Sighted, Sink, Stream},
};
use crate::{
    Encode as _, Encoder, Playback, Run,
    frame::{Captured, Link, write},
    observe::MAX_WAITING,
    pcapng::write as blocks,
};
use teetap_proxy::{
    io::Seen,
    session::{Datagram, Event, EventKind, Level, Origin, SessionId, Time},
};

fn scrubber() -> Scrubber {
    Scrubber::new(Registry::builtin(), Keep::default())
}

/// Returns a session over Ethernet with real addresses, as pcap.
fn session(name: &str) -> Vec<u8> {
    let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
    file.extend([0; 8]);
    file.extend([0, 0, 4, 0, 1, 0, 0, 0]);
    for packet in capture::recorded(name).unwrap() {
        let end = |address: std::net::SocketAddr| {
            let ip = if address.port() == 8303 {
                "84.1.2.3"
            } else {
                "93.4.5.6"
            };
            format!("{ip}:{}", address.port())
        };
        let frame = udp(&end(packet.from), &end(packet.to), &packet.payload);
        record(&mut file, packet.time, &frame);
    }
    file
}

/// Returns an Ethernet frame with a datagram.
fn udp(from: &str, to: &str, bytes: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    write(
        from.parse().unwrap(),
        to.parse().unwrap(),
        true,
        bytes,
        &mut frame,
    );
    frame
}

fn record(file: &mut Vec<u8>, micros: u64, frame: &[u8]) {
    let len = frame.len() as u64;
    for number in [micros / 1_000_000, micros % 1_000_000, len, len] {
        file.extend(u32::try_from(number).unwrap().to_le_bytes());
    }
    file.extend(frame);
}

fn of_file(bytes: &[u8]) -> (Vec<u8>, Option<ScrubError>, Scrubbed) {
    let (mut scrubber, mut out) = (scrubber(), Vec::new());
    let capture = match bytes.first() {
        Some(0x0a) => Ok(Capture::pcapng(bytes)),
        _ => Capture::pcap(bytes),
    };
    let done = match capture {
        Ok(capture) => capture.scrub(&mut scrubber, &mut out),
        Err(error) => Err(error.into()),
    };
    (out, done.err(), scrubber.tally())
}

#[test]
fn other_packets_are_left_out_and_counted() {
    let whole = session("dd-session");
    let (wanted, error, tally) = of_file(&whole);
    assert!(error.is_none() && tally.left_out() == 0);
    assert_eq!((tally.packets, tally.unknown), (430, 0));
    let packet = udp("84.1.2.3:8303", "93.4.5.6:1", b"\x10\0\0\x01").split_off(14);
    let frame = |packet: &[u8]| [&[8; 12][..], &[8, 0], packet].concat();
    let mut fragment = packet.clone();
    fragment[6] = 0x20;
    let mut tcp = packet.clone();
    tcp[9] = 6;
    let query = b"\x01\x02\x01\0\0\x01\0\0\0\0\0\0\x05alice\0";
    let dns = udp("93.4.5.6:5353", "9.9.9.9:53", query);
    let (header, rest) = whole.split_at(24);
    let mut mixed = header.to_vec();
    let time = capture::recorded("dd-session").unwrap()[0].time;
    for frame in [
        frame(&fragment),
        frame(&tcp),
        frame(&packet[..15]),
        frame(&packet[..29]),
        dns,
    ] {
        record(&mut mixed, time, &frame);
    }
    mixed.extend(rest);
    let (out, error, tally) = of_file(&mixed);
    assert!(error.is_none() && out == wanted);
    let counts = (
        tally.fragments,
        tally.other,
        tally.broken,
        tally.cut,
        tally.foreign,
    );
    assert_eq!((counts, tally.left_out()), ((1, 1, 1, 1, 1), 5));
}

/// A sink that must not receive a packet.
struct Nowhere;

impl Sink for Nowhere {
    fn packet(&mut self, place: PacketOrigin, _: u64, _: &[u8]) -> std::io::Result<()> {
        Err(std::io::Error::other(format!("{place:?}")))
    }
}

#[test]
fn foreign_traffic_does_not_gather() {
    let (mut stream, mut scrubber) = (Stream::default(), scrubber());
    for number in 0..20_000_u32 {
        let mut frame = Vec::new();
        let client = (Ipv4Addr::from_bits(0x5d00_0000 + number % 5), 53).into();
        write(
            client,
            "9.9.9.9:53".parse().unwrap(),
            true,
            &number.to_be_bytes(),
            &mut frame,
        );
        let captured = Captured {
            time: u64::from(number),
            link: Link::Ethernet,
            frame: &frame,
        };
        let sighted = Sighted::from_captured(&captured, &mut scrubber).unwrap();
        stream
            .see(sighted, (0, None), &mut scrubber, &mut Nowhere)
            .unwrap();
        assert!(stream.waiting() <= MAX_WAITING);
    }
    stream.finish(&mut scrubber, &mut Nowhere).unwrap();
    let tally = scrubber.tally();
    assert_eq!((tally.foreign, tally.addresses, stream.waiting()), (20_000, 0, 0));
}

#[test]
fn what_comes_before_the_damage_is_scrubbed() {
    let whole = session("dd-session");
    let (all, ..) = of_file(&whole);
    for cut in [20_000, 30_001, whole.len() - 1] {
        let (out, error, tally) = of_file(&whole[..cut]);
        assert!(matches!(error, Some(ScrubError::Read(_))), "{error:?}");
        assert!(all.starts_with(&out) && tally.packets > 100, "{cut}");
    }
    let (out, error, _) = of_file(&whole[..23]);
    assert!(error.is_some() && out.is_empty());
}

#[test]
fn a_capture_of_ours_without_our_options_is_one_of_anybody() {
    // Both legs with teetap's interface names but without its options, as written by `editcap`.
    let mut file = Vec::new();
    blocks::section("someone", "at alice-pc", b"{}", &mut file);
    for leg in 0..2_u32 {
        for packet in capture::recorded("tw07-session").unwrap() {
            let mut frame = Vec::new();
            let from = (
                Ipv6Addr::from_bits(0x2a02 << 112 | u128::from(leg)),
                packet.from.port(),
            );
            write(from.into(), packet.to, true, &packet.payload, &mut frame);
            blocks::bare_packet(leg, packet.time * 1000, &frame, &mut file);
        }
    }
    let (out, error, tally) = of_file(&file);
    assert!(error.is_none(), "{error:?}");
    assert_eq!((tally.packets, tally.left_out()), (2 * 488, 0));
    let count = |bytes: &[u8]| {
        let mut playback = Playback::pcapng(bytes);
        while playback.read().unwrap().is_some() {}
        playback.tally()
    };
    let (given, found) = (count(&file), count(&out));
    assert_eq!((given.packets, given.doubled), (976, 488));
    assert_eq!(
        (found.packets, found.doubled, found.sessions),
        (976, 488, given.sessions)
    );
    for name in ["alice", "someone"] {
        assert!(!out.windows(name.len()).any(|part| part == name.as_bytes()));
    }
    assert_eq!(of_file(&out).0, out);
}

/// Returns a session as recorded by teetap, with revealing comments.
fn recorded_by_us() -> Vec<u8> {
    let address = |text: &str| text.parse().unwrap();
    let run = Run {
        version: "0".to_owned(),
        wall: 7,
        seed: 8,
        target: "alice-pc:8303".to_owned(),
        server: address("93.4.5.6:8303"),
        listen: address("[2a02::7]:8303"),
    };
    let mut encoder = Encoder::new(run, |_| "alice-pc did it".to_owned());
    let mut decoder = Decoder::new(Registry::builtin());
    let mut out = Vec::new();
    encoder.start(&mut out);
    let packets = capture::recorded("loss-tw07").unwrap();
    let client = packets[0].from;
    for (number, packet) in packets.iter().enumerate() {
        let dir = if packet.from == client { Dir::C2s } else { Dir::S2c };
        let sent = std::iter::once(&packet.payload[..]);
        let mut datagram = Datagram::new(dir, Proto::V7, Origin::Peer, &packet.payload, sent);
        datagram.ends.client = Some(address("84.1.2.3:5"));
        datagram.ends.local = Some(address("93.4.5.7:6"));
        let event = Event {
            at: Time(number as u64),
            session: Some(SessionId(1)),
            what: EventKind::Datagram(datagram),
        };
        let decoded = decoder.decode(event);
        encoder.seen(&Seen::Event(Arc::new(decoded)), Time::ZERO, &mut out);
    }
    encoder.seen(&Seen::Gap(3), Time(100), &mut out);
    encoder.log(Time(101), Level::Warning, "alice-pc is at 84.1.2.3", &mut out);
    out
}

/// Returns a secret of [`recorded_by_us`] that is still in the output.
fn left(out: &[u8]) -> Option<&'static [u8]> {
    let parts: [&[u8]; 5] = [
        b"alice-pc",
        b"84.1.2.3",
        b"93.4.5.",
        &[84, 1, 2, 3],
        &[93, 4, 5, 6],
    ];
    parts
        .into_iter()
        .find(|part| out.windows(part.len()).any(|found| found == *part))
}

#[test]
fn what_belongs_to_no_event_of_ours_is_left_out() {
    let whole = recorded_by_us();
    let (out, error, tally) = of_file(&whole);
    assert!(
        error.is_none() && left(&out).is_none(),
        "{error:?} {:?}",
        left(&out)
    );
    assert_eq!((tally.packets, tally.addresses, tally.left_out()), (176, 4, 0));
    // An event that lacks its second packet, and a packet without an event.
    let mut odd = whole;
    let frame = udp("84.1.2.3:1", "93.4.5.6:1", b"alice-pc");
    blocks::bare_packet(0, 9, &frame, &mut odd);
    let (same, error, tally) = of_file(&odd);
    assert!(error.is_none() && same == out);
    assert_eq!(tally.unreadable, 1);
}

proptest! {
    #[test]
    fn any_damage_of_ours_tells_nothing(at in 0..200_000_usize, byte in any::<u8>()) {
        let mut file = recorded_by_us();
        let at = at % file.len();
        file[at] = byte;
        let (out, ..) = of_file(&file);
        let (again, ..) = of_file(&out);
        prop_assert!(out == again);
    }

    #[test]
    fn any_damage_ends_no_more_than_the_reading(at in 24..20_000_usize, byte in any::<u8>()) {
        let mut file = session("loss-tw07");
        let at = at % file.len();
        file[at] = byte;
        let (out, ..) = of_file(&file);
        let (again, ..) = of_file(&out);
        prop_assert!(out == again);
    }
}
