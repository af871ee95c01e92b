//! Compares readings from every place of a recording with the reading from its beginning.

use std::{fs, io::BufReader};

use teetap_inspect::recording::Item;
use teetap_proxy::{
    io::Seen,
    session::{Event, EventKind},
};

use super::*;
use crate::{Run, Target, reading::Recording};

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

/// Returns the items from a place on.
fn items(bytes: &[u8], place: &IndexedPlace) -> Vec<Item> {
    let input = BufReader::new(place.open(Cursor::new(bytes)).unwrap());
    let mut recording = Recording::after(place.packets, input).unwrap();
    std::iter::from_fn(|| recording.read().unwrap()).collect()
}

/// Returns the events from a place on.
fn events(bytes: &[u8], place: &IndexedPlace) -> Vec<Event> {
    let items = items(bytes, place).into_iter();
    items
        .filter_map(|item| match item {
            Item::Event(event) => Some(event),
            _ => None,
        })
        .collect()
}

/// Checks that reading from each place returns the last events of the recording. `shown` formats the compared events.
fn check(bytes: &[u8], format: Format, step: u64, shown: impl Fn(&Event) -> Option<String>) {
    let all: Vec<String> = events(bytes, &IndexedPlace::start())
        .iter()
        .filter_map(&shown)
        .collect();
    let places = places(bytes, format, step);
    assert!(places.len() > 10, "{} places", places.len());
    let mut before = all.len() + 1;
    for place in &places {
        let rest: Vec<String> = events(bytes, place).iter().filter_map(&shown).collect();
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

/// Returns a recording of the example's events as a run with this seed. The name of the file decides its format.
fn recorded(file: &str, seed: u64) -> Vec<u8> {
    let run = Run {
        version: "1".to_owned(),
        wall: 1_000_000_000 * seed,
        seed,
        target: "a".to_owned(),
        server: ([127, 0, 0, 1], 1).into(),
        listen: ([127, 0, 0, 1], 2).into(),
    };
    let mut encoder = Target::parse(file).unwrap().encoder(run);
    let mut bytes = Vec::new();
    encoder.start(&mut bytes);
    let mut decoder = teetap_inspect::Decoder::new(teetap_wire::def::Registry::builtin());
    for event in events(&own(), &IndexedPlace::start()) {
        let at = event.at;
        let decoded = Arc::new(decoder.decode(event));
        encoder.seen(&Seen::Event(decoded), at, &mut bytes);
    }
    bytes
}

#[test]
fn json_lines_are_read_from_each_place() {
    check(&recorded("a.jsonl", 2), Format::JsonLines, 9000, whole);
}

/// A reader starts each place with the header of the run to which the place belongs.
#[test]
fn each_place_has_the_header_of_its_run() {
    for (file, format) in [("a.jsonl", Format::JsonLines), ("a.pcapng", Format::PcapNg)] {
        let runs = [2, 3, 4].map(|seed| recorded(file, seed));
        let all = runs.concat();
        let start = |bytes: &[u8], place: &IndexedPlace| {
            let items = items(bytes, place);
            let mut starts = items.iter().filter(|item| matches!(item, Item::Start { .. }));
            starts.next().map(|start| format!("{start:?}"))
        };
        let starts = runs.each_ref().map(|run| start(run, &IndexedPlace::start()));
        assert!(starts[0].is_some() && starts[0] != starts[1] && starts[1] != starts[2]);
        let mut seen = [0; 3];
        for place in places(&all, format, 9000) {
            let ends = [runs[0].len(), runs[0].len() + runs[1].len()];
            let run = ends.iter().filter(|end| place.offset >= **end as u64).count();
            assert_eq!(start(&all, &place), starts[run], "{file} at {}", place.offset);
            seen[run] += 1;
        }
        assert!(seen.iter().all(|count| *count > 3), "{file}: {seen:?} places");
    }
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
