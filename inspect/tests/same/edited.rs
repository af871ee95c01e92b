//! Recorded sessions with one edit each: a packet is lost, doubled, moved, or differs in a number, a flag, a byte.
//!
//! The edits provoke and nearly provoke the notes of every code, at the bounds of numbers and lengths.

use std::{collections::BTreeSet, fmt::Write as _};

use teetap_kit::{
    capture::{self, Packet},
    codec::{Chunk, Datagram, Variant, parse},
    link::{MS, Random},
};

use crate::observed::{Table, differences, explained, observed, side};

/// Number of packets of a capture: the handshake, the join and the begin of the game.
const PACKETS: usize = 60;

/// The modulus of sequence numbers.
const SEQUENCES: u16 = 1024;

/// An edit of a list of packets at one of them. Returns false if the edit is not possible.
type Edit = fn(&mut Vec<Packet>, usize, Variant) -> bool;

/// The edits with their names.
const EDITS: &[(&str, Edit)] = &[
    ("lost", |packets, at, _| {
        packets.remove(at);
        true
    }),
    ("doubled", |packets, at, _| again(packets, at, 0)),
    ("doubled late", |packets, at, _| again(packets, at, 400 * MS)),
    ("delayed", |packets, at, _| {
        let late = again(packets, at, 60 * MS);
        packets.remove(at);
        late
    }),
    ("delayed long", |packets, at, _| {
        let late = again(packets, at, 1_300 * MS);
        packets.remove(at);
        late
    }),
    ("all after it late", |packets, at, _| {
        for packet in packets.iter_mut().skip(at) {
            packet.time += 2_700 * MS;
        }
        true
    }),
    ("all after it very late", |packets, at, _| {
        for packet in packets.iter_mut().skip(at) {
            packet.time += 11_000 * MS;
        }
        true
    }),
    ("its sender falls silent", |packets, at, _| {
        let from = packets[at].from;
        let mut number = 0;
        packets.retain(|packet| {
            number += 1;
            number <= at || packet.from != from
        });
        true
    }),
    ("from another port", |packets, at, _| {
        let port = packets[at].from.port() ^ 1;
        packets[at].from.set_port(port);
        true
    }),
    ("to another port", |packets, at, _| {
        let port = packets[at].to.port() ^ 1;
        packets[at].to.set_port(port);
        true
    }),
    ("ack + 1", |packets, at, variant| {
        head(packets, at, variant, |datagram| ack(datagram, 1))
    }),
    ("ack - 1", |packets, at, variant| {
        head(packets, at, variant, |datagram| ack(datagram, 1023))
    }),
    ("ack + 511", |packets, at, variant| {
        head(packets, at, variant, |datagram| ack(datagram, 511))
    }),
    ("ack + 513", |packets, at, variant| {
        head(packets, at, variant, |datagram| ack(datagram, 513))
    }),
    ("ack + 1 from here", |packets, at, variant| {
        from_here(packets, at, variant, usize::MAX, |datagram| ack(datagram, 1))
    }),
    ("ack stays from here", |packets, at, variant| {
        let now = parse(variant, &packets[at].payload).map(|datagram| datagram.head.ack);
        now.is_ok_and(|now| {
            from_here(packets, at, variant, usize::MAX, |datagram| {
                datagram.head.ack = now
            })
        })
    }),
    ("resend requested", |packets, at, variant| {
        head(packets, at, variant, |datagram| {
            datagram.head.flags.resend ^= true
        })
    }),
    ("resend requested in many", |packets, at, variant| {
        from_here(packets, at, variant, 12, |datagram| {
            datagram.head.flags.resend = true
        })
    }),
    ("compression flag", |packets, at, variant| {
        let bit = if variant.is_seven() { 0x10 } else { 0x80 };
        flip(packets, at, 0, bit)
    }),
    ("control flag", |packets, at, variant| {
        let bit = if variant.is_seven() { 0x04 } else { 0x10 };
        flip(packets, at, 0, bit)
    }),
    ("connless flag", |packets, at, variant| {
        let bit = if variant.is_seven() { 0x08 } else { 0x20 };
        flip(packets, at, 0, bit)
    }),
    ("spare flag", |packets, at, variant| {
        flip(packets, at, 0, if variant.is_seven() { 0x80 } else { 0x08 })
    }),
    ("token", |packets, at, variant| {
        head(packets, at, variant, |datagram| {
            if let Some(token) = &mut datagram.head.token {
                token[2] ^= 1;
            }
        })
    }),
    ("one chunk more announced", |packets, at, variant| {
        head(packets, at, variant, |datagram| datagram.head.num_chunks += 1)
    }),
    ("one chunk less announced", |packets, at, variant| {
        head(packets, at, variant, |datagram| {
            datagram.head.num_chunks = datagram.head.num_chunks.saturating_sub(1);
        })
    }),
    ("byte cut off", |packets, at, _| {
        packets[at].payload.pop().is_some()
    }),
    ("three bytes cut off", |packets, at, _| {
        let len = packets[at].payload.len();
        packets[at].payload.truncate(len.saturating_sub(3));
        len > 0
    }),
    ("header only", |packets, at, variant| {
        packets[at]
            .payload
            .truncate(if variant.is_seven() { 7 } else { 3 });
        true
    }),
    ("byte added", |packets, at, _| {
        packets[at].payload.push(0x2a);
        true
    }),
    ("filled to 1400", |packets, at, _| {
        packets[at].payload.resize(1400, 0);
        true
    }),
    ("filled to 1401", |packets, at, _| {
        packets[at].payload.resize(1401, 0);
        true
    }),
    ("bit of the middle", |packets, at, _| {
        let middle = packets[at].payload.len() / 2;
        flip(packets, at, middle, 0x10)
    }),
    ("number + 1", |packets, at, variant| {
        chunk(packets, at, variant, |chunk| seq(chunk, 1))
    }),
    ("number - 1", |packets, at, variant| {
        chunk(packets, at, variant, |chunk| seq(chunk, 1023))
    }),
    ("number + 511", |packets, at, variant| {
        chunk(packets, at, variant, |chunk| seq(chunk, 511))
    }),
    ("number + 512", |packets, at, variant| {
        chunk(packets, at, variant, |chunk| seq(chunk, 512))
    }),
    ("not vital", |packets, at, variant| {
        chunk(packets, at, variant, |chunk| chunk.seq = None)
    }),
    ("vital", |packets, at, variant| {
        chunk(packets, at, variant, |chunk| chunk.seq = chunk.seq.or(Some(9)))
    }),
    ("marked as resent", |packets, at, variant| {
        chunk(packets, at, variant, |chunk| chunk.resend ^= true)
    }),
    ("message cut", |packets, at, variant| {
        chunk(packets, at, variant, |chunk| {
            chunk.data.pop();
        })
    }),
    ("message with a byte more", |packets, at, variant| {
        chunk(packets, at, variant, |chunk| chunk.data.push(7))
    }),
    ("message empty", |packets, at, variant| {
        chunk(packets, at, variant, |chunk| chunk.data.clear())
    }),
    ("class of the message", |packets, at, variant| {
        data(packets, at, variant, 0, |byte| byte ^ 1)
    }),
    ("id of the message", |packets, at, variant| {
        data(packets, at, variant, 0, |byte| byte.wrapping_add(2))
    }),
    ("first field + 1", |packets, at, variant| {
        data(packets, at, variant, 1, |byte| byte.wrapping_add(1))
    }),
    ("first field negative", |packets, at, variant| {
        data(packets, at, variant, 1, |byte| byte ^ 0x40)
    }),
    ("second field large", |packets, at, variant| {
        data(packets, at, variant, 2, |_| 0x3f)
    }),
    ("control character", |packets, at, variant| {
        data(packets, at, variant, 3, |_| 0x1b)
    }),
    ("not UTF-8", |packets, at, variant| {
        data(packets, at, variant, 4, |_| 0xff)
    }),
    ("chunk doubled", |packets, at, variant| {
        chunks(packets, at, variant, |chunks| {
            let first = chunks[0].clone();
            chunks.push(first);
        })
    }),
    ("chunk left out", |packets, at, variant| {
        chunks(packets, at, variant, |chunks| {
            chunks.remove(0);
        })
    }),
    ("chunks in reverse", |packets, at, variant| {
        chunks(packets, at, variant, |chunks| chunks.reverse())
    }),
];

/// Inserts a copy of a packet with this delay. Returns true.
fn again(packets: &mut Vec<Packet>, at: usize, delay: u64) -> bool {
    let mut copy = packets[at].clone();
    copy.time += delay;
    let place = packets.partition_point(|packet| packet.time <= copy.time);
    packets.insert(place.max(at + 1), copy);
    true
}

fn flip(packets: &mut [Packet], at: usize, byte: usize, bits: u8) -> bool {
    match packets[at].payload.get_mut(byte) {
        Some(byte) => {
            *byte ^= bits;
            true
        }
        None => false,
    }
}

/// Changes a datagram that is not connless.
fn head(packets: &mut [Packet], at: usize, variant: Variant, change: impl Fn(&mut Datagram)) -> bool {
    let Ok(mut datagram) = parse(variant, &packets[at].payload) else {
        return false;
    };
    if datagram.head.flags.connless || datagram.head.flags.control && datagram.payload.first() != Some(&0) {
        return false;
    }
    change(&mut datagram);
    packets[at].payload = datagram.build();
    true
}

/// Changes this datagram and the next ones of its sender, at most `count`.
fn from_here(
    packets: &mut [Packet],
    at: usize,
    variant: Variant,
    count: usize,
    change: impl Fn(&mut Datagram),
) -> bool {
    let from = packets[at].from;
    let places = (at..packets.len()).filter(|place| packets[*place].from == from);
    let mut is_edited = false;
    for place in places.take(count).collect::<Vec<_>>() {
        is_edited |= head(packets, place, variant, &change);
    }
    is_edited
}

fn ack(datagram: &mut Datagram, more: u16) {
    datagram.head.ack = (datagram.head.ack + more) % SEQUENCES;
}

fn seq(chunk: &mut Chunk, more: u16) {
    chunk.seq = chunk.seq.map(|seq| (seq + more) % SEQUENCES);
}

/// Changes the chunks of a datagram that has any, and their number.
fn chunks(packets: &mut [Packet], at: usize, variant: Variant, change: impl Fn(&mut Vec<Chunk>)) -> bool {
    let has_chunks = parse(variant, &packets[at].payload).is_ok_and(|datagram| !datagram.chunks.is_empty());
    has_chunks
        && head(packets, at, variant, |datagram| {
            change(&mut datagram.chunks);
            datagram.head.num_chunks = u8::try_from(datagram.chunks.len()).expect("few chunks");
        })
}

/// Changes the first vital chunk, or the first chunk if none is vital.
fn chunk(packets: &mut [Packet], at: usize, variant: Variant, change: impl Fn(&mut Chunk)) -> bool {
    chunks(packets, at, variant, |chunks| {
        let vital = chunks.iter().position(|chunk| chunk.seq.is_some());
        change(&mut chunks[vital.unwrap_or(0)]);
    })
}

/// Changes a byte of the first message.
fn data(packets: &mut [Packet], at: usize, variant: Variant, byte: usize, change: fn(u8) -> u8) -> bool {
    chunk(packets, at, variant, |chunk| {
        if let Some(byte) = chunk.data.get_mut(byte) {
            *byte = change(*byte);
        }
    })
}

/// Applies every edit at `count` packets of a capture, each in a session of its own, and compares the checksums of the
/// results.
fn check(name: &'static str, file: &str, seed: u64, count: usize) {
    let packets = capture::recorded(file).expect("a capture");
    let variant = capture::flows(packets.clone())
        .iter()
        .find_map(capture::Flow::variant)
        .expect("a session");
    let packets: Vec<Packet> = packets.into_iter().take(PACKETS).collect();
    let original = side(&packets).expect("a session");
    let mut random = Random::new(seed);
    let mut table = Table::new(name);
    table.add("original", &observed(&packets));
    for (edit, change) in EDITS {
        let mut text = String::new();
        let mut places = BTreeSet::new();
        for _try in 0..40 {
            let at = usize::try_from(random.below(packets.len() as u64)).expect("a small number");
            let mut edited = packets.clone();
            if places.len() == count || places.contains(&at) || !change(&mut edited, at, variant) {
                continue;
            }
            places.insert(at);
            let _infallible = writeln!(text, "--- {at}");
            text.push_str(&observed(&edited));
            if let Some(packet) = edited.get(at) {
                text.push_str(&explained(&packet.payload));
            }
            if let Some(other) = side(&edited) {
                text.push_str(&differences(&original, &other, places.len() == 1));
            }
        }
        table.add(edit, &text);
    }
    table.check();
}

#[test]
fn edited_sessions_without_tokens_are_read_as_before() {
    check("edited-tw06", "tw06-session", 21, 2);
}

#[test]
fn edited_sessions_of_ddnet_are_read_as_before() {
    check("edited-dd", "dd-session", 22, 2);
}

#[test]
fn edited_downloads_from_ddnet_are_read_as_before() {
    check("edited-map-dd", "map-dd", 23, 1);
}

#[test]
fn edited_sessions_of_0_7_are_read_as_before() {
    check("edited-tw07", "tw07-session", 24, 2);
}

#[test]
fn edited_downloads_of_0_7_are_read_as_before() {
    check("edited-map-tw07", "map-tw07", 25, 1);
}

#[test]
fn edited_sessions_of_ddnet_clients_on_0_7_are_read_as_before() {
    check("edited-sixup", "sixup-session", 26, 1);
}
