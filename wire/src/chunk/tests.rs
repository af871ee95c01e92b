use super::*;
use crate::testing::hex;
use proptest::prelude::*;

/// The size, the sequence number, then the headers: 0.6 vital, 0.6 non-vital, 0.7 vital, 0.7 non-vital.
const TABLE: [(u16, u16, [&str; 4]); 9] = [
    (1, 1, ["400101", "0001", "400101", "0001"]),
    (23, 1, ["410701", "0107", "401701", "0017"]),
    (71, 5, ["440705", "0407", "410705", "0107"]),
    (16, 64, ["411040", "0100", "401040", "0010"]),
    (1, 192, ["4031c0", "0001", "4001c0", "0001"]),
    (5, 255, ["4035ff", "0005", "4005ff", "0005"]),
    (5, 256, ["404500", "0005", "404500", "0005"]),
    (315, 2, ["530b02", "130b", "443b02", "043b"]),
    (1023, 1023, ["7fffff", "3f0f", "4fffff", "0f3f"]),
];

fn both_ways(proto: Proto, header: ChunkHeader, bytes: &[u8]) {
    let mut out = Vec::new();
    header.encode(proto, &mut out);
    assert_eq!(out, bytes, "{proto} {header:?}");
    assert_eq!(ChunkHeader::decode(proto, bytes), Some((header, bytes.len())));
    assert_eq!(ChunkHeader::header_len(header.vital.is_some()), bytes.len());
    for end in 0..bytes.len() {
        assert_eq!(ChunkHeader::decode(proto, &bytes[..end]), None);
    }
}

#[test]
fn header_table_both_ways() {
    for (size, seq, headers) in TABLE {
        let [vital6, plain6, vital7, plain7] = headers.map(hex);
        for (proto, resend) in Proto::ALL
            .into_iter()
            .flat_map(|proto| [(proto, false), (proto, true)])
        {
            let (vital, plain) = match proto {
                Proto::V7 => (&vital7, &plain7),
                _ => (&vital6, &plain6),
            };
            for (vital, bytes) in [(Some(Seq::new(seq)), vital), (None, plain)] {
                let mut bytes = bytes.clone();
                bytes[0] |= u8::from(resend) << 7;
                both_ways(proto, ChunkHeader { vital, resend, size }, &bytes);
            }
        }
    }
    let header = ChunkHeader {
        vital: Some(Seq::new(9)),
        resend: false,
        size: 1385,
    };
    both_ways(Proto::V7, header, &[0x55, 0x29, 0x09]);
    both_ways(
        Proto::V7,
        ChunkHeader {
            vital: None,
            ..header
        },
        &[0x15, 0x29],
    );
}

#[test]
fn hostile_copies_of_sequence_bits_are_ored() {
    let (header, _) = ChunkHeader::decode(Proto::V6, &[0x40, 0x11, 0x80]).unwrap();
    assert_eq!(header.vital, Some(Seq::new(0xc0)));
    let (header, _) = ChunkHeader::decode(Proto::V6, &[0x00, 0xf1]).unwrap();
    assert_eq!(
        header,
        ChunkHeader {
            vital: None,
            resend: false,
            size: 1
        }
    );
}

#[test]
fn reads_the_live_first_answer_of_a_server() {
    let payload = [0x40, 0x02, 0x02, 0x02, 0x00, 0x40, 0x01, 0x03, 0x09];
    let mut chunks = Chunks::new(Proto::V65, &payload, 2);
    let got: Vec<_> = chunks
        .by_ref()
        .map(|chunk| (chunk.header.vital, chunk.data, chunk.at))
        .collect();
    assert_eq!(
        got,
        [
            (Some(Seq::new(2)), &payload[3..5], 0),
            (Some(Seq::new(3)), &payload[8..], 5)
        ]
    );
    assert!(chunks.notes().is_empty() && chunks.rest().is_empty() && chunks.missing() == 0);
}

#[test]
fn reports_what_a_receiver_does_not_see() {
    let payload = [0x00, 0x01, 0xaa, 0x00, 0x02, 0xbb];
    let end = |num_chunks| {
        let mut chunks = Chunks::new(Proto::V7, &payload, num_chunks);
        let seen = chunks.by_ref().count();
        let note = chunks
            .notes()
            .iter()
            .next()
            .map(|note| (note.code, note.at, note.len));
        (seen, chunks.missing(), chunks.rest().len(), note)
    };
    assert_eq!(end(0), (0, 0, 6, Some((Code::TrailingBytes, 0, 6))));
    assert_eq!(end(1), (1, 0, 3, Some((Code::TrailingBytes, 3, 3))));
    assert_eq!(end(2), (1, 1, 3, Some((Code::ChunkTruncated, 3, 3))));
    assert_eq!(end(9), (1, 8, 3, Some((Code::ChunkTruncated, 3, 3))));
    let mut chunks = Chunks::new(Proto::V7, &payload[..3], 2);
    assert_eq!((chunks.by_ref().count(), chunks.missing()), (1, 1));
    assert!(chunks.notes().contains(Code::ChunkCountTooHigh));
}

#[test]
fn reports_sizes_and_counts_that_were_cut() {
    let codes = |proto, payload: &[u8], num_chunks| {
        let mut chunks = Chunks::new(proto, payload, num_chunks);
        let seen = chunks.by_ref().count();
        let codes: Vec<_> = chunks.notes().iter().map(|note| note.code).collect();
        (seen, codes)
    };
    // The size field of DDNet holds 10 bits, so a size of 1030 is written as 6.
    let long = [&[0x00, 0x06][..], &[7; 1030]].concat();
    assert_eq!(codes(Proto::Ddnet, &long, 1), (1, vec![Code::ChunkSizeCut]));
    assert_eq!(codes(Proto::V7, &long, 1), (1, vec![Code::TrailingBytes]));
    assert_eq!(
        codes(Proto::Ddnet, &long[..1031], 1),
        (1, vec![Code::TrailingBytes])
    );
    let many = [0x00, 0x01, 0xaa].repeat(257);
    assert_eq!(codes(Proto::Ddnet, &many, 1), (1, vec![Code::ChunkCountCut]));
    assert_eq!(codes(Proto::V7, &many[3..], 0), (0, vec![Code::ChunkCountCut]));
    assert_eq!(codes(Proto::V7, &many, 0), (0, vec![Code::TrailingBytes]));
    assert_eq!(codes(Proto::V7, &many, 2), (2, vec![Code::TrailingBytes]));
}

#[test]
fn refuses_what_does_not_fit() {
    for (proto, max) in [
        (Proto::V6, 1023),
        (Proto::V65, 1023),
        (Proto::Ddnet, 1023),
        (Proto::V7, 1388),
    ] {
        let mut out = vec![7];
        assert_eq!(write_chunk(proto, None, false, &vec![0; max], &mut out), Ok(()));
        assert_eq!(out.len(), 1 + 2 + max);
        let size = max + 1;
        let mut out = vec![7];
        assert_eq!(
            write_chunk(proto, None, false, &vec![0; size], &mut out),
            Err(ChunkTooLarge { size, max })
        );
        assert_eq!(out, [7]);
    }
}

proptest! {
    #[test]
    fn chunks_written_are_chunks_read(
        proto in prop::sample::select(&Proto::ALL[..]),
        list in prop::collection::vec(
            (prop::option::of(0u16..1024), any::<bool>(), prop::collection::vec(any::<u8>(), 0..200)), 0..20),
    ) {
        let mut payload = Vec::new();
        for (vital, resend, data) in &list {
            write_chunk(proto, vital.map(Seq::new), *resend, data, &mut payload).unwrap();
        }
        let mut chunks = Chunks::new(proto, &payload, u8::try_from(list.len()).unwrap());
        let mut end = 0;
        for (vital, resend, data) in &list {
            let chunk = chunks.next().unwrap();
            prop_assert_eq!(chunk.at, end);
            prop_assert_eq!(chunk.header.vital, vital.map(Seq::new));
            prop_assert_eq!(chunk.header.resend, *resend);
            prop_assert_eq!(chunk.data, &data[..]);
            end = chunk.end();
        }
        prop_assert!(chunks.next().is_none());
        prop_assert_eq!(end, payload.len());
        prop_assert!(chunks.notes().is_empty());
    }

    #[test]
    fn any_bytes_are_covered_in_order(
        proto in prop::sample::select(&Proto::ALL[..]),
        payload in prop::collection::vec(any::<u8>(), 0..1500),
        num_chunks in any::<u8>(),
    ) {
        let mut chunks = Chunks::new(proto, &payload, num_chunks);
        let (mut end, mut seen) = (0, 0u8);
        for chunk in chunks.by_ref() {
            prop_assert_eq!(chunk.at, end);
            prop_assert_eq!(usize::from(chunk.header.size), chunk.data.len());
            end = chunk.end();
            seen += 1;
        }
        prop_assert_eq!(chunks.rest(), &payload[end..]);
        prop_assert_eq!(chunks.missing(), num_chunks - seen);
        prop_assert_eq!(chunks.notes().is_empty(), end == payload.len() && seen == num_chunks);
    }
}
