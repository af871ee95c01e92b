//! Test vectors for authors of libraries, `docs/vectors.json`: built with the wire crate, read back with it, and checked
//! with the kit, which shares no code with it. A test with real peers asks the PyPI package `twnet_parser`, too.
//!
//! To write the file: `INSTA_UPDATE=always cargo test --test cli vectors`.

use std::{fs, path::Path};

use serde_json::{Value, json};
use teetap_kit::{
    codec::{self, Variant},
    huffman::{self, Ending},
    peer::game,
};
use teetap_wire::{
    Dir, Flags, Header, Packet, Proto, Scratch, Seq, Token, Trailing, compress,
    control::{self, keepalive},
    def::{Class, Datum, Decoded, Def, Registry, Secrets, Source},
    snap::{Counts, Delta, ItemKey, Sizes, Snapshot},
    varint, write, write_chunk,
};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &Value) -> Vec<u8> {
    let hex = hex.as_str().unwrap();
    (0..hex.len() / 2)
        .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
        .collect()
}

fn ints() -> Vec<Value> {
    let values = [
        0,
        1,
        -1,
        2,
        63,
        64,
        -64,
        -65,
        127,
        128,
        255,
        256,
        8191,
        8192,
        -8192,
        -8193,
        1_048_575,
        1_048_576,
        134_217_727,
        134_217_728,
        -134_217_728,
        -134_217_729,
        i32::MAX,
        i32::MIN,
    ];
    let written = values.map(|value| {
        let mut out = Vec::new();
        varint::encode(value, &mut out);
        json!({"hex": hex(&out), "value": value})
    });
    // Longer than needed: every receiver accepts these.
    let longer: [&[u8]; 3] = [
        &[0x80, 0x00],
        &[0x81, 0x80, 0x00],
        &[0xc0, 0x80, 0x80, 0x80, 0x00],
    ];
    let longer = longer.map(|bytes| {
        let value = varint::decode(bytes).unwrap().value;
        json!({"hex": hex(bytes), "value": value, "overlong": true})
    });
    written.into_iter().chain(longer).collect()
}

fn huffman() -> Vec<Value> {
    let all: Vec<u8> = (0..=255).collect();
    let clear: [&[u8]; 6] = [
        b"",
        b"\0",
        b"hello",
        b"a long line of text in the chat",
        &[0; 64],
        &all,
    ];
    clear
        .into_iter()
        .map(|clear| {
            let [mut padded, mut tight] = [Vec::new(), Vec::new()];
            compress(clear, Trailing::Always, &mut padded);
            compress(clear, Trailing::WhenPartial, &mut tight);
            json!({"clear": hex(clear), "compressed": hex(&padded), "compressed_ddnet_20": hex(&tight)})
        })
        .collect()
}

/// The types of strings.
const STRINGS: [&str; 3] = ["str", "str_cc", "str_strict"];

/// Strings as they are in messages: with control characters, with spaces at the start, with bytes that are not UTF-8, and
/// without the zero byte at the end. The text of a type is what a receiver keeps; the notes are those of the wire crate.
fn strings() -> Vec<Value> {
    let all: Vec<u8> = (1..=33).chain([126, 127, 0]).collect();
    let written: [&[u8]; 13] = [
        b"\0",
        b"hello\0",
        "gr\u{fc}\u{df} \u{1f600}\0".as_bytes(),
        b"a\x07b\x1b[0m\x7f\0",
        b"a\tb\r\nc\0",
        b"  \t\r\n a \0",
        b"\x01 a\0",
        b" \x01 a\0",
        b" \n\0",
        &all,
        b"a\xffb\0",
        b"\xe2\x82\0",
        b"hello",
    ];
    written.map(string).into()
}

fn string(written: &[u8]) -> Value {
    let mut vector = json!({"hex": hex(written), "terminated": written.ends_with(&[0])});
    for ty in STRINGS {
        let text = format!("for 0.7\n\nsystem 900 sample both\n  text {ty}\n");
        let registry = Registry::with("sample.tw", &text).unwrap();
        let mut data = Vec::new();
        varint::encode(900 * 2 + 1, &mut data);
        data.extend_from_slice(written);
        let mut decoded = Decoded::new();
        decoded.message(&registry, Proto::V7, Dir::C2s, &data).unwrap();
        let notes = decoded.notes().iter().map(|note| note.code.name());
        vector[ty] =
            json!({"text": kept(written, ty).map(|text| hex(&text)), "notes": notes.collect::<Vec<_>>()});
    }
    vector
}

/// Returns what a receiver keeps of a string; `None` if it drops the message, because the string has no end.
///
/// Source: `GetString` in `engine/shared/packer.cpp`, `str_sanitize`, `str_sanitize_cc` and `str_skip_whitespaces` in
/// `base/system.c` of Teeworlds 0.7.5.
fn kept(written: &[u8], ty: &str) -> Option<Vec<u8>> {
    let (0, text) = written.split_last().map(|(last, text)| (*last, text))? else {
        return None;
    };
    let replaced = |byte: &u8| *byte < 32 && !(ty == "str" && matches!(byte, b'\t' | b'\r' | b'\n'));
    let text: Vec<u8> = text
        .iter()
        .map(|byte| if replaced(byte) { b' ' } else { *byte })
        .collect();
    let is_skipped = |byte: &u8| ty == "str_strict" && matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
    Some(text.into_iter().skip_while(is_skipped).collect())
}

const CLIENT: Token = Token([0x24, 0x05, 0xcd, 0xfd]);
const SERVER: Token = Token([0x92, 0x3a, 0xf3, 0x6c]);

/// Returns the data of a chunk with this message.
fn message(proto: Proto, name: &str, fields: Vec<(&str, Datum)>) -> Vec<u8> {
    let mut defs = Registry::builtin().named(proto, None, name);
    let def = defs
        .find(|def| matches!(def.class, Class::System | Class::Game))
        .unwrap();
    let mut out = Vec::new();
    def.encode(&Datum::group(fields), &mut out).unwrap();
    out
}

/// The header fields and the payload of a datagram to be written.
struct Written {
    proto: Proto,
    dir: Dir,
    flags: Flags,
    ack: u16,
    num_chunks: u8,
    token: Option<Token>,
    payload: Vec<u8>,
    compressed: bool,
}

impl Written {
    fn datagram(&self) -> Vec<u8> {
        let header = Header {
            flags: self.flags,
            ack: Seq::new(self.ack),
            num_chunks: self.num_chunks,
            token: self.token,
        };
        let mut out = Vec::new();
        let compression = self.compressed.then_some(Trailing::Always);
        write(self.proto, &header, &self.payload, compression, &mut out);
        out
    }
}

/// Returns the token in the packets to a side.
fn token(proto: Proto, dir: Dir) -> Option<Token> {
    match (proto, dir) {
        (Proto::V6, _) => None,
        (Proto::V7, Dir::S2c) => Some(CLIENT),
        _ => Some(SERVER),
    }
}

fn controls(proto: Proto) -> Vec<Written> {
    let control = |dir, token, payload| Written {
        proto,
        dir,
        flags: Flags::CONTROL,
        ack: 0,
        num_chunks: 0,
        token,
        payload,
        compressed: false,
    };
    let made = |make: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        make(&mut out);
        out
    };
    let first = match proto {
        Proto::V6 | Proto::V65 => None,
        Proto::Ddnet => Some(Token::NONE),
        Proto::V7 => Some(SERVER),
    };
    let to_client = if proto == Proto::V65 {
        Some(CLIENT)
    } else {
        token(proto, Dir::S2c)
    };
    let mut all = Vec::new();
    if proto == Proto::V7 {
        all.push(control(
            Dir::C2s,
            Some(Token::NONE),
            made(&|out| control::token_request(CLIENT, out)),
        ));
        all.push(control(
            Dir::S2c,
            Some(CLIENT),
            made(&|out| control::token_reply(SERVER, out)),
        ));
    }
    all.push(control(
        Dir::C2s,
        first,
        made(&|out| control::connect(proto, CLIENT, out)),
    ));
    all.push(control(
        Dir::S2c,
        to_client,
        made(&|out| control::connect_accept(proto, SERVER, out)),
    ));
    if matches!(proto, Proto::V6 | Proto::Ddnet) {
        all.push(control(
            Dir::C2s,
            token(proto, Dir::C2s),
            made(&|out| control::accept(out)),
        ));
    }
    let mut alive = control(Dir::C2s, token(proto, Dir::C2s), made(&|out| keepalive(out)));
    alive.ack = 517;
    all.push(alive);
    let close = made(&|out| control::close(b"Wrong password.", out));
    all.push(control(Dir::S2c, token(proto, Dir::S2c), close));
    all
}

fn data(proto: Proto) -> Vec<Written> {
    let packet = |dir, ack, chunks: &[(Option<u16>, bool, Vec<u8>)], compressed| {
        let mut payload = Vec::new();
        for (seq, resend, data) in chunks {
            write_chunk(proto, seq.map(Seq::new), *resend, data, &mut payload).unwrap();
        }
        Written {
            proto,
            dir,
            flags: Flags::empty(),
            ack,
            num_chunks: u8::try_from(chunks.len()).unwrap(),
            token: token(proto, dir),
            payload,
            compressed,
        }
    };
    let seven = proto == Proto::V7;
    let version = if seven {
        "0.7 802f1be60a05665f"
    } else {
        "0.6 626fce9a778df4d4"
    };
    let info = message(
        proto,
        "info",
        vec![("version", version.into()), ("password", "".into())],
    );
    let chat = |text: &str| {
        let to_all = if seven {
            ("mode", 1.into())
        } else {
            ("team", 0.into())
        };
        message(
            proto,
            "sv_chat",
            vec![to_all, ("client_id", 3.into()), ("message", text.into())],
        )
    };
    let ready = message(proto, "ready", vec![]);
    let empty = message(
        proto,
        "snap_empty",
        vec![("tick", 1000.into()), ("delta_tick", 2.into())],
    );
    let motd = message(
        proto,
        "sv_motd",
        vec![("message", "Welcome. ".repeat(30).as_str().into())],
    );
    let mut resend = packet(Dir::S2c, 1023, &[], false);
    resend.flags = Flags::RESEND;
    vec![
        packet(Dir::C2s, 0, &[(Some(1), false, info)], false),
        packet(Dir::C2s, 1, &[(Some(2), true, ready.clone())], false),
        packet(
            Dir::S2c,
            2,
            &[(Some(192), false, chat("hi")), (None, false, empty)],
            false,
        ),
        packet(
            Dir::S2c,
            600,
            &[
                (Some(1023), true, chat("second line")),
                (Some(0), true, chat("third")),
            ],
            false,
        ),
        packet(Dir::S2c, 3, &[(Some(256), false, motd)], true),
        resend,
    ]
}

fn fields(def: &Def, decoded: &Decoded, data: &[u8]) -> Value {
    let mut text = String::new();
    decoded
        .view()
        .json(def, Source::Bytes(data), Secrets::Show, &mut text);
    serde_json::from_str(&text).unwrap()
}

/// Describes a datagram as the wire crate reads it.
fn described(written: &Written) -> Value {
    let (proto, dir) = (written.proto, written.dir);
    let datagram = written.datagram();
    let mut scratch = Scratch::new();
    let packet = Packet::parse(proto, &datagram, &mut scratch).unwrap();
    let mut decoded = Decoded::new();
    let header = packet.header;
    let mut object = json!({
        "variant": proto.to_string(),
        "direction": dir.to_string(),
        "hex": hex(&datagram),
        "control": header.flags.contains(Flags::CONTROL),
        "resend": header.flags.contains(Flags::RESEND),
        "compression": header.flags.contains(Flags::COMPRESSION),
        "ack": header.ack.get(),
        "num_chunks": header.num_chunks,
        "token": header.token.map(|token| hex(&token.0)),
        "payload": hex(packet.payload),
    });
    if header.flags.contains(Flags::CONTROL) {
        let def = decoded
            .control(Registry::builtin(), proto, dir, packet.payload)
            .unwrap();
        object["message"] = json!({"name": &*def.name, "fields": fields(def, &decoded, packet.payload)});
        return object;
    }
    let chunks = packet.chunks().map(|chunk| {
        let def = decoded
            .message(Registry::builtin(), proto, dir, chunk.data)
            .unwrap();
        json!({
            "vital": chunk.header.vital.is_some(),
            "resend": chunk.header.resend,
            "seq": chunk.header.vital.map(Seq::get),
            "size": chunk.header.size,
            "data": hex(chunk.data),
            "class": def.class.name(),
            "name": &*def.name,
            "fields": fields(def, &decoded, chunk.data),
        })
    });
    object["chunks"] = chunks.collect();
    object
}

fn snapshot(items: &[(u16, u16, Vec<i32>)]) -> Snapshot {
    let mut snapshot = Snapshot::new();
    for (kind, id, ints) in items {
        let key = ItemKey { kind: *kind, id: *id };
        snapshot.insert(key, ints).unwrap();
    }
    snapshot
}

fn items(snapshot: &Snapshot) -> Value {
    let items = snapshot.items();
    items
        .map(|(key, ints)| json!({"type": key.kind, "id": key.id, "ints": ints}))
        .collect()
}

fn snapshots() -> Vec<Value> {
    let uuid = vec![0x6f_da_fc_2f, 0x0d_09_3a_05, 0x17_aa_35_62, 0x00_17_06_2d];
    let steps = [
        snapshot(&[]),
        snapshot(&[(4, 0, vec![-1, 200, 0, 0]), (10, 3, vec![1, 3, 0, -5, 40])]),
        snapshot(&[(4, 0, vec![-1, 264, 0, 0]), (10, 3, vec![1, 3, 0, -4, 41])]),
        // An item is removed; a descriptor and an item of its type appear, which state their size.
        snapshot(&[
            (0, 0x7fff, uuid),
            (10, 3, vec![1, 3, 0, i32::MAX, i32::MIN]),
            (0x7fff, 3, vec![1, 0, -2, 0]),
        ]),
        snapshot(&[(10, 3, vec![1, 3, 0, i32::MIN, i32::MAX])]),
    ];
    let sizes = Sizes::new(Registry::builtin(), Proto::Ddnet);
    steps
        .windows(2)
        .map(|pair| {
            let mut data = Vec::new();
            pair[1].delta(&pair[0], &sizes, &mut data).unwrap();
            let (mut delta, mut result) = (Delta::new(), Snapshot::new());
            delta.read(&sizes, &data).unwrap();
            delta
                .apply(&pair[0], &mut result, &mut Counts::default())
                .unwrap();
            assert_eq!(items(&result), items(&pair[1]));
            json!({
                "variant": "ddnet",
                "base": items(&pair[0]),
                "data": hex(&data),
                "result": items(&result),
                "crc": result.crc(),
            })
        })
        .collect()
}

fn vectors() -> Value {
    let mut packets = Vec::new();
    for proto in Proto::ALL {
        let written = controls(proto).into_iter().chain(data(proto));
        packets.extend(written.map(|written| described(&written)));
    }
    json!({"v": 1, "ints": ints(), "strings": strings(), "huffman": huffman(), "packets": packets, "snapshots": snapshots()})
}

/// Formats the vectors: one vector on a line.
fn formatted(vectors: &Value) -> String {
    let mut text = "{\"v\":1".to_owned();
    for part in ["ints", "strings", "huffman", "packets", "snapshots"] {
        let lines: Vec<String> = vectors[part]
            .as_array()
            .unwrap()
            .iter()
            .map(Value::to_string)
            .collect();
        text.push_str(&format!(",\n\"{part}\":[\n{}\n]", lines.join(",\n")));
    }
    text + "}\n"
}

#[test]
fn the_vectors_are_those_of_the_wire_crate() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/vectors.json");
    let expected = formatted(&vectors());
    if std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always") {
        fs::write(&path, &expected).unwrap();
    }
    let text = fs::read_to_string(&path).unwrap();
    assert!(text == expected, "docs/vectors.json is not current");
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), vectors());
}

/// The wire crate notes each string that a receiver changes or refuses, and no other.
#[test]
fn the_notes_of_strings_say_what_receivers_keep() {
    let vectors = strings();
    let mut changed = 0;
    for (vector, ty) in vectors.iter().flat_map(|vector| STRINGS.map(|ty| (vector, ty))) {
        let has = |code: &str| vector[ty]["notes"].as_array().unwrap().contains(&json!(code));
        let (written, kept) = (vector["hex"].as_str().unwrap(), vector[ty]["text"].as_str());
        assert_eq!(kept.is_none(), has("unterminated-text"), "{ty}: {vector}");
        let is_changed = kept.is_some_and(|kept| format!("{kept}00") != written);
        assert_eq!(is_changed, has("text-cleaned"), "{ty}: {vector}");
        let is_utf8 = String::from_utf8(bytes(&vector["hex"])).is_ok();
        assert_eq!(!is_utf8, has("invalid-utf8"), "{ty}: {vector}");
        changed += u32::from(is_changed);
    }
    assert!(changed > 10, "{changed}");
}

/// The kit reads the same values from the file.
#[test]
fn the_kit_agrees_with_the_vectors() {
    let vectors = vectors();
    for vector in vectors["ints"].as_array().unwrap() {
        let (data, value) = (bytes(&vector["hex"]), vector["value"].as_i64().unwrap());
        assert_eq!(
            game::int(&data),
            Some((i32::try_from(value).unwrap(), &[][..])),
            "{vector}"
        );
        let mut written = Vec::new();
        game::put_int(&mut written, i32::try_from(value).unwrap());
        assert_eq!(written == data, vector.get("overlong").is_none(), "{vector}");
    }
    for vector in vectors["huffman"].as_array().unwrap() {
        let clear = bytes(&vector["clear"]);
        for (name, ending) in [
            ("compressed", Ending::Padded),
            ("compressed_ddnet_20", Ending::Tight),
        ] {
            let data = bytes(&vector[name]);
            assert_eq!(huffman::compress(&clear, ending), data, "{vector}");
            assert_eq!(huffman::decompress(&data, 1400), Some(clear.clone()), "{vector}");
        }
    }
    let mut chunks = 0;
    for vector in vectors["packets"].as_array().unwrap() {
        let variant = match vector["variant"].as_str().unwrap() {
            "0.6" => Variant::V6,
            "0.6.5" => Variant::V65,
            "ddnet" => Variant::Ddnet,
            _ => Variant::V7,
        };
        let datagram = bytes(&vector["hex"]);
        let read = codec::open(variant, &datagram).unwrap();
        assert_eq!(
            read.head.ack,
            u16::try_from(vector["ack"].as_u64().unwrap()).unwrap(),
            "{vector}"
        );
        assert_eq!(json!(read.head.num_chunks), vector["num_chunks"]);
        assert_eq!(
            json!(read.head.token.map(|token| hex(&token))),
            vector["token"],
            "{vector}"
        );
        assert_eq!(
            hex(&read.payload),
            vector["payload"].as_str().unwrap(),
            "{vector}"
        );
        let flags = read.head.flags;
        assert_eq!(
            json!([flags.control, flags.resend, flags.compressed]),
            json!([vector["control"], vector["resend"], vector["compression"]]),
            "{vector}"
        );
        let expected = vector["chunks"].as_array().cloned().unwrap_or_default();
        let read: Vec<_> = read.chunks().collect();
        assert_eq!(read.len(), expected.len(), "{vector}");
        for (chunk, expected) in read.iter().zip(&expected) {
            assert_eq!(json!(chunk.seq), expected["seq"], "{vector}");
            assert_eq!(json!(chunk.resend), expected["resend"], "{vector}");
            assert_eq!(hex(chunk.data), expected["data"].as_str().unwrap(), "{vector}");
            chunks += 1;
        }
    }
    assert_eq!(chunks, 28);
}
