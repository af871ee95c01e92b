//! Everything that a user can see of a recording, as text, and tables of checksums of such texts.

use std::{fmt::Write as _, io::Cursor};

use teetap_capture::{Item, Playback};
use teetap_inspect::{
    Decoder, Statistics, Style, Verbosity, Viewer,
    diff::{Collector, DiffSettings, Options, Side, View, compare},
    explain, jsonl,
    judge::Judge,
    rows,
};
use teetap_kit::{capture::Packet, faulty::pcap};
use teetap_proxy::session::Time;
use teetap_repeatable::{checksum, keep};
use teetap_wire::def::{Registry, Secrets};

/// Checksums of texts, in groups. A snapshot has a line for each group.
pub(crate) struct Table {
    name: &'static str,
    rows: String,
}

impl Table {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            rows: String::new(),
        }
    }

    /// Adds a group with its text.
    pub(crate) fn add(&mut self, group: &str, text: &str) {
        let file = format!("{}.{}.txt", self.name, group.replace([' ', '/'], "-"));
        keep(&file, text);
        let (lines, sum) = (text.lines().count(), checksum(text));
        let _infallible = writeln!(self.rows, "{group}: {lines} lines, {sum:016x}");
    }

    /// Compares the checksums with the stored snapshot.
    pub(crate) fn check(self) {
        insta::assert_snapshot!(self.name, self.rows);
    }
}

/// Reads all items of a pcap file.
pub(crate) fn read(file: &[u8]) -> Vec<Item> {
    let mut playback = Playback::pcap(Cursor::new(file)).expect("a pcap");
    std::iter::from_fn(|| playback.read().expect("a whole recording")).collect()
}

/// Returns the rows and the JSON lines of all items, then the findings, and the statistics of the sessions.
pub(crate) fn observed(packets: &[Packet]) -> String {
    let file = pcap(packets);
    observed_items(|| read(&file))
}

/// Same as [`observed`], for the items that `items` returns.
pub(crate) fn observed_items(items: impl Fn() -> Vec<Item>) -> String {
    let registry = Registry::builtin();
    let mut text = String::new();
    let mut decoder = Decoder::new(registry);
    decoder.decode_everything();
    decoder.follow_changes();
    let mut judge = Judge::new(Secrets::Hide, decoder.stated().clone());
    let mut statistics = Statistics::default();
    let mut last = Time::ZERO;
    for item in items() {
        let Item::Event(event) = item else {
            let _infallible = writeln!(text, "{item:?}");
            judge.record(item, &mut decoder, drop);
            continue;
        };
        last = event.at;
        while let Some(due) = decoder.due(event.at) {
            judge.event(&due);
            show(&due, &mut text);
        }
        let decoded = decoder.decode(event);
        judge.event(&decoded);
        let _ties = statistics.event(&decoded);
        show(&decoded, &mut text);
        if let Some(reading) = decoded.reading {
            decoder.recycle(reading);
        }
    }
    judge.finish(&mut decoder);
    text.push_str(&found(&judge));
    statistics.tick(last);
    for (session, followed) in statistics.sessions() {
        let _infallible = writeln!(text, "{session:?} {followed:?}");
    }
    text
}

/// Appends an event as text and as JSON.
fn show(decoded: &teetap_inspect::DecodedEvent, text: &mut String) {
    let style = Style {
        viewer: Viewer::Everything,
        verbosity: Verbosity::Datagrams,
        ..Style::default()
    };
    for row in rows(decoded, style) {
        text.push_str(row.text());
        text.push('\n');
    }
    let mut json = Vec::new();
    let style = Style { json: true, ..style };
    jsonl::event(decoded, style, &mut json);
    text.push_str(&String::from_utf8(json).expect("JSON is UTF-8"));
}

/// Returns the findings as text and as JSON.
fn found(judge: &Judge) -> String {
    let findings = judge.findings();
    let mut text = format!("{:?}\n", findings.counts());
    for (rank, finding) in findings.list.iter().enumerate() {
        let (sentence, place, peer) = (finding.sentence(), finding.place(true), finding.peer());
        let _infallible = writeln!(text, "{finding}\n{peer}: {sentence} | {place}");
        if let Some(filter) = finding.filter() {
            let _infallible = writeln!(text, "{filter}");
        }
        let mut json = Vec::new();
        jsonl::finding(rank as u64, finding, true, &mut json);
        text.push_str(&String::from_utf8(json).expect("JSON is UTF-8"));
    }
    text
}

/// Returns one side of a comparison.
pub(crate) fn side(packets: &[Packet]) -> Option<Side> {
    let mut collector = Collector::new(
        Options {
            view: View::Peers,
            ..Options::default()
        },
        Registry::builtin(),
    );
    for item in read(&pcap(packets)) {
        collector.item(item);
    }
    collector.finish().ok()
}

/// Returns the differences between two sides.
pub(crate) fn differences(a: &Side, b: &Side, each: bool) -> String {
    let settings = DiffSettings {
        each,
        ..DiffSettings::default()
    };
    format!("{:?}\n", compare(a, b, &settings))
}

/// Returns the explanations of a datagram.
pub(crate) fn explained(bytes: &[u8]) -> String {
    let options = explain::Options {
        registry: Registry::builtin(),
        secrets: Secrets::Hide,
        proto: None,
        dir: None,
    };
    let readings = explain::explain(bytes, options);
    let text = explain::text::text(explain::first(bytes, options), &readings, 100);
    let verdicts: Vec<_> = readings
        .iter()
        .map(|reading| (reading.proto, reading.dir, reading.verdict, &reading.reasons))
        .collect();
    format!("{text}\n{verdicts:?}\n")
}
