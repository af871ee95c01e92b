//! `teetap judge` of the built binary: its output, its exit code, its options and its report.

use std::{fs, path::Path};

use teetap_inspect::judge::{FindingCode, Topic};
use teetap_kit::binary::{self, objects, place};

use crate::{refused, run, teetap};

/// A capture with a keepalive that DDNet drops, and harmless oddities.
const NPM: &str = "tests/captures/npm-to-dd16.pcap";
/// A capture with harmless oddities only.
const RICH: &str = "tests/captures/rich-tw07.pcap";
const CLEAN: &str = "tests/captures/tw07-session.pcap";

/// Writes a copy of a capture in which a client of 0.7 acks far ahead at the end.
fn faulty(folder: &Path) -> String {
    let mut bytes = fs::read(CLEAN).unwrap();
    // The client's last datagram with chunks, as the offset of its first byte after the Ethernet, IP and UDP headers.
    let (mut at, mut found) = (24, None);
    while let Some(header) = bytes.get(at..at + 16) {
        let len = u32::from_le_bytes(header[8..12].try_into().unwrap());
        let start = at + 16;
        let udp = start + 14 + 20;
        let is_to_server = bytes[udp + 2..udp + 4] == bytes_of_first_target(&bytes);
        if is_to_server && bytes[udp + 8] & 0x2c == 0 {
            found = Some(udp + 8);
        }
        at = start + usize::try_from(len).unwrap();
    }
    let game = found.unwrap();
    bytes[game] |= 1;
    let path = folder.join("ahead.pcap");
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Returns the destination port of the first datagram of a capture.
fn bytes_of_first_target(bytes: &[u8]) -> [u8; 2] {
    let udp = 24 + 16 + 14 + 20;
    [bytes[udp + 2], bytes[udp + 3]]
}

#[test]
fn a_recording_without_oddities_has_no_findings() {
    let (stdout, stderr) = run(&["judge", CLEAN], 0);
    assert_eq!(
        stdout,
        "nothing found that a receiver drops, ignores or reads differently\n"
    );
    assert!(stderr.contains("no findings, exit 0"), "{stderr}");
    let lines = objects(&run(&["judge", "--json", CLEAN], 0).0);
    let events: Vec<_> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["start", "summary"]);
    assert_eq!(lines[1]["findings"]["errors"], 0);
}

#[test]
fn the_ends_of_sessions_are_listed_on_request() {
    let clean = "nothing found that a receiver drops, ignores or reads differently\n";
    let end = |file: &str| {
        format!(
            "1. info session-end: the client closed the session\n   ended by the client (Teeworlds 0.7.5, assumed), session 1, at 11.089 s\n   \
             teetap open {file} -f 'sess.id == 1'\n   teetap explain session-end\n"
        )
    };
    assert_eq!(
        run(&["judge", "-v", CLEAN], 0).0,
        format!("{clean}{}", end(CLEAN))
    );
    let only = ["judge", "--only", "session-end", CLEAN];
    assert_eq!(run(&only, 0).0, format!("{clean}{}", end(CLEAN)));
    let lines = objects(&run(&["judge", "--json", "-v", CLEAN], 0).0);
    let roles: Vec<_> = lines.iter().filter_map(|line| line["role"].as_str()).collect();
    assert_eq!(roles, ["end"]);
    assert_eq!(lines.last().unwrap()["findings"]["infos"], 0);
}

#[test]
fn an_error_is_listed_first_with_its_place_and_how_to_see_it() {
    let (folder, _) = place("unused");
    let path = faulty(folder.path());
    let (stdout, stderr) = run(&["judge", &path], 1);
    let lines: Vec<&str> = stdout.lines().collect();
    assert!(
        lines[0].starts_with(
            "1. error ack-ahead: acks a chunk that was never sent: the receiver drops the datagram; got "
        ),
        "{stdout}"
    );
    assert!(lines[0].contains(", expected at most "), "{stdout}");
    assert!(
        lines[1].starts_with("   fault of the client (Teeworlds 0.7.5, assumed), session 1, frame "),
        "{stdout}"
    );
    assert!(
        lines[2].ends_with("-f 'sess.id == 1 and lint.ack_ahead'"),
        "{stdout}"
    );
    assert_eq!(lines[3], "   teetap explain ack-ahead");
    assert!(stderr.contains("1 error, exit 1"), "{stderr}");
    // The suggested command shows the line.
    let (shown, _) = run(&["open", &path, "-f", "sess.id == 1 and lint.ack_ahead"], 0);
    assert!(shown.contains("!ack-ahead"), "{shown}");
    let json = objects(&run(&["judge", "--json", &path], 1).0);
    let finding = json.iter().find(|line| line["event"] == "finding").unwrap();
    assert_eq!(
        (&finding["rank"], &finding["code"]),
        (&1.into(), &"ack-ahead".into())
    );
    assert_eq!(json.last().unwrap()["findings"]["errors"], 1);
    assert_eq!(json.last().unwrap()["exit"], 1);

    // From stdin, and with known findings excluded.
    let bytes = fs::read(&path).unwrap();
    let piped = binary::piped(teetap().args(["judge", "-"]), &bytes, 1).0;
    assert!(piped.contains("teetap open - -f"), "{piped}");
    run(&["judge", "--ignore", "ack-ahead", &path], 0);
    run(&["judge", "--only", "wrong-token,snap-late", &path], 0);
    let known = folder.path().join("known.txt");
    let known = known.to_str().unwrap();
    for (text, code) in [
        ("ack-ahead # until it is fixed\n", 0),
        ("ack_ahead client\n", 0),
        ("ack-ahead server\n", 1),
    ] {
        fs::write(known, text).unwrap();
        run(&["judge", "--ignore-file", known, &path], code);
    }
    fs::write(known, "wrong-token\nack-ahaed\n").unwrap();
    let refusal = format!("{known}:2: unknown code 'ack-ahaed'; did you mean 'ack-ahead'?");
    refused(&["judge", "--ignore-file", known, &path], 2, &refusal);
}

#[test]
fn harmless_oddities_are_listed_on_request() {
    let (stdout, _) = run(&["judge", NPM], 0);
    assert!(
        stdout.starts_with("1. warning empty-without-resend: "),
        "{stdout}"
    );
    assert!(
        stdout.ends_with("1 harmless oddity not listed: -v lists them\n"),
        "{stdout}"
    );
    let (all, _) = run(&["judge", "-v", NPM], 0);
    assert!(all.contains("\n2. info "), "{all}");
    // If there are no other findings, harmless oddities have one line each.
    let (brief, _) = run(&["judge", "--ignore", "kicked", RICH], 0);
    let lines: Vec<&str> = brief.lines().collect();
    assert_eq!(lines[0], "no errors or warnings, 2 harmless oddities:");
    assert!(
        lines[1].starts_with("1. info surplus-bytes in enter_game: ")
            && lines[1].contains("; by the client (DDNet 20.1), session 1"),
        "{brief}"
    );
    assert!(lines[2].starts_with("2. info surplus-bytes "), "{brief}");
    assert!(
        lines[3].starts_with("-v shows how to see them") && lines.len() == 4,
        "{brief}"
    );
    let (only, _) = run(&["judge", "--only", "snap-undeclared", NPM], 0);
    assert!(
        only.starts_with("no errors or warnings, 1 harmless oddity:\n1. info snap-undeclared "),
        "{only}"
    );
    // The server names its release to server browsers, the client names its release when it joins.
    assert!(stdout.contains("fault of the client ("), "{stdout}");
}

#[test]
fn a_report_has_a_test_for_each_finding() {
    let (folder, report) = place("report.xml");
    let path = faulty(folder.path());
    run(&["judge", "--junit", report.to_str().unwrap(), &path], 1);
    let text = fs::read_to_string(&report).unwrap();
    for part in [
        "tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\"",
        "<property name=\"exit\" value=\"1\"/>",
        "classname=\"teetap.findings\" name=\"ack-ahead by the client in session 1\"",
        "<failure message=\"ack-ahead: acks a chunk that was never sent",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    run(&["judge", "--junit", report.to_str().unwrap(), NPM], 0);
    let text = fs::read_to_string(&report).unwrap();
    assert!(
        text.contains("failures=\"0\"") && text.contains("<system-out>warning "),
        "{text}"
    );
}

/// A recording that cannot be read to its end may hide findings.
#[test]
fn a_report_has_an_error_for_a_damaged_recording() {
    let (folder, report) = place("report.xml");
    let path = folder.path().join("cut.pcap");
    let path = path.to_str().unwrap();
    let bytes = fs::read(CLEAN).unwrap();
    for (cut, code, errors) in [(0, 0, 0), (1, 5, 1)] {
        fs::write(path, &bytes[..bytes.len() - cut]).unwrap();
        let (_, stderr) = run(&["judge", "--junit", report.to_str().unwrap(), path], code);
        let text = fs::read_to_string(&report).unwrap();
        let counts = format!("tests=\"1\" failures=\"0\" errors=\"{errors}\" skipped=\"0\"");
        assert!(text.contains(&counts), "{text}");
        let damage = stderr.split("cut.pcap: ").nth(1);
        let damage = damage.and_then(|rest| rest.split("; the findings are").next());
        assert_eq!(damage.is_some(), cut > 0, "{stderr}");
        let error = damage.map_or(String::new(), |damage| format!("<error message=\"{damage}"));
        assert!(
            text.contains(&error) && text.contains("<error") == (cut > 0),
            "{text}"
        );
    }
}

#[test]
fn what_is_not_a_recording_or_a_code_is_refused() {
    refused(
        &["judge", "no-such-file.pcap"],
        2,
        "cannot open no-such-file.pcap",
    );
    refused(
        &["judge", "--only", "wrong-tokn", CLEAN],
        2,
        "invalid value for --only: unknown code 'wrong-tokn'; did you mean 'wrong-token'?",
    );
    refused(
        &["judge", "--ignore-file", "no-such-file", CLEAN],
        2,
        "cannot read no-such-file",
    );
    refused(&["judge", "Cargo.toml"], 5, "this is not a recording");
    refused(&["judge", "tests"], 2, "cannot open tests: is a directory");
    refused(&["judge", CLEAN, CLEAN], 2, "unexpected argument");
    refused(&["judge", "--ignore-file", CLEAN, CLEAN], 2, "cannot read");
    refused(&["judge", "--only", "", CLEAN], 2, "unknown code ''");
    // A damaged file: the findings before the damage, and the damage.
    let (folder, _) = place("unused");
    let path = folder.path().join("cut.pcap");
    let bytes = fs::read(CLEAN).unwrap();
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let (stdout, stderr) = run(&["judge", path.to_str().unwrap()], 5);
    assert_eq!(stdout, "nothing found before the damage\n");
    assert!(stderr.contains("the findings are those before it"), "{stderr}");
}

/// A file without the game must not be reported as free of findings.
#[test]
fn a_capture_without_the_game_is_refused() {
    let (_folder, path) = place("other.pcap");
    for (link, frames, why) in [
        (1_u32, 0, "it is empty"),
        (1, 2, "2 other packets"),
        (147, 2, "link type 147"),
    ] {
        let head = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, link];
        let mut capture = head.map(u32::to_le_bytes).concat();
        for _ in 0..frames {
            capture.extend([1_767_225_600_u32, 0, 42, 42].map(u32::to_le_bytes).concat());
            // ARP.
            capture.extend([&[2; 12][..], &[8, 6], &[0; 28]].concat());
        }
        fs::write(&path, capture).unwrap();
        let (stdout, stderr) = binary::run(teetap().args(["judge", "-q", path.to_str().unwrap()]), 2);
        assert_eq!(stdout, "");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        let is_said = stderr.contains("it has no datagram of the game") && stderr.contains(why);
        assert!(is_said, "{why}: {stderr}");
    }
}

#[test]
fn the_page_lists_every_kind_that_is_not_a_note() {
    let page = fs::read_to_string("docs/src/judge.md").unwrap();
    let rows: Vec<_> = page.lines().filter(|line| line.starts_with("| `")).collect();
    assert_eq!(rows.len(), FindingCode::ALL.len());
    for (row, matter) in rows.iter().zip(FindingCode::ALL) {
        let topic = Topic::FindingCode(*matter);
        let (severity, role) = (topic.severity_as(topic.role()).name(), topic.role().name());
        let start = format!("| `{topic}` | {severity} | {role} | ");
        assert!(row.starts_with(&start), "{row}: not {start}");
    }
}
