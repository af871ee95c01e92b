//! Tests of folds: the order of lines, their bounds, and what is never folded.

use std::{collections::BTreeMap, fs::File, io::BufReader, path::Path};

use teetap_capture::{Item, Playback};
use teetap_inspect::{
    DecodedEvent, Decoder, EventLines, Sentences, Style,
    fold::{Folds, Moment, PATIENCE},
};
use teetap_proxy::session::Time;
use teetap_wire::def::Registry;

use super::{plain::Lines, printer::Printer};

/// The names of messages that are folded.
const FOLDED: [&str; 6] = [
    "input",
    "input_timing",
    "keepalive",
    "snap",
    "snap_single",
    "snap_empty",
];

fn capture(name: &str) -> Vec<DecodedEvent> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/captures")
        .join(name);
    let mut playback = Playback::pcap(BufReader::new(File::open(path).unwrap())).unwrap();
    let mut decoder = Decoder::new(Registry::builtin());
    let mut events = Vec::new();
    while let Some(item) = playback.read().unwrap() {
        if let Item::Event(event) = item {
            events.push(decoder.decode(event));
        }
    }
    events
}

fn printed(events: &[DecodedEvent], folds: Option<Folds>) -> Vec<String> {
    let mut lines = Lines {
        printer: Printer::default(),
        sentences: Sentences::default(),
        folds,
    };
    let mut out = Vec::new();
    for event in events {
        lines.sentences.begin(event);
        lines.event(event, Style::default(), &mut out);
    }
    lines.end_folds(&mut out);
    String::from_utf8(out)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Returns the session of a line.
fn session(line: &str) -> &str {
    line.split_whitespace().nth(1).unwrap()
}

/// Returns the number of messages of each name in the folds of a line; none for any other line.
fn counts(line: &str) -> Vec<(String, u64)> {
    let Some((_, text)) = line
        .split_once(" -      ")
        .filter(|(_, text)| text.contains(" ×"))
    else {
        return Vec::new();
    };
    let parts = text.split(", ").filter_map(|part| part.split_once(" ×"));
    parts
        .map(|(name, count)| (name.to_owned(), count.parse().unwrap()))
        .collect()
}

fn is_folded(line: &str) -> bool {
    let name = line.split_whitespace().nth(4).unwrap_or_default();
    FOLDED.contains(&name)
}

#[test]
fn nothing_is_lost_and_the_other_lines_of_a_session_keep_their_order() {
    for name in [
        "rich-tw07.pcap",
        "rich-dd16.pcap",
        "loss-tw07.pcap",
        "tw06-session.pcap",
        "ddh20-to-dd20.pcap",
    ] {
        let events = capture(name);
        let whole = printed(&events, None);
        let folded = printed(&events, Some(Folds::new(None)));
        assert!(folded.len() < whole.len(), "{name}: {}", folded.len());
        let others = |lines: &[String]| -> Vec<String> {
            let mut others: Vec<String> = lines
                .iter()
                .filter(|line| !is_folded(line) && counts(line).is_empty())
                .cloned()
                .collect();
            others.sort_by_key(|line| session(line).to_owned());
            others
        };
        assert_eq!(others(&folded), others(&whole), "{name}");
        // Each message of a folded type is in a fold, or has its own line.
        for kind in FOLDED {
            let lines = |lines: &[String]| {
                lines
                    .iter()
                    .filter(|line| line.split_whitespace().nth(4) == Some(kind) && counts(line).is_empty())
                    .count() as u64
            };
            let in_folds: u64 = folded
                .iter()
                .flat_map(|line| counts(line))
                .filter(|(name, _)| name == kind)
                .map(|(_, count)| count)
                .sum();
            assert_eq!(in_folds + lines(&folded), lines(&whole), "{name}: {kind}");
        }
    }
}

#[test]
fn the_times_of_a_session_never_go_back() {
    for patience in [None, Some(PATIENCE)] {
        let folded = printed(&capture("rich-dd16.pcap"), Some(Folds::new(patience)));
        let mut last = BTreeMap::new();
        for line in &folded {
            let time: f64 = line.split_whitespace().next().unwrap().parse().unwrap();
            let before = last.insert(session(line).to_owned(), time).unwrap_or(0.0);
            assert!(before <= time, "{line}");
        }
    }
}

#[test]
fn a_fold_has_its_number_and_its_ticks() {
    let events = capture("tw07-session.pcap");
    let folded = printed(&events, Some(Folds::new(None)));
    let longest = folded
        .iter()
        .filter(|line| line.contains(" s→c ") && line.contains("snap"))
        .max_by_key(|line| counts(line).iter().map(|(_, count)| *count).sum::<u64>())
        .unwrap();
    let (_, ticks) = longest.split_once(", ticks ").unwrap();
    let (first, last) = ticks.split_once('…').unwrap();
    let (first, last): (i64, i64) = (first.parse().unwrap(), last.parse().unwrap());
    assert!(first < last, "{longest}");
    // One message alone keeps its line.
    let is_alone = |line: &String| matches!(&*counts(line), [(_, 1)]);
    assert!(!folded.iter().any(is_alone), "{folded:#?}");
}

#[test]
fn a_live_run_folds_for_a_bounded_time() {
    let events = capture("rich-tw07.pcap");
    let mut folds = Folds::new(Some(PATIENCE));
    let mut waits: Option<Time> = None;
    let mut ended = 0;
    for event in &events {
        let at = event.event.at;
        let rows = folds.end_old(at);
        ended += rows.len();
        if !rows.is_empty() {
            waits = None;
        }
        assert!(waits.is_none_or(|began| at - began <= PATIENCE), "{at}");
        let lines = EventLines::from_event(event, Style::default());
        for line in &lines.list {
            if folds.add(&lines, line, Moment::of_event(event), Style::default()) {
                waits = waits.or(Some(at));
            }
        }
    }
    assert!(ended > 3, "{ended}");
    assert!(!folds.end_all().is_empty() && folds.end_all().is_empty());
}
