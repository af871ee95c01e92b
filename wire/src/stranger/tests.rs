use proptest::prelude::*;

use super::OpensNothing::{self, *};
use crate::{First, Trailing, compress, detect};

fn padded(start: &[u8], len: usize) -> Vec<u8> {
    let mut datagram = start.to_vec();
    datagram.resize(len, 0);
    datagram
}

fn compressed(header: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut bits = Vec::new();
    compress(payload, Trailing::WhenPartial, &mut bits);
    [header, &bits].concat()
}

const MINE: [u8; 4] = [0x24, 0x05, 0xcd, 0xfd];
const THEIRS: [u8; 4] = [0x92, 0x3a, 0xf3, 0x6c];
const NONE: [u8; 4] = [0xff; 4];

/// Returns a padded TOKEN request of 0.7 with these first bytes in place of `04 00 00 ff ff ff ff 05`.
fn request(start: &[u8]) -> Vec<u8> {
    padded(&[start, &MINE].concat(), 520)
}

#[test]
fn the_bytes_show_the_mistake_of_a_handshake_of_0_7() {
    let full = |flags: u8, id: u8| request(&[&[flags, 0, 0][..], &NONE, &[id]].concat());
    let connect = |flags: u8, token: [u8; 4]| request(&[&[flags, 0, 0][..], &token, &[1]].concat());
    let payload = padded(&[&[5][..], &MINE].concat(), 513);
    let header = [&[0x04, 0, 0][..], &NONE].concat();
    for (bytes, expected) in [
        (full(0x10, 5), FlagOfSix),
        (connect(0x10, THEIRS), FlagOfSix),
        (full(0x01, 5), FlagNotShifted),
        (connect(0x01, THEIRS), FlagNotShifted),
        (full(0x80, 5), FlagsOfSeven),
        (full(0x40, 5), FlagsOfSeven),
        (full(0x00, 5), FlagsOfSeven),
        (connect(0x00, THEIRS), FlagsOfSeven),
        (full(0x14, 5), NotCompressed),
        (
            compressed(&[&[0x14, 0, 0][..], &NONE].concat(), &payload),
            Compressed,
        ),
        (compressed(&header, &payload), CompressionUnmarked),
        (request(&[0x04, 0, 0, 5]), NoTokenField),
        (request(&[0x04, 0, 0, 1]), NoTokenField),
        (request(&[0x04, 0, 0, 5])[..8].to_vec(), NoTokenField),
        (b"\x04\0\0\x05".to_vec(), NoTokenField),
        (request(&[0x10, 0, 0, 5]), HeaderOfSix),
        (b"\x10\0\0\x05".to_vec(), HeaderOfSix),
        (request(b"\x04\0\xff\xff\xff\xff\x05"), FieldMoved),
        (request(b"\x04\0\0\0\xff\xff\xff\xff\x05"), FieldMoved),
        (full(0x04, 11), PackedId),
        (full(0x04, 10), PackedId),
        (full(0x04, 3), PackedId),
        (full(0x04, 0x35), WrongId),
        (request(&[&header[..], &[0, 0, 0, 5]].concat()), WideId),
        (full(0x04, 1), ConnectBeforeToken),
        (connect(0x04, [0; 4]), ConnectBeforeToken),
        (connect(0x04, MINE), OwnToken),
        (connect(0x04, THEIRS), ForeignToken),
        (connect(0x04, THEIRS)[..8].to_vec(), NoResponseToken),
        (full(0x04, 5)[..518].to_vec(), ShortTokenRequest),
        (full(0x04, 5)[..519].to_vec(), RefusedTokenRequest),
        (request(&[0x04, 0, 0, 0, 0, 0, 0, 5]), ZeroToken),
        (request(&[&[0x04, 0, 0][..], &MINE, &[5]].concat()), OwnToken),
        (
            request(&[&[0x04, 0, 0][..], &THEIRS, &[5]].concat()),
            ForeignToken,
        ),
        ([&[0x04, 0, 0][..], &THEIRS, &[2]].concat(), OfServer),
        ([&[0x04, 0, 0][..], &THEIRS, b"\x04bye\0"].concat(), Close),
        ([&[0x04, 7, 0][..], &THEIRS, &[0]].concat(), Running),
        (b"\x04\0\0\x01\x02\x03\x04\0".to_vec(), Running),
        // The answer to a client whose token begins with the id of a handshake.
        (b"\x04\0\0\x05\x02\x03\x04\x02".to_vec(), Other),
        (b"\x04\0\0\x01\x02\x03\x04\x02".to_vec(), Other),
        // Servers of 0.7 overlook these flags.
        (full(0x0c, 5), Other),
        (full(0x84, 5), Other),
        ([&[0x08, 7, 0][..], &THEIRS].concat(), Running),
        (
            [&[0x00, 0, 1][..], &THEIRS, b"\x40\x01\x01\x25"].concat(),
            DataFirst,
        ),
        (
            [&[0x00, 2, 1][..], &THEIRS, b"\x40\x01\x07\x25"].concat(),
            Running,
        ),
        (
            compressed(&[&[0x10, 9, 1][..], &THEIRS].concat(), b"\x40\x01\x07\x25"),
            Running,
        ),
    ] {
        assert_eq!(
            OpensNothing::classify(&bytes),
            expected,
            "{:02x?}",
            &bytes[..bytes.len().min(24)]
        );
    }
}

#[test]
fn the_bytes_show_the_mistake_of_a_handshake_of_0_6() {
    let ddnet = |start: &[u8]| [start, b"TKEN\xff\xff\xff\xff"].concat();
    let v65 = |start: &[u8]| padded(&[start, &[0; 4], &MINE].concat(), 516);
    for (bytes, expected) in [
        (b"\x04\0\0\x01".to_vec(), FlagOfSeven),
        (ddnet(b"\x04\0\0\x01"), FlagOfSeven),
        (v65(b"\x04\0\0\x01"), FlagOfSeven),
        (b"\x01\0\0\x01".to_vec(), FlagNotShifted),
        (ddnet(b"\x01\0\0\x01"), FlagNotShifted),
        (v65(b"\x01\0\0\x01"), FlagNotShifted),
        (b"\x80\0\0\x01".to_vec(), FlagsOfSix),
        (ddnet(b"\x40\0\0\x01"), FlagsOfSix),
        (v65(b"\x00\0\0\x01"), FlagsOfSix),
        (ddnet(b"\x18\0\0\x01"), TokenFlag),
        (v65(b"\x18\0\0\x01"), TokenFlag),
        (ddnet(b"\x90\0\0\x01"), NotCompressed),
        (v65(b"\x90\0\0\x01"), NotCompressed),
        (compressed(b"\x90\0\0", &ddnet(b"\x01")), Compressed),
        (compressed(b"\x90\0\0", b"\x01"), Compressed),
        (compressed(b"\x90\0\0", &v65(b"\x01")), Compressed),
        (compressed(b"\x10\0\0", &ddnet(b"\x01")), CompressionUnmarked),
        (ddnet(b"\x10\0\x01"), MagicMoved),
        (ddnet(b"\x10\0\0\0\x01"), MagicMoved),
        (ddnet(b"\x10\0\0\0\0\0\x01"), MagicMoved),
        (ddnet(b"\x10\0\0\x03"), PackedId),
        (ddnet(b"\x10\0\0\x00"), WrongId),
        (ddnet(b"\x10\0\0\x31"), WrongId),
        (b"\x10\0\0\x03TKEN\x01\x02\x03\x04".to_vec(), AcceptFirst),
        (b"\x10\0\0\x00TKEN".to_vec(), Running),
        (b"\x10\0\0\x07TKEN\x01\x02\x03\x04".to_vec(), Other),
        // Servers of 0.6 overlook these flags.
        (b"\x50\0\0\x01".to_vec(), Other),
        (ddnet(b"\x50\0\0\x01"), Other),
        (v65(b"\x14\0\0\x01"), Other),
        (ddnet(b"\x14\0\0\x01"), FlagsOfSix),
        (b"\x10\0\0\0\0\0\x01".to_vec(), WideId),
        (ddnet(b"\x10\0\0\x02"), OfServer),
        (b"\x10\0\0\x02".to_vec(), OfServer),
        (b"\x10\0\0\x03".to_vec(), AcceptFirst),
        (b"\x10\0\0\x03TKEN".to_vec(), AcceptFirst),
        (b"\x10\0\0\x03\x01\x02\x03\x04".to_vec(), AcceptFirst),
        (b"\x10\0\0\x04bye\0".to_vec(), Close),
        (b"\x10\x05\0\0".to_vec(), Running),
        (b"\x10\x05\0\0\x01\x02\x03\x04".to_vec(), Running),
        (b"\x18\x05\0\x01\x02\x03\x04\0".to_vec(), Running),
        (b"\x40\x05\0\x01\x02\x03\x04".to_vec(), Running),
        (b"\0\0\x01\x40\x01\x01\x03".to_vec(), DataFirst),
        (b"\0\0\x01\x40\x01\x01\x03\x01\x02\x03\x04".to_vec(), DataFirst),
        (b"\x08\0\x01\x01\x02\x03\x04\x40\x01\x01\x03".to_vec(), DataFirst),
        (b"\0\x01\x01\x40\x01\x01\x03".to_vec(), Running),
        (b"\0\0\x01\x40\x01\x05\x03".to_vec(), Running),
        (compressed(b"\x80\x05\x01", b"\x40\x01\x07\x25"), Running),
        (b"\x10\0".to_vec(), TooShort),
        (b"".to_vec(), TooShort),
        // Nothing of the game.
        (b"\x10\0\0".to_vec(), Other),
        (b"\x10\0\0\x09".to_vec(), Other),
        (b"GET / HTTP/1.1\r\n".to_vec(), Other),
        (b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x03www".to_vec(), Other),
        (b"\x16\xfe\xfd\0\0\0\0\0\0\0\0\0\xc1\x01\0\0".to_vec(), Other),
        (b"\xc0\0\0\0\x01\x08\x83\x94\xc8\xf0".to_vec(), Other),
    ] {
        assert_eq!(
            OpensNothing::classify(&bytes),
            expected,
            "{:02x?}",
            &bytes[..bytes.len().min(24)]
        );
    }
}

/// Plain data is of a session if chunks with a message each fill its payload.
#[test]
fn only_whole_chunks_with_messages_are_of_a_session() {
    for (bytes, expected) in [
        (&b"\0\x05\x01\x00\x02\x38\x01"[..], Running),
        // An empty chunk, a truncated chunk, a missing chunk, and bytes after the last chunk.
        (b"\0\x05\x01\x00\x00", Other),
        (b"\0\x05\x01\x00\x03\x38\x01", Other),
        (b"\0\x05\x02\x00\x02\x38\x01", Other),
        (b"\0\x05\x01\x00\x02\x38\x01\x02", Other),
        (b"\0\x05\x02\x00\x01\x38\x00\x01\x38", Running),
        (b"\0\x05\x02\x00\x01\x38\x00\x00", Other),
        // The first vital message, without and with an ack.
        (b"\0\0\x01\x40\x01\x01\x38", DataFirst),
        (b"\0\x01\x01\x40\x01\x01\x38", Running),
        (b"\x01\0\x01\x40\x01\x01\x38", Running),
        (b"\0\0\x01\x40\x01\x02\x38", Running),
    ] {
        assert_eq!(OpensNothing::classify(bytes), expected, "{bytes:02x?}");
    }
}

#[test]
fn messages_of_a_session_are_not_shown() {
    let password = b"\x08\x05\x01\x01\x02\x03\x04\x40\x08\x07\x23secret\0";
    assert_eq!(OpensNothing::classify(password), Running);
    assert_eq!(Running.start(password), &password[..11]);
    let plain = b"\0\x05\x01\x00\x08\x23secret\0";
    assert_eq!(Running.start(plain), &plain[..6]);
    let packed = compressed(b"\x80\x05\x01", b"\x01\x02\x23secret\0");
    assert_eq!(Running.start(&packed), b"\x80\x05\x01");
    let request = request(b"\x10\0\0\xff\xff\xff\xff\x05");
    assert_eq!(FlagOfSix.start(&request), &request[..16]);
}

#[test]
fn each_kind_has_a_name_of_its_own_and_only_guesses_ask() {
    let mut names: Vec<_> = OpensNothing::ALL.iter().map(|kind| kind.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), OpensNothing::ALL.len());
    let asks = OpensNothing::ALL.iter().filter(|kind| kind.text().contains('?'));
    assert_eq!(asks.collect::<Vec<_>>(), [&Running]);
    let mistakes = OpensNothing::ALL.iter().filter(|kind| kind.is_mistake());
    assert!(mistakes.clone().all(|kind| !kind.text().is_empty()));
    let early = mistakes.filter(|kind| !kind.is_malformed());
    assert_eq!(
        early.collect::<Vec<_>>(),
        [
            &ForeignToken,
            &ReversedToken,
            &BrowserToken,
            &OfServer,
            &AcceptFirst,
            &DataFirst
        ]
    );
}

proptest! {
    /// A handshake that opens a session has no mistake. A handshake with other flags has a mistake, unless servers
    /// ignore these flags.
    #[test]
    fn a_handshake_is_no_mistake_until_a_flag_differs(token in any::<[u8; 4]>(), flags in any::<u8>()) {
        let request = padded(&[b"\x04\0\0\xff\xff\xff\xff\x05", &token[..]].concat(), 520);
        let ddnet = b"\x10\0\0\x01TKEN\xff\xff\xff\xff".to_vec();
        for good in [request, ddnet] {
            let bad = [&[flags], &good[1..]].concat();
            let overlooked = if good.len() == 12 { 0x43 } else { 0xcb };
            let is_overlooked = flags & !overlooked == good[0];
            let is_good = is_overlooked || !matches!(detect(&bad), First::MidSession);
            let is_read = OpensNothing::classify(&bad).is_mistake();
            prop_assert_eq!(is_read, !is_good, "{:02x?}", &bad[..12]);
        }
    }

    #[test]
    fn any_bytes_are_something(datagram in prop::collection::vec(any::<u8>(), 0..1500)) {
        let kind = OpensNothing::classify(&datagram);
        prop_assert!(kind.start(&datagram).len() <= 16);
    }
}
