//! Properties of all packets, and of all bytes.

use super::*;
use crate::huffman::Trailing;
use crate::message::identify;
use crate::{Seq, write_chunk};
use proptest::prelude::*;

fn protos() -> impl Strategy<Value = Proto> {
    prop::sample::select(&Proto::ALL[..])
}

fn headers() -> impl Strategy<Value = Header> {
    (
        0u8..4,
        0u16..1024,
        any::<u8>(),
        prop::option::of(any::<[u8; 4]>()),
    )
        .prop_map(|(flags, ack, num_chunks, token)| Header {
            flags: Flags::from_bits_truncate(flags),
            ack: Seq::new(ack),
            num_chunks,
            token: token.map(Token),
        })
}

fn payloads() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![3 => Just(0u8), 2 => 0u8..0x20, 2 => any::<u8>()];
    prop_oneof![
        prop::collection::vec(byte.clone(), 0..12),
        prop::collection::vec(byte, 0..=MAX_COMPOSED_PAYLOAD)
    ]
}

fn forms() -> impl Strategy<Value = Option<Trailing>> {
    prop::sample::select(&[None, Some(Trailing::Always), Some(Trailing::WhenPartial)][..])
}

/// Generates any bytes, or the bytes of a good compressed packet with one byte changed.
fn datagrams() -> impl Strategy<Value = Vec<u8>> {
    let any_bytes = prop::collection::vec(prop_oneof![any::<u8>(), Just(0), Just(0x55)], 0..=1500);
    let broken = (
        protos(),
        headers(),
        payloads(),
        any::<prop::sample::Index>(),
        any::<u8>(),
    );
    let broken = broken.prop_map(|(proto, header, payload, at, byte)| {
        let mut out = Vec::new();
        write(proto, &header, &payload, Some(Trailing::Always), &mut out);
        let at = at.index(out.len());
        out[at] = byte;
        out
    });
    prop_oneof![any_bytes, broken]
}

/// Returns the header as a reader of the variant sees it after writing.
fn readable(proto: Proto, header: Header) -> Header {
    let token = match proto {
        Proto::V6 => None,
        Proto::V65 => header.token,
        Proto::Ddnet | Proto::V7 => Some(header.token.unwrap_or(Token::NONE)),
    };
    Header { token, ..header }
}

proptest! {
    #[test]
    fn parse_undoes_write(
        proto in protos(), header in headers(), payload in payloads(), compress in forms(),
    ) {
        let header = readable(proto, header);
        let mut out = Vec::new();
        write(proto, &header, &payload, compress, &mut out);
        prop_assert!(out.len() <= MAX_DATAGRAM);
        let mut scratch = Scratch::new();
        let packet = Packet::parse(proto, &out, &mut scratch).unwrap();
        let read = Header { flags: packet.header.flags.difference(Flags::COMPRESSION), ..packet.header };
        prop_assert_eq!(read, header);
        prop_assert_eq!(packet.payload, &payload[..]);
        let compressed = packet.header.flags.contains(Flags::COMPRESSION);
        prop_assert_eq!(compressed, packet.inflated.is_some());
        prop_assert!(!compressed || compress.is_some() && !header.flags.contains(Flags::CONTROL));
        let mut clear = Vec::new();
        write(proto, &header, &payload, None, &mut clear);
        let smaller = out.len() < clear.len();
        prop_assert!(compressed && smaller || out == clear);
    }

    #[test]
    fn rewrite_is_writing_with_another_token_ack_and_flag(
        proto in protos(), header in headers(), payload in payloads(), compress in forms(),
        new in any::<[u8; 4]>(), ack in 0u16..1024, resend in any::<bool>(),
    ) {
        let header = readable(proto, header);
        let (mut datagram, mut out, mut expected) = (Vec::new(), vec![9; 30], Vec::new());
        write(proto, &header, &payload, compress, &mut datagram);
        let mut scratch = Scratch::new();
        let packet = Packet::parse(proto, &datagram, &mut scratch).unwrap();
        rewrite(&packet, &datagram, Rewrite { token: Some(Token(new)), ack: Seq::new(ack), resend, usual: Trailing::Always }, &mut out);
        let mut changed = Header { ack: Seq::new(ack), token: header.token.map(|_| Token(new)), ..header };
        changed.flags.set(Flags::RESEND, resend);
        // An uncompressed payload stays uncompressed, and a compressed payload keeps the form of its end.
        let form = packet.inflated.map(|inflated| inflated.trailing.unwrap_or(Trailing::Always));
        write(proto, &changed, &payload, form, &mut expected);
        prop_assert_eq!(&out, &expected);
        // And back again, unless the stream had to be replaced by the clear payload.
        let mut scratch = Scratch::new();
        let back = Packet::parse(proto, &expected, &mut scratch).unwrap();
        if back.inflated.is_some() == packet.inflated.is_some() && form == compress {
            let resend = header.flags.contains(Flags::RESEND);
            rewrite(&back, &expected, Rewrite { token: header.token, ack: header.ack, resend, usual: Trailing::Always }, &mut out);
            if packet.inflated.is_none_or(|inflated| inflated.trailing.is_none()) {
                prop_assert_eq!(out.len(), datagram.len());
            }
        }
    }

    #[test]
    fn rewriting_nothing_changes_nothing(
        proto in protos(), first in 0u8..0x20, bytes in prop::collection::vec(any::<u8>(), 3..1399),
    ) {
        let datagram = [&[first], &bytes[..]].concat();
        let mut scratch = Scratch::new();
        if let Ok(packet) = Packet::parse(proto, &datagram, &mut scratch) {
            let (header, mut out) = (packet.header, Vec::new());
            let resend = header.flags.contains(Flags::RESEND);
            for token in [header.token, None] {
                rewrite(&packet, &datagram, Rewrite { token, ack: header.ack, resend, usual: Trailing::Always }, &mut out);
                prop_assert_eq!(&out, &datagram);
            }
        }
    }

    #[test]
    fn any_bytes_never_panic(
        mut datagram in datagrams(), first in any::<u8>(), new in any::<[u8; 4]>(),
    ) {
        if let Some(byte) = datagram.first_mut().filter(|byte| **byte & 0x20 != 0) {
            *byte = first & !0x20;
        }
        let mut out = Vec::new();
        for proto in Proto::ALL {
            let mut scratch = Scratch::new();
            let Ok(packet) = Packet::parse(proto, &datagram, &mut scratch) else { continue };
            for chunk in packet.chunks() {
                prop_assert!(identify(chunk.data).is_none_or(|(_, len)| len <= chunk.data.len()));
            }
            if let Some(control) = packet.control() {
                prop_assert!(!control.name().is_empty());
            }
            rewrite(&packet, &datagram, Rewrite { token: Some(Token(new)), ack: Seq::new(77), resend: true, usual: Trailing::Always }, &mut out);
            prop_assert!(out.len() <= MAX_DATAGRAM);
            let mut scratch = Scratch::new();
            let again = Packet::parse(proto, &out, &mut scratch).unwrap();
            prop_assert_eq!(again.payload, packet.payload);
            prop_assert_eq!(again.header.token, packet.header.token.map(|_| Token(new)));
            prop_assert_eq!(again.header.num_chunks, packet.header.num_chunks);
            prop_assert!(again.header.flags.contains(Flags::RESEND));
        }
    }

    #[test]
    fn skimming_reads_the_start_of_what_parsing_reads(
        proto in protos(), header in headers(), chunks in prop::collection::vec(
            (prop::option::weighted(0.3, 0u16..1024), prop::collection::vec(0u8..40, 0..150)), 0..5,
        ),
        compress in forms(), other_token in prop::bool::weighted(0.1), extra in -1i8..2, whole in prop::option::weighted(0.2, 0u8..40), damage in prop::option::weighted(0.3, any::<(usize, u8)>()),
    ) {
        let mut payload = Vec::new();
        for (vital, data) in &chunks {
            write_chunk(proto, vital.map(Seq::new), false, data, &mut payload).unwrap();
        }
        let header = Header {
            num_chunks: u8::try_from(chunks.len()).unwrap().saturating_add_signed(extra),
            ..readable(proto, header)
        };
        let mut datagram = Vec::new();
        write(proto, &header, &payload, compress, &mut datagram);
        if let Some((at, byte)) = damage {
            let at = at % datagram.len();
            datagram[at] ^= byte;
        }
        let (mut one, mut two) = (Scratch::new(), Scratch::new());
        let parsed = Packet::parse(proto, &datagram, &mut one);
        let wanted = if other_token { Some(Token([1, 2, 3, 4])) } else { header.token };
        let skimmed = Packet::skim(proto, &datagram, wanted, &mut two, |_, start| start.first() != whole.as_ref());
        match (parsed, skimmed) {
            (parsed, Ok(packet)) if packet.is_cut => {
                prop_assert!(matches!(proto, Proto::Ddnet | Proto::V7) && packet.inflated.is_none());
                prop_assert_eq!(packet.end.is_some(), proto == Proto::Ddnet);
                prop_assert!(!packet.header.flags.contains(Flags::CONTROL));
                let last = packet.chunks().last().unwrap();
                prop_assert!(last.header.vital.is_none());
                prop_assert!(packet.chunks().all(|chunk| chunk.data.first().is_none_or(|first| first & 0x7e != 0)));
                prop_assert!(packet.chunks().all(|chunk| whole.is_none() || chunk.data.first() != whole.as_ref()));
                let Ok(parsed) = parsed else { return Ok(()) };
                if parsed.header.token != packet.header.token {
                    // Damage has moved the codes.
                    prop_assert!(proto == Proto::Ddnet && damage.is_some());
                    return Ok(());
                }
                prop_assert_eq!(parsed.header, packet.header);
                if damage.is_none() && extra == 0 {
                    let end = parsed.inflated.map(|inflated| (inflated.bits, inflated.trailing));
                    prop_assert!(packet.end.is_none_or(|found| end == Some((found.bits, found.trailing))));
                    let with = Rewrite { token: Some(Token([9, 8, 200, 77])), ack: Seq::new(7), resend: true, usual: Trailing::Always };
                    let (mut of_whole, mut of_start) = (Vec::new(), Vec::new());
                    rewrite(&parsed, &datagram, with, &mut of_whole);
                    rewrite(&packet, &datagram, with, &mut of_start);
                    prop_assert_eq!(of_whole, of_start);
                }
                prop_assert!(parsed.payload.starts_with(packet.payload));
                for (whole, cut) in parsed.chunks().zip(packet.chunks()) {
                    prop_assert_eq!((whole.header, whole.at), (cut.header, cut.at));
                    prop_assert!(whole.data.starts_with(cut.data));
                    prop_assert!(whole.data == cut.data || cut == last);
                }
            }
            (parsed, skimmed) => prop_assert_eq!(format!("{parsed:?}"), format!("{skimmed:?}")),
        }
    }
}
