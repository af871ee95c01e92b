//! The faults.

use super::{
    datagram,
    game::{self, Step},
};
use crate::{
    codec::{Chunk, Datagram, Packing, Variant, parse, put_chunk, seal},
    huffman::Ending,
    peer::{
        Peer, SEQUENCES,
        game::{int, put_int},
    },
};

/// A fault of a client.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// The name.
    pub name: &'static str,
    /// The protocols in which the fault is possible.
    pub variants: &'static [Variant],
    /// The effect on the datagrams that the client sends.
    pub act: Act,
}

/// A message, with true if it is sent vital.
pub type Sent = (bool, Vec<u8>);

/// The effect of a fault on the datagrams of a client.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    /// Changes each datagram with chunks.
    Datagram(fn(&mut Datagram)),
    /// Changes the bytes of each datagram with chunks.
    Bytes(fn(Variant, &mut Vec<u8>)),
    /// Changes the bytes of each control datagram.
    Handshake(fn(&mut Vec<u8>)),
    /// Replaces a message by other messages, each with true if it is sent vital.
    Message(Step, fn(Variant, Vec<u8>) -> Vec<Sent>),
    /// Sends additional datagrams.
    Add(fn(&Peer) -> Vec<Vec<u8>>),
}

const ALL: &[Variant] = &[Variant::V6, Variant::V65, Variant::Ddnet, Variant::V7];
const TOKENS: &[Variant] = &[Variant::V65, Variant::Ddnet, Variant::V7];
const SEVEN: &[Variant] = &[Variant::V7];
const DDNET: &[Variant] = &[Variant::Ddnet];

const fn fault(name: &'static str, variants: &'static [Variant], act: Act) -> Fault {
    Fault { name, variants, act }
}

/// All faults.
pub const FAULTS: &[Fault] = &[
    fault(
        "wrong token",
        TOKENS,
        Act::Datagram(|datagram| datagram.head.token = Some(*b"nope")),
    ),
    fault(
        "no token in the header",
        &[Variant::V65],
        Act::Datagram(|datagram| datagram.head.token = None),
    ),
    fault(
        "no token at the end",
        DDNET,
        Act::Bytes(|_, bytes| bytes.truncate(bytes.len() - 4)),
    ),
    fault(
        "ack ahead",
        ALL,
        Act::Datagram(|datagram| datagram.head.ack = (datagram.head.ack + 20) % SEQUENCES),
    ),
    fault(
        "ack behind",
        ALL,
        Act::Datagram(|datagram| datagram.head.ack = (datagram.head.ack + SEQUENCES - 3) % SEQUENCES),
    ),
    fault(
        "ack of the next number",
        ALL,
        Act::Datagram(|datagram| datagram.head.ack = (datagram.head.ack + 1) % SEQUENCES),
    ),
    fault("ack stuck", ALL, Act::Datagram(|datagram| datagram.head.ack = 0)),
    fault(
        "number skipped",
        ALL,
        Act::Datagram(|datagram| number(datagram, |seq| seq + 1)),
    ),
    fault(
        "number repeated",
        ALL,
        Act::Datagram(|datagram| number(datagram, |_| 1)),
    ),
    fault(
        "number from zero",
        ALL,
        Act::Datagram(|datagram| number(datagram, |seq| seq - 1)),
    ),
    fault(
        "too long",
        ALL,
        Act::Datagram(|datagram| datagram.trailing = vec![0; 1500]),
    ),
    fault(
        "one chunk too many announced",
        ALL,
        Act::Datagram(|datagram| datagram.head.num_chunks += 1),
    ),
    fault(
        "one chunk too few announced",
        ALL,
        Act::Datagram(|datagram| {
            datagram.head.num_chunks = datagram.head.num_chunks.saturating_sub(1);
        }),
    ),
    fault(
        "chunk longer than the datagram",
        ALL,
        Act::Datagram(|datagram| {
            datagram.head.num_chunks += 1;
            datagram.trailing = vec![0x1f, 0x3f, 1];
        }),
    ),
    fault(
        "plain data marked as compressed",
        ALL,
        Act::Bytes(|variant, bytes| {
            if let Some(first) = bytes.first_mut() {
                *first |= if variant.is_seven() { 0x10 } else { 0x80 };
            }
        }),
    ),
    fault(
        "compressed data without its flag",
        ALL,
        Act::Bytes(|variant, bytes| {
            let Ok(datagram) = parse(variant, bytes) else {
                return;
            };
            *bytes = datagram.pack(Packing::Always(Ending::Padded));
            if let Some(first) = bytes.first_mut() {
                *first &= if variant.is_seven() { !0x10 } else { !0x80 };
            }
        }),
    ),
    fault(
        "compressed data with the flag of 0.6",
        SEVEN,
        Act::Bytes(|variant, bytes| {
            let Ok(datagram) = parse(variant, bytes) else {
                return;
            };
            *bytes = datagram.pack(Packing::Always(Ending::Padded));
            if let Some(first) = bytes.first_mut() {
                *first = *first & !0x10 | 0x80;
            }
        }),
    ),
    fault(
        "number in a chunk that is not vital",
        ALL,
        Act::Datagram(|datagram| rewrite_headers(datagram, true)),
    ),
    fault(
        "vital chunk without its number",
        ALL,
        Act::Datagram(|datagram| rewrite_headers(datagram, false)),
    ),
    fault(
        "token also at the end",
        SEVEN,
        Act::Datagram(|datagram| datagram.trailing = datagram.head.token.unwrap_or_default().to_vec()),
    ),
    fault(
        "UUID with reversed groups",
        DDNET,
        Act::Message(Step::Say, |_, _| {
            vec![(
                true,
                client_version(1, [0x04, 0x13, 0x00, 0x8c, 0x61, 0x84, 0x47, 0x3e]),
            )]
        }),
    ),
    fault(
        "UUID in the other class",
        DDNET,
        Act::Message(Step::Say, |_, _| {
            vec![(
                true,
                client_version(0, [0x8c, 0x00, 0x13, 0x04, 0x84, 0x61, 0x3e, 0x47]),
            )]
        }),
    ),
    fault(
        "unknown flag",
        &[Variant::Ddnet, Variant::V7],
        Act::Datagram(|datagram| {
            datagram.head.spare = if datagram.head.variant.is_seven() {
                0x40
            } else {
                0x04
            };
        }),
    ),
    fault(
        "control with chunks",
        ALL,
        Act::Add(|peer| vec![control_packet(peer, 1, &[0], Packing::Clear)]),
    ),
    fault(
        "control compressed",
        ALL,
        Act::Add(|peer| vec![control_packet(peer, 0, &[0], Packing::Always(Ending::Padded))]),
    ),
    fault(
        "control with the flag of 0.6",
        SEVEN,
        Act::Add(|peer| {
            let mut bytes = control_packet(peer, 0, &[0], Packing::Clear);
            if let Some(first) = bytes.first_mut() {
                *first = *first & !0x04 | 0x10;
            }
            vec![bytes]
        }),
    ),
    fault(
        "control without an id",
        ALL,
        Act::Add(|peer| vec![control_packet(peer, 0, &[], Packing::Clear)]),
    ),
    fault(
        "unknown control message",
        ALL,
        Act::Add(|peer| vec![control_packet(peer, 0, &[9], Packing::Clear)]),
    ),
    fault(
        "neither chunks nor a request",
        ALL,
        Act::Add(|peer| vec![datagram(peer, 0, &[]).build()]),
    ),
    fault("too short", ALL, Act::Add(|_| vec![vec![0, 1]])),
    fault(
        "bytes after the compressed data",
        ALL,
        Act::Add(|peer| {
            let mut datagram = datagram(peer, 0, &[]);
            datagram.chunks = vec![Chunk::new(None, game::message(peer.variant(), Step::Input, 100))];
            datagram.head.num_chunks = 1;
            let mut bytes = datagram.pack(Packing::Always(Ending::Padded));
            bytes.extend([0x55; 40]);
            vec![bytes]
        }),
    ),
    fault(
        "more payload than there is room",
        ALL,
        Act::Add(|peer| {
            let datagram = datagram(peer, 0, &[0; 1800]);
            vec![datagram.pack(Packing::Always(Ending::Padded))]
        }),
    ),
    fault("info forgotten", ALL, Act::Message(Step::Info, |_, _| Vec::new())),
    fault(
        "ready forgotten",
        ALL,
        Act::Message(Step::Ready, |_, _| Vec::new()),
    ),
    fault(
        "start info forgotten",
        ALL,
        Act::Message(Step::StartInfo, |_, _| Vec::new()),
    ),
    fault(
        "enter game forgotten",
        ALL,
        Act::Message(Step::EnterGame, |_, _| Vec::new()),
    ),
    fault(
        "info not vital",
        ALL,
        Act::Message(Step::Info, |_, message| vec![(false, message)]),
    ),
    fault(
        "ready not vital",
        ALL,
        Act::Message(Step::Ready, |_, message| vec![(false, message)]),
    ),
    fault(
        "start info not vital",
        ALL,
        Act::Message(Step::StartInfo, |_, message| vec![(false, message)]),
    ),
    fault(
        "enter game not vital",
        ALL,
        Act::Message(Step::EnterGame, |_, message| vec![(false, message)]),
    ),
    fault(
        "start info in place of ready",
        ALL,
        Act::Message(Step::Ready, |variant, _| {
            vec![(true, game::message(variant, Step::StartInfo, 0))]
        }),
    ),
    fault(
        "ready before info",
        ALL,
        Act::Message(Step::Info, |variant, info| {
            vec![(true, game::message(variant, Step::Ready, 0)), (true, info)]
        }),
    ),
    fault(
        "start info before ready",
        ALL,
        Act::Message(Step::Ready, |variant, ready| {
            vec![(true, game::message(variant, Step::StartInfo, 0)), (true, ready)]
        }),
    ),
    fault(
        "start info twice",
        ALL,
        Act::Message(Step::StartInfo, |_, info| {
            vec![(true, info.clone()), (true, info)]
        }),
    ),
    fault(
        "enter game before ready",
        ALL,
        Act::Message(Step::Ready, |variant, ready| {
            vec![(true, game::message(variant, Step::EnterGame, 0)), (true, ready)]
        }),
    ),
    fault(
        "enter game before start info",
        ALL,
        Act::Message(Step::StartInfo, |variant, info| {
            vec![(true, game::message(variant, Step::EnterGame, 0)), (true, info)]
        }),
    ),
    fault(
        "console without a login",
        ALL,
        Act::Message(Step::Say, |variant, _| vec![(true, game::rcon_command(variant))]),
    ),
    fault(
        "unterminated text",
        ALL,
        Act::Message(Step::StartInfo, |variant, _| {
            let mut message = head(variant, Step::StartInfo);
            message.extend(b"scripted");
            vec![(true, message)]
        }),
    ),
    fault(
        "fields missing",
        ALL,
        Act::Message(Step::StartInfo, |variant, _| {
            let mut message = head(variant, Step::StartInfo);
            message.extend(b"scripted\0\0");
            vec![(true, message)]
        }),
    ),
    fault(
        "text that is not UTF-8",
        DDNET,
        Act::Message(Step::StartInfo, |_, mut message| {
            if let Some(byte) = message.get_mut(3) {
                *byte = 0xff;
            }
            vec![(true, message)]
        }),
    ),
    fault(
        "input vital",
        ALL,
        Act::Message(Step::Input, |_, message| vec![(true, message)]),
    ),
    fault(
        "input cut",
        ALL,
        Act::Message(Step::Input, |_, mut message| {
            message.truncate(message.len() - 6);
            vec![(false, message)]
        }),
    ),
    fault(
        "input for tick 0",
        ALL,
        Act::Message(Step::Input, |variant, message| {
            let mut first = head(variant, Step::Input);
            let rest = message.get(first.len()..).unwrap_or_default();
            if let Some((ack, rest)) = int(rest)
                && let Some((_, rest)) = int(rest)
            {
                put_int(&mut first, ack);
                put_int(&mut first, 0);
                first.extend(rest);
            }
            vec![(false, first)]
        }),
    ),
    fault(
        "unknown message",
        ALL,
        Act::Message(Step::Say, |_, _| {
            let mut message = Vec::new();
            put_int(&mut message, 60 << 1 | 1);
            vec![(true, message)]
        }),
    ),
    fault(
        "ready without its class bit",
        // In DDNet 14 is an unused message of the game.
        ALL,
        Act::Message(Step::Ready, |variant, message| {
            vec![(true, renumbered(&message, game::id_of(variant, Step::Ready) >> 1))]
        }),
    ),
    fault(
        "ready with the class of the game",
        ALL,
        Act::Message(Step::Ready, |variant, message| {
            vec![(true, renumbered(&message, game::id_of(variant, Step::Ready) & !1))]
        }),
    ),
    fault(
        "start info with the id of the other version",
        ALL,
        Act::Message(Step::StartInfo, |variant, message| {
            let other = if variant.is_seven() {
                Variant::V6
            } else {
                Variant::V7
            };
            vec![(true, renumbered(&message, game::id_of(other, Step::StartInfo)))]
        }),
    ),
    fault(
        "start info with the fields of the other version",
        ALL,
        Act::Message(Step::StartInfo, |variant, _| {
            let other = if variant.is_seven() {
                Variant::V6
            } else {
                Variant::V7
            };
            let message = game::message(other, Step::StartInfo, 0);
            vec![(true, renumbered(&message, game::id_of(variant, Step::StartInfo)))]
        }),
    ),
    fault(
        "chat with the fields of 0.6",
        SEVEN,
        Act::Message(Step::Say, |variant, _| {
            let message = game::message(Variant::V6, Step::Say, 0);
            vec![(true, renumbered(&message, game::id_of(variant, Step::Say)))]
        }),
    ),
    fault(
        "message of the server",
        ALL,
        Act::Message(Step::Say, |variant, _| {
            game::answers(variant, Step::StartInfo)
                .into_iter()
                .map(|message| (true, message))
                .collect()
        }),
    ),
    fault(
        "value out of range",
        ALL,
        Act::Message(Step::Say, |variant, _| {
            let mut message = head(variant, Step::Say);
            put_int(&mut message, 77);
            if variant.is_seven() {
                put_int(&mut message, -1);
            }
            message.extend(b"hello\0");
            vec![(true, message)]
        }),
    ),
    fault(
        // With this value the bytes are also a valid other message.
        "value out of range by a little",
        ALL,
        Act::Message(Step::Say, |variant, _| {
            let mut message = head(variant, Step::Say);
            put_int(&mut message, 9);
            if variant.is_seven() {
                put_int(&mut message, -1);
            }
            message.extend(b"hello\0");
            vec![(true, message)]
        }),
    ),
    fault(
        "int with padding",
        ALL,
        Act::Message(Step::Say, |variant, _| {
            let mut message = head(variant, Step::Say);
            // Zero in five bytes, whose last one has bits that versions read differently.
            message.extend([0x80, 0x80, 0x80, 0x80, 0x70]);
            if variant.is_seven() {
                put_int(&mut message, -1);
            }
            message.extend(b"hello\0");
            vec![(true, message)]
        }),
    ),
    fault(
        "empty message",
        ALL,
        Act::Message(Step::Say, |_, _| vec![(true, Vec::new())]),
    ),
    fault(
        "magic almost right",
        DDNET,
        Act::Handshake(|bytes| {
            if bytes.get(4..8) == Some(b"TKEN") {
                bytes.splice(4..8, *b"TKEM");
            }
        }),
    ),
    fault(
        "token request without padding",
        SEVEN,
        Act::Handshake(|bytes| bytes.truncate(12)),
    ),
    fault(
        "request for a resend in every datagram",
        ALL,
        Act::Datagram(|datagram| datagram.head.flags.resend = true),
    ),
    fault(
        "wrong version",
        ALL,
        Act::Message(Step::Info, |variant, _| {
            let mut message = head(variant, Step::Info);
            message.extend(b"0.5 abcdef\0\0");
            if variant.is_seven() {
                put_int(&mut message, 0x705);
            }
            vec![(true, message)]
        }),
    ),
];

/// Returns a version of DDNet with this number and this first half of its UUID.
fn client_version(number: i32, half: [u8; 8]) -> Vec<u8> {
    let mut message = Vec::new();
    put_int(&mut message, number);
    message.extend(half);
    message.extend([0x87, 0x87, 0xf6, 0x72, 0xb3, 0x83, 0x5b, 0xd4]);
    message.extend([7; 16]);
    put_int(&mut message, 20_010);
    message.extend(b"DDNet 20.1\0");
    message
}

/// Returns the id of a message as written on the wire.
fn head(variant: Variant, step: Step) -> Vec<u8> {
    let mut message = Vec::new();
    put_int(&mut message, game::id_of(variant, step));
    message
}

/// Returns a message with another id.
fn renumbered(message: &[u8], number: i32) -> Vec<u8> {
    let mut out = Vec::new();
    put_int(&mut out, number);
    out.extend(int(message).map_or(message, |(_, rest)| rest));
    out
}

/// Changes the numbers of all vital chunks.
fn number(datagram: &mut Datagram, change: fn(u16) -> u16) {
    for seq in datagram.chunks.iter_mut().filter_map(|chunk| chunk.seq.as_mut()) {
        *seq = change(*seq) % SEQUENCES;
    }
}

/// Rewrites the chunk headers of a datagram: all with a number, or all without one.
fn rewrite_headers(datagram: &mut Datagram, has_number: bool) {
    let variant = datagram.head.variant;
    let mut payload = Vec::new();
    for chunk in datagram.chunks.drain(..) {
        let start = payload.len();
        put_chunk(&mut payload, variant, chunk.seq, chunk.resend, &chunk.data);
        let number = start + 2;
        match (chunk.seq.is_some(), has_number) {
            (true, false) => {
                payload.remove(number);
            }
            (false, true) => payload.insert(number, 9),
            _ => {}
        }
    }
    datagram.trailing = payload;
}

/// Returns a control packet with this payload.
fn control_packet(peer: &Peer, num_chunks: u8, payload: &[u8], packing: Packing) -> Vec<u8> {
    let mut head = datagram(peer, num_chunks, &[]).head;
    head.flags.control = true;
    seal(&head, payload, packing)
}
