//! Tests of messages and datagrams; `frame` tests the frames around them, `file` whole captures.

mod file;
mod frame;
mod notice;
mod text;

use std::net::IpAddr;

use proptest::prelude::*;
use teetap_wire::{
    Dir, Flags, Header, Packet, Proto, Scratch, Seq, Token, Trailing, compress,
    def::{Class, Datum, Field, Registry, Type},
    write, write_chunk,
};

use super::{message::KEPT, *};

const TOKEN: Token = Token([1, 2, 3, 4]);

fn scrubber() -> Scrubber {
    Scrubber::new(Registry::builtin(), Keep::default())
}

/// Returns a scrubber that keeps texts.
fn keeping_text() -> Scrubber {
    let keep = Keep {
        unknown: false,
        text: true,
    };
    Scrubber::new(Registry::builtin(), keep)
}

/// Returns a packet with these messages.
fn packet(proto: Proto, messages: &[&[u8]], compress: Option<Trailing>) -> Vec<u8> {
    let mut payload = Vec::new();
    for message in messages {
        write_chunk(proto, Some(Seq::new(9)), false, message, &mut payload).unwrap();
    }
    of_payload(proto, &payload, u8::try_from(messages.len()).unwrap(), compress)
}

fn of_payload(proto: Proto, payload: &[u8], num_chunks: u8, compress: Option<Trailing>) -> Vec<u8> {
    let header = Header {
        flags: Flags::empty(),
        ack: Seq::new(7),
        num_chunks,
        token: (proto != Proto::V6).then_some(TOKEN),
    };
    let mut out = Vec::new();
    write(proto, &header, payload, compress, &mut out);
    out
}

fn message(proto: Proto, name: &str, fields: &[(&str, &str)]) -> Vec<u8> {
    let def = Registry::builtin().named(proto, None, name).next().unwrap();
    let values = fields.iter().map(|(name, value)| (*name, Datum::from(*value)));
    let mut out = Vec::new();
    def.encode(&Datum::group(values), &mut out).unwrap();
    out
}

fn scrub(scrubber: &mut Scrubber, proto: Proto, dir: Dir, datagram: &[u8]) -> Vec<u8> {
    let mut out = vec![9];
    scrubber.datagram(proto, dir, datagram, &mut out).unwrap();
    out
}

/// Returns header and uncompressed payload.
fn read(proto: Proto, datagram: &[u8]) -> (Header, Vec<u8>) {
    let mut scratch = Scratch::new();
    let packet = Packet::parse(proto, datagram, &mut scratch).unwrap();
    assert!(packet.notes.is_empty());
    (packet.header, packet.payload.to_vec())
}

/// DDNet's servers send their tunings to all clients, and the physics of a recording depend on them.
#[test]
fn the_tunings_of_ddnet_stay() {
    for (proto, own) in [
        (Proto::V6, 33),
        (Proto::V65, 33),
        (Proto::Ddnet, 33),
        (Proto::V7, 32),
    ] {
        // Game message 6, with two bytes for each tuning.
        let mut tunings = vec![6 * 2];
        (0..own + 14).for_each(|tuning| tunings.extend([0x80 | tuning, 1 + tuning]));
        let given = packet(proto, &[&tunings], None);
        assert_eq!(scrub(&mut scrubber(), proto, Dir::S2c, &given), given, "{proto}");
    }
}

#[test]
fn a_password_becomes_as_many_stars_and_nothing_else_changes() {
    for proto in Proto::ALL {
        let secret = message(proto, "rcon_auth", &[("password", "hunter2")]);
        let chat = message(proto, "cl_say", &[("message", "hunter2 I say")]);
        let hidden = message(proto, "rcon_auth", &[("password", "*******")]);
        for form in [None, Some(Trailing::Always), Some(Trailing::WhenPartial)] {
            let mut scrubber = keeping_text();
            let zeros = message(proto, "rcon_cmd", &[("cmd", "")]);
            let all = |first| packet(proto, &[first, &chat, &zeros], form);
            let (given, wanted) = (all(&secret), all(&hidden));
            assert_eq!(
                scrub(&mut scrubber, proto, Dir::C2s, &given),
                wanted,
                "{proto} {form:?}"
            );
            assert_eq!(scrub(&mut scrubber, proto, Dir::C2s, &wanted), wanted);
            assert_eq!(read(proto, &wanted).0.token, read(proto, &given).0.token);
            let plain = packet(proto, &[&chat], form);
            assert_eq!(scrub(&mut scrubber, proto, Dir::C2s, &plain), plain);
            let tally = scrubber.tally();
            assert_eq!((tally.secrets, tally.unknown, tally.texts), (2, 0, 0));
        }
    }
}

/// Some libraries omit DDNet's token, so that the last bytes of a message are at the position of the token.
#[test]
fn the_end_of_a_text_is_no_token() {
    let (proto, secret) = (
        Proto::Ddnet,
        message(
            Proto::Ddnet,
            "rcon_auth",
            &[("name", ""), ("password", "hunter2")],
        ),
    );
    let say = message(proto, "cl_say", &[("message", "hello there")]);
    let close = |reason: &[u8]| [&[0x10, 0, 0, 4], reason].concat();
    for form in [None, Some(Trailing::Always)] {
        let without_token = |messages: &[&[u8]]| {
            let mut payload = Vec::new();
            for message in messages {
                write_chunk(proto, Some(Seq::new(9)), false, message, &mut payload).unwrap();
            }
            let (end, start) = payload
                .split_last_chunk::<4>()
                .map(|(start, end)| (*end, start.to_vec()))
                .unwrap();
            let header = Header {
                flags: Flags::empty(),
                ack: Seq::new(7),
                num_chunks: u8::try_from(messages.len()).unwrap(),
                token: Some(Token(end)),
            };
            let mut out = Vec::new();
            write(proto, &header, &start, form, &mut out);
            out
        };
        for given in [without_token(&[&secret]), without_token(&[&secret, &say])] {
            let mut scrubber = scrubber();
            let out = scrub(&mut scrubber, proto, Dir::C2s, &given);
            let mut scratch = Scratch::new();
            let packet = Packet::parse(proto, &out, &mut scratch).unwrap();
            assert_eq!(packet.header.token, Some(Token(*b"****")), "{given:x?} {form:?}");
            assert_eq!(
                scrub(&mut scrubber, proto, Dir::C2s, &out),
                out,
                "{given:x?} {form:?}"
            );
        }
    }
    for reason in [&b"abc\0"[..], b"kicked by me\0", b"kicked by me"] {
        let out = scrub(&mut scrubber(), proto, Dir::S2c, &close(reason));
        let is_hidden = |byte: &u8| matches!(byte, b'*' | 0);
        assert!(out[4..].iter().all(is_hidden), "{out:?}");
    }
    // Real tokens, one of them after a truncated message.
    for (given, token) in [
        (packet(proto, &[&say], None), TOKEN),
        (close(&[b"no\0", &TOKEN.0[..]].concat()), TOKEN),
        (close(&TOKEN.0), TOKEN),
    ] {
        let out = scrub(&mut scrubber(), proto, Dir::C2s, &given);
        assert_eq!(out.last_chunk(), Some(&token.0), "{given:x?}");
    }
    let mut cut = packet(proto, &[&say], None);
    cut.drain(8..10);
    let out = scrub(&mut scrubber(), proto, Dir::C2s, &cut);
    assert_eq!(out.last_chunk(), Some(&TOKEN.0));
}

#[test]
fn what_no_longer_gets_shorter_by_compression_is_sent_clear() {
    // Twenty zeros compress to few bits, but stars do not.
    let zeros = [&[0xff_u8][..], &[0; 40]].concat();
    let mut payload = Vec::new();
    write_chunk(Proto::Ddnet, None, false, &[0x7f], &mut payload).unwrap();
    payload.extend_from_slice(&[1; 12]);
    payload.extend_from_slice(&zeros);
    let given = of_payload(Proto::Ddnet, &payload, 1, Some(Trailing::Always));
    assert!(read_flags(&given).contains(Flags::COMPRESSION));
    let out = scrub(&mut scrubber(), Proto::Ddnet, Dir::C2s, &given);
    assert!(!read_flags(&out).contains(Flags::COMPRESSION));
    assert_eq!(read(Proto::Ddnet, &out[..]).0.token, Some(TOKEN));
}

fn read_flags(datagram: &[u8]) -> Flags {
    let mut scratch = Scratch::new();
    Packet::parse(Proto::Ddnet, datagram, &mut scratch)
        .unwrap()
        .header
        .flags
}

/// Returns the scrubbed data of one chunk.
fn chunk(scrubber: &mut Scrubber, proto: Proto, dir: Dir, data: &[u8]) -> Vec<u8> {
    let mut data = data.to_vec();
    scrubber.chunk(proto, dir, &mut data);
    data
}

#[test]
fn with_the_texts_stays_what_may_be_shown_of_a_secret() {
    let mut scrubber = keeping_text();
    let (say, line) = (("cl_say", "message", Dir::C2s), ("rcon_line", "line", Dir::S2c));
    for ((name, field, dir), given, wanted) in [
        (say, "/timeout ab cd", "/timeout *****"),
        (say, "timeout ab", "timeout ab"),
        (line, "sv_Password hunter2", "sv_Password *******"),
        (line, "id=0 addr=84.1.2.3:5 x", "id=0 addr=********** x"),
        (line, "banned for 5", "banned for 5"),
    ] {
        let given = message(Proto::Ddnet, name, &[(field, given)]);
        let wanted = message(Proto::Ddnet, name, &[(field, wanted)]);
        assert_eq!(chunk(&mut scrubber, Proto::Ddnet, dir, &given), wanted);
        assert_eq!(chunk(&mut scrubber, Proto::Ddnet, dir, &wanted), wanted);
    }
    assert_eq!(scrubber.tally().texts, 0);
}

/// Messages, each with its fields before and after, and the number of texts in it.
const TEXTS: &str = "
c2s 0.6   info          0 | version=0.6 626fce9a778df4d4 | version=0.6 626fce9a778df4d4
c2s 0.6   info          0 | password=pw                  | password=**
c2s ddnet cl_say        1 | message=/timeout ab \u{e4}       | message=**************
c2s 0.7   cl_say        1 | message=me at 84.1.2.3       | message=**************
s2c ddnet rcon_line     1 | line=sv_name Alice's         | line=***************
c2s 0.6   cl_start_info 2 | name=alice,clan=x,skin=      | name=*****,clan=*,skin=
c2s 0.7   cl_call_vote  2 | type=kick,value=3,reason=rude | type=kick,value=*,reason=****
s2c 0.6   map_change    0 | name=Kobra 2                 | name=Kobra 2
s2c ddnet sv_motd       1 | message=Hi\u{b6}there           | message=********
";

#[test]
fn texts_of_peers_become_as_many_stars_and_those_of_programs_stay() {
    for line in TEXTS.trim().lines() {
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let head: Vec<&str> = parts[0].split_whitespace().collect();
        let [dir, proto, name, texts] = head[..] else {
            panic!("{line}")
        };
        let proto: Proto = proto.parse().unwrap();
        let dir = if dir == "c2s" { Dir::C2s } else { Dir::S2c };
        let [given, wanted] = [parts[1], parts[2]].map(|fields| {
            let fields = fields.replace('\u{b6}', "\n");
            let fields: Vec<_> = fields
                .split(',')
                .map(|field| field.split_once('=').unwrap())
                .collect();
            message(proto, name, &fields)
        });
        let mut scrubber = scrubber();
        assert_eq!(chunk(&mut scrubber, proto, dir, &given), wanted, "{line}");
        assert_eq!(scrubber.tally().texts.to_string(), texts, "{line}");
        assert_eq!(chunk(&mut scrubber, proto, dir, &wanted), wanted, "{line}");
    }
    let mut close = b"\x04Kicked by alice\0".to_vec();
    scrubber().control(Proto::V7, Dir::S2c, &mut close);
    assert_eq!(close, b"\x04***************\0");
}

#[test]
fn every_text_that_stays_is_one_of_a_definition() {
    for (message, fields) in KEPT {
        for field in *fields {
            let mut defs = Proto::ALL
                .into_iter()
                .flat_map(|proto| Registry::builtin().defs(proto.into()))
                .filter(|def| *def.name == **message);
            let is_text = |found: &Field| *found.name == **field && matches!(found.ty, Type::Text(_));
            assert!(
                defs.any(|def| def.fields.iter().any(is_text)),
                "{message} {field}"
            );
        }
    }
}

#[test]
fn every_kind_of_field_can_be_secret() {
    let text = "for ddnet\nstruct pair\n  one str\n  two int\n\nsystem 100 odd c2s\n  int  int secret\n  number  decstr secret\n  \
                raw  raw len=3 secret\n  parts  pair secret\n  list  str[2] secret\n  open  int\n";
    let registry = Registry::with("test.tw", text)
        .map_err(|errors| format!("{errors:?}"))
        .unwrap();
    let mut scrubber = Scrubber::new(Box::leak(Box::new(registry)), Keep::default());
    let id: &[u8] = &[0x89, 0x03];
    let data = [
        id,
        &[0xbf, 0x7f],
        b"-77\0",
        &[1, 2, 3],
        b"ab\0",
        &[5],
        b"x\0yz\0",
        &[7],
    ]
    .concat();
    let wanted = [id, &[0xaa, 0x2a], b"111\0***", b"**\0", b"*", b"*\0**\0", &[7]].concat();
    assert_eq!(chunk(&mut scrubber, Proto::Ddnet, Dir::C2s, &data), wanted);
    assert_eq!(chunk(&mut scrubber, Proto::Ddnet, Dir::C2s, &wanted), wanted);
    assert_eq!(scrubber.tally().secrets, 14);
}

/// A secret may occur in other texts, of a rule for example. Values that stay if texts are kept are no secrets.
#[test]
fn a_secret_of_a_message_is_replaced_in_all_texts() {
    let registry = Registry::with(
        "test.tw",
        "for ddnet\nsystem 100 odd c2s\n  number  decstr secret\n",
    );
    let registry = registry.map_err(|errors| format!("{errors:?}")).unwrap();
    let registry: &'static Registry = Box::leak(Box::new(registry));
    let number = [&[0x89, 0x03][..], b"7755\0"].concat();
    let of = |name, field, value| message(Proto::Ddnet, name, &[(field, value)]);
    for (data, text, wanted) in [
        (
            of("rcon_auth", "password", "hunter2"),
            "say hunter2!",
            "say *******!",
        ),
        (of("cl_say", "message", "/timeout abcd"), "say abcd!", "say ****!"),
        (number, "say 7755!", "say ****!"),
        (of("cl_say", "message", "hunter2"), "say hunter2!", "say hunter2!"),
        (of("cl_start_info", "name", "alice"), "say alice!", "say alice!"),
    ] {
        let keep = Keep {
            unknown: false,
            text: true,
        };
        let mut scrubber = Scrubber::new(registry, keep);
        assert_eq!(scrubber.of_others(text), text);
        chunk(&mut scrubber, Proto::Ddnet, Dir::C2s, &data);
        assert_eq!(scrubber.of_others(text), wanted, "{data:02x?}");
    }
}

/// The definitions may be written by another person than the recording.
#[test]
fn own_definitions_take_no_secret_out_of_a_message() {
    for (fields, unknown) in [
        ("", true),
        ("  name  str\n", true),
        ("  name  str\n", false),
        ("  name  str\n  password  str\n", true),
        ("  number  int\n", true),
    ] {
        let text = format!("for ddnet\nsystem 18 rcon_auth c2s\n{fields}");
        let registry = Registry::with("test.tw", &text);
        let registry = registry.map_err(|errors| format!("{text}: {errors:?}")).unwrap();
        let keep = Keep { unknown, text: true };
        let mut scrubber = Scrubber::new(Box::leak(Box::new(registry)), keep);
        let given = message(
            Proto::Ddnet,
            "rcon_auth",
            &[("name", "alice"), ("password", "hunter2")],
        );
        let scrubbed = chunk(&mut scrubber, Proto::Ddnet, Dir::C2s, &given);
        assert_eq!(scrubbed.len(), given.len(), "{fields}");
        for secret in [&b"alice"[..], b"hunter2"] {
            let is_left = scrubbed.windows(secret.len()).any(|part| part == secret);
            assert!(!is_left, "{fields}: {scrubbed:02x?}");
        }
    }
}

#[test]
fn what_is_not_known_is_replaced_unless_it_is_to_stay() {
    let uuid = [&[0x01][..], &[0x77; 16]].concat();
    let ready = message(Proto::Ddnet, "enter_game", &[]);
    for (data, wanted) in [
        ([&uuid[..], b"secret"].concat(), [&uuid[..], b"******"].concat()),
        (b"\xbf\x01secret".to_vec(), b"\xbf\x01******".to_vec()),
        ([&ready[..], b"more"].concat(), [&ready[..], b"****"].concat()),
    ] {
        let mut keep = Scrubber::new(
            Registry::builtin(),
            Keep {
                unknown: true,
                text: false,
            },
        );
        assert_eq!(chunk(&mut scrubber(), Proto::Ddnet, Dir::C2s, &data), wanted);
        assert_eq!(chunk(&mut keep, Proto::Ddnet, Dir::C2s, &data), data);
    }
    // An object has unknown ints after its known ints, before another field and at the end of a message.
    let (input, more) = ([5, 6, 48, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7], [0x87, 0x03, 0x09]);
    for (proto, id, behind) in [(Proto::V7, 0x29, &[5][..]), (Proto::V6, 0x21, &[])] {
        let given = [&[id][..], &input, &more, behind].concat();
        let wanted = [&[id][..], &input, &[0xaa, 0x2a, 0x2a], behind].concat();
        assert_eq!(chunk(&mut scrubber(), proto, Dir::C2s, &given), wanted);
    }
    // A part of a secret is replaced, but zeros never.
    let info = message(Proto::Ddnet, "info", &[("password", "hunter2")]);
    let half = &info[..info.len() - 3];
    let mut keep = Scrubber::new(
        Registry::builtin(),
        Keep {
            unknown: true,
            text: false,
        },
    );
    let out = chunk(&mut keep, Proto::Ddnet, Dir::C2s, half);
    assert!(out.ends_with(b"*****") && out.len() == half.len(), "{out:?}");
    let zeros = [&ready[..], &[0; 9]].concat();
    assert_eq!(chunk(&mut scrubber(), Proto::Ddnet, Dir::C2s, &zeros), zeros);
}

#[test]
fn what_receivers_do_not_read_is_replaced() {
    let scrubber = keeping_text;
    let chat = message(Proto::V7, "cl_say", &[("message", "hi")]);
    let mut payload = Vec::new();
    write_chunk(Proto::V7, None, false, &chat, &mut payload).unwrap();
    let fits = payload.len();
    // Bytes after the last chunk, and a chunk that exceeds the payload.
    let trailing = [&payload[..], b"secret"].concat();
    let cut = [&payload[..], &[0x01, 0x00], b"secret"].concat();
    for (payload, count, kept) in [(&trailing, 1, fits), (&cut, 2, fits + 2)] {
        for form in [None, Some(Trailing::Always)] {
            let given = of_payload(Proto::V7, payload, count, form);
            let mut scratch = Scratch::new();
            let out = scrub(&mut scrubber(), Proto::V7, Dir::C2s, &given);
            let read = Packet::parse(Proto::V7, &out, &mut scratch).unwrap();
            assert_eq!(read.payload, [&payload[..kept], b"******"].concat());
        }
    }
    // Bytes after the compressed data, which no receiver reads.
    let zeros = [0; 60];
    let given = packet(
        Proto::V7,
        &[&chat, &[&chat[..], &zeros].concat()],
        Some(Trailing::Always),
    );
    let out = scrub(
        &mut scrubber(),
        Proto::V7,
        Dir::C2s,
        &[&given[..], b"secret"].concat(),
    );
    assert_eq!(out, [&given[..], b"******"].concat());
    // If a datagram becomes shorter, the bytes after its end are removed, since receivers would read them.
    let unknown = [&[0x7f][..], &[1; 40], &[0; 900]].concat();
    let mut given = packet(Proto::Ddnet, &[&unknown], Some(Trailing::Always));
    given.resize(1450, 1);
    let out = scrub(&mut scrubber(), Proto::Ddnet, Dir::C2s, &given);
    assert!(out.len() < 1000 && scrub(&mut scrubber(), Proto::Ddnet, Dir::C2s, &out) == out);
    let long = [packet(Proto::V7, &[&chat], None), vec![b's'; 1500]].concat();
    let out = scrub(&mut scrubber(), Proto::V7, Dir::C2s, &long);
    assert!(out.len() == long.len() && !out.contains(&b's'));
}

#[test]
fn connless_messages_have_placeholders_too() {
    let mut scrubber = scrubber();
    let mut out = Vec::new();
    let list = |four: &str, six: &str| {
        let ip = |text: &str| match text.parse().unwrap() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
            IpAddr::V6(ip) => ip.octets(),
        };
        let servers = [&ip(four)[..], &[0x20, 0x6f], &ip(six), &[0x20, 0x70]].concat();
        [&[0xff; 10][..], b"lis2", &servers].concat()
    };
    scrubber.connless(&list("84.1.2.3", "2a02::7"), &mut out).unwrap();
    assert_eq!(out, list("192.0.2.1", "2001:db8::1"));
    scrubber
        .connless(&[&[0xff; 10][..], b"chal", b"uuid:x\0tok\0"].concat(), &mut out)
        .unwrap();
    assert_eq!(out, [&[0xff; 10][..], b"chal", b"******\0***\0"].concat());
    scrubber
        .connless(&[&[0xff; 10][..], b"what", b"secret"].concat(), &mut out)
        .unwrap();
    assert_eq!(out, [&[0xff; 10][..], b"what", b"******"].concat());
    scrubber
        .connless(b"\xff\xff\xff\xff\xff\xffsecret", &mut out)
        .unwrap();
    assert_eq!(out, b"\xff\xff\xff\xff\xff\xff******");
    assert_eq!(
        scrubber.connless(b"\xff\xff", &mut out),
        Err(datagram::Unreadable)
    );
}

/// Generates payloads, many of which contain valid messages.
fn any_payload() -> impl Strategy<Value = (u8, Vec<u8>)> {
    let data = prop::collection::vec(any::<u8>(), 0..60);
    let ids = Registry::builtin()
        .defs(Proto::Ddnet.into())
        .filter_map(|def| match (&def.id, def.class) {
            (teetap_wire::def::Id::Number(id), Class::System | Class::Game) => {
                u8::try_from(*id * 2 + i32::from(def.class == Class::System))
                    .ok()
                    .filter(|id| *id < 64)
            }
            _ => None,
        });
    let ids: Vec<u8> = ids.collect();
    let chunk = (prop::sample::select(ids), data).prop_map(|(id, data)| [&[id][..], &data].concat());
    prop::collection::vec(chunk, 0..5).prop_map(|chunks| {
        let mut payload = Vec::new();
        for chunk in &chunks {
            write_chunk(Proto::Ddnet, None, false, chunk, &mut payload).unwrap();
        }
        (u8::try_from(chunks.len()).unwrap(), payload)
    })
}

proptest! {
    #[test]
    fn what_was_scrubbed_stays((count, payload) in any_payload(), extra in 0..2u8, is_small in any::<bool>(), is_client in any::<bool>()) {
        let dir = if is_client { Dir::C2s } else { Dir::S2c };
        let form = is_small.then_some(Trailing::Always);
        let given = of_payload(Proto::Ddnet, &payload, count + extra, form);
        let once = scrub(&mut scrubber(), Proto::Ddnet, dir, &given);
        prop_assert_eq!(scrub(&mut scrubber(), Proto::Ddnet, dir, &once), once);
    }

    #[test]
    fn any_bytes_are_scrubbed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..1500), dir in any::<bool>()) {
        let dir = if dir { Dir::C2s } else { Dir::S2c };
        let (mut scrubber, mut out) = (scrubber(), Vec::new());
        for proto in Proto::ALL {
            if scrubber.datagram(proto, dir, &bytes, &mut out).is_ok() {
                let once = out.clone();
                prop_assert_eq!(scrub(&mut scrubber, proto, dir, &once), once);
            }
        }
        if scrubber.connless(&bytes, &mut out).is_ok() {
            prop_assert_eq!(out.len(), bytes.len());
            let once = out.clone();
            scrubber.connless(&once, &mut out).unwrap();
            prop_assert_eq!(&out, &once);
        }
        let mut packed = Vec::new();
        compress(&bytes, Trailing::Always, &mut packed);
        let datagram = [&[0x80, 0, 3][..], &packed].concat();
        let _unreadable = scrubber.datagram(Proto::Ddnet, dir, &datagram, &mut out);
    }
}
