//! Tests of frames with every link type.

use proptest::prelude::*;
use teetap_wire::def::Registry;

use super::super::{Keep, Scrubber, stream::Sighted};
use crate::frame::{Captured, Link, datagram, write};

fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Computes the Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let sum: u32 = words.sum();
    !u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap()
}

const PAYLOAD: &[u8] = b"\x10\0\0\x01";

fn scrubber() -> Scrubber {
    Scrubber::new(Registry::builtin(), Keep::default())
}

/// Returns the IP packet within an Ethernet frame.
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

/// Returns the packet with the header of each link type. The network card has the number 9.
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

/// Returns the frame with placeholders, around the same datagram.
fn scrub(link: Link, frame: &[u8]) -> Option<Vec<u8>> {
    let (mut scrubber, mut out) = (scrubber(), Vec::new());
    let captured = Captured { time: 0, link, frame };
    let (sighted, _) = Sighted::from_captured(&captured, &mut scrubber)?;
    let is_written = sighted
        .headers()
        .write(&mut scrubber.addresses, PAYLOAD, &mut out);
    is_written.then_some(out)
}

#[test]
fn every_link_type_keeps_what_it_is_and_tells_not_whose() {
    for ends in [
        "84.9.9.9:8303 84.1.2.3:8000 192.0.2.1:8303 192.0.2.2:8000",
        "[2a02:909::9]:8303 [::1]:8000 [2001:db8::1]:8303 [::1]:8000",
        "[2a02:909::9]:1 84.9.9.9:2 [2001:db8::1]:1 [::ffff:192.0.2.1]:2",
    ] {
        let ends: Vec<&str> = ends.split(' ').collect();
        let [from, to, new_from, new_to] = ends[..] else {
            panic!("{ends:?}")
        };
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
    let sum = checksum(&with_option[..28]);
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

proptest! {
    #[test]
    fn any_frame_is_written_or_not(bytes in prop::collection::vec(any::<u8>(), 0..120), number in prop::sample::select(vec![0_u16, 1, 101, 113, 276, 7])) {
        if let Some(out) = scrub(Link::of(number), &bytes) {
            prop_assert_eq!(scrub(Link::of(number), &out), Some(out.clone()));
        }
    }
}
