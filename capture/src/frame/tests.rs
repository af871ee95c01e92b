//! Reads written frames again.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;

/// Returns true if the checksum is valid: the sum that a receiver computes over the bytes is all ones.
fn adds_up(bytes: &[u8]) -> bool {
    let words = bytes
        .chunks(2)
        .map(|pair| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0)));
    words.sum::<u64>() % 0xffff == 0
}

proptest! {
    #[test]
    fn what_is_written_is_read_and_adds_up(
        from in any::<(bool, u128, u16)>(),
        to in any::<(u128, u16)>(),
        is_inbound in any::<bool>(),
        bytes in prop::collection::vec(any::<u8>(), 0..1500),
    ) {
        let address = |bits: u128, port| -> SocketAddr {
            let four = IpAddr::from(Ipv4Addr::from(*bits.to_be_bytes().last_chunk::<4>().unwrap()));
            SocketAddr::new(if from.0 { four } else { Ipv6Addr::from_bits(bits).into() }, port)
        };
        let (from, to) = (address(from.1, from.2), address(to.0, to.1));
        let mut frame = Vec::new();
        write(from, to, is_inbound, &bytes, &mut frame);
        let found = datagram(Link::Ethernet, &frame).map(|udp| (udp.from, udp.to, udp.bytes, udp.len));
        prop_assert_eq!(found, Ok((from, to, &bytes[..], bytes.len())));
        let ip = &frame[14..];
        let (header, addresses) = if from.is_ipv4() { (20, &ip[12..20]) } else { (40, &ip[8..40]) };
        prop_assert!(from.is_ipv6() || adds_up(&ip[..20]));
        let segment = &ip[header..];
        let length = u16::try_from(segment.len()).unwrap().to_be_bytes();
        prop_assert!(adds_up(&[addresses, &[0, 17], &length, segment].concat()));
        prop_assert!(segment[6..8] != [0, 0]);
    }
}
