//! Reads, rewrites without changes and recomposes every datagram of the recorded real sessions, bit for bit.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "all of this crate is tests, and a helper may fail one"
)]

mod allocations;
mod doctor;
mod messages;
mod pcap;
mod snapshots;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use pcap::Datagram;
use teetap_wire::def::{Decoded, Def, Registry};
use teetap_wire::{
    Connless, Control, Dir, First, Flags, Packet, Proto, Rewrite, Scratch, Seq, Token, Trailing, connless,
    control, detect, identify, is_connless, rewrite, write, write_chunk, write_v7,
};

fn recordings() -> Vec<(String, Vec<Datagram>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures");
    let mut paths: Vec<_> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|ext| ext == "pcap"));
    paths.sort();
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    paths
        .iter()
        .map(|path| (name(path), pcap::read(&std::fs::read(path).unwrap())))
        .collect()
}

/// The variant of each datagram, according to the handshakes.
#[derive(Default)]
struct Variants {
    /// The variants by the client's and the server's port.
    known: BTreeMap<(u16, u16), Proto>,
}

impl Variants {
    /// Returns the variant and direction of a datagram of a connection.
    fn of(&mut self, datagram: &Datagram) -> (Proto, Dir) {
        let (there, back) = ((datagram.from, datagram.to), (datagram.to, datagram.from));
        let requested = match detect(&datagram.bytes) {
            First::Connect { proto, .. } => Some(proto),
            First::TokenRequest {
                header_token: Token::NONE,
                ..
            } => Some(Proto::V7),
            _ => None,
        };
        if let Some(proto) = requested {
            self.known.insert(there, proto);
            return (proto, Dir::C2s);
        }
        if let Some(&proto) = self.known.get(&there) {
            return (proto, Dir::C2s);
        }
        let proto = self.known.get_mut(&back).expect("a connection that was opened");
        // A 0.6 server answers in its own variant, and both sides continue in that variant.
        match datagram.bytes[..] {
            [0x10, 0, 0, 2] => *proto = Proto::V6,
            [0x18, 0, 0, _, _, _, _, 2, ..] => *proto = Proto::V65,
            _ => {}
        }
        (*proto, Dir::S2c)
    }
}

/// The identity of a datagram: recording, variant and direction, and its place in the recording.
struct Label {
    stream: String,
    /// The recording and the client's port.
    client: (String, u16),
    dir: Dir,
    at: usize,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.stream, self.at)
    }
}

/// Calls `look` with every datagram of a connection and returns their number.
fn each_packet(mut look: impl FnMut(&Label, &[u8], &Packet<'_>)) -> usize {
    let mut scratch = Scratch::new();
    let mut count = 0;
    for (name, datagrams) in recordings() {
        let mut variants = Variants::default();
        for (at, datagram) in datagrams
            .iter()
            .enumerate()
            .filter(|(_, d)| !is_connless(&d.bytes))
        {
            let (proto, dir) = variants.of(datagram);
            let packet = Packet::parse(proto, &datagram.bytes, &mut scratch);
            let packet = packet.unwrap_or_else(|error| panic!("{name} {at} as {proto}: {error}"));
            let client = if dir == Dir::C2s {
                datagram.from
            } else {
                datagram.to
            };
            look(
                &Label {
                    stream: format!("{name} {proto} {dir}"),
                    client: (name.clone(), client),
                    dir,
                    at,
                },
                &datagram.bytes,
                &packet,
            );
            count += 1;
        }
    }
    count
}

/// Calls `look` with every decoded message that its receiver accepts. Vital messages are passed once and in order.
fn each_message(mut look: impl FnMut(&Label, Proto, &'static Def, &Decoded, &[u8])) {
    let mut taken: BTreeMap<((String, u16), Dir), Seq> = BTreeMap::new();
    let mut decoded = Decoded::new();
    each_packet(|label, _, packet| {
        for chunk in packet.chunks() {
            if let Some(seq) = chunk.header.vital {
                let last = taken.entry((label.client.clone(), label.dir)).or_default();
                if seq != last.next() {
                    continue;
                }
                *last = seq;
            }
            let def = decoded
                .message(Registry::builtin(), packet.proto, label.dir, chunk.data)
                .unwrap();
            look(label, packet.proto, def, &decoded, chunk.data);
        }
    });
}

#[test]
fn everything_is_read_without_a_doubt() {
    let (mut chunks, mut notes) = (0, Vec::new());
    let count = each_packet(|label, _, packet| {
        let mut all = packet.chunks();
        for chunk in all.by_ref() {
            let (id, len) = identify(chunk.data).unwrap_or_else(|| panic!("{label}: a chunk without id"));
            assert!((0..64).contains(&id.id) && len <= 17, "{label}: {id}");
            chunks += 1;
        }
        let odd = packet
            .notes
            .iter()
            .chain(all.notes().iter())
            .map(|note| note.code.name())
            .collect::<Vec<_>>();
        notes.extend(odd.into_iter().map(|name| format!("{}: {name}", label.stream)));
        assert_eq!(
            packet.control().is_some(),
            packet.header.flags.contains(Flags::CONTROL),
            "{label}"
        );
    });
    assert_eq!((count, chunks), (8337, 13383));
    // The npm client sends a datagram without chunks and without a resend request.
    assert_eq!(notes, ["npm-to-dd16 ddnet c2s: empty-without-resend"]);
}

#[test]
fn chunks_written_again_are_the_payload() {
    let mut payload = Vec::new();
    each_packet(|label, _, packet| {
        if packet.header.flags.contains(Flags::CONTROL) {
            return;
        }
        payload.clear();
        for chunk in packet.chunks() {
            let header = chunk.header;
            write_chunk(
                packet.proto,
                header.vital,
                header.resend,
                chunk.data,
                &mut payload,
            )
            .unwrap();
        }
        assert_eq!(payload, packet.payload, "{label}");
    });
}

#[test]
fn control_messages_built_again_are_the_payload() {
    let mut built = 0;
    each_packet(|label, _, packet| {
        let Some(control) = packet.control() else { return };
        let (proto, mut payload) = (packet.proto, Vec::new());
        let out = &mut payload;
        match control {
            Control::KeepAlive => control::keepalive(out),
            Control::Connect { token, .. } => control::connect(proto, token.unwrap_or(Token::NONE), out),
            // Only DDNet's 0.7 server adds this token.
            Control::ConnectAccept { token: Some(_), .. } if proto == Proto::V7 => return,
            Control::ConnectAccept { token, .. } => {
                control::connect_accept(proto, token.unwrap_or(Token::NONE), out);
            }
            Control::Accept => control::accept(out),
            Control::Close { reason } => control::close(reason.unwrap_or_default(), out),
            Control::Token {
                token: Some(token),
                payload_len: 5,
            } => control::token_reply(token, out),
            Control::Token {
                token: Some(token), ..
            } => control::token_request(token, out),
            other => panic!("{label}: {other:?}"),
        }
        assert_eq!(payload, packet.payload, "{label}");
        built += 1;
    });
    assert!(built > 90, "{built} control packets");
}

#[test]
fn rewriting_nothing_gives_the_datagram() {
    let mut out = Vec::new();
    each_packet(|label, bytes, packet| {
        let resend = packet.header.flags.contains(Flags::RESEND);
        rewrite(
            packet,
            bytes,
            Rewrite {
                token: packet.header.token,
                ack: packet.header.ack,
                resend,
                usual: Trailing::Always,
            },
            &mut out,
        );
        assert_eq!(out, bytes, "{label}");
    });
}

#[test]
fn another_token_there_and_back_gives_the_datagram() {
    let (ours, mut there, mut back) = (Token([0xe5, 0x01, 0x77, 0x3a]), Vec::new(), Vec::new());
    let mut scratch = Scratch::new();
    let (mut returned, mut given_up, mut longer) = (0, 0, 0);
    each_packet(|label, bytes, packet| {
        let header = packet.header;
        rewrite(
            packet,
            bytes,
            Rewrite {
                token: Some(ours),
                ack: Seq::new(700),
                resend: true,
                usual: Trailing::Always,
            },
            &mut there,
        );
        let other = Packet::parse(packet.proto, &there, &mut scratch).unwrap();
        assert_eq!(other.payload, packet.payload, "{label}");
        assert_eq!(other.header.token, header.token.map(|_| ours), "{label}");
        assert_eq!(
            (other.header.ack, other.header.num_chunks),
            (Seq::new(700), header.num_chunks),
            "{label}"
        );
        let resend = header.flags.contains(Flags::RESEND);
        rewrite(
            &other,
            &there,
            Rewrite {
                token: header.token,
                ack: header.ack,
                resend,
                usual: Trailing::Always,
            },
            &mut back,
        );
        if other.inflated.is_none() && packet.inflated.is_some() {
            given_up += 1;
            assert!(
                there.len() <= bytes.len() + 8,
                "{label}: a stream that had grown too long"
            );
            return;
        }
        // If the bytes do not show the form of the end, the older form is used, which is a byte longer.
        let newer = packet
            .inflated
            .is_some_and(|inflated| inflated.trailing == Some(Trailing::WhenPartial));
        if newer && back != bytes {
            let again = Packet::parse(packet.proto, &back, &mut scratch).unwrap();
            assert_eq!(
                (again.payload, again.header.token),
                (packet.payload, header.token),
                "{label}"
            );
            assert!(
                again.inflated.is_none() || back[..] == [bytes, &[0]].concat(),
                "{label}"
            );
            longer += 1;
            return;
        }
        assert_eq!(back, bytes, "{label}");
        returned += 1;
    });
    assert_eq!((returned, longer, given_up), (8228, 109, 0));
}

#[test]
fn every_sender_is_imitated_bit_for_bit() {
    const FORMS: [Option<Trailing>; 3] = [None, Some(Trailing::Always), Some(Trailing::WhenPartial)];
    let mut possible: BTreeMap<String, Vec<Option<Trailing>>> = BTreeMap::new();
    let mut out = Vec::new();
    each_packet(|label, bytes, packet| {
        let forms = possible
            .entry(label.stream.clone())
            .or_insert_with(|| FORMS.to_vec());
        forms.retain(|&form| {
            write(packet.proto, &packet.header, packet.payload, form, &mut out);
            out == bytes
        });
        assert!(!forms.is_empty(), "{label}: unlike all before it");
    });
    let form = |stream: &str| possible[stream].as_slice();
    assert_eq!(form("tw07-session 0.7 s2c"), [Some(Trailing::Always)]);
    assert_eq!(form("tw06-session 0.6.5 c2s"), [Some(Trailing::Always)]);
    assert_eq!(form("dd-session ddnet c2s"), [Some(Trailing::Always)]);
    assert_eq!(form("ddh20-to-dd20 ddnet s2c"), [Some(Trailing::WhenPartial)]);
    assert_eq!(form("npm-to-dd16 ddnet c2s"), [None]);
}

#[test]
fn connless_datagrams_are_named_and_made_again() {
    let (mut framings, mut names, mut out) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for (recording, datagrams) in recordings() {
        for datagram in datagrams.iter().filter(|datagram| is_connless(&datagram.bytes)) {
            let connless = Connless::parse(&datagram.bytes).expect(&recording);
            let framing = match connless {
                Connless::Plain { .. } => "plain",
                Connless::Extended { .. } => "extended",
                Connless::V7 {
                    token,
                    response_token,
                    data,
                } => {
                    write_v7(token, response_token, data, &mut out);
                    assert_eq!(out, datagram.bytes, "{recording}");
                    "v7"
                }
            };
            *framings.entry(framing).or_insert(0) += 1;
            *names
                .entry(connless::name(connless.data()).expect(&recording))
                .or_insert(0) += 1;
        }
    }
    assert_eq!(
        framings,
        BTreeMap::from([("extended", 14), ("plain", 32), ("v7", 13)])
    );
    let expected = [
        ("info", 19),
        ("info_64", 1),
        ("info_extended", 12),
        ("request_info", 26),
        ("request_info_64", 1),
    ];
    assert_eq!(names, BTreeMap::from(expected));
}
