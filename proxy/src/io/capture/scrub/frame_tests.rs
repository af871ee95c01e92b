//! Frames of every link type, and whole captures.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use teetap_kit::capture;
use teetap_wire::def::Registry;

use super::{Capture, ScrubError, Scrubbed, Scrubber, Unknown, stream::Sighted};
use crate::io::capture::{
    Captured, Playback, blocks,
    frame::{Link, checksum, datagram, put, write},
};

const PAYLOAD: &[u8] = b"\x10\0\0\x01";

fn scrubber() -> Scrubber {
    Scrubber::new(Registry::builtin(), Unknown::Blank)
}

/// The IP packet within a frame for Ethernet.
fn packet(from: &str, to: &str) -> Vec<u8> {
    let mut frame = Vec::new();
    write(
        from.parse().unwrap(),
        to.parse().unwrap(),
        true,
        PAYLOAD,
        &mut frame,
    );
    frame.split_off(14)
}

/// The same packet behind the header of each link type. The card has the number 9.
fn frames(packet: &[u8]) -> Vec<(Link, Vec<u8>)> {
    let ethertype: &[u8] = if packet[0] >> 4 == 4 {
        &[8, 0]
    } else {
        &[0x86, 0xdd]
    };
    let frame = |parts: &[&[u8]]| [&parts.concat(), packet].concat();
    vec![
        (Link::Raw, packet.to_vec()),
        (Link::Loopback, frame(&[&[2, 0, 0, 0]])),
        (Link::Ethernet, frame(&[&[8; 6], &[9; 6], ethertype])),
        (
            Link::Ethernet,
            frame(&[&[8; 6], &[9; 6], &[0x81, 0, 0, 5, 0x88, 0xa8, 0, 6], ethertype]),
        ),
        (
            Link::Cooked,
            frame(&[&[0, 0, 0, 1, 0, 6], &[9; 6], &[9; 2], ethertype]),
        ),
        (
            Link::Cooked,
            frame(&[&[0, 0, 0, 1, 0, 4], &[9; 6], &[9; 2], ethertype]),
        ),
        (
            Link::Cooked2,
            frame(&[ethertype, &[9; 2], &[0, 0, 0, 2, 0, 1, 0, 6], &[9; 8]]),
        ),
    ]
}

/// The frame with placeholders around the same datagram.
fn scrub(link: Link, frame: &[u8]) -> Option<Vec<u8>> {
    let (mut scrubber, mut out) = (scrubber(), Vec::new());
    let captured = Captured { time: 0, link, frame };
    let (sighted, _) = Sighted::of(&captured, &mut scrubber)?;
    let is_written = sighted
        .headers()
        .write(&mut scrubber.addresses, PAYLOAD, &mut out);
    is_written.then_some(out)
}

#[test]
fn every_link_type_keeps_what_it_is_and_tells_not_whose() {
    for (from, to, new_from, new_to) in [
        (
            "84.9.9.9:8303",
            "84.1.2.3:8000",
            "192.0.2.1:8303",
            "192.0.2.2:8000",
        ),
        (
            "[2a02:909::9]:8303",
            "[::1]:8000",
            "[2001:db8::1]:8303",
            "[::1]:8000",
        ),
        (
            "[2a02:909::9]:1",
            "84.9.9.9:2",
            "[2001:db8::1]:1",
            "[::ffff:192.0.2.1]:2",
        ),
    ] {
        let (given, wanted) = (packet(from, to), packet(new_from, new_to));
        for (link, frame) in frames(&given) {
            let out = scrub(link, &frame).unwrap();
            let header = out.len() - wanted.len();
            assert_eq!(out[header..], wanted, "{link:?}");
            assert_eq!(header, frame.len() - given.len(), "{link:?}");
            assert!(!out[..header].contains(&9), "{link:?} {out:?}");
            assert_eq!(scrub(link, &out).unwrap(), out, "{link:?}");
            let udp = datagram(link, &out).unwrap();
            assert_eq!(
                (udp.from.to_string(), udp.to.to_string()),
                (new_from.into(), new_to.into())
            );
        }
    }
}

#[test]
fn options_and_what_stands_behind_are_not_carried_over() {
    let given = packet("84.9.9.9:8303", "84.1.2.3:8000");
    let wanted = packet("192.0.2.1:8303", "192.0.2.2:8000");
    let mut with_option = [&given[..20], &[7, 7, 4, 84, 9, 9, 9, 0], &given[20..], b"secret"].concat();
    with_option[0] = 0x47;
    put(&mut with_option, 2, 20 + 8 + 12);
    put(&mut with_option, 10, 0);
    let sum = checksum([&with_option[..28]]);
    put(&mut with_option, 10, sum);
    assert_eq!(scrub(Link::Raw, &with_option).unwrap(), wanted);
    let given = packet("[2a02::9]:8303", "[2a02::8]:8000");
    let wanted = packet("[2001:db8::1]:8303", "[2001:db8::2]:8000");
    let mut with_header = [&given[..40], &[17, 0, 1, 4, 9, 9, 9, 9], &given[40..]].concat();
    with_header[6] = 60;
    put(&mut with_header, 4, 8 + 12);
    assert_eq!(scrub(Link::Raw, &with_header).unwrap(), wanted);
}

#[test]
fn checksums_are_as_right_as_they_were() {
    let given = packet("84.9.9.9:8303", "84.1.2.3:8000");
    let right = packet("192.0.2.1:8303", "192.0.2.2:8000");
    for (at, place) in [(10, "IP"), (26, "UDP")] {
        let mut none = given.clone();
        put(&mut none, at, 0);
        let out = scrub(Link::Raw, &none).unwrap();
        let mut wanted = right.clone();
        put(&mut wanted, at, 0);
        assert_eq!(out, wanted, "{place}");
        let mut wrong = given.clone();
        wrong[at] ^= 0x40;
        let out = scrub(Link::Raw, &wrong).unwrap();
        assert_ne!(out[at..at + 2], right[at..at + 2], "{place}");
        assert_ne!(out[at..at + 2], [0, 0], "{place}");
        assert_eq!(scrub(Link::Raw, &out).unwrap(), out, "{place}");
    }
}

/// A session from Ethernet with real addresses, as pcap.
fn session(name: &str) -> Vec<u8> {
    let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
    file.extend([0; 8]);
    file.extend([0, 0, 4, 0, 1, 0, 0, 0]);
    for packet in capture::recorded(name).unwrap() {
        let mut frame = Vec::new();
        let end = |address: std::net::SocketAddr| {
            let ip = if address.port() == 8303 {
                [84, 1, 2, 3]
            } else {
                [93, 4, 5, 6]
            };
            (IpAddr::from(ip), address.port()).into()
        };
        write(
            end(packet.from),
            end(packet.to),
            true,
            &packet.payload,
            &mut frame,
        );
        record(&mut file, packet.time, &frame);
    }
    file
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
        Ok(capture) => capture.scrub(&mut scrubber, &|| Box::new(|_| String::new()), &mut out),
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
    let packet = packet("84.1.2.3:8303", "93.4.5.6:1");
    let frame = |packet: &[u8]| [&[8; 12][..], &[8, 0], packet].concat();
    let mut fragment = packet.clone();
    fragment[6] = 0x20;
    let mut tcp = packet.clone();
    tcp[9] = 6;
    let mut dns = Vec::new();
    let (server, client) = ("9.9.9.9:53".parse().unwrap(), "93.4.5.6:5353".parse().unwrap());
    write(
        client,
        server,
        true,
        b"\x01\x02\x01\0\0\x01\0\0\0\0\0\0\x05alice\0",
        &mut dns,
    );
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

#[test]
fn foreign_traffic_does_not_gather() {
    let mut file = session("dd-session")[..24].to_vec();
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
        record(&mut file, u64::from(number), &frame);
    }
    let (out, error, tally) = of_file(&file);
    assert!(error.is_none() && out.len() == 24, "{}", out.len());
    assert_eq!((tally.foreign, tally.addresses), (20_000, 0));
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
    // Both legs, which have the names of ours, as `editcap` leaves them.
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

proptest! {
    #[test]
    fn any_frame_is_written_or_not(bytes in prop::collection::vec(any::<u8>(), 0..120), number in prop::sample::select(vec![0_u16, 1, 101, 113, 276, 7])) {
        if let Some(out) = scrub(Link::of(number), &bytes) {
            prop_assert_eq!(scrub(Link::of(number), &out), Some(out.clone()));
        }
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
