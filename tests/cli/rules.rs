//! Rules on the command line: errors are shown before anything starts, with their places.

use std::fs;

use serde_json::{Value, json};
use teetap_kit::binary::{self, place};

use crate::{command_line::NO_SERVER, run, runs::ended, teetap};

/// Two errors, one of them only in the other text.
const WRONG: &str = "link both loss 5\ndrup when c2s\n";

#[test]
fn wrong_rules_start_nothing_and_are_shown_with_their_places() {
    let (_folder, path) = place("rules.tap");
    fs::write(&path, WRONG).unwrap();
    let name = path.to_str().unwrap();
    let expected = [
        "error[E202]: expected a percentage, found `5`".to_owned(),
        format!(" --> {name}:1:16"),
        "error[E011]: unknown action `drup`".to_owned(),
        format!(" --> {name}:2:1"),
    ];
    for args in [
        vec!["run", "-l", "127.0.0.1:0", NO_SERVER, "-R", name, "--", "true"],
        vec!["demo", "-l", ":0", "-R", name],
        vec!["check", name],
    ] {
        let (stdout, stderr) = run(&args, 2);
        assert_eq!(stdout, "");
        assert!(stderr.starts_with("teetap: invalid rules\n"), "{stderr}");
        for line in &expected {
            assert!(
                stderr.lines().any(|shown| shown.trim_end() == line),
                "{line}\n{stderr}"
            );
        }
        assert!(
            !stderr.contains('\u{1b}') && !stderr.contains("listening"),
            "{stderr}"
        );
    }
    let (_, stderr) = run(&["check", name, name], 2);
    assert_eq!(stderr.matches("error[").count(), 4, "{stderr}");
}

#[test]
fn texts_and_files_are_one_program() {
    let (_folder, path) = place("rules.tap");
    fs::write(&path, "use \"cellar\"\n").unwrap();
    let name = path.to_str().unwrap();
    run(&["check", name], 2);
    let profile = "profile cellar { link both loss 5% }";
    let args = [
        "run",
        "-q",
        "-l",
        "127.0.0.1:0",
        NO_SERVER,
        "-r",
        profile,
        "-R",
        name,
        "--",
        "true",
    ];
    let (_, stderr) = run(&args, 0);
    assert!(!stderr.contains("invalid"), "{stderr}");
    binary::run(
        teetap()
            .args(["run", "-q", "-l", "127.0.0.1:0", NO_SERVER, "--", "true"])
            .env("TEETAP_RULE", profile)
            .env("TEETAP_RULES", name),
        0,
    );
    fs::write(&path, "link both loss 5%\n").unwrap();
    assert_eq!(run(&["check", name], 0), (String::new(), String::new()));
}

#[test]
fn a_file_that_cannot_be_read_is_named_without_control_characters() {
    let (folder, _) = place("rules.tap");
    let odd = folder.path().join("a\u{1b}[2Jb.tap");
    let (_, stderr) = run(&["check", odd.to_str().unwrap()], 2);
    assert!(!stderr.contains('\u{1b}'), "{stderr:?}");
    assert!(stderr.contains("b.tap: No such file or directory"), "{stderr}");
    fs::write(&odd, "link up\n").unwrap();
    let (_, stderr) = run(&["check", odd.to_str().unwrap()], 2);
    assert!(
        !stderr.contains('\u{1b}') && stderr.contains("error[E001]"),
        "{stderr:?}"
    );
}

#[test]
fn a_file_is_printed_in_its_canonical_form_or_rewritten() {
    let (_folder, path) = place("rules.tap");
    let name = path.to_str().unwrap();
    let wanted = "# why\ndrop when c2s and input  # how\n";
    fs::write(&path, "#  why\ndrop   when c2s&&input # how").unwrap();
    let wanted = wanted.replace("# why", "#  why");
    assert_eq!(run(&["fmt", name], 0), (wanted.clone(), String::new()));
    assert_eq!(run(&["fmt", "--check", name], 1), Default::default());
    assert_eq!(run(&["fmt", "--write", name], 0), Default::default());
    assert_eq!(fs::read_to_string(&path).unwrap(), wanted);
    assert_eq!(run(&["fmt", "--check", name], 0), Default::default());
    fs::write(&path, WRONG).unwrap();
    for args in [vec!["fmt", name], vec!["fmt", "--write", name]] {
        let (stdout, stderr) = run(&args, 2);
        assert_eq!(
            (stdout.as_str(), stderr.matches("error[").count()),
            ("", 2),
            "{stderr}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), WRONG);
    }
    let (_, stderr) = run(&["fmt", "no-such.tap"], 2);
    assert!(
        stderr.contains("cannot read no-such.tap: No such file"),
        "{stderr}"
    );
}

#[test]
fn statements_are_explained_in_english() {
    let (_folder, path) = place("rules.tap");
    fs::write(&path, "drop when c2s\nlink s2c loss 5%\n").unwrap();
    let (stdout, stderr) = run(&["check", path.to_str().unwrap()], 0);
    assert_eq!((&*stdout, &*stderr), ("", ""));
    let (stdout, stderr) = run(&["check", "--explain", path.to_str().unwrap()], 0);
    assert_eq!(
        stdout,
        "drop when c2s\n    When a message goes to the server: drop it, as if it had never been sent (its sender sees \
         it acked); then try no later rule.\n\nlink s2c loss 5%\n    From the server to the client: lose 5 %.\n"
    );
    assert_eq!(stderr, "");
}

#[test]
fn link_lines_and_profiles_have_options_of_their_own() {
    for (wrong, place) in [
        (["--link", "both delay 5"], "--> --link:1:17"),
        (["--link", "both dup 5% after sv_chta"], "--> --link:1:24"),
        (["-p", "cellar"], "--> --profile:1:5"),
    ] {
        let args = [&["demo", "-l", ":0"][..], &wrong].concat();
        let (_, stderr) = run(&args, 2);
        assert!(stderr.contains(place), "{stderr}");
    }
    let right = ["--seconds", "1", "-q", "--link", "both delay 5ms", "-p", "4g"];
    run(&[&["demo", "-l", ":0"][..], &right].concat(), 0);
    let line = "s2c delay 5ms connless after seen(enter_game) until count(input) > 20";
    let windowed = ["--seconds", "1", "-q", "--link", line];
    let (_, stderr) = run(&[&["demo", "-l", ":0"][..], &windowed].concat(), 0);
    let effect = format!("link {line}, s→c: ");
    let delayed = stderr
        .split(&effect)
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let delayed: u32 = delayed.unwrap().parse().unwrap();
    assert!((1..200).contains(&delayed), "{stderr}");
}

#[test]
fn rules_end_the_run() {
    let chat = ["-r", "stop: fail \"the game talks\" when sv_chat"];
    let (last, line) = ended(&chat, 1);
    let by = &last["ended_by"];
    let known = json!({"kind": "fail", "at": by["at"], "session": by["session"], "rule": "stop",
        "why": "the game talks", "dir": "s2c", "message": "sv_chat"});
    assert_eq!(*by, known, "{last}");
    assert!(by["at"].as_f64() > Some(0.0) && by["session"].is_u64(), "{last}");
    let wanted = " ended by rule \"stop\": the game talks: sv_chat s→c in session ";
    assert!(line.contains(wanted), "{line}");

    for (code, options) in [
        (17, &["-r", "exit 17 when sv_chat"][..]),
        // The rule takes precedence over a message that was never received.
        (0, &["-r", "exit 0 when sv_chat", "--until", "rcon_cmd"]),
        // The message that ends the run need not be printed.
        (17, &["-r", "exit 17 when sv_chat", "-q", "-f", "rcon_cmd"]),
        (17, &["-r", "exit 17 every 300ms"]),
    ] {
        let (last, _) = ended(options, code);
        assert_eq!(last["ended_by"]["kind"], "exit", "{last}");
    }
    // Rules that do not match do not end the run.
    let (last, _) = ended(&["-r", "exit 17 when rcon_cmd"], 0);
    assert_eq!(last["ended_by"]["kind"], "demo", "{last}");
}

#[test]
fn an_expectation_that_is_not_met_fails_the_run() {
    let (last, line) = ended(&["-r", "expect rcon_cmd within 100ms when enter_game"], 1);
    assert_eq!(last["ended_by"]["kind"], "expect", "{last}");
    let wanted = ": expected `rcon_cmd` within 0.1 s: it was not received: enter_game c→s in session ";
    assert!(line.contains(wanted), "{line}");
    // The sessions end with the run, after its messages were checked for the last time.
    let (last, line) = ended(&["-r", "expect rcon_cmd within 60s when enter_game"], 1);
    assert_eq!(last["ended_by"]["kind"], "expect", "{last}");
    assert!(
        line.contains(": the session ended first: enter_game c→s in session "),
        "{line}"
    );
    let open = [
        "--timeout",
        "1s",
        "-r",
        "expect rcon_cmd within 60s when enter_game",
    ];
    let (last, line) = ended(&open, 1);
    assert_eq!(last["ended_by"]["kind"], "expect", "{last}");
    assert!(line.contains(": the session ended first: "), "{line}");
    let (last, _) = ended(&["-r", "expect sv_chat within 60s when enter_game"], 0);
    assert_eq!(last["ended_by"]["kind"], "demo", "{last}");
}

/// Marks are in lines and in recordings, and the reason for the end of a run is a notice when its recording is read.
#[test]
fn marks_and_endings_are_kept_in_recordings() {
    let (_folder, path) = place("run.pcapng");
    let name = path.to_str().unwrap();
    let rules = ["-r", "mark talk when sv_chat", "-r", "fail \"stop\" when sv_chat"];
    let (stdout, _) = run(&[&["demo", "-l", ":0", "-w", name][..], &rules].concat(), 1);
    assert!(
        stdout
            .lines()
            .any(|line| line.contains(" sv_chat") && line.contains(" #talk ")),
        "{stdout}"
    );
    let (stdout, _) = run(&["open", "--json", name], 0);
    let lines: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mark = json!({"rule": null, "action": "mark", "mark": "talk"});
    let is_marked = |line: &&Value| {
        line["actions"]
            .as_array()
            .is_some_and(|actions| actions.contains(&mark))
    };
    let messages = |name: &'static str| lines.iter().filter(move |line| line["name"] == name);
    assert!(messages("sv_chat").count() > 0, "{stdout}");
    assert!(messages("sv_chat").all(|line| is_marked(&line)), "{stdout}");
    assert!(
        messages("sv_motd").all(|line| line["actions"] == json!([])),
        "{stdout}"
    );
    assert!(
        lines.iter().any(|line| line["kind"] == "assertion_failed"),
        "{stdout}"
    );
}

#[test]
fn a_rule_that_changes_snapshots_is_tried_on_a_recording() {
    let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/examples/moved-tee.tap");
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures/dd-session.pcap");
    let (stdout, _) = run(&["check", rules, "--against", capture], 0);
    let (table, lines): (Vec<&str>, Vec<&str>) = stdout.lines().partition(|line| !line.contains('#'));
    let is_changed =
        |line: &&&str| line.contains("snap_single") && line.contains("changed [set snap.character.x");
    let changed = lines.iter().filter(is_changed).count();
    assert!(changed > 100, "{stdout}");
    let hits: usize = table[1].split_whitespace().next().unwrap().parse().unwrap();
    assert!(hits >= changed, "{stdout}");
}

/// Every action has its own words, and each line its time, session, direction, number and rules.
#[test]
fn a_trial_on_a_recording_says_what_each_rule_would_do() {
    let (_folder, path) = place("rules.tap");
    fs::write(&path, include_str!("against.tap")).unwrap();
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures/map-tw07.pcap");
    let (stdout, _) = run(&["check", path.to_str().unwrap(), "--against", capture], 0);
    assert_eq!(stdout, include_str!("against.txt"));
}

#[test]
fn rules_are_tried_on_a_recording() {
    let (_folder, path) = place("rules.tap");
    let name = path.to_str().unwrap();
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures/rich-tw07.pcap");
    let rules = "no_ready: drop when con_ready\nset sv_motd.message = \"x\" when sv_motd\nlog \"{sv_chat.message}\" when sv_chat\n\
                 drop when cl_kill\ninject s2c sv_motd every 1s\nlink both loss 5%\n";
    fs::write(&path, rules).unwrap();
    let (stdout, _) = run(&["check", name, "--against", capture], 0);
    let (table, lines): (Vec<&str>, Vec<&str>) = stdout.lines().partition(|line| !line.contains('#'));
    let has = |line: &str, words: &[&str]| words.iter().all(|word| line.contains(word));
    for words in [
        ["con_ready", "dropped", "[no_ready]"],
        ["sv_motd", "changed", "[set sv_motd.message"],
        ["sv_chat", "reports \"", "[log "],
        ["at a time", "sends the client sv_motd", ""],
    ] {
        assert!(lines.iter().any(|line| has(line, &words)), "{words:?}: {stdout}");
    }
    assert_eq!(table[0].trim(), "hits rule (seed 0)");
    // Three of the seven `sv_motd` have this text before the change.
    for (row, wanted) in table[1..].iter().zip([Some(3), Some(4), Some(26), Some(2), None]) {
        let hits: u32 = row.split_whitespace().next().unwrap().parse().unwrap();
        assert!(wanted.map_or(hits > 1, |wanted| hits == wanted), "{row}");
    }
    assert!(table[6].starts_with("link lines are not tried"), "{stdout}");
    let (quiet, _) = run(&["check", "-q", name, "--against", capture], 0);
    assert_eq!(quiet.lines().collect::<Vec<_>>(), table);
    // Another file is refused.
    let (_, stderr) = run(&["check", name, "--against", name], 5);
    assert!(stderr.contains("rules.tap"), "{stderr}");
}
