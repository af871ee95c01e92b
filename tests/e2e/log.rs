//! `--log FILE`: the program's own log.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use teetap_kit::{
    binary::{place, refused, run},
    real::PATIENCE,
};

use crate::teetap;

fn demo(log: &Path) -> Command {
    let mut command = teetap();
    let args = "demo --seconds 1 -l :0 -q --seed 77 --log";
    command.args(args.split(' ')).arg(log);
    command
}

/// Returns the lines of the log without their times.
fn lines(log: &Path) -> Vec<String> {
    let text = fs::read_to_string(log).unwrap();
    let lines = text.lines().map(|line| {
        let (time, rest) = line.split_once(' ').unwrap();
        assert!(time.starts_with("20") && time.ends_with('Z'), "{line}");
        rest.trim_start().to_owned()
    });
    lines.collect()
}

#[test]
fn a_run_is_logged_from_start_to_end_without_its_traffic() {
    let (_folder, log) = place("run.log");
    let expressions = ["--until", "rcon_auth", "--fail-on", "sv_kill_msg", "-f", "c2s"];
    run(demo(&log).args(expressions), 4);
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
    let logged = lines(&log);
    for part in [
        "INFO teetap::run: expression set option=\"--filter\" text=\"c2s\"",
        "INFO teetap::run: expression set option=\"--until\" text=\"rcon_auth\"",
        "INFO teetap::run: expression set option=\"--fail-on\" text=\"sv_kill_msg\"",
        "INFO teetap::run: started version=",
        " seed=77",
        "INFO teetap::session: opening session=1 proto=",
        "INFO teetap::session: online session=2 proto=",
        " by=client reason=\"seven has seen enough\"",
        "INFO teetap::run: ended exit=4 sessions=2 c2s=",
        "INFO teetap: ",
    ] {
        assert!(
            logged.iter().any(|line| line.contains(part)),
            "{part}: {logged:#?}"
        );
    }
    assert!(logged.first().unwrap().contains("expression set"), "{logged:#?}");
    assert!(logged.last().unwrap().contains("ended exit=4"), "{logged:#?}");
    // A second of the demo has several hundred datagrams.
    assert!(logged.len() < 50, "{logged:#?}");
    // Another run is appended.
    run(&mut demo(&log), 0);
    let both = lines(&log);
    assert!(
        both.starts_with(&logged),
        "{both:#?} does not begin with {logged:#?}"
    );
    assert!(
        both.len() > logged.len(),
        "the second run added no line: {both:#?}"
    );
}

#[test]
fn the_log_is_filtered_by_a_variable() {
    let (_folder, log) = place("run.log");
    run(demo(&log).env("TEETAP_LOG", "teetap::session=info,error"), 0);
    let logged = lines(&log);
    assert!(!logged.is_empty(), "the log has no line about the session");
    for line in &logged {
        assert!(line.starts_with("INFO teetap::session: "), "{line}");
    }
    let (_folder, log) = place("run.log");
    run(demo(&log).env("TEETAP_LOG", "error"), 0);
    assert_eq!(lines(&log), Vec::<String>::new());
}

#[test]
fn a_file_that_cannot_be_logged_to_is_refused_before_anything_starts() {
    let (_folder, log) = place("run.log");
    refused(
        &mut demo(Path::new("/no/such/run.log")),
        3,
        "cannot write /no/such/run.log: No such file",
    );
    refused(&mut demo(Path::new("/")), 3, "directory");
    refused(demo(&log).env("TEETAP_LOG", "teetap=loud"), 2, "TEETAP_LOG");
    assert!(!log.exists(), "a log was made by a refused run");
    refused(
        teetap().args(["open", "FILE", "--log"]).arg(&log),
        2,
        "takes no --log",
    );
}

#[test]
fn a_full_disk_ends_the_log_with_a_warning_and_not_the_run() {
    let (_, stderr) = run(&mut demo(Path::new("/dev/full")), 0);
    let warnings: Vec<&str> = stderr.lines().filter(|line| line.contains("/dev/full")).collect();
    assert_eq!(warnings.len(), 1, "{stderr}");
    assert!(
        warnings[0].contains("warning: the log /dev/full is not complete: No space left"),
        "{stderr}"
    );
}

#[test]
fn files_that_are_deleted_or_moved_during_a_run_are_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let files = [
        ("--log", "log"),
        ("--input-log", "inputs"),
        ("--journal", "journal"),
    ];
    let mut command = teetap();
    command.args(["demo", "-l", "127.0.0.1:0", "--seconds", "4", "--quiet"]);
    command.args(["--rule", "drop when sv_emoticon"]);
    for (option, name) in files {
        command.arg(option).arg(path(name));
    }
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let begun = Instant::now();
    while files.iter().any(|(_, name)| !path(name).exists()) {
        assert!(begun.elapsed() < PATIENCE, "the files are not created");
        thread::sleep(Duration::from_millis(10));
    }
    fs::remove_file(path("log")).unwrap();
    fs::rename(path("inputs"), path("moved")).unwrap();
    fs::remove_file(path("journal")).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let stderr = String::from_utf8(output.stderr).unwrap();
    for (name, kind) in [("log", "log"), ("inputs", "input log"), ("journal", "journal")] {
        let text = format!(
            "warning: the {kind} {} was deleted or moved;",
            path(name).display()
        );
        assert_eq!(stderr.matches(&text).count(), 1, "{stderr}");
    }
    // The rest is in the original file.
    let replayed = teetap()
        .args(["replay", "--check"])
        .arg(path("moved"))
        .output()
        .unwrap();
    assert!(replayed.status.success(), "{replayed:?}");
}
