//! Vectors recorded from real programs, and round trips.

use super::control::*;
use super::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .map(|digit| u8::try_from(digit).unwrap())
        .collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn with_zeros(text: &str, zeros: usize) -> Vec<u8> {
    let mut bytes = hex(text);
    bytes.resize(bytes.len() + zeros, 0);
    bytes
}

fn token(text: &str) -> Token {
    hex(text).try_into().unwrap()
}

#[test]
fn handshake_without_token() {
    assert_eq!(connect(Variant::V6, NO_TOKEN, NO_TOKEN), hex("10 00 00 01"));
    assert_eq!(
        connect_accept(Variant::V6, NO_TOKEN, NO_TOKEN),
        hex("10 00 00 02")
    );
    assert_eq!(accept(None), hex("10 00 00 03"));
    assert_eq!(close(Variant::V6, 0x102, None, "ab"), hex("11 02 00 04 61 62 00"));
}

#[test]
fn handshake_of_065() {
    let (client, server) = (token("4a448261"), token("1673ee88"));
    assert_eq!(
        connect(Variant::V65, client, NO_TOKEN),
        with_zeros("10 00 00 01 00 00 00 00 4a 44 82 61", 504)
    );
    assert_eq!(
        connect_accept(Variant::V65, client, server),
        hex("18 00 00 4a 44 82 61 02 16 73 ee 88")
    );
    assert_eq!(
        control(Variant::V65, 0xaa, Some(server), KEEPALIVE, &[]),
        hex("18 aa 00 16 73 ee 88 00")
    );
    let mut asking = Datagram::of_chunks(Variant::V65, 0xaa, Some(server), Vec::new());
    asking.head.flags.resend = true;
    assert_eq!(asking.build(), hex("48 aa 00 16 73 ee 88"));
}

#[test]
fn handshake_of_ddnet() {
    let server = token("eb070dfa");
    assert_eq!(
        connect(Variant::Ddnet, NO_TOKEN, NO_TOKEN),
        hex("10 00 00 01 54 4b 45 4e ff ff ff ff")
    );
    assert_eq!(
        connect_accept(Variant::Ddnet, NO_TOKEN, server),
        hex("10 00 00 02 54 4b 45 4e eb 07 0d fa")
    );
    assert_eq!(accept(Some(server)), hex("10 00 00 03 eb 07 0d fa"));
    assert_eq!(
        control(Variant::Ddnet, 0xaa, Some(server), KEEPALIVE, &[]),
        hex("10 aa 00 00 eb 07 0d fa")
    );
}

#[test]
fn handshake_of_07() {
    let (client, server) = (token("2405cdfd"), token("923af36c"));
    assert_eq!(
        token_request(client),
        with_zeros("04 00 00 ff ff ff ff 05 24 05 cd fd", 508)
    );
    assert_eq!(
        token_reply(Variant::V7, client, server),
        hex("04 00 00 24 05 cd fd 05 92 3a f3 6c")
    );
    assert_eq!(token_reply(Variant::D7, NO_TOKEN, server).len(), 520);
    assert_eq!(
        connect(Variant::V7, client, server),
        with_zeros("04 00 00 92 3a f3 6c 01 24 05 cd fd", 508)
    );
    assert_eq!(
        connect_repeated_by_ddnet(server),
        hex("04 00 00 92 3a f3 6c 01 54 4b 45 4e")
    );
    assert_eq!(
        connect_accept(Variant::V7, client, server),
        hex("04 00 00 24 05 cd fd 02")
    );
    assert_eq!(
        connect_accept(Variant::D7, client, server),
        hex("04 00 00 24 05 cd fd 02 92 3a f3 6c")
    );
    let mut asking = Datagram::of_chunks(Variant::V7, 0xaa, Some(client), Vec::new());
    asking.head.flags.resend = true;
    assert_eq!(asking.build(), hex("08 aa 00 24 05 cd fd"));
}

#[test]
fn first_packets_show_their_variant() {
    for variant in Variant::ALL {
        let expected = if variant == Variant::D7 {
            Variant::V7
        } else {
            variant
        };
        assert_eq!(offered(&connect(variant, [1; 4], [2; 4])), Some(expected));
    }
    assert_eq!(offered(&token_request([1; 4])), Some(Variant::V7));
    assert_eq!(offered(&hex("10 00 00 04")), None);
    assert_eq!(offered(&hex("00 00 01 41 07 01")), None);
    assert_eq!(offered(&[]), None);
}

/// Size and sequence number, then the headers in 0.6: vital, vital + resend, not vital; the same in 0.7.
const CHUNK_HEADERS: [(usize, u16, [&str; 6]); 10] = [
    (1, 1, ["400101", "c00101", "0001", "400101", "c00101", "0001"]),
    (23, 1, ["410701", "c10701", "0107", "401701", "c01701", "0017"]),
    (71, 5, ["440705", "c40705", "0407", "410705", "c10705", "0107"]),
    (16, 64, ["411040", "c11040", "0100", "401040", "c01040", "0010"]),
    (1, 192, ["4031c0", "c031c0", "0001", "4001c0", "c001c0", "0001"]),
    (5, 255, ["4035ff", "c035ff", "0005", "4005ff", "c005ff", "0005"]),
    (5, 256, ["404500", "c04500", "0005", "404500", "c04500", "0005"]),
    (315, 2, ["530b02", "d30b02", "130b", "443b02", "c43b02", "043b"]),
    (
        1023,
        1023,
        ["7fffff", "ffffff", "3f0f", "4fffff", "cfffff", "0f3f"],
    ),
    (1385, 9, ["", "", "", "552909", "d52909", "1529"]),
];

#[test]
fn chunk_headers() {
    for (size, seq, texts) in CHUNK_HEADERS {
        for (place, text) in texts.iter().enumerate().filter(|(_, text)| !text.is_empty()) {
            let variant = if place < 3 { Variant::V6 } else { Variant::V7 };
            let (seq, resend) = [(Some(seq), false), (Some(seq), true), (None, false)][place % 3];
            let data = vec![0x5a; size];
            let mut out = Vec::new();
            put_chunk(&mut out, variant, seq, resend, &data);
            assert_eq!(
                out[..out.len() - size],
                hex(text),
                "{variant:?} {size} {seq:?} {resend}"
            );
            let mut walk = Chunks::new(variant, &out, 1);
            assert_eq!(
                walk.next(),
                Some(ChunkRef {
                    seq,
                    resend,
                    data: &data
                })
            );
            assert!(walk.rest().is_empty());
        }
    }
}

#[test]
fn a_walk_stops_at_the_count_and_at_the_end() {
    let bytes = hex("00 01 aa 40 02 01 bb");
    let mut walk = Chunks::new(Variant::V6, &bytes, 1);
    assert_eq!(walk.by_ref().count(), 1);
    assert_eq!(walk.rest(), &bytes[3..]);
    let mut walk = Chunks::new(Variant::V6, &bytes, 3);
    assert_eq!(walk.by_ref().count(), 1);
    assert_eq!(walk.left(), 2);
}

#[test]
fn a_recorded_data_packet_of_each_variant() {
    let texts = [
        (
            Variant::V6,
            "00 01 01 40 0c 01 05 64 6d 31 00 d1 86 d3 de 01 ad 5a",
            None,
        ),
        (
            Variant::V65,
            "08 01 01 16 73 ee 88 40 0c 01 05 64 6d 31 00 d1 86 d3 de 01 ad 5a",
            Some("1673ee88"),
        ),
        (
            Variant::Ddnet,
            "00 01 01 40 0c 01 05 64 6d 31 00 d1 86 d3 de 01 ad 5a eb 07 0d fa",
            Some("eb070dfa"),
        ),
        (
            Variant::V7,
            "00 01 01 24 05 cd fd 40 0c 01 05 64 6d 31 00 d1 86 d3 de 01 ad 5a",
            Some("2405cdfd"),
        ),
    ];
    for (variant, text, expected) in texts {
        let datagram = parse(variant, &hex(text)).unwrap();
        assert_eq!(datagram.head.ack, 1);
        assert_eq!(datagram.head.token, expected.map(token));
        assert_eq!(datagram.payload.len(), 15);
        assert_eq!(datagram.chunks.len(), 1);
        assert_eq!(datagram.chunks[0].seq, Some(1));
        assert_eq!(datagram.chunks[0].data[..4], hex("05 64 6d 31"));
        assert_eq!(datagram.build(), hex(text));
    }
}

#[test]
fn packs_and_opens_in_every_variant() {
    for variant in Variant::ALL {
        let chunk = |seq, resend| Chunk {
            seq,
            resend,
            data: vec![0; 60],
        };
        let chunks = vec![chunk(Some(1023), true), chunk(None, false), chunk(Some(0), false)];
        let token = (variant != Variant::V6).then_some([9, 8, 7, 6]);
        let mut datagram = Datagram::of_chunks(variant, 0x3ff, token, chunks.clone());
        datagram.head.flags.resend = true;
        datagram.trailing = vec![1, 2, 3];
        let clear = parse(variant, &datagram.build()).unwrap();
        let packed_bytes = datagram.pack(Packing::IfShorter(Ending::Tight));
        assert!(packed_bytes.len() < datagram.build().len());
        let mut packed = parse(variant, &packed_bytes).unwrap();
        assert!(packed.head.flags.compressed && packed.head.flags.resend);
        packed.head.flags.compressed = false;
        assert_eq!(packed, clear);
        assert_eq!(
            (clear.chunks, clear.head.ack, clear.head.token),
            (chunks, 0x3ff, token)
        );
        assert_eq!(clear.trailing, [1, 2, 3]);
    }
}

#[test]
fn connless_of_each_kind() {
    let info = hex("ff ff ff ff ff ff ff ff ff ff 67 69 65 33 07");
    let datagram = parse(Variant::V6, &info).unwrap();
    assert!(datagram.head.flags.connless);
    assert_eq!(datagram.payload, info[6..]);
    assert_eq!(datagram.build(), info);
    let seven = hex("21 01 02 03 04 05 06 07 08 ff ff ff ff 67 69 65 33 07");
    let datagram = parse(Variant::V7, &seven).unwrap();
    assert_eq!(datagram.head.token, Some([1, 2, 3, 4]));
    assert_eq!(datagram.payload, seven[9..]);
    assert_eq!(datagram.build(), seven);
}

#[test]
fn faults() {
    for variant in Variant::ALL {
        assert_eq!(parse(variant, &[0, 0]), Err(Fault::TooShort));
    }
    assert_eq!(
        parse(Variant::V65, &hex("08 00 00 01 02 03")),
        Err(Fault::TooShort)
    );
    assert_eq!(
        parse(Variant::Ddnet, &hex("00 00 00 01 02 03")),
        Err(Fault::TooShort)
    );
    assert_eq!(
        parse(Variant::V7, &hex("00 00 00 01 02 03")),
        Err(Fault::TooShort)
    );
    assert_eq!(
        parse(Variant::V7, &hex("22 01 02 03 04 05 06 07 08")),
        Err(Fault::ConnlessVersion)
    );
    assert_eq!(
        parse(Variant::V6, &hex("80 00 01 00 00")),
        Err(Fault::BadCompression)
    );
    assert_eq!(parse(Variant::V7, &[0; 1399]), Err(Fault::TooLong));
    assert!(parse(Variant::V7, &[0; 1398]).is_ok());
}

#[test]
fn the_spare_bits_survive() {
    for (variant, first) in [(Variant::V65, 0x04), (Variant::Ddnet, 0x0c), (Variant::V7, 0xc0)] {
        let bytes = [first, 0, 0, 1, 2, 3, 4];
        let datagram = parse(variant, &bytes).unwrap();
        assert_eq!(datagram.head.spare, first);
        assert_eq!(datagram.build(), bytes);
    }
    assert_eq!(parse(Variant::V6, &[0x0c, 1, 0]).unwrap().head.ack, 0xc01);
}
