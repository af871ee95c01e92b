//! Link lines of the built binary: their effect, their output and recording, and the repetition of a run.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Stdio},
    sync::mpsc,
    thread,
};

use serde_json::Value;
use teetap_kit::{
    binary::{objects, place, run},
    real::PATIENCE,
};

use crate::teetap;

/// Mild enough for the bots of the demo to continue playing.
const LINK: &str = "link both delay 10ms jitter 3ms pareto dup 5% reorder 5%";

/// Returns the effects of the link from all lines about datagrams.
fn transits(lines: &str) -> Vec<Value> {
    let lines = objects(lines).into_iter();
    let datagrams = lines.filter(|line| line["event"] == "datagram");
    datagrams
        .filter_map(|line| line.get("link")?.as_array().cloned())
        .flatten()
        .collect()
}

#[test]
fn a_run_with_link_lines_shows_them_records_them_and_replays_equal() {
    let (folder, log) = place("run.log");
    let recordings = ["run.pcapng", "run.jsonl"].map(|name| folder.path().join(name));
    for recording in &recordings {
        let args = "demo --seconds 1 -v --json -l :0 --seed 77";
        let mut command = teetap();
        command
            .args(args.split(' '))
            .args(["-r", LINK, "-w"])
            .arg(recording);
        let _fresh = fs::remove_file(&log);
        let (stdout, _) = run(command.arg("--input-log").arg(&log), 0);
        let printed = transits(&stdout);
        assert!(printed.len() > 50, "{}", printed.len());
        for sign in ["delay_s", "duplicate", "reordered"] {
            assert!(printed.iter().any(|transit| !transit[sign].is_null()), "{sign}");
        }
        let summary = objects(&stdout).pop().unwrap();
        assert_eq!(
            (&summary["event"], &summary["seed"]),
            (&"summary".into(), &77.into())
        );
        let opened = ["open", "-v", "--json"];
        let (recorded, _) = run(teetap().args(opened).arg(recording), 0);
        assert_eq!(transits(&recorded), printed);
        let (text, _) = run(teetap().args(["open"]).arg(recording), 0);
        assert!(text.contains(", link: delayed "), "{text}");
        let (report, _) = run(teetap().args(["replay", "--check"]).arg(&log), 0);
        assert!(report.starts_with("equal: "), "{report}");
    }
}

#[test]
fn the_seed_decides() {
    let replayed = |seed: &str| {
        let (_folder, log) = place("run.log");
        let lossy = "link both loss 50% from 300ms";
        let args = [
            "demo",
            "--seconds",
            "1",
            "-q",
            "-l",
            ":0",
            "--seed",
            seed,
            "-r",
            lossy,
            "--input-log",
        ];
        // The bots may fail to play over such a link.
        let output = teetap().args(args).arg(&log).output().unwrap();
        assert!(output.status.code().is_some_and(|code| code < 2), "{output:?}");
        fs::read_to_string(&log).unwrap()
    };
    let log = replayed("77");
    assert!(log.contains("link both loss 50% from 300ms"), "{log}");
    // Another seed in the same log leads to other decisions about the same datagrams.
    let other = log.replacen("\"seed\":77", "\"seed\":78", 1);
    assert_ne!(other, log);
    for (log, code) in [(log, 0), (other, 1)] {
        let (_folder, path) = place("run.log");
        fs::write(&path, log).unwrap();
        run(teetap().args(["replay", "--check"]).arg(&path), code);
    }
}

/// A running proxy, and the lines of its stderr.
struct Running {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Running {
    fn start(rules: &Path) -> Self {
        let mut child = teetap()
            .args(["run", "-l", "127.0.0.1:0", "192.0.2.1:8303", "-R"])
            .arg(rules)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, lines }
    }

    fn wait_for(&self, wanted: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| format!("no line with {wanted}"));
            assert!(!line.starts_with("no line"), "{line}");
            if line.contains(wanted) {
                return line;
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

#[test]
fn a_file_of_rules_is_read_again_and_keeps_the_last_good_rules() {
    let (_folder, path) = place("rules.tap");
    fs::write(&path, "link both loss 1%\n").unwrap();
    let running = Running::start(&path);
    running.wait_for("listening on");
    fs::write(&path, "link both loss 2%\nlink s2c delay 1ms\n").unwrap();
    running.wait_for("rules.tap was read again");
    fs::write(&path, "link both lost 3%\n").unwrap();
    running.wait_for("rules.tap has errors, the last rules stay");
    let error = running.wait_for("rules.tap:1:11: [E101] a link has no parameter `lost`");
    assert!(error.contains("write `loss 5%`"), "{error}");
    fs::remove_file(&path).unwrap();
    let gone = running.wait_for("any more, its last rules stay");
    assert!(gone.contains("warning: cannot read "), "{gone}");
    fs::write(&path, "link both loss 4%\n").unwrap();
    let line = running.wait_for("rules.tap");
    assert!(line.contains("was read again"), "{line}");
}
