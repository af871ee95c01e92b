use teetap_wire::{Flags, Packet, Scratch, Token};

use super::*;

/// Returns the number and the name that the bytes of a message of the server should have.
fn meant_by_server(
    (proto, vital): (Proto, bool),
    awaited: Option<&'static str>,
    data: &[u8],
) -> Option<(i32, &'static str)> {
    let registry = Registry::builtin();
    let mut decoded = Decoded::new();
    let def = decoded.message(registry, proto, Dir::S2c, data);
    let mut notes: Vec<Note> = decoded.notes().iter().collect();
    notes.extend(
        def.and_then(|def| def.odd_vitality(vital))
            .map(|code| Note { code, at: 0, len: 0 }),
    );
    let suspect = Suspect {
        registry,
        proto,
        dir: Dir::S2c,
        to_ddnet: false,
        awaited,
        vital,
        data,
    };
    suspect.other_id(&notes).map(|other| (other.expected, other.name))
}

/// Messages of a server with the id of the other version are recognized, even if they have only a few bytes.
#[test]
fn ids_of_the_other_version_are_recognized_in_messages_of_a_server() {
    let (login, line) = (&b"\x15\x01\x01"[..], &b"\x17hello\0"[..]);
    for (case, data, expected) in [
        // snap_single, snap_empty, snap and input_timing of 0.6.
        (
            (Proto::V7, false, None),
            &b"\x0f\xa4\x32\x02\x05\x03abc"[..],
            Some((17, "snap_single")),
        ),
        (
            (Proto::V7, false, None),
            b"\x0d\xa4\x32\x02",
            Some((15, "snap_empty")),
        ),
        (
            (Proto::V7, false, None),
            b"\x0b\xa4\x32\x02\x01\x00\x05\x03abc",
            Some((13, "snap")),
        ),
        (
            (Proto::V7, false, None),
            b"\x13\xa4\x32\x02",
            Some((21, "input_timing")),
        ),
        // A length that does not fit, and bytes after a message of another kind.
        ((Proto::V7, false, None), b"\x0f\xa4\x32\x02\x05\x03abcd", None),
        ((Proto::V7, false, None), b"\x15\xa4\x32\x02\x05\x03abc", None),
        // The answers to a login.
        (
            (Proto::V7, true, Some("rcon_auth_on")),
            login,
            Some((23, "rcon_auth_on")),
        ),
        ((Proto::V7, true, None), login, None),
        ((Proto::V7, true, None), line, Some((27, "rcon_line"))),
        (
            (Proto::V6, true, Some("rcon_auth_status")),
            b"\x17",
            Some((21, "rcon_auth_status")),
        ),
        // snap_single and snap_empty of 0.7.
        (
            (Proto::V6, false, None),
            b"\x11\xa4\x32\x02\x05\x03abc",
            Some((15, "snap_single")),
        ),
        (
            (Proto::V6, false, None),
            b"\x0f\xa4\x32\x02",
            Some((13, "snap_empty")),
        ),
    ] {
        let (proto, vital, awaited) = case;
        let got = meant_by_server((proto, vital), awaited, data);
        assert_eq!(got, expected, "{proto} {data:02x?}");
    }
}

/// Returns true if a vital message of the server is said to have the fields of the other version.
fn has_other_fields(proto: Proto, name: &str, body: &[u8]) -> bool {
    let registry = Registry::builtin();
    let mut defs = registry.named(proto, None, name);
    let def = defs.find(|def| number(def).is_some()).unwrap();
    let mut data = Vec::new();
    varint::encode(number(def).unwrap(), &mut data);
    data.extend_from_slice(body);
    let mut decoded = Decoded::new();
    decoded.message(registry, proto, Dir::S2c, &data);
    let notes: Vec<Note> = decoded.notes().iter().collect();
    let suspect = Suspect {
        registry,
        proto,
        dir: Dir::S2c,
        to_ddnet: false,
        awaited: None,
        vital: true,
        data: &data,
    };
    suspect.other_fields(&notes).is_some()
}

/// Returns the payload of a packet of 0.7 with two `input_timing`. `off` is added to the size of each.
fn payload(off: [isize; 2]) -> Vec<u8> {
    let messages = [&b"\x15\xa4\x32\x02"[..], b"\x15\xa6\x32\x02"];
    let mut payload = Vec::new();
    for (data, off) in messages.into_iter().zip(off) {
        let header = payload.len();
        teetap_wire::write_chunk(Proto::V7, None, false, data, &mut payload).unwrap();
        let size = &mut payload[header + 1];
        *size = size.checked_add_signed(i8::try_from(off).unwrap()).unwrap();
    }
    payload
}

fn packet(flags: Flags, payload: &[u8], packing: Option<teetap_wire::huffman::Trailing>) -> Vec<u8> {
    let header = teetap_wire::Header {
        flags,
        ack: teetap_wire::Seq::ZERO,
        num_chunks: 2,
        token: Some(Token(*b"tokn")),
    };
    let mut out = Vec::new();
    teetap_wire::packet::write(Proto::V7, &header, payload, packing, &mut out);
    out
}

#[test]
fn a_size_that_is_wrong_by_a_few_bytes_is_found() {
    let name = "input_timing";
    for (off, expected) in [
        ([0, 0], None),
        ([1, 0], Some((1, 5, 4, false))),
        ([-1, 0], Some((1, 3, 4, false))),
        ([2, 2], Some((1, 6, 4, true))),
        // With the last chunk alone, any size up to the end fits.
        ([0, 1], None),
        ([9, 9], None),
    ] {
        let bytes = packet(Flags::empty(), &payload(off), None);
        let mut scratch = Scratch::new();
        let packet = Packet::parse(Proto::V7, &bytes, &mut scratch).unwrap();
        let notes: Vec<Note> = packet.chunk_notes().iter().collect();
        let expected = expected.map(|(chunk, got, expected, is_each)| WrongSize {
            chunk,
            name,
            got,
            expected,
            is_each,
        });
        let found = wrong_size(&packet, &notes, Registry::builtin(), Dir::S2c);
        assert_eq!(found, expected, "{off:?}");
    }
}

/// A DDNet server appends a byte to messages of 0.7, which is no reason to doubt that the bytes are compressed.
#[test]
fn a_compressed_payload_without_the_flag_may_have_surplus_bytes() {
    let mut payload = Vec::new();
    for surplus in [0, 40] {
        let data = [&b"\x15\0\0"[..], &[0; 40][..surplus]].concat();
        teetap_wire::write_chunk(Proto::V7, None, false, &data, &mut payload).unwrap();
    }
    let trailing = teetap_wire::huffman::Trailing::Always;
    let mut bytes = packet(Flags::empty(), &payload, Some(trailing));
    let flag = Proto::V7.layout().compression;
    assert_eq!(bytes[0] & flag, flag);
    bytes[0] ^= flag | Proto::V6.layout().compression;
    let mut scratch = Scratch::new();
    let packet = Packet::parse(Proto::V7, &bytes, &mut scratch).unwrap();
    let notes: Vec<Note> = packet.chunk_notes().iter().collect();
    let note = unmarked(&packet, &bytes, &notes, Registry::builtin(), Dir::S2c);
    assert_eq!(
        note.map(|note| note.code),
        Some(Code::CompressionUnmarked),
        "{notes:?}"
    );
}

/// A message that has all of its fields has its own layout, even if it fits another one: a team out of range before
/// the text, or data that any layout of raw bytes fits.
#[test]
fn an_odd_value_is_not_the_layout_of_the_other_version() {
    for (proto, name, body, expected) in [
        (Proto::V6, "sv_chat", &b"\x03\x00hello\0"[..], false),
        (Proto::V6, "map_data", b"\x00\x00\x01\x3fabcdefgh", false),
        // Without its target, the text of a chat message is read as a target that is out of range.
        (Proto::V7, "sv_chat", b"\x01\x00hello\0", true),
    ] {
        assert_eq!(has_other_fields(proto, name, body), expected, "{proto} {name}");
    }
}
