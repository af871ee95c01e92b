//! Filters through the built binary: the output of `-f`, the ends of runs by `--until` and `--timeout`, and the
//! report of a wrong filter.

use serde_json::Value;
use teetap_kit::binary;

use crate::{refused, run};

/// Returns stdout and stderr of a demo with these options, which must end with `code`.
fn demo(options: &[&str], code: i32) -> (String, String) {
    run(&[&["demo", "-l", "127.0.0.1:0"], options].concat(), code)
}

#[test]
fn a_filter_shows_matching_messages_and_all_sessions() {
    let options = ["--seconds", "1", "-f", r#"sv_chat.message contains "of seven""#];
    let (plain, _) = demo(&options, 0);
    let (sessions, messages): (Vec<&str>, Vec<&str>) =
        plain.lines().partition(|line| line.contains("session "));
    assert!(sessions.len() >= 6, "{plain}");
    assert!(!messages.is_empty(), "{plain}");
    for line in messages {
        assert!(line.contains(" sv_chat ") && line.contains("of seven"), "{line}");
    }
    let (json, _) = demo(&[&options[..], &["--json", "-v"]].concat(), 0);
    let lines = json
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let names: Vec<Value> = lines
        .filter(|line| line["event"] == "message")
        .map(|line| line["name"].clone())
        .collect();
    assert!(
        !names.is_empty() && names.iter().all(|name| name == "sv_chat"),
        "{names:?}"
    );
}

#[test]
fn a_filter_takes_the_number_of_a_datagram_in_the_file_or_the_run() {
    let path = "tests/captures/tw07-session.pcap";
    let count = |filter: &str| -> usize { run(&["grep", "-c", filter, path], 0).0.trim().parse().unwrap() };
    assert_eq!(count("frame >= 1"), count("c2s or s2c"));
    assert_eq!(count("frame == 1 and ctrl.token"), 1);
    run(&["grep", "frame == 0 or frame > 100000", path], 1);
    // In a proxy's recording the messages are numbered by its packets, and most events have two packets.
    let own = "tui/src/tests/proxied.pcapng";
    let (all, _) = run(&["grep", "-c", "c2s or s2c", own], 0);
    let (odd, _) = run(&["grep", "-c", "frame % 2 == 1", own], 0);
    assert!(
        odd.trim().parse::<u32>().unwrap() > 0 && odd != all,
        "{odd} of {all}"
    );
    let (first, _) = demo(&["--seconds", "1", "--json", "-f", "frame <= 20"], 0);
    let messages = first.lines().filter(|line| line.contains(r#""event":"message""#));
    assert!((5..60).contains(&messages.count()), "{first}");
}

#[test]
fn a_filter_remembers() {
    let (plain, _) = demo(&["--seconds", "1", "-f", "input and count(input) == 3"], 0);
    let inputs = plain.lines().filter(|line| line.contains(" input ")).count();
    assert_eq!(inputs, 2, "one of each session: {plain}");
}

#[test]
fn until_ends_a_run_when_a_message_matches() {
    let (json, _) = demo(
        &[
            "--seconds",
            "60",
            "--json",
            "-f",
            "cl_say",
            "--until",
            "sv_chat.client_id == 1",
        ],
        0,
    );
    // The message that ended the run need not be shown.
    assert!(!json.contains("\"name\":\"sv_chat\""), "{json}");
    let last: Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    assert_eq!((&last["event"], &last["exit"]), (&"summary".into(), &0.into()));
    assert_eq!(last["ended_by"]["message"], "sv_chat", "{last}");
    assert!(last["t"].as_f64().unwrap() < 30.0, "{last}");
}

#[test]
fn a_timeout_is_a_failure_only_with_until() {
    demo(
        &["--seconds", "60", "--timeout", "300ms", "--until", "rcon_auth"],
        4,
    );
    demo(&["--seconds", "60", "--timeout", "0.3s"], 0);
    for wrong in ["5", "5x", "0s", "-1s", "5kB", "soon"] {
        let (_, stderr) = demo(&[&format!("--timeout={wrong}")], 2);
        assert!(stderr.contains("unit of time"), "{wrong}: {stderr}");
    }
}

#[test]
fn a_wrong_expression_is_refused_with_its_place_before_anything_starts() {
    for option in ["--filter", "--until"] {
        let (stdout, stderr) = demo(&[option, "sv_chat.mesage == 1"], 2);
        assert_eq!(stdout, "");
        for part in [
            format!("teetap: invalid expression for {option}\nerror[E103]"),
            format!("--> {option}:1:9"),
            "did you mean `message`?".to_owned(),
        ] {
            assert!(stderr.contains(&part), "{stderr}");
        }
    }
    // An expression that can never match causes a warning, and the run continues.
    let (_, stderr) = demo(&["--seconds", "1", "-f", "c2s and s2c"], 0);
    assert!(stderr.contains("warning["), "{stderr}");
}

/// A script can tell whether the awaited message was received, however the run ended.
#[test]
fn the_exit_code_shows_that_until_never_matched() {
    let never = r#"sv_chat.message contains "zzz""#;
    demo(&["--seconds", "1", "--until", never], 4);
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures/map-dd.pcap");
    for (until, code) in [(never, 4), ("sv_motd", 0)] {
        run(&["open", "--until", until, capture], code);
    }
}

#[test]
fn filters_match_fields_of_snapshots() {
    // The bots of the demo stand on the ground and run to and fro; item ids are client ids.
    for (text, some) in [
        ("any_snap and snap.crc_ok", true),
        ("any_snap and not snap.crc_ok", false),
        ("snap.character[1].y == 497 and snap.tick > 5", true),
        ("snap.character[1].y == 498", false),
        ("snap.character[9].y == 497", false),
        ("sv_chat or snap.parts == 2", true),
        ("any_snap and snap.parts == 2", false),
        // Matches the field of the message, in all snapshots.
        ("any_snap or sys.snap.tick > 5", true),
        ("lint.snap_no_base or lint.snap_bad_crc", false),
    ] {
        let (stdout, _) = demo(&["--seconds", "1", "-f", text], 0);
        let messages = stdout.lines().filter(|line| !line.contains(" session "));
        let (snapshots, others): (Vec<&str>, Vec<&str>) = messages.partition(|line| line.contains(" snap_"));
        let is_chat = text.contains("sv_chat");
        assert_eq!(!snapshots.is_empty(), some && !is_chat, "{text}: {stdout}");
        assert_eq!(!others.is_empty(), is_chat, "{text}: {stdout}");
    }
}

#[test]
fn grep_prints_what_matches_in_a_recording_and_ends_as_grep_does() {
    let (_folder, file) = binary::place("demo.pcapng");
    let path = file.to_str().unwrap();
    demo(&["--seconds", "1", "-w", path], 0);
    let grep = |args: &[&str], code: i32| run(args, code).0;
    let found = grep(&["grep", "cl_say and .message contains \"line 1\"", path], 0);
    assert_eq!(found.lines().count(), 2, "{found}");
    assert!(found.lines().all(|line| line.contains(" cl_say ")), "{found}");
    let found = grep(&["grep", "--json", "sv_motd", path], 0);
    for line in found.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(line["name"] == "sv_motd" || line["event"] != "message", "{line}");
        let event = line["event"].as_str().unwrap();
        assert!(!["session", "notice", "log"].contains(&event), "{line}");
    }
    assert_eq!(grep(&["grep", "-q", "rcon_auth", path], 1), "");
    let nothing = grep(&["grep", "--json", "rcon_auth", path], 1);
    assert!(nothing.trim_end().ends_with("\"exit\":1}"), "{nothing}");
    grep(&["grep", "sv_chat ==", path], 2);
    grep(&["grep", "sv_chat", "no-such-file.pcapng"], 2);
    // Opens the recording itself, filtered.
    let opened = grep(&["open", "-f", "sv_chat", path], 0);
    assert!(
        opened.contains(" sv_chat ") && !opened.contains(" input "),
        "{opened}"
    );
}

/// A recording with 26 sv_chat messages, four of them at 2.484 s.
const RICH: &str = "tests/captures/rich-tw07.pcap";

#[test]
fn grep_prints_messages_around_its_matches() {
    let names = |args: &[&str]| -> Vec<String> {
        let (stdout, _) = run(&[&["grep"], args, &["sv_chat", RICH]].concat(), 0);
        let name = |line: &str| {
            line.get(26..)
                .and_then(|rest| rest.split_whitespace().next().map(str::to_owned))
        };
        stdout
            .lines()
            .map(|line| name(line).unwrap_or_else(|| line.to_owned()))
            .collect()
    };
    assert_eq!(names(&[]).len(), 26);
    assert_eq!(names(&["-m", "3"]), ["sv_chat"; 3]);
    assert_eq!(names(&["-m", "1", "-B", "1"]), ["rcon_line", "sv_chat"]);
    assert_eq!(
        names(&["-m", "1", "-C", "1"]),
        ["rcon_line", "sv_chat", "rcon_line"]
    );
    // A match is printed once, even if it is in the context of another match.
    let both = names(&["-m", "2", "-A", "2"]);
    assert_eq!(
        both,
        ["sv_chat", "rcon_line", "sv_chat", "input_timing", "snap_empty"]
    );
    let separated = names(&["-A", "1"]);
    assert!(separated.contains(&"--".to_owned()), "{separated:?}");
    assert_eq!(separated.iter().filter(|name| *name == "sv_chat").count(), 26);
    for (args, count) in [(&["-c"][..], "26\n"), (&["-c", "-m", "5"], "5\n")] {
        assert_eq!(run(&[&["grep"], args, &["sv_chat", RICH]].concat(), 0).0, count);
    }
    assert_eq!(run(&["grep", "-c", "sv_chat and n > 100", RICH], 1).0, "0\n");
    refused(
        &["grep", RICH, "sv_chat"],
        2,
        "it is a file; write teetap grep EXPR FILE",
    );
    refused(
        &["grep", "-c", "--json", "sv_chat", RICH],
        2,
        "'--count' cannot be used with '--json'",
    );
}

#[test]
fn a_part_of_a_recording_is_printed_with_all_that_is_known() {
    let args = |command, from, to| [command, "--from", from, "--to", to];
    let found = run(
        &[&args("grep", "2s", "2500ms")[..], &["sv_chat", RICH]].concat(),
        0,
    )
    .0;
    // The names are known from earlier messages.
    let named = found
        .lines()
        .filter(|line| line.contains("\"bob\": hello team"))
        .count();
    assert_eq!((found.lines().count(), named), (4, 2), "{found}");
    let (part, _) = run(
        &[&args("open", "2s", "2500ms")[..], &["--json", RICH]].concat(),
        0,
    );
    let times = part
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let times: Vec<f64> = times
        .filter(|line| line["event"] == "message")
        .map(|line| line["t"].as_f64().unwrap())
        .collect();
    assert!(
        times.len() > 10 && times.iter().all(|at| (2.0..=2.5).contains(at)),
        "{times:?}"
    );
    assert!(!part.contains("snap-no-base"), "{part}");
    run(&[&args("grep", "90s", "91s")[..], &["sv_chat", RICH]].concat(), 1);
}

/// Returns a recorded session of 0.7 in which three datagrams of the server cannot be read: one announces no chunk,
/// one has a truncated chunk, and one cannot be decompressed. Also returns their numbers in the file.
fn damaged() -> (Vec<u8>, [usize; 3]) {
    const FRAME: usize = 16 + 42;
    let path = teetap_kit::capture::path("rich-tw07.pcap");
    let mut bytes = std::fs::read(path).unwrap();
    let mut records = Vec::new();
    let mut at = 24;
    while let Some(header) = bytes.get(at..at + 16) {
        records.push(at);
        at += 16 + u32::from_le_bytes(header[8..12].try_into().unwrap()) as usize;
    }
    // Datagrams from the server's port with chunks, neither control packets nor compressed.
    let is_plain = |at: &usize| {
        let frame = &bytes[*at..];
        frame[16 + 34..16 + 36] == 21001u16.to_be_bytes() && frame[FRAME] & 0xfc == 0 && frame[FRAME + 2] > 0
    };
    let plain: Vec<usize> = records.iter().copied().filter(is_plain).collect();
    let last = plain.len() - 1;
    let [empty, truncated, garbage] = [plain[last - 2], plain[last - 1], plain[last]];
    bytes[empty + FRAME + 2] = 0;
    bytes[truncated + FRAME + 7] |= 0x3f;
    bytes[garbage + FRAME] |= 0x10;
    let len = u32::from_le_bytes(bytes[garbage + 8..garbage + 12].try_into().unwrap()) as usize;
    bytes[garbage + FRAME + 7..garbage + 16 + len].fill(0xff);
    let number = |record| 1 + records.iter().position(|at| *at == record).unwrap();
    (bytes, [empty, truncated, garbage].map(number))
}

#[test]
fn filters_find_datagrams_without_a_readable_message() {
    let (_dir, path) = binary::place("damaged.pcap");
    let (bytes, numbers) = damaged();
    std::fs::write(&path, bytes).unwrap();
    let path = path.to_str().unwrap();
    for (note, number) in ["empty_without_resend", "chunk_truncated", "bad_huffman"]
        .iter()
        .zip(numbers)
    {
        let filter = |first, last| {
            format!(
                "lint.{note} and frame in {first}..{last} and frame > {}",
                first - 1
            )
        };
        run(&["grep", &filter(number, number), path], 0);
        run(&["grep", &filter(number + 1, number + 3), path], 1);
        run(&["grep", &filter(number - 3, number - 1), path], 1);
    }
    for (filter, found) in [
        ("lint.empty_without_resend", "!empty-without-resend"),
        ("lint.chunk_truncated", "!chunk-truncated"),
        ("lint.bad_huffman", "!bad-huffman"),
    ] {
        let (grep, _) = run(&["grep", filter, path], 0);
        let (open, _) = run(&["open", "-f", filter, path], 0);
        let (count, _) = run(&["grep", "-c", filter, path], 0);
        // Sentences about the notes follow.
        let lines = || grep.lines().filter(|line| line.contains(" datagram "));
        assert_eq!(count.trim(), lines().count().to_string(), "{filter}");
        for line in lines() {
            assert!(line.contains(found), "{filter}: {line}");
            assert!(open.contains(line), "{filter}: {line} is not in {open}");
        }
        let (around, _) = run(&["grep", "-B1", "-m1", filter, path], 0);
        let lines = around.lines().filter(|line| line.contains('→'));
        assert_eq!(lines.count(), 2, "{filter}: {around}");
        let (json, _) = run(&["grep", "--json", filter, path], 0);
        let objects = binary::objects(&json);
        assert!(
            objects.iter().any(|line| line["event"] == "datagram"),
            "{filter}: {json}"
        );
        let (_, stderr) = run(&["open", "-q", "--until", filter, path], 0);
        assert!(stderr.contains("exit 0"), "{filter}: {stderr}");
    }
    let (malformed, _) = run(&["grep", "malformed", path], 0);
    for note in ["!bad-huffman", "!chunk-truncated"] {
        assert!(malformed.contains(note), "{note}: {malformed}");
    }
    let (_, _) = run(&["grep", "lint.bad_huffman and c2s", path], 1);
}
