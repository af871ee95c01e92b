//! Makes the corpus anew: pieces of the recorded sessions, and sequences written by hand. What was found by fuzzing
//! has names that begin with `found`, and stays.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a tool of the tests")]

use std::collections::BTreeSet;
use std::fs;

use teetap_fuzz::{TARGETS, corpus};
use teetap_kit::capture::{self, flows, recorded};
use teetap_kit::codec::{Variant, open};
use teetap_wire::def::{Decoded, Registry};
use teetap_wire::{Chunks, Connless, Dir, Proto, connless};

/// Datagrams of one recorded session, at most.
const OF_A_SESSION: usize = 8;

struct Seeds {
    target: &'static str,
    count: usize,
    seen: BTreeSet<Vec<u8>>,
}

impl Seeds {
    fn new(target: &'static str) -> Self {
        let folder = corpus::folder(target);
        fs::create_dir_all(&folder).unwrap();
        for (name, _) in corpus::load(target).unwrap() {
            if !name.starts_with("found") {
                fs::remove_file(folder.join(name)).unwrap();
            }
        }
        Self {
            target,
            count: 0,
            seen: BTreeSet::new(),
        }
    }

    fn add(&mut self, name: &str, input: &[u8]) {
        if self.seen.insert(input.to_vec()) {
            self.count += 1;
            let name = format!("{:03}-{name}", self.count);
            fs::write(corpus::folder(self.target).join(name), input).unwrap();
        }
    }
}

fn index(variant: Variant) -> u8 {
    match variant {
        Variant::V6 => 0,
        Variant::V65 => 1,
        Variant::Ddnet => 2,
        Variant::V7 | Variant::D7 => 3,
    }
}

/// Datagrams of different kinds: by length class, first byte and direction.
fn recorded_datagrams(packets: &mut Seeds, chunks: &mut Seeds, connless: &mut Seeds) {
    for name in capture::names().unwrap() {
        for flow in flows(recorded(&name).unwrap()) {
            let Some(variant) = flow.variant() else {
                for packet in flow.packets.iter().take(OF_A_SESSION) {
                    connless.add(&name, &packet.payload);
                }
                continue;
            };
            let mut kinds = BTreeSet::new();
            for packet in &flow.packets {
                let bytes = &packet.payload;
                let kind = (bytes[0] & 0xfc, bytes.len() / 300, flow.is_from_client(packet));
                if kinds.len() >= OF_A_SESSION || bytes.len() > 900 || !kinds.insert(kind) {
                    continue;
                }
                let head = [index(variant), 0x1f, 1, 2, 3, 4, 5, 0];
                packets.add(&name, &[&head, &bytes[..]].concat());
                if let Ok(opened) = open(variant, bytes)
                    && opened.head.num_chunks > 0
                {
                    let head = [index(variant), opened.head.num_chunks];
                    chunks.add(&name, &[&head, &opened.payload[..]].concat());
                }
            }
        }
    }
}

fn by_hand(packets: &mut Seeds, chunks: &mut Seeds, connless: &mut Seeds) {
    for proto in 0..4 {
        for first in [
            0x00, 0x04, 0x08, 0x10, 0x14, 0x18, 0x20, 0x21, 0x40, 0x80, 0x90, 0xf0, 0xff,
        ] {
            packets.add(
                "first-byte",
                &[proto, 0, 0, 0, first, 1, 1, 0x40, 1, 1, 7, 9, 9, 9, 9],
            );
        }
        packets.add(
            "largest",
            &[&[proto, 0x1f, 1, 2, 3, 4, 5, 0, 0, 0, 1][..], &[0x55; 1397]].concat(),
        );
        // Every bit combination inflates to something; zeros are a short code.
        packets.add(
            "bomb-6",
            &[&[proto, 3, 1, 2, 3, 4, 0, 0, 0x80, 0, 1][..], &[0; 700]].concat(),
        );
        packets.add(
            "bomb-7",
            &[
                &[proto, 3, 1, 2, 3, 4, 0, 0, 0x10, 0, 1, 1, 2, 3, 4][..],
                &[0; 700],
            ]
            .concat(),
        );
        chunks.add("cut", &[proto, 3, 0x40, 1, 1, 5, 0x40, 1]);
        chunks.add("many", &[&[proto, 255][..], &[0, 0].repeat(255)].concat());
        chunks.add("trailing", &[proto, 1, 0, 1, 5, 6, 7, 8]);
        chunks.add("wrap", &[proto, 2, 0x7f, 0xff, 0xff, 0x40, 0, 0]);
    }
    for header in [
        &[0xff; 6][..],
        b"xe\x01\x02\0\0",
        &[0x21; 9],
        &[0x21; 6],
        &[0x25; 9],
        &[0x20; 5],
    ] {
        for word in [&b"gie3\x07"[..], b"inf3\x07name\0", b"iext\0\0\x07", b"\x1b[2J"] {
            connless.add("word", &[header, &[0xff; 4], word].concat());
        }
    }
}

/// One message of each kind, from the recordings.
fn messages() {
    /// Longer ones have nothing more to say.
    const MOST: usize = 200;
    let mut seeds = Seeds::new("message");
    let (mut kinds, mut decoded) = (BTreeSet::new(), Decoded::new());
    for name in capture::names().unwrap() {
        for flow in flows(recorded(&name).unwrap()) {
            for packet in &flow.packets {
                let client = flow.is_from_client(packet);
                let (dir, way) = if client { (Dir::C2s, 0) } else { (Dir::S2c, 1) };
                let Some(variant) = flow.variant() else {
                    let Some(message) = Connless::parse(&packet.payload) else {
                        continue;
                    };
                    let proto = if matches!(message, Connless::V7 { .. }) {
                        3
                    } else {
                        2
                    };
                    if kinds.insert((proto, way, connless::tag(message.data())))
                        && message.data().len() < MOST
                    {
                        seeds.add(&name, &[&[proto, way, 2][..], message.data()].concat());
                    }
                    continue;
                };
                let Ok(opened) = open(variant, &packet.payload) else {
                    continue;
                };
                let (at, proto) = (index(variant), Proto::ALL[usize::from(index(variant))]);
                for chunk in Chunks::new(proto, &opened.payload, opened.head.num_chunks) {
                    let def = decoded.message(Registry::builtin(), proto, dir, chunk.data);
                    let kind = def.map_or(String::new(), |def| def.name.to_string());
                    if kinds.insert((at, way, kind)) && chunk.data.len() < MOST {
                        seeds.add(&name, &[&[at, way, 0], chunk.data].concat());
                    }
                }
            }
        }
    }
    for proto in 0..4 {
        for control in [
            &b"\x01TKEN\xff\xff\xff\xff"[..],
            b"\x02TKEN",
            b"\x04reason\0",
            b"\x05\x01\x02\x03\x04",
            b"\x00",
        ] {
            seeds.add("control", &[&[proto, 0, 1], control].concat());
        }
        seeds.add(
            "object",
            &[&[proto, 1, 3][..], &[10, 0, 0, 0].repeat(24)].concat(),
        );
        seeds.add("tee", &[&[proto, 1, 3][..], &[9, 0, 0, 0].repeat(23)].concat());
    }
}

/// The first messages about snapshots of each recorded session, and steps by hand; see `snapshot.rs` for them.
fn snapshots() {
    let mut seeds = Seeds::new("snapshot");
    for name in capture::names().unwrap() {
        for flow in flows(recorded(&name).unwrap()) {
            let Some(variant) = flow.variant() else { continue };
            let mut seed = vec![index(variant)];
            for packet in &flow.packets {
                let from_server = u8::from(!flow.is_from_client(packet));
                let Ok(opened) = open(variant, &packet.payload) else {
                    continue;
                };
                let proto = Proto::ALL[usize::from(index(variant))];
                for chunk in Chunks::new(proto, &opened.payload, opened.head.num_chunks) {
                    // Snapshots and inputs are the messages of the engine that are not vital.
                    let about =
                        chunk.header.vital.is_none() && chunk.data.first().is_some_and(|id| id & 1 == 1);
                    if about && seed.len() + chunk.data.len() < 1600 {
                        let [low, high] = u16::try_from(chunk.data.len()).unwrap().to_le_bytes();
                        seed.extend([9, from_server, low, high]);
                        seed.extend(chunk.data);
                    }
                }
            }
            seeds.add(&name, &seed);
        }
    }
    let next: &[u8] = &[
        2, 0, 5, 0, 1, 1, 9, 1, 3, 1, 2, 1, 7, 3, 4, 3, 1, 2, 6, 1, 2, 5, 0, 0, 8, 8, 1,
    ];
    for proto in 0..4 {
        let head = [proto];
        let again: &[u8] = &[3, 7, 3, 0, 1, 1, 9, 1, 3, 1, 2, 1, 8, 3, 5, 3, 1, 2, 7, 1, 2];
        seeds.add(
            "next",
            &[&head, next, again, again, &[6, 103, 5, 4, 0x44], again].concat(),
        );
        seeds.add(
            "gap",
            &[&head, next, &[8], again, &[7, 0, 7, 1], next, &[5, 4, 0x42]].concat(),
        );
        let item: &[u8] = &[12, 0, 0, 1, 0, 0x17, 0, 4, 1, 2, 3, 4, 9, 9];
        seeds.add(
            "odd",
            &[&head, &[0, 4, 0, 1][..], item, &[0, 4, 0x42, 1], item].concat(),
        );
        let part: &[u8] = &[
            4, 2, 0, 2, 0, 1, 3, 0, 0, 1, 0, 4, 2, 0, 2, 1, 1, 6, 0, 5, 1, 1, 2, 3, 4,
        ];
        seeds.add("parts", &[&head, part, next, part].concat());
        // Deleted, twice and never there.
        let gone: &[u8] = &[
            13, 0, 3, 0, 0, 0x81, 0x80, 0x14, 0x81, 0x80, 0x14, 0x82, 0x80, 0x14,
        ];
        seeds.add("deleted", &[&head, next, &[0, 4, 0x42, 1], gone].concat());
    }
}

/// The beginnings of the recorded sessions, and some of their packets as pcapng.
fn recordings() {
    /// Bytes of each.
    const MOST: usize = 1500;
    let mut seeds = Seeds::new("recording");
    for name in capture::names().unwrap() {
        let file = fs::read(capture::path(&name)).unwrap();
        let (head, mut rest) = file.split_at(24);
        let mut seed = head.to_vec();
        let mut ng = Vec::new();
        // Section, interface of Ethernet or whatever the file says.
        block(&mut ng, 0x0a0d_0d0a, &[0x1a2b_3c4d, 1, !0, !0], &[]);
        let link = u32::from_le_bytes(head[20..24].try_into().unwrap());
        block(&mut ng, 1, &[link, 0], &[]);
        while rest.len() > 16 && seed.len() < MOST {
            let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
            let (time, cut, whole) = (word(4), word(8), word(12));
            let (packet, behind) = rest.split_at(16 + cut as usize);
            seed.extend(packet);
            block(&mut ng, 6, &[0, 0, time, cut, whole], &packet[16..]);
            rest = behind;
        }
        seeds.add(&name, &seed);
        seeds.add(&name, &ng);
    }
}

/// A block of pcapng.
fn block(out: &mut Vec<u8>, kind: u32, words: &[u32], bytes: &[u8]) {
    let padded = bytes.len().next_multiple_of(4);
    let len = u32::try_from(12 + 4 * words.len() + padded).unwrap();
    for word in [&[kind, len][..], words].concat() {
        out.extend(word.to_le_bytes());
    }
    out.extend(bytes);
    out.resize(out.len() + padded - bytes.len(), 0);
    out.extend(len.to_le_bytes());
}

/// See `handshake.rs` for the steps.
fn handshakes() {
    let mut seeds = Seeds::new("handshake");
    for variant in 0..5 {
        let seven = variant >= 3;
        let knock: &[u8] = if seven { &[1, 1] } else { &[1] };
        let answer: &[u8] = if seven { &[4, 0, 4, 1] } else { &[4, 1] };
        let words: &[u8] = &[2, 1, 0, 0, 4, 1, 7, 5, 1, 1, 0, 4, 1, 7, 5, 1, 1, 0, 0];
        let joined = [&[variant][..], knock, answer, words].concat();
        seeds.add("joins", &joined);
        seeds.add("closes", &[&joined[..], &[2, 1, 0, 0, 1]].concat());
        seeds.add(
            "is-refused",
            &[&[variant][..], knock, &[4, 3, 4, 4], words].concat(),
        );
        seeds.add("falls-back", &[&[variant][..], knock, &[4, 2], words].concat());
        seeds.add(
            "waits",
            &[
                &[variant][..],
                knock,
                &[0, 200, 1, 0, 255, 1],
                answer,
                &[0, 255],
                words,
            ]
            .concat(),
        );
        seeds.add(
            "is-disturbed",
            &[
                &[variant][..],
                knock,
                &[7, 0, 3, 1, 0, 7, 1, 8, 0x40, 1],
                answer,
                words,
            ]
            .concat(),
        );
        seeds.add(
            "garbage",
            &[
                &[variant][..],
                knock,
                &[3, 4, 0, 1, 2, 3, 4, 6, 2, 0, 0x14, 0],
                answer,
                words,
            ]
            .concat(),
        );
        seeds.add(
            "without-answer",
            &[&[variant][..], knock, words, &[5, 1, 0, 0, 4, 1, 7]].concat(),
        );
    }
}

/// See `hub/actions.rs` for the steps.
fn hubs() {
    let mut seeds = Seeds::new("hub");
    let talk: &[u8] = &[5, 0, 9, 5, 0x80, 0x2a, 0, 20, 6, 0, 1, 7, 0x80, 0xff, 0, 31];
    for server in 0..4 {
        for variant in 0..5 {
            let join = [server, 4, 0, variant, 0, 31];
            seeds.add("talk", &[&join, talk].concat());
            let tail: &[u8] = &[
                11, 1, 0, 7, 0x44, 0, 11, 0, 0, 3, 0x18, 1, 0, 0, 20, 13, 0, 0, 22, 240, 0, 5,
            ];
            seeds.add("disturbed", &[&join, talk, tail].concat());
            let rules: &[u8] = &[17, 0x7f, 3];
            let inject: &[u8] = &[15, 0, 4, 0, 1, 2, 3, 4, 0, 8];
            seeds.add(
                "rules",
                &[&join[..], rules, talk, inject, talk, talk, &[17, 0, 0], talk].concat(),
            );
        }
        let all: &[u8] = &[4, 0, 0, 4, 1, 1, 4, 2, 2, 4, 3, 3, 0, 31];
        seeds.add(
            "everybody",
            &[
                &[server][..],
                all,
                talk,
                &[8, 0, 8, 0x80, 0, 31, 4, 0, 2, 0, 31],
                talk,
            ]
            .concat(),
        );
        seeds.add(
            "flood",
            &[
                &[server][..],
                all,
                &[14, 255, 2, 1, 14, 255, 1, 0, 14, 255, 0, 1, 0, 31],
                talk,
            ]
            .concat(),
        );
        let browse: &[u8] = &[
            20, 0, 2, 0, 1, 2, 0, 9, 0, 20, 1, 0, 0, 1, 0, 20, 3, 0, 0, 1, 0, 0, 31,
        ];
        seeds.add("browser", &[&[server][..], all, browse].concat());
        let end: &[u8] = &[
            15, 0, 3, 0, b'e', b'n', b'd', 0, 1, 0, 31, 15, 0, 0, 0, 0, 2, 18, 9, 0, 31, 21, 9, 9,
        ];
        seeds.add("commands", &[&[server][..], all, talk, end, talk].concat());
    }
    for server in 0..4 {
        let join = [server, 4, 0, [0, 1, 2, 3][usize::from(server)], 0, 31];
        // To the own port, to others, to one without a socket; vital and not, and what rules make of it.
        let port = |kind| [5, 0x80, kind, 0, 31, 0, 31];
        let ways: Vec<u8> = [0xf8, 0xe1, 0xe9, 0xea, 0xfb, 0xfc]
            .into_iter()
            .flat_map(port)
            .collect();
        let rules: &[u8] = &[17, 0x7f, 3];
        let strangers: &[u8] = &[
            9, 1, 1, 0, 1, 2, 3, 4, 13, 0, 0, 20, 0, 2, 0, 1, 2, 0, 9, 0, 0, 31,
        ];
        seeds.add(
            "redirect",
            &[&join, &ways[..], strangers, talk, rules, &ways, talk].concat(),
        );
    }
}

fn main() {
    let [mut packets, mut chunks, mut connless] = ["packet", "chunks", "connless"].map(Seeds::new);
    recorded_datagrams(&mut packets, &mut chunks, &mut connless);
    by_hand(&mut packets, &mut chunks, &mut connless);
    messages();
    snapshots();
    recordings();
    handshakes();
    hubs();
    for (name, target) in TARGETS {
        for (_, input) in corpus::load(name).unwrap() {
            target(&input);
        }
    }
}
