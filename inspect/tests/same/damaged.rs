//! Damaged recordings of every format, and captures with every kind of header: the items that are read, the error, and the
//! scrubbed copy.

use std::{fmt::Write as _, fs, io::Cursor, path::Path};

use teetap_capture::{
    Item,
    reading::Recording,
    scrub::{Keep, Opened, Scrubber},
};
use teetap_kit::{capture, link::Random, world::transcript};
use teetap_wire::def::Registry;

use crate::observed::Table;

/// Number of offsets at which a recording is damaged in each way.
const PLACES: u64 = 24;

/// A way to damage bytes at an offset.
type Damage = fn(&mut Vec<u8>, usize);

const DAMAGES: &[(&str, Damage)] = &[
    ("cut", |bytes, at| bytes.truncate(at)),
    ("low bit", |bytes, at| bytes[at] ^= 1),
    ("high bit", |bytes, at| bytes[at] ^= 0x80),
    ("four bytes lost", |bytes, at| {
        let end = bytes.len().min(at + 4);
        bytes.drain(at..end);
    }),
    ("four bytes zero", |bytes, at| {
        let end = bytes.len().min(at + 4);
        bytes[at..end].fill(0);
    }),
    ("four bytes full", |bytes, at| {
        let end = bytes.len().min(at + 4);
        bytes[at..end].fill(0xff);
    }),
    ("line break", |bytes, at| bytes.insert(at, b'\n')),
];

/// Reads a recording to its end or its damage. Returns the items, the error and the scrubbed copy.
fn read(bytes: &[u8], scrubs: bool) -> String {
    let mut text = String::new();
    match Recording::open(Cursor::new(bytes)) {
        Err(error) => text = format!("refused: {error}\n"),
        Ok(mut recording) => loop {
            let _infallible = match recording.read() {
                Ok(Some(Item::Event(event))) => writeln!(text, "{}", transcript(&event)),
                Ok(Some(item)) => writeln!(text, "{item:?}"),
                Ok(None) => break,
                Err(error) => {
                    let _infallible = writeln!(text, "error: {error}");
                    break;
                }
            };
        },
    }
    if scrubs {
        for keep in [
            Keep::default(),
            Keep {
                text: true,
                unknown: true,
            },
        ] {
            let mut scrubber = Scrubber::new(Registry::builtin(), keep);
            let mut out = Vec::new();
            let done = match Opened::detect(Cursor::new(bytes)) {
                Ok((format, opened)) => format!("{format:?} {:?}", opened.scrub(&mut scrubber, &mut out)),
                Err(error) => format!("refused: {error}"),
            };
            let out = String::from_utf8_lossy(&out);
            let _infallible = writeln!(text, "{done} {:?}\n{out}", scrubber.tally());
        }
    }
    text
}

/// Damages a recording in every way at many offsets.
fn check(name: &'static str, seed: u64, bytes: &[u8]) {
    let mut random = Random::new(seed);
    let mut table = Table::new(name);
    table.add("whole", &read(bytes, true));
    for (damage, apply) in DAMAGES {
        let mut text = String::new();
        for number in 0..PLACES {
            // The first bytes are more important than the others.
            let bound = if number < PLACES / 4 {
                64
            } else {
                bytes.len() as u64
            };
            let at = usize::try_from(random.below(bound)).expect("an offset");
            let mut damaged = bytes.to_vec();
            apply(&mut damaged, at);
            let _infallible = writeln!(text, "--- {at}");
            text.push_str(&read(&damaged, number.is_multiple_of(3)));
        }
        table.add(damage, &text);
    }
    table.check();
}

/// Returns a file of the project.
fn file(path: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).expect("a file of the project")
}

#[test]
fn damaged_captures_of_tcpdump_are_read_as_before() {
    check("damaged-pcap", 31, &file("museum/too-many-chunks.pcap"));
}

#[test]
fn damaged_recordings_of_teetap_are_read_as_before() {
    check("damaged-pcapng", 32, &file("capture/src/own/v1.pcapng"));
}

#[test]
fn damaged_json_lines_are_read_as_before() {
    let mut bytes = file("capture/src/own/v1.jsonl");
    let end = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(at, _)| at);
    let end = end.take_while(|at| *at < 24_000).last().expect("a line");
    bytes.truncate(end + 1);
    check("damaged-jsonl", 33, &bytes);
}

#[test]
fn damaged_captures_of_other_programs_are_read_as_before() {
    check("damaged-foreign", 34, &pcapng(true, Some(9), &frames(1, true)));
}

/// Returns the first datagrams of a session in frames of this link type.
fn frames(link: u16, is_tagged: bool) -> Vec<Vec<u8>> {
    let packets = capture::recorded("tw07-session").expect("a capture");
    let frames = packets.iter().take(16).enumerate().map(|(number, packet)| {
        let is_six = number % 4 == 3;
        let mut frame = match link {
            0 => vec![if is_six { 30 } else { 2 }, 0, 0, 0],
            1 => vec![2; 12],
            113 => vec![0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0],
            _ => Vec::new(),
        };
        let kind: [u8; 2] = if is_six { [0x86, 0xdd] } else { [0x08, 0x00] };
        if is_tagged && number % 3 == 0 {
            frame.extend([0x81, 0x00, 0x00, 0x07]);
        }
        match link {
            1 | 113 => frame.extend(kind),
            276 => {
                frame.extend(kind);
                frame.extend([0; 18]);
            }
            _ => {}
        }
        let short = |value: usize| u16::try_from(value).expect("a short packet").to_be_bytes();
        let len = packet.payload.len();
        if is_six {
            frame.extend([0x60, 0, 0, 0]);
            frame.extend(short(8 + len));
            frame.extend([17, 64]);
            frame.extend([0; 15]);
            frame.push(u8::from(number % 2 == 0));
            frame.extend([0; 15]);
            frame.push(1);
        } else {
            let fragment = if number == 9 { [0x20, 0] } else { [0x40, 0] };
            frame.extend([0x45, 0]);
            frame.extend(short(28 + len));
            frame.extend([0, 0]);
            frame.extend(fragment);
            frame.extend([
                64,
                if number == 10 { 6 } else { 17 },
                0,
                0,
                127,
                0,
                0,
                1,
                127,
                0,
                0,
                1,
            ]);
        }
        frame.extend(packet.from.port().to_be_bytes());
        frame.extend(packet.to.port().to_be_bytes());
        frame.extend(short(8 + len));
        frame.extend([0, 0]);
        frame.extend(&packet.payload);
        frame
    });
    frames.collect()
}

/// A number in the byte order of a file.
fn word(is_big: bool, value: u32) -> [u8; 4] {
    if is_big {
        value.to_be_bytes()
    } else {
        value.to_le_bytes()
    }
}

fn half(is_big: bool, value: u16) -> [u8; 2] {
    if is_big {
        value.to_be_bytes()
    } else {
        value.to_le_bytes()
    }
}

/// Returns frames as a pcap file. Every fifth frame is captured in part.
fn pcap(is_big: bool, magic: u32, link: u16, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(word(is_big, magic));
    file.extend(half(is_big, 2));
    file.extend(half(is_big, 4));
    file.extend([0; 8]);
    file.extend(word(is_big, 65_535));
    file.extend(word(is_big, link.into()));
    for (number, frame) in (0_u32..).zip(frames) {
        let len = u32::try_from(frame.len()).expect("a short frame");
        let kept = if number % 5 == 4 {
            frame.len() - 3
        } else {
            frame.len()
        };
        file.extend(word(is_big, 1_700_000_000 + number / 10));
        file.extend(word(is_big, number % 10 * 90_000));
        file.extend(word(is_big, u32::try_from(kept).expect("a short frame")));
        file.extend(word(is_big, len));
        file.extend(&frame[..kept]);
    }
    file
}

/// Returns frames as a pcapng file with packets of every kind, times of this resolution, a comment and unknown blocks.
fn pcapng(is_big: bool, resolution: Option<u8>, frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut block = |kind: u32, mut body: Vec<u8>| {
        body.resize(body.len().next_multiple_of(4), 0);
        let len = word(is_big, u32::try_from(body.len() + 12).expect("a short block"));
        file.extend(word(is_big, kind));
        file.extend(len);
        file.extend(body);
        file.extend(len);
    };
    let mut section = word(is_big, 0x1a2b_3c4d).to_vec();
    section.extend(half(is_big, 1));
    section.extend([0; 2]);
    section.extend([0xff; 8]);
    block(0x0a0d_0d0a, section);
    let mut interface = half(is_big, 1).to_vec();
    interface.extend([0; 2]);
    interface.extend(word(is_big, 0));
    if let Some(resolution) = resolution {
        interface.extend(half(is_big, 9));
        interface.extend(half(is_big, 1));
        interface.extend([resolution, 0, 0, 0, 0, 0, 0, 0]);
    }
    block(1, interface);
    let ticks: u64 = match resolution {
        Some(9) => 1_000_000_000,
        Some(3) => 1_000,
        Some(0x8a) => 1 << 10,
        _ => 1_000_000,
    };
    for (number, frame) in (0_u32..).zip(frames) {
        let len = word(is_big, u32::try_from(frame.len()).expect("a short frame"));
        let time = 1_700_000_000 * ticks + u64::from(number) * ticks / 20;
        let (high, low) = (time >> 32, time & 0xffff_ffff);
        let mut body = Vec::new();
        let kind = match number % 7 {
            // A packet without a time.
            3 => {
                body.extend(len);
                body.extend(frame);
                3
            }
            // The old form of packets.
            5 => {
                body.extend(half(is_big, 0));
                body.extend(half(is_big, 2));
                2
            }
            _ => {
                body.extend(word(is_big, 0));
                6
            }
        };
        if kind != 3 {
            body.extend(word(is_big, u32::try_from(high).expect("32 bits")));
            body.extend(word(is_big, u32::try_from(low).expect("32 bits")));
            body.extend(len);
            body.extend(len);
            body.extend(frame);
            body.resize(body.len().next_multiple_of(4), 0);
            body.extend(half(is_big, 1));
            body.extend(half(is_big, 5));
            body.extend(b"note\xff\0\0\0");
            body.extend([0; 4]);
        }
        block(kind, body);
        if number % 6 == 1 {
            block(0x0bad, vec![1, 2, 3]);
        }
    }
    file
}

#[test]
fn captures_with_every_header_are_read_as_before() {
    let mut table = Table::new("headers");
    for link in [0, 1, 12, 101, 113, 228, 276, 147] {
        for is_tagged in [false, true] {
            let frames = frames(link, is_tagged);
            let mut text = String::new();
            for is_big in [false, true] {
                for magic in [0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34] {
                    text.push_str(&read(&pcap(is_big, magic, link, &frames), true));
                }
            }
            table.add(&format!("pcap {link} tagged {is_tagged}"), &text);
        }
    }
    for resolution in [
        None,
        Some(3),
        Some(6),
        Some(9),
        Some(0x8a),
        Some(0x94),
        Some(0xff),
    ] {
        for is_big in [false, true] {
            let text = read(&pcapng(is_big, resolution, &frames(1, false)), true);
            table.add(&format!("pcapng {resolution:?} big {is_big}"), &text);
        }
    }
    table.check();
}
