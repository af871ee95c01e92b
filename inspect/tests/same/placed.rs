//! Long recordings that are read from a place on, as the screen does, and recordings with several runs and sessions.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicU64},
    thread,
    time::{Duration, Instant},
};

use teetap_capture::{
    Format,
    reading::{
        from::{Found, Reader, Source},
        places::Places,
    },
};
use teetap_inspect::{Snapshots, Style, jsonl, rows};
use teetap_kit::{
    capture::{self, Packet},
    faulty::pcap,
    link::SECOND,
};
use teetap_proxy::session::Time;
use teetap_rules::Filter;
use teetap_wire::def::Registry;

use crate::observed::{Table, differences, observed, observed_items, read, side};

/// Minimum length of a long recording in bytes, so that the index has several places.
const LONG: usize = 1 << 20;

/// Maximum time for reading a recording.
const PATIENCE: Duration = Duration::from_secs(120);

/// Returns a file of the project.
fn file(path: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).expect("a file of the project")
}

/// Writes a recording to a file.
fn written(name: &str, bytes: &[u8]) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, bytes).expect("a new file");
    path
}

/// Reads everything after the last indexed place before a byte offset, or of a time.
fn read_after(source: &Source, places: &Places, wanted: Result<u64, Time>, filter: Option<&str>) -> String {
    let place = match wanted {
        Ok(offset) => places.before(offset),
        Err(time) => places.of_time(time),
    };
    let filter = filter.map(|text| match Filter::parse(text, Registry::builtin()) {
        Ok((filter, _)) => filter,
        Err(errors) => panic!("{errors:?}"),
    });
    let mut text = format!("--- {wanted:?} {} {}\n", place.offset, place.packets);
    let reader = Reader::start(source.clone(), place, filter).expect("a thread");
    let begun = Instant::now();
    loop {
        let Some(batch) = reader.next() else {
            assert!(begun.elapsed() < PATIENCE, "the recording is not read");
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        for found in batch.items {
            match found {
                Found::Event(decoded) => {
                    let _infallible = write!(text, "{} ", decoded.event.at);
                    for row in rows(&decoded, Style::default()) {
                        text.push_str(row.text());
                        text.push('\n');
                    }
                    // Has the numbers of the packets.
                    let style = Style {
                        json: true,
                        ..Style::default()
                    };
                    let mut json = Vec::new();
                    jsonl::event(&decoded, style, &mut json);
                    text.push_str(&String::from_utf8(json).expect("JSON is UTF-8"));
                }
                other => {
                    let _infallible = writeln!(text, "{other:?}");
                }
            }
        }
        if let Some(end) = batch.end {
            let _infallible = writeln!(text, "{end:?} {}", reader.read());
            return text;
        }
    }
}

/// Reads a long recording from some of its places on.
fn check(name: &'static str, format: Format, bytes: &[u8], times: [u64; 2]) {
    let path = written(name, bytes);
    let source = Source {
        path,
        registry: Registry::builtin(),
        snapshots: Snapshots::default(),
        begin: Arc::new(AtomicU64::new(0)),
    };
    // As the screen does, which reads the beginning first.
    teetap_capture::reading::from::beginning(&source).expect("a recording");
    let places = Places::start(source.clone(), format).expect("a thread");
    let begun = Instant::now();
    while places.state().0 != u64::MAX {
        assert!(begun.elapsed() < PATIENCE, "the recording is not indexed");
        thread::sleep(Duration::from_millis(1));
    }
    let mut table = Table::new(name);
    let len = bytes.len() as u64;
    let starts: Vec<_> = (0..40)
        .map(|part| places.before(len * part / 40))
        .map(|place| (place.offset, place.packets))
        .collect();
    table.add("places", &format!("{:?} {starts:?}", places.state()));
    for [high, low] in [[99, 100], [3, 4]] {
        let text = read_after(&source, &places, Ok(len * high / low), None);
        table.add(&format!("after {high}/{low}"), &text);
    }
    table.add(
        "a filter",
        &read_after(&source, &places, Ok(len * 9 / 10), Some("vital or lint")),
    );
    for time in times {
        let text = read_after(&source, &places, Err(Time(time * SECOND)), Some("ctrl"));
        table.add(&format!("after {time} s"), &text);
    }
    table.check();
}

/// Returns a capture whose session is repeated with later times until it is long.
fn long_capture(name: &str) -> Vec<u8> {
    let packets = capture::recorded(name).expect("a capture");
    let bytes = pcap(&packets).len();
    let mut all: Vec<Packet> = Vec::new();
    for number in 0..=(LONG / bytes) as u64 {
        all.extend(packets.iter().cloned().map(|mut packet| {
            packet.time += number * 100 * SECOND;
            packet.from.set_port(
                packet
                    .from
                    .port()
                    .wrapping_add(u16::from(packet.to.port() == 8303)),
            );
            packet
        }));
    }
    pcap(&all)
}

#[test]
fn a_long_capture_is_read_from_its_places_as_before() {
    check(
        "places-pcap",
        Format::Pcap,
        &long_capture("map-dd"),
        [5000, 100_000],
    );
}

#[test]
fn long_runs_of_teetap_are_read_from_their_places_as_before() {
    let bytes = file("capture/src/own/v1.pcapng");
    let bytes = bytes.repeat(LONG / bytes.len() + 1);
    check("places-pcapng", Format::PcapNg, &bytes, [1, 3]);
}

#[test]
fn long_json_lines_are_read_from_their_places_as_before() {
    let bytes = file("capture/src/own/v1.jsonl");
    let bytes = bytes.repeat(LONG / bytes.len() + 1);
    check("places-jsonl", Format::JsonLines, &bytes, [1, 3]);
}

#[test]
fn recordings_with_several_runs_and_sessions_are_read_as_before() {
    let mut table = Table::new("several");
    let of = |name: &str| capture::recorded(name).expect("a capture");
    for name in ["tw06-session", "dd-session", "tw07-session"] {
        let packets: Vec<Packet> = of(name).into_iter().take(120).collect();
        let file = pcap(&packets);
        table.add(
            &format!("two runs of {name}"),
            &observed_items(|| read(&file).into_iter().chain(read(&file)).collect()),
        );
        let whole = side(&packets).expect("a session");
        let mut text = String::new();
        for count in [1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 26, 34, 44] {
            let begin = &packets[..count];
            text.push_str(&observed(begin));
            if let Some(side) = side(begin) {
                text.push_str(&differences(&side, &whole, true));
            }
        }
        table.add(&format!("begins of {name}"), &text);
    }
    // Sessions of three protocols at the same time, whole and before they are online.
    for count in [4, 7, 60] {
        let mut merged: Vec<Packet> = Vec::new();
        for (number, name) in (0_u16..).zip(["tw07-session", "tw06-session", "dd-session", "map-tw07"]) {
            let packets = of(name);
            let begin = packets[0].time;
            merged.extend(
                packets
                    .into_iter()
                    .take(count + usize::from(number))
                    .map(|mut packet| {
                        packet.time = packet.time - begin + u64::from(number) * 40_000;
                        let port = if packet.from.port() == packet.to.port() {
                            0
                        } else {
                            number
                        };
                        packet.from.set_port(packet.from.port() + port);
                        packet.to.set_port(packet.to.port() + port);
                        packet
                    }),
            );
        }
        merged.sort_by_key(|packet| packet.time);
        let mut text = observed(&merged);
        if let (Some(first), Some(other)) = (side(&merged), side(&of("tw07-session")[..60])) {
            text.push_str(&differences(&first, &other, false));
        }
        table.add(&format!("sessions of {count} packets"), &text);
    }
    table.check();
}
