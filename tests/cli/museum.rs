//! The museum: each recording equals the recording that the kit builds, and its first finding is its fault; without the
//! fault there is no finding.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::Value;
use teetap_kit::{
    museum::{PIECES, Piece},
    real::text,
};

use crate::{refused, run, teetap};

/// Returns the notes in the JSON lines of a recording.
fn notes(lines: &str) -> Vec<Value> {
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .flat_map(|line| line["notes"].as_array().cloned().unwrap_or_default())
        .collect()
}

/// Returns the findings of `teetap judge` as pairs of severity and code.
fn findings(folder: &Path, recording: &[u8]) -> Vec<(String, String)> {
    let path = folder.join("piece.pcap");
    fs::write(&path, recording).unwrap();
    let out = teetap().args(["judge", "--json"]).arg(path).output().unwrap();
    // 1: the report contains an error.
    assert!(matches!(out.status.code(), Some(0 | 1)), "{out:?}");
    let lines = String::from_utf8(out.stdout).unwrap();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .filter(|line| line["event"] == "finding")
        .map(|line| (text(&line, "severity").to_owned(), text(&line, "code").to_owned()))
        .collect()
}

/// Returns true if changed files are written instead of refused.
fn is_accepted() -> bool {
    std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always")
}

/// To accept the changed recordings: `INSTA_UPDATE=always cargo test --test cli museum`, then build again.
#[test]
fn each_recording_is_what_the_kit_builds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("museum");
    let repaired = folder.join("repaired");
    for piece in PIECES {
        for (folder, built) in [(&folder, piece.recording()), (&repaired, piece.repaired())] {
            let path = folder.join(format!("{}.pcap", piece.name));
            if is_accepted() {
                fs::write(&path, &built).unwrap();
            }
            let file = fs::read(path).unwrap();
            assert!(
                file == built,
                "{}: not as it is built in {}",
                piece.name,
                folder.display()
            );
            assert!(file.len() < 24 << 10, "{}: {} bytes", piece.name, file.len());
        }
    }
    let files = |folder: &Path| -> BTreeSet<String> {
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap());
        let files = files.filter(|file| file.file_type().unwrap().is_file());
        files
            .map(|file| file.file_name().into_string().unwrap())
            .collect()
    };
    let names: BTreeSet<String> = PIECES
        .iter()
        .map(|piece| format!("{}.pcap", piece.name))
        .collect();
    assert_eq!([files(&folder), files(&repaired)], [names.clone(), names]);
}

/// Heading of the generated part of a page, which ends the page.
const GENERATED: &str = "## What judge says\n";

/// Why `diff` finds no difference.
const SAME: &str = "`diff` compares each message once, and neither its copies nor datagrams, numbers, acks\n\
                    and times: the bug is in those.";

/// Returns the generated part of the page of a piece: the findings, and the difference from the repaired recording.
fn generated(piece: &Piece) -> String {
    let folder = tempfile::tempdir().unwrap();
    let name = piece.name;
    let file = format!("{name}.pcap");
    fs::write(folder.path().join(&file), piece.recording()).unwrap();
    fs::write(folder.path().join("repaired.pcap"), piece.repaired()).unwrap();
    let printed = |args: &[&str]| {
        let out = teetap().args(args).current_dir(folder.path()).output().unwrap();
        assert!(matches!(out.status.code(), Some(0 | 1)), "{out:?}");
        String::from_utf8(out.stdout).unwrap()
    };
    let (judged, differences) = (
        printed(&["judge", "-v", &file]),
        printed(&["diff", &file, "repaired.pcap"]),
    );
    let why = match differences.lines().count() == 1 {
        true => format!(" {SAME}"),
        false => String::new(),
    };
    format!(
        "{GENERATED}\n```console\n$ teetap museum {name} --save {file}\n$ teetap judge -v {file}\n{judged}```\n\n\
         ## The repaired twin\n\nThe same session without the bug has no finding.{why}\n\n```console\n\
         $ teetap museum {name} --repaired --save repaired.pcap\n$ teetap diff {file} repaired.pcap\n{differences}```\n"
    )
}

/// To accept the changed parts: `INSTA_UPDATE=always cargo test --test cli museum`.
#[test]
fn each_page_has_the_findings_and_the_difference_from_the_repaired_recording() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/museum");
    for piece in PIECES {
        let path = folder.join(format!("{}.md", piece.name));
        let page = fs::read_to_string(&path).unwrap();
        let written = page.split(GENERATED).next().unwrap().trim_end();
        let expected = format!("{written}\n\n{}", generated(piece));
        if is_accepted() {
            fs::write(&path, &expected).unwrap();
        } else {
            assert_eq!(page, expected, "{}", path.display());
        }
        for heading in ["What was seen", "What it was", "The finding", "What it costs"] {
            assert_eq!(
                page.matches(&format!("\n## {heading}\n")).count(),
                1,
                "{}: {heading}",
                piece.name
            );
        }
        // Each page names who drops it or what it costs, with its place in the source of a game.
        let cost = written.split("## What it costs\n").nth(1).unwrap();
        assert!(cost.contains(".cpp`"), "{}: {cost}", piece.name);
        assert!(!page.contains("harmless"), "{}", piece.name);
    }
}

#[test]
fn a_repaired_piece_is_played_and_saved_like_the_piece() {
    let folder = tempfile::tempdir().unwrap();
    for piece in PIECES {
        let path = folder.path().join(piece.name);
        let path = path.to_str().unwrap();
        run(&["museum", piece.name, "--repaired", "--save", path], 0);
        assert!(fs::read(path).unwrap() == piece.repaired(), "{}", piece.name);
        // The first line has the name of the file.
        let after_first = |lines: &str| lines.split_once('\n').unwrap().1.to_owned();
        let (lines, _) = run(&["museum", piece.name, "--repaired", "--json"], 0);
        let (opened, _) = run(&["open", path, "--json"], 0);
        assert_eq!(after_first(&lines), after_first(&opened), "{}", piece.name);
    }
    let (lines, _) = run(&["museum", "map-twice", "--repaired"], 0);
    assert!(
        !lines.contains("What was seen") && lines.contains("map_change"),
        "{lines}"
    );
    refused(&["museum", "--repaired"], 2, "NAME");
}

#[test]
fn the_first_finding_of_each_recording_is_its_fault() {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for piece in PIECES {
        let found = findings(folder.path(), &piece.recording());
        if found.first().map(|(_, code)| code.as_str()) != Some(piece.code) {
            wrong.push((piece.name, found));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The list that people see without any option.
#[test]
fn judge_lists_the_fault_first_and_says_so_when_there_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("piece.pcap");
    let judged = |recording: &[u8]| {
        fs::write(&path, recording).unwrap();
        let out = teetap().arg("judge").arg(&path).output().unwrap();
        String::from_utf8(out.stdout).unwrap()
    };
    for piece in PIECES {
        let listed = judged(&piece.recording());
        let first = listed
            .lines()
            .find(|line| line.starts_with("1. "))
            .unwrap_or_default();
        let code = first.split([' ', ':']).nth(2);
        assert_eq!(code, Some(piece.code), "{}: {listed}", piece.name);
        if piece.name == "map-stuck" {
            let why = "the server did not send the rest of map_data (the client has 2 of 4 parts of the map): the client has restarted \
                       the map download";
            assert!(first.contains(why), "{first}");
        }
        let expected = "nothing found that a receiver drops, ignores or reads differently\n";
        assert_eq!(judged(&piece.repaired()), expected, "{}", piece.name);
        let explained = run(&["explain", piece.code], 0).0;
        assert!(explained.starts_with(piece.code), "{explained}");
    }
}

#[test]
fn without_its_fault_a_piece_has_no_finding() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("repaired.pcap");
    let mut wrong = Vec::new();
    for piece in PIECES {
        let found = findings(folder.path(), &piece.repaired());
        fs::write(&path, piece.repaired()).unwrap();
        let (lines, _) = run(&["open", path.to_str().unwrap(), "--json", "-v"], 0);
        let notes = notes(&lines);
        if !found.is_empty() || !notes.is_empty() {
            wrong.push((piece.name, found, notes));
        }
        assert!(
            lines.contains("\"name\":\"input\""),
            "{}: nobody plays",
            piece.name
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_piece_is_explained_and_saved() {
    let (list, _) = run(&["museum"], 0);
    for piece in PIECES {
        assert!(
            list.lines().any(|line| line.starts_with(piece.name)),
            "{}",
            piece.name
        );
    }
    let pickups = PIECES.iter().find(|piece| piece.name == "pickup-size").unwrap();
    let (lines, _) = run(&["museum", "pickup-size", "--json", "-v"], 0);
    let explained = notes(&lines)
        .into_iter()
        .find_map(|note| note["detail"].as_str().map(str::to_owned));
    let expected = "likely cause: pickup is sent with 4 ints, but both sides agreed on 3";
    let explained = explained.unwrap_or_else(|| panic!("no note has a detail: {lines}"));
    assert!(explained.contains(expected), "{explained}");
    let (page, _) = run(&["museum", "pickup-size"], 0);
    assert!(
        page.starts_with("pickup-size\n") && page.contains("What was seen\n"),
        "{page}"
    );
    assert!(page.contains(expected), "{page}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saved.pcap");
    let path = path.to_str().unwrap();
    run(&["museum", "pickup-size", "--save", path], 0);
    let is_same = fs::read(path).unwrap() == pickups.recording();
    assert!(is_same, "the saved piece has other bytes");
    refused(&["museum", "pickup-size", "--save", path], 2, "name a new file");
    for (word, meant) in [
        ("pickup-sise", "pickup-size"),
        ("museum/pickup-size.pcap", "pickup-size"),
        ("PICKUP_SIZE", "pickup-size"),
        ("map-again", "map-twice"),
        ("5834", "map-twice"),
    ] {
        refused(&["museum", word], 2, &format!("did you mean '{meant}'?"));
    }
    refused(&["museum", "nothing-such"], 2, "teetap museum lists them");
    // Each page contains such a word.
    refused(&["museum", "the"], 2, "teetap museum lists them");
    refused(&["museum", "--json"], 2, "name a recording");
    refused(&["museum", "--save", path], 2, "NAME");
}
