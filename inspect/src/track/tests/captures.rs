//! Sessions of real peers, complete and with losses.

use std::{collections::BTreeMap, fs::File, io::BufReader, path::Path};

use teetap_capture::{Item, Playback};
use teetap_proxy::session::{Event, EventKind};

use super::*;
use crate::Decoder;

fn events(path: &Path) -> Vec<Event> {
    let mut playback = Playback::pcap(BufReader::new(File::open(path).unwrap())).unwrap();
    let mut events = Vec::new();
    while let Some(item) = playback.read().unwrap() {
        if let Item::Event(event) = item {
            events.push(event);
        }
    }
    events
}

/// Returns the number of notes by code.
fn counts<'e>(events: impl Iterator<Item = &'e Event>) -> BTreeMap<&'static str, usize> {
    let mut decoder = Decoder::new(Registry::builtin());
    let mut counts = BTreeMap::new();
    for event in events {
        for (code, detail) in super::script::notes(&decoder.decode(event.clone())) {
            if code.severity() >= Severity::Warning && !detail.is_empty() {
                eprintln!("{} {} {detail}", event.at, code.name());
            }
            *counts.entry(code.name()).or_default() += 1;
        }
    }
    counts
}

fn paths() -> Vec<std::path::PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/captures");
    let files = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "pcap"));
    paths.sort();
    paths
}

#[test]
fn real_peers_have_no_bad_notes() {
    let (mut again, mut late) = (0, Vec::new());
    for path in paths() {
        let counts = counts(events(&path).iter());
        for code in OF_STREAMS
            .iter()
            .filter(|code| code.severity() >= Severity::Warning)
        {
            if *code != Code::LateReply {
                assert_eq!(counts.get(code.name()), None, "{}: {counts:?}", path.display());
            }
        }
        // The client of DDNet 16.4 does not flush its start info: a known bug of that release.
        if counts.contains_key("late-reply") {
            late.push(path.file_stem().unwrap().to_owned());
        }
        again += counts.get("seq-again").copied().unwrap_or_default();
    }
    // The client in the recording with losses requested the other 8 of the 17 copies.
    assert_eq!(again, 9);
    assert!(late.len() >= 2, "{late:?}");
    for name in late {
        let with_ddnet_16 = ["dd-session", "map-dd", "rich-dd16"];
        assert!(with_ddnet_16.iter().any(|with| name == *with), "{name:?}");
    }
}

/// A recording that lacks 1 % to 20 % of its datagrams shows no faults of the peers.
#[test]
fn recordings_with_losses_have_no_errors() {
    let mut ahead = 0;
    for path in paths() {
        let events = events(&path);
        for (seed, every) in [(1, 100), (2, 20), (3, 10), (4, 5)] {
            let mut random: u64 = seed;
            let kept = events.iter().filter(|event| {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                !matches!(event.what, EventKind::Datagram(_)) || !(random >> 33).is_multiple_of(every)
            });
            let counts = counts(kept);
            for code in OF_STREAMS
                .iter()
                .filter(|code| code.severity() == Severity::Error)
            {
                assert_eq!(
                    counts.get(code.name()),
                    None,
                    "{} {every}: {counts:?}",
                    path.display()
                );
            }
            ahead += counts.get("seq-ahead").copied().unwrap_or_default();
        }
    }
    assert!(ahead > 50, "{ahead}");
}
