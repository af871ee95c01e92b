//! The museum: each recording is what the kit builds, with its finding on top; without the fault it has none.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::Value;
use teetap_kit::{
    museum::{PIECES, Piece},
    real::text,
};

use crate::{refused, run};

/// The notes in the JSON lines of a recording: the severity and the code, in their order.
fn notes(lines: &str) -> Vec<(String, String, Option<String>)> {
    let mut found = Vec::new();
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        for note in line["notes"].as_array().into_iter().flatten() {
            let detail = note["detail"].as_str().map(str::to_owned);
            found.push((
                text(note, "severity").to_owned(),
                text(note, "code").to_owned(),
                detail,
            ));
        }
    }
    found
}

/// Returns the code of the gravest note, the first of several.
fn top(lines: &str) -> Option<String> {
    let rank = |severity: &str| {
        ["error", "warning", "info"]
            .iter()
            .position(|word| *word == severity)
    };
    let notes = notes(lines);
    let (_, code, _) = notes.iter().min_by_key(|(severity, ..)| rank(severity))?;
    Some(code.clone())
}

fn shown(piece: &Piece) -> String {
    run(&["museum", piece.name, "--json", "-v"], 0).0
}

#[test]
fn each_recording_is_what_the_kit_builds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("museum");
    for piece in PIECES {
        let file = fs::read(folder.join(format!("{}.pcap", piece.name))).unwrap();
        assert!(file == piece.recording(), "{}: not as it is built", piece.name);
        assert!(file.len() < 24 << 10, "{}: {} bytes", piece.name, file.len());
    }
    let files = fs::read_dir(folder).unwrap();
    let files: BTreeSet<_> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    let names = PIECES
        .iter()
        .map(|piece| format!("{}.pcap", piece.name))
        .collect();
    assert_eq!(files, names);
}

#[test]
fn each_recording_has_its_finding_on_top() {
    for piece in PIECES {
        let lines = shown(piece);
        assert_eq!(
            top(&lines).as_deref(),
            Some(piece.code),
            "{}: {:?}",
            piece.name,
            notes(&lines)
        );
    }
}

#[test]
fn without_its_fault_a_piece_has_no_finding() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("repaired.pcap");
    for piece in PIECES {
        fs::write(&path, piece.repaired()).unwrap();
        let (lines, _) = run(&["open", path.to_str().unwrap(), "--json", "-v"], 0);
        assert_eq!(notes(&lines), [], "{}", piece.name);
        assert!(
            lines.contains("\"name\":\"input\""),
            "{}: nobody plays",
            piece.name
        );
    }
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
    let explained = notes(&shown(pickups)).into_iter().find_map(|(.., detail)| detail);
    let expected = "likely cause: pickup is sent with 4 ints, but both sides agreed on 3";
    assert!(explained.is_some_and(|detail| detail.contains(expected)));
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
    assert!(fs::read(path).unwrap() == pickups.recording());
    refused(&["museum", "pickup-size", "--save", path], 2, "name a new file");
    refused(&["museum", "pickup-sise"], 2, "did you mean pickup-size?");
    refused(&["museum", "--save", path], 2, "NAME");
}
