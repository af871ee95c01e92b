//! `teetap report` of the built binary: its numbers, its limits, what it hides, and the file that it writes.

use std::{collections::BTreeMap, fs};

use teetap_kit::binary::{self, objects, place};

use crate::{refused, run, teetap};

const CAPTURES: &str = "tests/captures";
const MUSEUM: &str = "museum";

fn captures() -> Vec<String> {
    let files = [CAPTURES, MUSEUM].map(|folder| fs::read_dir(folder).unwrap());
    let files = files.into_iter().flatten().map(|file| file.unwrap().path());
    let captures = files.filter(|path| path.extension().is_some_and(|ending| ending == "pcap"));
    let mut paths: Vec<String> = captures.map(|path| path.to_str().unwrap().to_owned()).collect();
    paths.sort();
    assert!(paths.len() > 25, "{paths:?}");
    paths
}

/// Returns the cells of the table below a heading.
fn table(report: &str, heading: &str) -> Vec<Vec<String>> {
    let Some((_, section)) = report.split_once(heading) else {
        return Vec::new();
    };
    let section = section
        .split_once("\n## ")
        .map_or(section, |(section, _)| section);
    let lines = section.lines().skip_while(|line| !line.starts_with("|--"));
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| {
        line.trim_matches('|')
            .split('|')
            .map(|cell| cell.trim().to_owned())
            .collect()
    };
    rows.map(cells).collect()
}

#[test]
fn the_bits_add_up_and_counts_are_those_of_the_lines() {
    for path in captures() {
        let report = run(&["report", "-q", &path], 0).0;
        assert!(report.chars().count() <= 60_000, "{path}");
        let rows = table(&report, "\n## Bits\n");
        let bits = |row: &Vec<String>| row[4].parse::<u64>().unwrap();
        let (all, parts) = rows.split_last().unwrap();
        assert_eq!(all[1], "all", "{path}");
        assert_eq!(parts.iter().map(bits).sum::<u64>(), bits(all), "{path}");
        let (bytes, _) = report.split_once(" bytes) that the peers sent").unwrap();
        let (_, bytes) = bytes.rsplit_once('(').unwrap();
        assert_eq!(8 * bytes.parse::<u64>().unwrap(), bits(all), "{path}");
        let mut lines: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
        for line in objects(&run(&["open", "--json", &path], 0).0) {
            if line["event"] == "message" {
                let name = line["name"].as_str();
                let key = (line["dir"].as_str().unwrap(), name.unwrap_or_default());
                let sum = lines
                    .entry((key.0.to_owned(), format!("`{}`", key.1)))
                    .or_default();
                sum.0 += 1;
                sum.1 += line["size"].as_u64().unwrap();
            }
        }
        for row in parts.iter().filter(|row| !row[0].is_empty()) {
            if let Some(expected) = lines.get(&(row[0].clone(), row[1].clone())) {
                let found = (row[2].parse().unwrap(), row[3].parse().unwrap());
                assert_eq!(found, *expected, "{path}: {row:?}");
            }
        }
    }
}

#[test]
fn findings_are_those_of_judge_and_texts_are_hidden() {
    for path in captures() {
        let report = run(&["report", "-q", &path], 0).0;
        let judged: Vec<String> = run_judge(&path);
        let rows = table(&report, "\n## Findings\n");
        let codes: Vec<String> = rows
            .iter()
            .map(|row| row[2].trim_matches('`').to_owned())
            .collect();
        assert_eq!(codes, judged[..judged.len().min(20)], "{path}");
        for text in ["nameless tee", "hello", "10.0.", "192.168."] {
            assert!(!report.contains(text), "{path}: {text}");
        }
    }
}

/// Returns the codes of the findings of a recording, the first rank first.
fn run_judge(path: &str) -> Vec<String> {
    let output = teetap().args(["judge", "--json", "-q", path]).output().unwrap();
    let lines = objects(&String::from_utf8(output.stdout).unwrap());
    let findings = lines.iter().filter(|line| line["event"] == "finding");
    let codes = findings.map(|line| line["code"].as_str().unwrap().to_owned());
    codes.collect()
}

#[test]
fn a_report_replaces_a_file_and_refuses_what_it_cannot_read() {
    let (folder, path) = place("report.md");
    let output = path.to_str().unwrap();
    fs::write(&path, "before").unwrap();
    let capture = "tests/captures/tw07-session.pcap";
    let (stdout, _) = run(&["report", "-q", capture, "-o", output], 0);
    assert_eq!(stdout, "");
    let report = fs::read_to_string(&path).unwrap();
    assert!(
        report.starts_with("# teetap report: `tw07-session.pcap`\n"),
        "{report}"
    );
    let piped = binary::piped(teetap().args(["report", "-"]), &fs::read(capture).unwrap(), 0).0;
    let rest = |text: &str| {
        text.split_once("## ")
            .unwrap()
            .1
            .split_once("\n## Repeat")
            .unwrap()
            .0
            .to_owned()
    };
    assert_eq!(rest(&piped), rest(&report));
    refused(&["report", "-q", capture, "--for", "9"], 2, "has no session 9");
    refused(&["report", "-q", "Cargo.toml"], 5, "this is not a recording");
    refused(&["report", "-q", "/nowhere"], 2, "cannot open /nowhere");
    refused(
        &["report", "-q", capture, "-o", "/nowhere/x.md"],
        3,
        "cannot write /nowhere/x.md",
    );
    // A damaged recording is summed up as far as it can be read.
    let cut = folder.path().join("cut.pcap");
    let bytes = fs::read(capture).unwrap();
    fs::write(&cut, &bytes[..bytes.len() - 5]).unwrap();
    let (stdout, stderr) = run(&["report", "-q", cut.to_str().unwrap()], 5);
    assert!(
        stdout.contains("| damage | `the recording is truncated"),
        "{stdout}"
    );
    assert!(
        stderr.contains("the report is about the part before it"),
        "{stderr}"
    );
}
