//! Journals of the built binary, and runs that repeat their faults.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

use serde_json::Value;
use teetap_kit::binary::{objects, place, run};

use crate::teetap;

const RULES: [&str; 3] = [
    "slow: delay 5ms..30ms when s2c and sv_chat",
    "log when input chance 5%",
    "link c2s loss 2% dup 3%",
];

/// Runs the demo with `options`. Returns its JSON lines.
fn demo(options: &[&str], file: &Path) -> Vec<Value> {
    let mut command = teetap();
    command.args(["demo", "--seconds", "1", "--json", "-l", ":0"]);
    objects(&run(command.args(options).arg(file), 0).0)
}

/// Returns the decisions of a journal, without times.
fn decisions(journal: &Path) -> Vec<Value> {
    let mut lines = objects(&fs::read_to_string(journal).unwrap());
    let end = lines.pop().unwrap();
    assert_eq!(end.get("end"), Some(&"complete".into()));
    lines.remove(0);
    lines.retain(|line| line.get("entered_us").is_none());
    for line in &mut lines {
        line.as_object_mut().unwrap().remove("t");
    }
    lines
}

#[test]
fn a_run_repeats_the_faults_of_a_journal_and_no_others() {
    let (folder, journal) = place("journal.jsonl");
    let rules: Vec<&str> = RULES.iter().flat_map(|rule| ["-r", rule]).collect();
    demo(&[&rules[..], &["--seed", "77", "--journal"]].concat(), &journal);
    assert_eq!(
        fs::metadata(&journal).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let header: Value =
        serde_json::from_str(fs::read_to_string(&journal).unwrap().lines().next().unwrap()).unwrap();
    assert_eq!((&header["journal"], &header["seed"]), (&1.into(), &77.into()));
    let first = decisions(&journal);
    let (slow, lost): (Vec<_>, Vec<_>) = first.iter().partition(|line| line["rule"] == "slow");
    assert!(!slow.is_empty() && !lost.is_empty(), "{first:?}");
    assert!(slow.iter().all(|line| {
        line["delay_us"][0]
            .as_u64()
            .is_some_and(|us| (5_000..=30_000).contains(&us))
    }));

    let (again, log) = (folder.path().join("again.jsonl"), folder.path().join("input.log"));
    let (path, path_of_log) = (again.to_string_lossy(), log.to_string_lossy());
    let options = ["--journal", &*path, "--input-log", &*path_of_log, "--faults-from"];
    let lines = demo(&options, &journal);
    assert_eq!(lines[0]["seed"], 77);
    // The bots send as much as in the first run, or a little less: everything repeated is from the journal.
    let second = decisions(&again);
    assert!(second.iter().all(|line| first.contains(line)), "{second:?}");
    let chats = |lines: &[Value]| lines.iter().filter(|line| line["rule"] == "slow").count();
    let repeated = chats(&second);
    assert!(
        (slow.len() / 2..=slow.len()).contains(&repeated),
        "{repeated} of {}",
        slow.len()
    );
    let (report, _) = run(teetap().args(["replay", "--check"]).arg(&log), 0);
    assert!(report.starts_with("equal: "), "{report}");

    // Without decisions nothing happens.
    let text = fs::read_to_string(&journal).unwrap();
    let none = folder.path().join("none.jsonl");
    fs::write(&none, text.lines().next().unwrap().to_owned() + "\n").unwrap();
    let summary = demo(&["--faults-from"], &none).pop().unwrap();
    assert_eq!(summary["rules"][0]["hits"], 0, "{summary}");
    assert_eq!(summary["links"][0]["lost"], 0, "{summary}");
}

#[test]
fn files_that_are_no_journals_are_refused_before_the_start() {
    let (folder, journal) = place("journal.jsonl");
    let refused = |code: i32, fragment: &str| {
        let mut command = teetap();
        command.args(["run", "192.0.2.1:8303", "-l", ":0", "--faults-from"]);
        let (stdout, stderr) = run(command.arg(&journal), code);
        assert_eq!(stdout, "");
        assert!(stderr.contains(fragment), "{fragment}\n{stderr}");
    };
    refused(2, "No such file");
    let header = r#"{"journal":1,"version":"0.1.0","seed":7,"rules":"a: drop when cl_say\n"}"#;
    let decision =
        r#"{"t":1,"session":1,"dir":"c2s","rule":"b","message":"cl_say","ordinal":1,"action":"drop"}"#;
    let wrong = header.replace("drop when", "drop wen");
    for (text, code, fragment) in [
        (String::new(), 5, "the file is empty"),
        ("{\"input_log\":4}\n".to_owned(), 5, "not a journal of teetap: "),
        (
            format!("{header}\n{decision}"),
            5,
            "line 2 is damaged: the line is cut off",
        ),
        (format!("{header}\n{decision}\n"), 5, "no rule is called `b`"),
        (format!("{wrong}\n"), 2, "invalid rules in the journal "),
    ] {
        fs::write(&journal, text).unwrap();
        refused(code, fragment);
    }
    fs::write(&journal, format!("{header}\n")).unwrap();
    let mut both = teetap();
    both.args(["run", "192.0.2.1:8303", "-r", "drop when c2s", "--faults-from"]);
    let (_, stderr) = run(both.arg(&journal), 2);
    assert!(stderr.contains("leave out --rule, --rules, --link"), "{stderr}");
    let mut taken = teetap();
    taken.args(["run", "192.0.2.1:8303", "-l", ":0", "--journal"]);
    let (_, stderr) = run(taken.arg(&journal), 2);
    assert!(stderr.contains("a journal overwrites nothing"), "{stderr}");
    drop(folder);
}
