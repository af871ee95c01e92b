//! Tests of one session in every kind of file, of damaged files, and of arbitrary bytes.

use std::net::SocketAddr;

use proptest::prelude::*;
use teetap_kit::capture;

use super::{super::frame, *};

/// A time far from 1970, with no digits near a limit.
const START: u64 = 1_700_000_000_123_456_000;

/// A file under construction.
struct File {
    is_big: bool,
    bytes: Vec<u8>,
}

impl File {
    fn new(is_big: bool) -> Self {
        Self {
            is_big,
            bytes: Vec::new(),
        }
    }

    /// Appends a number, given as big-endian bytes.
    fn number<const N: usize>(&mut self, mut bytes: [u8; N]) -> &mut Self {
        if !self.is_big {
            bytes.reverse();
        }
        self.bytes.extend(bytes);
        self
    }

    fn u16(&mut self, value: u16) -> &mut Self {
        self.number(value.to_be_bytes())
    }

    fn u32(&mut self, value: u32) -> &mut Self {
        self.number(value.to_be_bytes())
    }

    fn pcap(&mut self, magic: u32, link: u32) -> &mut Self {
        self.u32(magic).u16(2).u16(4).u32(0).u32(0).u32(262_144).u32(link)
    }

    fn record(&mut self, seconds: u64, rest: u64, frame: &[u8]) {
        let length = u32::try_from(frame.len()).unwrap();
        self.u32(low(seconds)).u32(low(rest)).u32(length).u32(length);
        self.bytes.extend(frame);
    }

    fn block(&mut self, kind: u32, body: impl FnOnce(&mut Self)) {
        let start = self.bytes.len();
        self.u32(kind).u32(0);
        body(self);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        let length = u32::try_from(self.bytes.len() + 4 - start).unwrap();
        self.u32(length);
        let end = self.bytes.len();
        self.bytes.copy_within(end - 4..end, start + 4);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.u16(code).u16(u16::try_from(value.len()).unwrap());
        self.bytes.extend(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn section(&mut self) {
        self.block(0x0a0d_0d0a, |file| {
            file.u32(0x1a2b_3c4d).u16(1).u16(0).u32(u32::MAX).u32(u32::MAX);
        });
    }

    /// Appends an interface. `resolution` is the byte of the option, and the seconds to add to each time.
    fn interface(&mut self, resolution: Option<(u8, i64)>) {
        self.block(1, |file| {
            file.u16(1).u16(0).u32(0);
            if let Some((byte, offset)) = resolution {
                file.option(9, &[byte]);
                file.u16(14).u16(8).number(offset.to_be_bytes());
            }
        });
    }

    /// Appends an interface with a name.
    fn named(&mut self, name: &str) {
        self.block(1, |file| {
            file.u16(1).u16(0).u32(0).option(2, name.as_bytes());
        });
    }

    fn packet(&mut self, interface: u32, units: u64, frame: &[u8]) {
        let length = u32::try_from(frame.len()).unwrap();
        self.block(6, |file| {
            file.u32(interface)
                .u32(low(units >> 32))
                .u32(low(units))
                .u32(length)
                .u32(length);
            file.bytes.extend(frame);
        });
    }
}

/// Returns the lower half.
fn low(value: u64) -> u32 {
    u32::try_from(value & u64::from(u32::MAX)).unwrap()
}

/// Returns times and frames of a recorded session.
fn frames() -> Vec<(u64, Vec<u8>)> {
    let packets = capture::recorded("dd-session").unwrap();
    let first = packets[0].time;
    let frame = |packet: &capture::Packet| {
        let mut frame = Vec::new();
        frame::write(packet.from, packet.to, true, &packet.payload, &mut frame);
        (START + (packet.time - first) * 1000, frame)
    };
    packets.iter().map(frame).collect()
}

fn pcap(is_big: bool, magic: u32, unit: u64) -> Vec<u8> {
    let mut file = File::new(is_big);
    file.pcap(magic, 1);
    for (time, frame) in frames() {
        file.record(time / 1_000_000_000, time % 1_000_000_000 / unit, &frame);
    }
    file.bytes
}

/// Returns a file with two sections, each with half of the frames.
fn pcapng(is_big: bool, resolution: Option<(u8, i64)>, units: impl Fn(u64) -> u64) -> Vec<u8> {
    let mut file = File::new(is_big);
    let frames = frames();
    for half in frames.chunks(frames.len() / 2 + 1) {
        file.section();
        file.interface(None);
        // Unknown blocks, and names.
        file.block(0x4000_0001, |file| file.bytes.extend([7; 11]));
        file.block(4, |file| {
            file.u32(0);
        });
        file.interface(resolution);
        for (time, frame) in half {
            file.packet(1, units(*time), frame);
        }
    }
    file.bytes
}

fn play<R: Read>(playback: &mut Playback<R>) -> (Vec<String>, Option<ReadError>) {
    let mut items = Vec::new();
    loop {
        match playback.read() {
            Ok(Some(item)) => items.push(format!("{item:?}")),
            Ok(None) => return (items, None),
            Err(error) => {
                assert!(matches!(playback.read(), Ok(None)), "nothing follows an error");
                return (items, Some(error));
            }
        }
    }
}

fn play_bytes(bytes: &[u8]) -> (Vec<String>, Option<ReadError>, Tally) {
    let mut input = bytes;
    let mut playback = match Format::detect(&mut input) {
        Ok(Format::Pcap) => match Playback::pcap(input) {
            Ok(playback) => playback,
            Err(error) => return (Vec::new(), Some(error), Tally::default()),
        },
        Ok(Format::PcapNg) => Playback::pcapng(input),
        Ok(Format::JsonLines) => return (Vec::new(), None, Tally::default()),
        Err(error) => return (Vec::new(), Some(error), Tally::default()),
    };
    let (items, error) = play(&mut playback);
    (items, error, playback.tally())
}

#[test]
fn one_session_is_the_same_in_every_file() {
    let (expected, error, tally) = play_bytes(&pcap(false, 0xa1b2_c3d4, 1000));
    assert!(error.is_none());
    let session = Tally {
        packets: 430,
        sessions: 1,
        ..tally
    };
    assert_eq!(tally, session);
    assert_eq!(tally.foreign + tally.other + tally.broken + tally.fragments, 0);
    assert!(expected[0].contains(&START.to_string()), "{}", expected[0]);
    assert_eq!(expected.len(), 1 + 430 + 3);
    let second = 1_000_000_000;
    let start = START / second;
    for is_big in [false, true] {
        let files = [
            pcap(is_big, 0xa1b2_c3d4, 1000),
            pcap(is_big, 0xa1b2_3c4d, 1),
            pcapng(is_big, None, |time| time / 1000),
            pcapng(is_big, Some((6, 0)), |time| time / 1000),
            pcapng(is_big, Some((9, 0)), |time| time),
            pcapng(is_big, Some((9, start as i64)), |time| time - start * second),
            pcapng(is_big, Some((12, start as i64)), |time| {
                (time - start * second) * 1000
            }),
        ];
        for (number, file) in files.iter().enumerate() {
            let (items, error, found) = play_bytes(file);
            assert!(error.is_none(), "{number}: {error:?}");
            assert!(
                items == expected,
                "{number}: {:?}",
                items.iter().zip(&expected).find(|(one, other)| one != other)
            );
            assert_eq!(found, tally, "{number}");
        }
        // Powers of two are not exact in microseconds.
        let (items, ..) = play_bytes(&pcapng(is_big, Some((0x80 | 30, 0)), |time| {
            u64::try_from((u128::from(time) << 30) / u128::from(second)).unwrap()
        }));
        assert_eq!(items.len(), expected.len());
    }
}

/// Each leg has every datagram. Without teetap's options, only the packets of the client leg are read.
#[test]
fn a_recording_that_another_program_wrote_anew_is_read_from_its_client_leg() {
    let (client, server) = ("teetap client leg", "teetap server leg");
    for is_big in [false, true] {
        for names in [
            [client, server],
            [server, client],
            ["eth0", server],
            [client, "eth0"],
        ] {
            // Packets that are not read count in the number of the frame, too.
            let file = |names: [&str; 2], unread: Option<&str>| {
                let mut file = File::new(is_big);
                file.section();
                names.iter().for_each(|name| file.named(name));
                for (time, frame) in frames() {
                    for (interface, name) in (0..).zip(names) {
                        let is_read = unread != Some(name);
                        file.packet(interface, time / 1000, if is_read { &frame } else { &[] });
                    }
                }
                play_bytes(&file.bytes)
            };
            let (items, error, tally) = file(names, None);
            assert!(error.is_none(), "{error:?}");
            let left_out = names.contains(&server).then_some(server);
            let (expected, ..) = file(
                names.map(|name| if Some(name) == left_out { name } else { "eth1" }),
                left_out,
            );
            assert!(items == expected, "{names:?}");
            let count = frames().len() as u64;
            let doubled = if left_out.is_some() { count } else { 0 };
            assert_eq!((tally.packets, tally.doubled), (2 * count, doubled), "{names:?}");
        }
    }
}

#[test]
fn other_packets_are_counted() {
    let mut file = File::new(false);
    file.section();
    file.interface(None);
    let frames = frames();
    let mut fragment = frames[0].1.clone();
    fragment[20] = 0x20;
    let mut arp = frames[0].1.clone();
    arp[13] = 6;
    for frame in [&frames[0].1, &fragment, &arp, &frames[0].1[..30].to_vec()] {
        file.packet(0, 0, frame);
    }
    // A simple packet, and a packet of the old kind.
    let length = u32::try_from(frames[1].1.len()).unwrap();
    file.block(3, |file| {
        file.u32(length);
        file.bytes.extend(&frames[1].1);
    });
    file.block(2, |file| {
        file.u16(0).u16(0).u32(0).u32(0).u32(length).u32(length);
        file.bytes.extend(&frames[1].1);
    });
    let (items, error, tally) = play_bytes(&file.bytes);
    assert!(error.is_none(), "{error:?}");
    // Numbers count all packets, as in other programs.
    let numbers = items
        .iter()
        .filter_map(|item| item.split_once("frame: Some(")?.1.split_once(')'));
    assert_eq!(
        numbers.map(|(number, _)| number).collect::<Vec<_>>(),
        ["1", "5", "6"]
    );
    assert_eq!(
        (tally.packets, tally.fragments, tally.other, tally.broken),
        (6, 1, 1, 1)
    );
    assert_eq!(
        tally.traffic.iter().map(|traffic| traffic.datagrams).sum::<u64>(),
        3
    );
}

#[test]
fn what_comes_before_the_damage_is_given_out() {
    let whole = pcap(false, 0xa1b2_c3d4, 1000);
    let records: Vec<usize> = {
        let mut ends = vec![24];
        for (_, frame) in frames() {
            ends.push(ends[ends.len() - 1] + 16 + frame.len());
        }
        ends
    };
    for at in [5, 40, 400] {
        for extra in [1, 15, 17] {
            let (items, error, tally) = play_bytes(&whole[..records[at] + extra]);
            assert!(
                matches!(error, Some(ReadError::Cut(offset)) if offset == records[at] as u64),
                "{error:?}"
            );
            assert_eq!(tally.packets, at as u64);
            assert!(items.len() > at);
        }
        let mut long = whole.clone();
        long[records[at] + 8..records[at] + 12].fill(0x7f);
        let (_, error, tally) = play_bytes(&long);
        assert!(
            matches!(error, Some(ReadError::Damaged { offset, .. }) if offset == records[at] as u64),
            "{error:?}"
        );
        assert_eq!(tally.packets, at as u64);
    }
    let ng = pcapng(false, None, |time| time / 1000);
    let last = ng.len() - 4;
    let mut differs = ng.clone();
    differs[last] ^= 1;
    let (items, error, _) = play_bytes(&differs);
    assert!(
        matches!(&error, Some(ReadError::Damaged { text, .. }) if text.contains("differ")),
        "{error:?}"
    );
    // Without its CLOSE the session does not end.
    assert_eq!(items.len(), 1 + 429 + 2);
}

#[test]
fn what_is_no_recording_is_refused() {
    for (bytes, text) in [
        (&b""[..], "empty"),
        (b"\x7fELF and so on", "neither"),
        (b"\x1f\x8b\x08\0\0\0", "compressed"),
        (b"\xd4\xc3\xb2", "neither"),
    ] {
        let error = play_bytes(bytes).1.unwrap().to_string();
        assert!(error.contains(text), "{error}");
    }
    let (_, error, _) = play_bytes(&[&[0x0a, 0x0d, 0x0d, 0x0a][..], &[0; 40]].concat());
    assert!(
        matches!(error, Some(ReadError::Damaged { offset: 0, .. })),
        "{error:?}"
    );
}

/// A reader that returns one byte at a time, and fails at its end.
struct Slow<'a>(&'a [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let Some((first, rest)) = self.0.split_first() else {
            return Err(std::io::Error::other("the disk is gone"));
        };
        self.0 = rest;
        buffer[0] = *first;
        Ok(1)
    }
}

#[test]
fn an_error_of_the_system_is_told_behind_what_was_read() {
    let bytes = pcapng(true, None, |time| time / 1000);
    let (items, error) = play(&mut Playback::pcapng(Slow(&bytes)));
    assert!(matches!(error, Some(ReadError::System { offset, .. }) if offset == bytes.len() as u64));
    assert_eq!(items.len(), 1 + 430 + 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Reading a file with any changed bytes ends, and returns no more packets than the file contains.
    #[test]
    fn any_damage_is_survived(
        is_ng in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = if is_ng { pcapng(false, None, |time| time / 1000) } else { pcap(false, 0xa1b2_c3d4, 1000) };
        bytes.truncate(20_000);
        bytes.truncate(bytes.len() - cut.index(1000));
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        let (_, _, tally) = play_bytes(&bytes);
        prop_assert!(tally.packets <= 20_000 / 16);
    }

    #[test]
    fn any_bytes_behind_a_beginning_are_survived(is_ng in any::<bool>(), bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let mut file = File::new(false);
        if is_ng {
            file.section();
            file.interface(None);
        } else {
            file.pcap(0xa1b2_c3d4, 1);
        }
        file.bytes.extend(bytes);
        play_bytes(&file.bytes);
    }
}

#[test]
fn a_stranger_is_told_by_address() {
    let (from, to): (SocketAddr, SocketAddr) =
        ("10.0.0.1:53".parse().unwrap(), "10.0.0.2:5353".parse().unwrap());
    let mut file = File::new(false);
    file.section();
    file.interface(None);
    let mut frame = Vec::new();
    frame::write(from, to, true, b"\x12\x34\x81\x80\0\x01", &mut frame);
    file.packet(0, 0, &frame);
    let (items, _, tally) = play_bytes(&file.bytes);
    assert_eq!((tally.foreign, items.len()), (1, 2));
    assert!(items[1].contains("10.0.0.1:53"), "{items:?}");
}

#[test]
fn interfaces_that_the_crate_for_pcapng_refuses_are_read() {
    let frame = &frames()[0].1;
    // A name that is not UTF-8, an option of a wrong size, and a reserved field that is set.
    let cases: [(u16, u16, &[u8]); 3] = [(0, 2, b"\xff\xfe"), (0, 14, b"abc"), (1, 2, b"lo")];
    for (reserved, code, value) in cases {
        let mut file = File::new(false);
        file.section();
        file.block(1, |file| {
            file.u16(1).u16(reserved).u32(0);
            file.option(code, value);
            file.option(0, &[]);
        });
        file.packet(0, 0, frame);
        let (_, error, tally) = play_bytes(&file.bytes);
        assert!(error.is_none() && tally.packets == 1, "{code}: {error:?}");
        let mut other = pcap_file::pcapng::PcapNgReader::new(&file.bytes[..]).unwrap();
        assert!(other.next_block().unwrap().is_err(), "{code}");
    }
}

#[test]
fn an_event_of_any_number_of_packets_takes_no_memory_without_end() {
    for packets in [1_000_000_000, usize::MAX] {
        let own = format!(
            r#"{{"at":1,"datagram":{{"dir":"c2s","proto":"0.6","origin":"peer","ordinal":1,"packets":[true,{packets}]}}}}"#
        );
        let mut playback = Playback::pcapng(&b""[..]);
        playback.packet(Own::read(own.as_bytes()), OwnPacket::of_no_leg([]));
        for _ in 0..2 * MAX_PARTS {
            playback.packet(None, OwnPacket::of_no_leg([]));
        }
        assert_eq!(playback.open.as_ref().unwrap().packets.len(), MAX_PARTS);
        // The next event is read normally.
        playback.begin(Own::gap(Time(2), 3), None);
        assert_eq!(playback.tally.lost, 3);
    }
}

/// A program that crashed leaves sessions without their end. The next run begins again with session 1.
#[test]
fn sessions_of_each_run_in_a_file_are_counted() {
    let run = Run {
        version: "1".to_owned(),
        wall: 7,
        seed: 7,
        target: "a".to_owned(),
        server: ([127, 0, 0, 1], 1).into(),
        listen: ([127, 0, 0, 1], 2).into(),
    };
    let mut playback = Playback::pcapng(&b""[..]);
    let mut counts = Vec::new();
    for _ in 0..2 {
        playback.section(Some(run.clone()));
        for state in [State::Opening, State::Online, State::Online] {
            playback.count_session(Some(SessionId(1)), state);
        }
        counts.push(playback.tally().sessions);
    }
    assert_eq!(counts, [1, 2], "sessions after each of two runs with one session");
}

#[test]
fn a_link_type_that_cannot_be_read_is_told_once() {
    let mut file = File::new(false);
    file.pcap(0xa1b2_c3d4, 105);
    for (time, frame) in frames() {
        file.record(time / 1_000_000_000, 0, &frame);
    }
    let (items, error, tally) = play_bytes(&file.bytes);
    assert!(
        error.is_none() && items.len() == 1 && items[0].contains("link type 105"),
        "{items:?}"
    );
    assert_eq!((tally.packets, tally.other), (430, 430));
}

#[test]
fn json_lines_are_known_behind_a_line_of_something_else() {
    for (text, is_known) in [
        (&b"{\"v\":1,"[..], true),
        (b"teetap: going on\n{\"v\":1,\"t\":0}\n", true),
        (b"v\":1,\"t\":0}\n{\"v\":1", true),
        (b"teetap: going on\n{\"w\":1}\n", false),
        (b"{", true),
        (b"text", false),
    ] {
        let found = Format::detect(&mut &text[..]).ok();
        assert_eq!(found, is_known.then_some(Format::JsonLines), "{text:?}");
    }
}
