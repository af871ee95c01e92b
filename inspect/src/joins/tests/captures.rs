//! Recordings of real peers: all enter the game, and only lost datagrams stall a login.

use std::{fs, io::BufReader, path::Path};

use teetap_capture::{Item, Playback};
use teetap_wire::def::Registry;

use crate::{
    Decoder, Style,
    joins::{Join, JoinOutcome},
    row,
};

/// Returns the stalls and the joins of a recording.
fn joins(path: &Path) -> (Vec<String>, Vec<Join>) {
    let file = BufReader::new(fs::File::open(path).unwrap());
    let mut playback = Playback::pcap(file).unwrap();
    let mut decoder = Decoder::new(Registry::builtin());
    let (mut stalls, mut joins) = (Vec::new(), Vec::new());
    while let Some(item) = playback.read().unwrap() {
        let Item::Event(event) = item else { continue };
        while let Some(due) = decoder.due(event.at) {
            stalls.push(row::rows(&due, Style::default()).remove(0).into_text());
        }
        joins.extend(decoder.decode(event).joined);
    }
    joins.extend(decoder.finish(teetap_proxy::session::Time(u64::MAX)));
    (stalls, joins.into_iter().map(|join| (*join).clone()).collect())
}

#[test]
fn only_lost_datagrams_let_the_logins_of_real_peers_stand_still() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/captures");
    let mut seen = Vec::new();
    let mut paths: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    for path in paths {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let (stalls, joins) = joins(&path);
        for join in &joins {
            assert_eq!(join.outcome, JoinOutcome::Entered, "{name}: {join}");
            seen.push(format!("{name}: {}", join.kind));
        }
        let expected: &[&str] = match &*name {
            "loss-tw07" => &[
                "1.375 #1  warning: login stalled: after info (not acked) the client waits for map_change from the server",
                "3.521 #1  warning: login stalled: after enter_game (not acked) the client waits for snap from the server",
            ],
            _ => &[],
        };
        // A later message of the receiver shows that it had not received the first copy.
        let is_by_loss: Vec<_> = joins.iter().map(|join| join.is_by_loss).collect();
        assert_eq!(is_by_loss.contains(&true), !expected.is_empty(), "{name}");
        let stalls: Vec<_> = stalls.iter().map(|line| line.trim_start()).collect();
        assert_eq!(stalls, expected, "{name}");
    }
    seen.dedup();
    assert_eq!(
        seen,
        [
            "dd-session: DDNet",
            "dd16-to-tw06: 0.6 with a challenge",
            "ddh20-to-dd20: DDNet",
            "loss-tw07: 0.7",
            "map-dd: DDNet",
            "map-tw07: 0.7",
            "npm-to-dd16: DDNet",
            "rich-dd16: DDNet",
            "rich-tw07: 0.7",
            "sixup-session: DDNet's 0.7",
            "tw06-session: 0.6.5",
            "tw06c-to-dd20-antispoof: 0.6 with a challenge",
            "tw07-session: 0.7",
        ]
    );
}
