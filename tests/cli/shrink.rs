//! `teetap shrink` with commands that examine the journal that they receive.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use teetap_kit::binary::{self, objects, place};
use tempfile::TempDir;

use crate::{refused, teetap};

/// Writes a journal with `count` faults.
fn journal(count: u32) -> (TempDir, PathBuf) {
    let (folder, path) = place("j.jsonl");
    let mut text =
        r#"{"journal":1,"version":"0.1.0","seed":7,"rules":"a: drop when cl_say\n"}"#.to_owned() + "\n";
    for number in 1..=count {
        let line = format!(
            r#"{{"t":{number},"session":1,"dir":"c2s","rule":"a","message":"cl_say","ordinal":{number},"action":"drop"}}"#
        );
        text += &(line + "\n");
    }
    fs::write(&path, text).unwrap();
    (folder, path)
}

/// Shrinks a journal with a script whose `$0` is the path of the part to try. Returns stderr.
fn shrink(options: &[&str], journal: &Path, script: &str, code: i32) -> String {
    let mut command = teetap();
    command.arg("shrink").args(options).arg(journal);
    binary::run(command.args(["--", "sh", "-c", script, "{faults}"]), code).1
}

/// Returns the ordinals of a journal.
fn ordinals(journal: &Path) -> Vec<u64> {
    let lines = objects(&fs::read_to_string(journal).unwrap());
    lines.iter().filter_map(|line| line["ordinal"].as_u64()).collect()
}

#[test]
fn the_faults_that_make_it_fail_are_left() {
    let (folder, path) = journal(60);
    let script = r#"grep -q '"ordinal":17,' "$0" && grep -q '"ordinal":44,' "$0" && exit 3; exit 0"#;
    let stderr = shrink(&[], &path, script, 0);
    let result = folder.path().join("j.min.jsonl");
    assert_eq!(ordinals(&result), [17, 44]);
    assert!(stderr.contains("teetap: fails with 2 faults\n"), "{stderr}");
    assert!(
        stderr.contains("cl_say 17") && stderr.contains(" by a\n"),
        "{stderr}"
    );
    assert!(stderr.contains("teetap: 2 faults of 60 left after "), "{stderr}");
    // The result is a journal that cannot be shrunk further.
    let other = folder.path().join("other.jsonl");
    let stderr = shrink(&["-o", &other.to_string_lossy()], &result, script, 0);
    assert_eq!(fs::read(&other).unwrap(), fs::read(&result).unwrap());
    assert!(stderr.contains("2 faults of 2 left"), "{stderr}");
}

#[test]
fn commands_that_fail_now_and_then_are_run_more_often() {
    let (folder, path) = journal(20);
    // With the fault the command fails in two runs of three.
    let script = r#"
        n=$(cat "$0.n" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > "$0.n"
        grep -q '"ordinal":9,' "$0" || exit 0
        [ $((n % 3)) = 0 ] && exit 0; exit 1"#;
    shrink(&["--runs", "6", "--fails", "2"], &path, script, 0);
    assert_eq!(ordinals(&folder.path().join("j.min.jsonl")), [9]);
}

/// Fault 9 makes every run fail, fault 4 only every other one.
#[test]
fn a_part_fails_only_if_enough_of_its_runs_fail() {
    let (folder, path) = journal(20);
    let script = r#"
        n=$(cat "$0.n" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > "$0.n"
        grep -q '"ordinal":9,' "$0" && exit 1
        grep -q '"ordinal":4,' "$0" && [ $((n % 2)) = 0 ] && exit 1; exit 0"#;
    shrink(&["--runs", "3", "--fails", "3"], &path, script, 0);
    assert_eq!(ordinals(&folder.path().join("j.min.jsonl")), [9]);
    // One failing run is enough: the part with only fault 4 fails, too.
    let script = script.replace("&& exit 1\n", "&& [ $((n % 3)) = 0 ] && exit 1\n");
    shrink(&["--runs", "6", "--fails", "1"], &path, &script, 0);
    assert_eq!(ordinals(&folder.path().join("j.min.jsonl")).len(), 1);
}

#[test]
fn a_search_without_an_end_is_refused() {
    let (folder, path) = journal(5);
    let result = folder.path().join("j.min.jsonl");
    for (script, why) in [
        (
            "exit 0",
            "the command does not fail with all faults of the journal",
        ),
        ("exit 1", "the command fails without any fault"),
    ] {
        let stderr = shrink(&[], &path, script, 1);
        assert!(stderr.contains(why), "{stderr}");
        assert!(!result.exists(), "a result was written: {stderr}");
    }
    let journal = path.to_string_lossy();
    refused(
        &["shrink", &journal, "--", "true"],
        2,
        "no word of the command has {faults}",
    );
    refused(
        &["shrink", "/nowhere", "--", "true", "{faults}"],
        2,
        "cannot read the journal /nowhere: No such file",
    );
    refused(
        &["shrink", "--fails", "2", &journal, "--", "true", "{faults}"],
        2,
        "--fails 2 is more than --runs 1",
    );
    let args = ["shrink", &*journal, "--", "/nowhere", "{faults}"];
    let (_, stderr) = crate::run(&args, 3);
    assert!(stderr.contains("cannot start /nowhere: "), "{stderr}");
}

#[test]
fn a_signal_ends_the_command_and_keeps_the_best_so_far() {
    let (folder, path) = journal(40);
    let marks = folder.path().join("marks");
    // Hangs in the fifth run, with a child process.
    let script = format!(
        r#"echo x >> '{marks}'; [ $(wc -l < '{marks}') = 5 ] && {{ sleep 987 & wait; }}
        grep -q '"ordinal":3,' "$0" && exit 1; exit 0"#,
        marks = marks.display()
    );
    let mut command = teetap();
    command
        .arg("shrink")
        .arg(&path)
        .args(["--", "sh", "-c", &script, "{faults}"]);
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while fs::read_to_string(&marks).map_or(0, |text| text.lines().count()) < 5 {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "fewer than 5 runs in a minute"
        );
        thread::sleep(Duration::from_millis(5));
    }
    binary::run(Command::new("kill").args(["-INT", &child.id().to_string()]), 0);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(
        stderr.contains(", stopped before the end, written to "),
        "{stderr}"
    );
    let left = ordinals(&folder.path().join("j.min.jsonl"));
    assert!(left.contains(&3) && left.len() < 40, "{left:?}");
    let (processes, _) = binary::run(
        Command::new("sh").args(["-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"]),
        0,
    );
    assert!(!processes.contains("sleep 987"), "{processes}");
}
