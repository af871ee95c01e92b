//! Tests with hand-made frames of every link type.

use std::net::Ipv6Addr;

use proptest::prelude::*;

use super::*;

const PAYLOAD: &[u8] = b"\x10\0\0\x01";

fn segment(payload: &[u8]) -> Vec<u8> {
    let len = u16::try_from(8 + payload.len()).unwrap();
    [
        &[0x20, 0x6f, 0x1f, 0x40],
        &len.to_be_bytes()[..],
        &[0, 0],
        payload,
    ]
    .concat()
}

/// Returns an IPv4 packet with these flags and fragment offset.
fn v4(fragment: u16, protocol: u8, options: &[u8], inner: &[u8]) -> Vec<u8> {
    let header = 20 + options.len();
    let mut packet = vec![0x40 | u8::try_from(header / 4).unwrap(), 0];
    packet.extend(u16::try_from(header + inner.len()).unwrap().to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    [&packet, options, inner].concat()
}

fn v6(next: u8, inner: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend(u16::try_from(inner.len()).unwrap().to_be_bytes());
    packet.extend([next, 64]);
    packet.extend(Ipv6Addr::from_bits(1).octets());
    packet.extend(Ipv6Addr::from_bits(2).octets());
    [&packet, inner].concat()
}

fn found(link: Link, frame: &[u8]) -> Result<(SocketAddr, SocketAddr, Vec<u8>, usize), Other> {
    datagram(link, frame).map(|udp| (udp.from, udp.to, udp.bytes.to_vec(), udp.len))
}

/// Returns the datagram expected in the packets of [`v4`] and [`v6`].
fn expected(is_v4: bool) -> Result<(SocketAddr, SocketAddr, Vec<u8>, usize), Other> {
    let ends = if is_v4 {
        ["10.0.0.1:8303", "10.0.0.2:8000"]
    } else {
        ["[::1]:8303", "[::2]:8000"]
    };
    let [from, to] = ends.map(|end| end.parse().unwrap());
    Ok((from, to, PAYLOAD.to_vec(), PAYLOAD.len()))
}

#[test]
fn all_link_types_in_both_versions() {
    for is_v4 in [true, false] {
        let packet = if is_v4 {
            v4(0x4000, 17, &[], &segment(PAYLOAD))
        } else {
            v6(17, &segment(PAYLOAD))
        };
        let ethertype: &[u8] = if is_v4 { &[0x08, 0x00] } else { &[0x86, 0xdd] };
        let macs = [7; 12];
        let frames = [
            (101, packet.clone()),
            (12, packet.clone()),
            (0, [&[2, 0, 0, 0][..], &packet].concat()),
            (108, [&[0, 0, 0, 24][..], &packet].concat()),
            (1, [&macs[..], ethertype, &packet].concat()),
            (1, [&macs[..], &[0x81, 0, 0, 5], ethertype, &packet].concat()),
            (
                1,
                [&macs[..], &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6], ethertype, &packet].concat(),
            ),
            // The frame is padded to its minimum size.
            (1, [&macs[..], ethertype, &packet, &[0; 9]].concat()),
            (
                113,
                [&[0, 0, 3, 4, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0], ethertype, &packet].concat(),
            ),
            (
                276,
                [
                    ethertype,
                    &[0, 0, 0, 0, 0, 1, 3, 4, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0],
                    &packet,
                ]
                .concat(),
            ),
        ];
        for (number, frame) in frames {
            assert_eq!(
                found(Link::of(number), &frame),
                expected(is_v4),
                "{number} {is_v4}"
            );
        }
        assert_eq!(found(Link::of(999), &packet), Err(Other::NotUdp));
    }
}

#[test]
fn headers_with_options_and_extensions() {
    let udp = segment(PAYLOAD);
    assert_eq!(found(Link::Raw, &v4(0, 17, &[1; 8], &udp)), expected(true));
    let hop = [&[60, 1][..], &[0; 14]].concat();
    let destination = [&[51, 0][..], &[0; 6]].concat();
    let authentication = [&[44, 1][..], &[0; 10]].concat();
    // The packet is complete although it has a fragment header.
    let fragment = [17, 0, 0, 0, 1, 2, 3, 4];
    let inner = [&hop[..], &destination, &authentication, &fragment, &udp].concat();
    assert_eq!(found(Link::Raw, &v6(0, &inner)), expected(false));
    // With segmentation offload, the length field is 0.
    let mut offloaded = v4(0, 17, &[], &udp);
    offloaded[2..4].fill(0);
    assert_eq!(found(Link::Raw, &offloaded), expected(true));
}

#[test]
fn frames_without_a_datagram() {
    let udp = segment(PAYLOAD);
    for (frame, other) in [
        (v4(0x2000, 17, &[], &udp), Other::Fragment),
        (v4(0x0010, 17, &[], &udp), Other::Fragment),
        (
            v6(44, &[&[17, 0, 0, 1, 0, 0, 0, 0], &udp[..]].concat()),
            Other::Fragment,
        ),
        (v4(0, 6, &[], &udp), Other::NotUdp),
        (v6(58, &udp), Other::NotUdp),
        (vec![0x50; 40], Other::NotUdp),
        (vec![], Other::Broken),
        (v4(0, 17, &[], &udp[..7]), Other::Broken),
        (v4(0, 17, &[], &[0, 1, 0, 2, 0, 7, 0, 0, 9]), Other::Broken),
        (v6(0, &[0; 4]), Other::Broken),
        (vec![0x44; 30], Other::Broken),
    ] {
        assert_eq!(found(Link::Raw, &frame), Err(other), "{frame:02x?}");
    }
    let arp = [&[7; 12][..], &[0x08, 0x06], &[0; 28]].concat();
    assert_eq!(found(Link::Ethernet, &arp), Err(Other::NotUdp));
    let tags = [&[7; 12][..], &[0x81, 0, 0, 1].repeat(20)].concat();
    assert_eq!(found(Link::Ethernet, &tags), Err(Other::NotUdp));
}

#[test]
fn a_cut_datagram_is_returned_up_to_the_cut() {
    for packet in [v4(0, 17, &[], &segment(&[5; 500])), v6(17, &segment(&[5; 500]))] {
        let (_, _, bytes, len) = found(Link::Raw, &packet[..68]).unwrap();
        let headers = packet.len() - 500;
        assert_eq!((bytes, len), (vec![5; 68 - headers], 500));
    }
}

proptest! {
    #[test]
    fn any_frame_is_something(number in 0u16..300, mut frame in prop::collection::vec(any::<u8>(), 0..200), version in 0u8..8) {
        if let Some(first) = frame.first_mut() {
            *first = [0x45, 0x46, 0x60, 0x4f, 0x65, 0x81, *first, 0][usize::from(version)];
        }
        if let Some(protocol) = frame.get_mut(9) {
            *protocol = 17;
        }
        for link in [Link::of(number), Link::Raw, Link::Ethernet, Link::Cooked, Link::Cooked2, Link::Loopback] {
            if let Ok(udp) = datagram(link, &frame) {
                prop_assert!(udp.bytes.len() <= udp.len);
                prop_assert_eq!(frame.get(udp.start..udp.start + udp.bytes.len()), Some(udp.bytes));
            }
        }
    }
}
