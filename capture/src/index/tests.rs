//! Compares readings from every place of a recording with the reading from its beginning.

use std::{fs, io::BufReader};

use teetap_inspect::{jsonl::Lines, recording::Item};
use teetap_proxy::{
    io::Seen,
    session::{Event, EventKind},
};

use super::*;
use crate::{Playback, Run, Target};

fn places(bytes: &[u8], format: Format, step: u64) -> Vec<IndexedPlace> {
    let mut index = Index::new(bytes, format);
    index.step = step;
    let mut places = Vec::new();
    while let Some(place) = index.next_place().unwrap() {
        places.push(place);
    }
    assert_eq!(index.offset(), bytes.len() as u64, "{format:?}");
    places
}

/// Returns the events from a place on.
fn events(bytes: &[u8], format: Format, place: &IndexedPlace) -> Vec<Event> {
    let input = BufReader::new(place.open(Cursor::new(bytes)).unwrap());
    let mut events = Vec::new();
    let mut add = |item: Option<Item>| match item {
        Some(Item::Event(event)) => {
            events.push(event);
            true
        }
        Some(_) => true,
        None => false,
    };
    match format {
        Format::JsonLines => {
            let mut lines = Lines::new(input);
            while add(lines.read().unwrap()) {}
        }
        Format::Pcap => {
            let mut playback = Playback::pcap(input).unwrap().after(place.packets);
            while add(playback.read().unwrap()) {}
        }
        Format::PcapNg => {
            let mut playback = Playback::pcapng(input).after(place.packets);
            while add(playback.read().unwrap()) {}
        }
    }
    events
}

/// Checks that reading from each place returns the last events of the recording. `shown` formats the compared events.
fn check(bytes: &[u8], format: Format, step: u64, shown: impl Fn(&Event) -> Option<String>) {
    let all: Vec<String> = events(bytes, format, &IndexedPlace::start())
        .iter()
        .filter_map(&shown)
        .collect();
    let places = places(bytes, format, step);
    assert!(places.len() > 10, "{} places", places.len());
    let mut before = all.len() + 1;
    for place in &places {
        let rest: Vec<String> = events(bytes, format, place).iter().filter_map(&shown).collect();
        assert!(
            !rest.is_empty() && rest.len() < before,
            "{format:?} from {}",
            place.offset
        );
        assert_eq!(
            rest,
            all[all.len() - rest.len()..],
            "{format:?} from {}",
            place.offset
        );
        before = rest.len() + 1;
    }
}

fn own() -> Vec<u8> {
    fs::read(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../tui/src/tests/proxied.pcapng"
    ))
    .unwrap()
}

fn whole(event: &Event) -> Option<String> {
    Some(format!("{event:?}"))
}

#[test]
fn a_capture_of_the_proxy_is_read_from_each_place() {
    check(&own(), Format::PcapNg, 4000, whole);
}

#[test]
fn two_runs_in_a_file_have_their_own_headers() {
    let twice = [own(), own()].concat();
    let half = own().len() as u64;
    check(&twice, Format::PcapNg, 8000, whole);
    let places = places(&twice, Format::PcapNg, 8000);
    assert!(places.iter().any(|place| place.offset > half + 8000));
}

#[test]
fn json_lines_are_read_from_each_place() {
    let run = Run {
        version: "1".to_owned(),
        wall: 1,
        seed: 2,
        target: "a".to_owned(),
        server: ([127, 0, 0, 1], 1).into(),
        listen: ([127, 0, 0, 1], 2).into(),
    };
    let mut encoder = Target::parse("a.jsonl").unwrap().encoder(run);
    let mut bytes = Vec::new();
    encoder.start(&mut bytes);
    let mut decoder = teetap_inspect::Decoder::new(teetap_wire::def::Registry::builtin());
    for event in events(&own(), Format::PcapNg, &IndexedPlace::start()) {
        let at = event.at;
        let decoded = Arc::new(decoder.decode(event));
        encoder.seen(&Seen::Event(decoded), at, &mut bytes);
    }
    check(&bytes, Format::JsonLines, 9000, whole);
}

#[test]
fn a_capture_of_another_program_is_read_from_each_place() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/captures/rich-dd16.pcap");
    // Session numbers differ, since sessions are found again from each place.
    let bytes = |event: &Event| match &event.what {
        EventKind::Datagram(datagram) => Some(format!("{:?}", datagram.received())),
        _ => None,
    };
    check(&fs::read(path).unwrap(), Format::Pcap, 2000, bytes);
}

#[test]
fn the_index_ends_at_damage() {
    let mut bytes = own();
    let half = bytes.len() / 2;
    bytes.truncate(half);
    bytes.extend([0xff; 1000]);
    let mut index = Index::new(&bytes[..], Format::PcapNg);
    index.step = 1000;
    let mut last = 0;
    while let Some(place) = index.next_place().unwrap() {
        last = place.offset;
    }
    assert!(
        last < half as u64 && last > half as u64 - 10_000,
        "{last} of {half}"
    );
}

#[test]
fn a_place_is_at_least_a_step_behind_the_last_one() {
    // Each record of the file has 16 bytes and a frame of 4.
    let mut pcap = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
    pcap.resize(24, 0);
    for _ in 0..6 {
        pcap.extend([0; 8]);
        pcap.extend(4_u32.to_le_bytes());
        pcap.extend([0; 8]);
    }
    let found = |step| -> Vec<(u64, u64)> {
        let places = places(&pcap, Format::Pcap, step);
        places.iter().map(|place| (place.offset, place.packets)).collect()
    };
    assert_eq!(found(1), [(24, 0), (44, 1), (64, 2), (84, 3), (104, 4), (124, 5)]);
    assert_eq!(
        found(20),
        [(24, 0), (44, 1), (64, 2), (84, 3), (104, 4), (124, 5)]
    );
    assert_eq!(found(21), [(24, 0), (64, 2), (104, 4)]);
    assert_eq!(found(24), [(24, 0), (64, 2), (104, 4)]);
    assert_eq!(found(25), [(44, 1), (84, 3), (124, 5)]);
    assert_eq!(found(1000), []);
    let header = places(&pcap, Format::Pcap, 30)
        .iter()
        .map(IndexedPlace::head)
        .max();
    assert_eq!(header, Some(24));
}
