//! Seeds cut from the recorded sessions.

use std::collections::BTreeSet;
use std::fs;

use teetap_kit::capture::{self, flows, recorded};
use teetap_kit::codec::{Variant, open};
use teetap_wire::def::{Decoded, Registry};
use teetap_wire::{Chunks, Connless, Dir, Proto, connless};

use super::Seeds;

/// Maximum datagrams per recorded session.
const OF_A_SESSION: usize = 8;

fn index(variant: Variant) -> u8 {
    match variant {
        Variant::V6 => 0,
        Variant::V65 => 1,
        Variant::Ddnet => 2,
        Variant::V7 | Variant::D7 => 3,
    }
}

/// Adds datagrams that differ in length class, first byte or direction.
pub(super) fn datagrams([packets, chunks, connless]: &mut [Seeds; 3]) {
    for name in capture::names().unwrap() {
        for flow in flows(recorded(&name).unwrap()) {
            let Some(variant) = flow.variant() else {
                for packet in flow.packets.iter().take(OF_A_SESSION) {
                    connless.add(&packet.payload);
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
                packets.add(&[&head, &bytes[..]].concat());
                if let Ok(opened) = open(variant, bytes)
                    && opened.head.num_chunks > 0
                {
                    let head = [index(variant), opened.head.num_chunks];
                    chunks.add(&[&head, &opened.payload[..]].concat());
                }
            }
        }
    }
}

/// Adds one message of each kind from the recordings.
pub(super) fn messages(seeds: &mut Seeds) {
    /// Messages of this length or more, in bytes, are skipped.
    const MOST: usize = 200;
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
                        seeds.add(&[&[proto, way, 2][..], message.data()].concat());
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
                        seeds.add(&[&[at, way, 0], chunk.data].concat());
                    }
                }
            }
        }
    }
}

/// Adds the first snapshots and inputs of each recorded session, as steps of the `snapshot` target.
pub(super) fn snapshots(seeds: &mut Seeds) {
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
                    // Snapshots and inputs are the non-vital system messages.
                    let about =
                        chunk.header.vital.is_none() && chunk.data.first().is_some_and(|id| id & 1 == 1);
                    if about && seed.len() + chunk.data.len() < 1600 {
                        let [low, high] = u16::try_from(chunk.data.len()).unwrap().to_le_bytes();
                        seed.extend([9, from_server, low, high]);
                        seed.extend(chunk.data);
                    }
                }
            }
            seeds.add(&seed);
        }
    }
}

/// Adds the beginning of each recorded session, as pcap and as pcapng.
pub(super) fn recordings(seeds: &mut Seeds) {
    /// Approximate length of a seed in bytes.
    const MOST: usize = 1500;
    for name in capture::names().unwrap() {
        let file = fs::read(capture::path(&name)).unwrap();
        let (head, mut rest) = file.split_at(24);
        let mut seed = head.to_vec();
        let mut ng = Vec::new();
        // The section header, then an interface with the link type of the file.
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
        seeds.add(&seed);
        seeds.add(&ng);
    }
}

/// Appends a pcapng block.
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
