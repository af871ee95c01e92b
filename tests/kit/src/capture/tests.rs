//! Every datagram of the recorded sessions opens in its variant and is rebuilt from its parts.

use super::*;
use crate::codec::{Packing, parse};
use crate::huffman::{self, Ending};

/// Each capture with the number of its datagrams and the variants of its flows in order (`None`: server browser
/// only).
const CAPTURES: [(&str, usize, &[Option<Variant>]); 14] = [
    ("dd-session", 430, &[DD, None]),
    ("dd16-to-tw06", 203, &[V6, None]),
    ("ddh20-to-dd20", 196, &[DD]),
    ("info-requests", 20, &[V7, None, V7, None, None]),
    ("loss-tw07", 88, &[V7, V7]),
    ("map-dd", 66, &[DD, None]),
    ("map-tw07", 53, &[V7]),
    ("npm-to-dd16", 177, &[DD]),
    ("rich-dd16", 2860, &[DD, DD, None, None, DD]),
    ("rich-tw07", 2890, &[V7, V7, V7, V7, V7]),
    ("sixup-session", 397, &[V7]),
    ("tw06-session", 371, &[V65, None]),
    ("tw06c-to-dd20-antispoof", 157, &[V6, None]),
    ("tw07-session", 488, &[V7]),
];
const V6: Option<Variant> = Some(Variant::V6);
const V65: Option<Variant> = Some(Variant::V65);
const DD: Option<Variant> = Some(Variant::Ddnet);
const V7: Option<Variant> = Some(Variant::V7);

fn recorded(name: &str) -> Vec<Packet> {
    super::recorded(name).unwrap()
}

/// Returns the variant of a datagram. A connless datagram itself shows whether it is 0.7.
fn variant_of(flow: &Flow, bytes: &[u8]) -> Variant {
    let connless = bytes[0] == 0x21 || bytes.starts_with(b"xe") || bytes.starts_with(&[0xff; 6]);
    match flow.variant() {
        _ if connless && bytes[0] == 0x21 => Variant::V7,
        _ if connless => Variant::V6,
        Some(variant) => variant,
        // A request without answer.
        None => {
            control::offered(bytes).unwrap_or_else(|| panic!("no variant in the flow of {}", flow.client))
        }
    }
}

#[test]
fn flows_and_their_variants() {
    assert_eq!(
        names().unwrap(),
        CAPTURES.map(|(name, ..)| name),
        "a capture without its line here"
    );
    for (name, count, variants) in CAPTURES {
        let packets = recorded(name);
        assert_eq!(packets.len(), count, "{name}");
        assert!(packets.is_sorted_by_key(|packet| packet.time), "{name}");
        let flows = flows(packets);
        assert_eq!(
            flows.iter().map(Flow::variant).collect::<Vec<_>>(),
            variants,
            "{name}"
        );
        assert_eq!(
            flows.iter().map(|flow| flow.packets.len()).sum::<usize>(),
            count,
            "{name}"
        );
    }
}

/// Returns the bytes with the payload decompressed by hand: the header without the compression bit, then the clear
/// payload.
fn clear_bytes(variant: Variant, bytes: &[u8]) -> Vec<u8> {
    let (bit, header) = match variant {
        Variant::V7 | Variant::D7 => (0x10, 7),
        Variant::V65 if bytes[0] & 0x08 != 0 => (0x80, 7),
        _ => (0x80, 3),
    };
    if bytes[0] & bit == 0 || bytes[0] & 0x20 != 0 {
        return bytes.to_vec();
    }
    let payload = huffman::decompress(&bytes[header..], 1400).unwrap();
    let mut clear = [&bytes[..header], &payload].concat();
    clear[0] &= !bit;
    clear
}

#[test]
fn every_datagram_is_rebuilt_from_its_parts() {
    let (mut chunks, mut compressed, mut tight) = (0, 0, 0);
    for (name, ..) in CAPTURES {
        for flow in flows(recorded(name)) {
            for (number, packet) in flow.packets.iter().enumerate() {
                let variant = variant_of(&flow, &packet.payload);
                let at = format!(
                    "{name} {} #{number} {variant:?} {:02x?}",
                    flow.client, packet.payload
                );
                let datagram =
                    parse(variant, &packet.payload).unwrap_or_else(|fault| panic!("{fault:?} {at}"));
                assert_eq!(
                    datagram.pack(Packing::Clear),
                    clear_bytes(variant, &packet.payload),
                    "{at}"
                );
                let flags = datagram.head.flags;
                let data = !flags.control && !flags.connless;
                assert!(datagram.trailing.is_empty(), "{at}");
                assert!(
                    !data || usize::from(datagram.head.num_chunks) == datagram.chunks.len(),
                    "{at}"
                );
                // The npm client sends data packets without chunks.
                let idle = flags.resend || name == "npm-to-dd16";
                assert!(!data || idle || !datagram.chunks.is_empty(), "{at}");
                chunks += datagram.chunks.len();
                if flags.compressed {
                    compressed += 1;
                    if datagram.pack(Packing::Always(Ending::Padded)) != packet.payload {
                        tight += 1;
                        assert_eq!(
                            datagram.pack(Packing::Always(Ending::Tight)),
                            packet.payload,
                            "{at}"
                        );
                    }
                }
            }
        }
    }
    // Only DDNet 20 omits the padding.
    assert_eq!((chunks, compressed, tight), (13_383, 5_491, 280));
}

/// Follows the vital numbers of a session: neither side acks a number that the other has not sent.
#[test]
fn acks_stay_inside_the_window() {
    for flow in flows(recorded("tw07-session"))
        .into_iter()
        .chain(flows(recorded("dd-session")))
    {
        let Some(variant) = flow.variant() else { continue };
        let mut newest = [0, 0];
        for packet in flow.packets.iter().filter(|packet| packet.payload[0] & 0x20 == 0) {
            let datagram = parse(variant, &packet.payload).unwrap();
            let side = usize::from(flow.is_from_client(packet));
            assert!(datagram.head.ack <= newest[1 - side]);
            for seq in datagram.chunks.iter().filter_map(|chunk| chunk.seq) {
                newest[side] = newest[side].max(seq);
            }
        }
        assert!(newest[0] > 20 && newest[1] > 10, "{newest:?}");
    }
}

#[test]
fn frames_that_are_not_udp_are_skipped() {
    assert_eq!(datagram(0, &[]), None);
    let mut frame = vec![0; 14];
    frame[12] = 8;
    frame.extend([
        0x45, 0, 0, 33, 0, 0, 0, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 2,
    ]);
    frame.extend([0x20, 0x6f, 0x20, 0x70, 0, 13, 0, 0, 1, 2, 3, 4, 5]);
    let packet = datagram(7, &frame).unwrap();
    assert_eq!((packet.time, &packet.payload[..]), (7, &[1, 2, 3, 4, 5][..]));
    assert_eq!(packet.from, "127.0.0.1:8303".parse().unwrap());
    assert_eq!(packet.to, "127.0.0.2:8304".parse().unwrap());
    assert_eq!(datagram(0, &frame[..frame.len() - 1]), None, "cut");
    for (at, byte) in [(12, 0x86), (14, 0x65), (23, 6)] {
        let mut other = frame.clone();
        other[at] = byte;
        assert_eq!(datagram(0, &other), None);
    }
}
