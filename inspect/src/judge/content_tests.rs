//! Clients and servers with a fault in the contents of inputs and snapshots, in four protocols: the first finding names
//! the fault, the received and expected values, and the effect. Correct peers are not accused on any network.

use std::{
    fs::{self, File},
    io::BufReader,
    path::Path,
};

use teetap_capture::Playback;
use teetap_kit::{
    codec::Variant,
    faulty::{self, CONTENT_FAULTS, SECOND, SERVER_FAULTS, ServerAct, Setting},
    link::{Conditions, MS, Random},
};
use teetap_wire::{Severity, def::Registry};

use super::{faulty_tests::findings, *};

/// The expected first finding for a fault: the name of the fault, the code of the finding, and texts, separated by `|`,
/// that its sentence contains.
type Row = (&'static str, &'static str, &'static str);

#[rustfmt::skip]
const OF_CLIENTS: &[Row] = &[
    ("acks a later tick", "snap-ack-ahead", "got an ack of tick |, expected at most |DDNet since 19.9 drops the input"),
    ("acks below none", "out-of-range", "got -2|expected -1"),
    ("acks none", "snap-unacked", "got an ack of -1 (none)|expected the tick|the server sends complete snapshots"),
    ("acks the first snapshot only", "snap-ack-old", "got an ack of tick 120, expected one near |the server drops that snapshot"),
    ("acks old snapshots", "snap-ack-old", "got an ack of tick |, expected one near |the server drops that snapshot"),
    ("inputs far ahead", "input-ahead", "got tick |, expected little more than |the player does not move"),
    ("inputs in the unit of milliseconds", "input-ahead", "got tick |, expected little more than |the player does not move"),
    ("inputs for one tick", "input-stuck", "got tick 130 in 15 inputs in a row, expected one after |the server applies each in its next tick"),
    ("acks none after a while", "snap-unacked", "got an ack of -1 (none)|expected the tick|the server sends complete snapshots"),
    ("input size in ints", "object-short", "got an input of 10 bytes, expected at least 40|DDNet since 19.9 drops it"),
    ("input size with the header", "missing-field", "got |expected "),
    ("input size of 0", "object-short", "got an input of 0 bytes, expected at least 40|DDNet since 19.9 drops it"),
];

#[rustfmt::skip]
const OF_SERVERS: &[Row] = &[
    ("complete snapshots for ever", "snap-ack-ignored", "got | complete snapshots in a row, expected differences: the client has acked tick |they are larger"),
    ("ticks go back once", "snap-tick-back", "got tick |, expected more than |the client ignores every snapshot"),
    ("ticks count down", "snap-tick-back", "got tick |, expected more than |the client ignores every snapshot"),
    ("without the last part", "snap-part-never", "got 20 snapshots in a row without part |, expected all parts|the client drops all of them"),
    ("without the middle part", "snap-part-never", "without part 2 of |, expected all parts|the client drops all of them"),
];

/// Returns a session with this number of items besides the player.
fn setting(variant: Variant, seed: u64, items: i32) -> Setting {
    Setting {
        length: 14 * SECOND,
        talks: true,
        items: Some(items),
        ..Setting::new(variant, seed)
    }
}

/// Returns the differences between the first finding and the expected one; `None` if there are none.
fn difference(found: &Findings, by: Culprit, (name, code, texts): Row) -> Option<String> {
    let is_right = |first: &Finding| {
        let sentence = first.sentence();
        let has_texts = texts.split('|').all(|text| sentence.contains(text));
        first.topic.name() == code && first.by == by && first.role == Role::Fault && has_texts
    };
    let list: Vec<_> = found.list.iter().map(ToString::to_string).collect();
    (!found.list.first().is_some_and(is_right)).then(|| format!("{name}: not {code}: {list:#?}"))
}

#[test]
fn the_first_finding_names_the_fault_of_the_contents_of_a_client() {
    assert_eq!(OF_CLIENTS.len(), CONTENT_FAULTS.len());
    let mut wrong = Vec::new();
    for (fault, row) in CONTENT_FAULTS.iter().zip(OF_CLIENTS) {
        assert_eq!(fault.name, row.0);
        for variant in fault.variants {
            for seed in 0..2 {
                let (found, _) = findings(&setting(*variant, seed, 4), Some(fault));
                wrong.extend(
                    difference(&found, Culprit::Client, *row).map(|text| format!("{variant:?} {text}")),
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_first_finding_names_the_fault_of_the_contents_of_a_server() {
    assert_eq!(OF_SERVERS.len(), SERVER_FAULTS.len());
    let mut wrong = Vec::new();
    for (fault, row) in SERVER_FAULTS.iter().zip(OF_SERVERS) {
        assert_eq!(fault.name, row.0);
        for variant in Variant::ALL {
            for seed in 0..2 {
                let setting = Setting {
                    server_act: Some(fault.act),
                    ..setting(variant, seed, fault.items)
                };
                let (found, _) = findings(&setting, None);
                wrong.extend(
                    difference(&found, Culprit::Server, *row).map(|text| format!("{variant:?} {text}")),
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// The codes of the checks of contents.
const CODES: [&str; 7] = [
    "input-ahead",
    "input-stuck",
    "snap-ack-ahead",
    "snap-ack-ignored",
    "snap-ack-old",
    "snap-part-never",
    "snap-tick-back",
];

/// Returns the warnings and errors about peers.
fn accusing(found: &Findings) -> Vec<String> {
    let accuses = |one: &&Finding| one.severity >= Severity::Warning && one.role == Role::Fault;
    found
        .list
        .iter()
        .filter(accuses)
        .map(ToString::to_string)
        .collect()
}

#[test]
fn snapshots_with_items_have_no_findings() {
    for variant in Variant::ALL {
        for items in [0, 4, 150, 250] {
            let (found, _) = findings(&setting(variant, 1, items), None);
            assert_eq!(accusing(&found), [""; 0], "{variant:?} {items}");
        }
    }
}

/// A network of any quality, and a client whose snapshots never arrive.
#[test]
fn a_bad_network_is_not_taken_for_a_fault_of_the_contents() {
    let mut wrong = Vec::new();
    for variant in Variant::ALL {
        for seed in 0..24 {
            let mut random = Random::new(seed);
            let half = |random: &mut Random| Conditions {
                delay: random.below(400) * MS,
                jitter: random.below(200) * MS * random.below(2),
                loss: random.below(300) as f64 / 1000.0,
                duplicate: random.below(50) as f64 / 1000.0,
            };
            let items = [0, 4, 150, 250].get(usize::try_from(seed % 4).unwrap()).copied();
            let setting = Setting {
                halves: [half(&mut random), half(&mut random)],
                length: 20 * SECOND,
                ..setting(variant, seed, items.unwrap())
            };
            let mut found = findings(&setting, None).0;
            found.list.retain(|one| CODES.contains(&one.topic.name()));
            let found = accusing(&found);
            if !found.is_empty() {
                wrong.push(format!("{variant:?} {seed} {:?}: {found:#?}", setting.halves));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Returns the findings about contents.
fn of_contents(judge: &Judge) -> Vec<String> {
    let mut list = judge.findings().list;
    list.retain(|one| CODES.contains(&one.topic.name()));
    list.iter().map(ToString::to_string).collect()
}

#[test]
fn captures_of_real_peers_have_no_such_findings() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures");
    let mut count = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "pcap") {
            continue;
        }
        let mut playback = Playback::pcap(BufReader::new(File::open(&path).unwrap())).unwrap();
        let mut decoder = Decoder::new(Registry::builtin());
        let mut judge = Judge::new(Secrets::Hide, decoder.stated().clone());
        while let Some(item) = playback.read().unwrap() {
            tests::take(&mut judge, &mut decoder, item);
        }
        judge.finish(&mut decoder);
        assert_eq!(of_contents(&judge), [""; 0], "{}", path.display());
        count += 1;
    }
    assert!(count >= 14, "{count}");
}

/// A peer that reacts to what a rule has changed or dropped is not at fault.
#[test]
fn peers_are_not_accused_of_what_rules_do() {
    for rules in [
        "drop when input",
        "drop when snap",
        "set input.ack_snapshot = -1 when input",
        "set input.ack_snapshot = 99999 when input",
        "set input.intended_tick = 99999 when input",
        "set input.intended_tick = 130 when input",
    ] {
        for variant in [Variant::V6, Variant::Ddnet, Variant::V7] {
            let through = faulty::through(&setting(variant, 0, 150), None, rules).unwrap();
            let mut decoder = Decoder::new(Registry::builtin());
            let mut judge = Judge::new(Secrets::Hide, decoder.stated().clone());
            for event in through.events {
                judge.event(&decoder.decode(event));
            }
            judge.finish(&mut decoder);
            assert_eq!(of_contents(&judge), [""; 0], "{variant:?} {rules}");
        }
    }
}

/// Snapshots whose first part never arrives may be too large for the network.
#[test]
fn large_datagrams_that_never_arrive_accuse_nobody() {
    for variant in Variant::ALL {
        let setting = Setting {
            server_act: Some(ServerAct::Omit(|part, parts| parts > 1 && part + 1 < parts)),
            ..setting(variant, 0, 150)
        };
        let (found, _) = findings(&setting, None);
        assert_eq!(accusing(&found), [""; 0], "{variant:?}");
    }
}
