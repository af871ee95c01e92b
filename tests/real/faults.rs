//! Clients with one fault each, as real authors make them, on real servers: the proxy names the fault while it runs,
//! `teetap judge` names it first, and the recording has the same findings as the run.

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use teetap_kit::real::{DdnetServer, Server, Teetap, faulty, home, text, turn};

use crate::TEETAP;

/// A fault of `tests/peers/faulty.js`; the code of a note or the kind of a notice during the run, empty if there is
/// none, with words of its text; the code of the first finding.
type Row = (&'static str, &'static str, &'static str, &'static str);

const FAULTS: &[Row] = &[
    (
        "no-info",
        "login_stalled",
        "info from the client",
        "never-entered",
    ),
    (
        "no-ready",
        "login_stalled",
        "ready from the client",
        "never-entered",
    ),
    (
        "no-start-info",
        "login_stalled",
        "cl_start_info from the client",
        "never-entered",
    ),
    (
        "no-enter-game",
        "login_stalled",
        "enter_game from the client",
        "never-entered",
    ),
    ("wrong-token", "wrong-token", "", "wrong-token"),
    ("no-token", "wrong-token", "", "wrong-token"),
    ("token-later", "wrong-token", "", "wrong-token"),
    ("ack-stuck", "ack-stuck", "", "ack-stuck"),
    ("ack-ahead", "ack-ahead", "", "ack-ahead"),
    ("ack-behind", "ack-behind", "", "ack-behind"),
    // The client restarts its count from the ack in the resend request: nothing is missing then.
    ("skipped-number", "seq-ahead", "", "seq-ahead"),
    ("same-number", "resend-changed", "", "resend-changed"),
    ("info-not-vital", "not-vital", "", "not-vital"),
    ("ready-not-vital", "not-vital", "", "not-vital"),
    ("inputs-vital", "unexpected-vital", "", "unexpected-vital"),
    ("plain-as-compressed", "bad-huffman", "", "bad-huffman"),
    ("wrong-chunk-size", "chunk-truncated", "", "chunk-truncated"),
    (
        "wrong-chunk-count",
        "chunk-count-too-high",
        "",
        "chunk-count-too-high",
    ),
    ("no-chunks", "chunk-count-too-low", "", "chunk-count-too-low"),
    ("unknown-flag", "unknown-flags", "", "unknown-flags"),
    ("unterminated-text", "unterminated-text", "", "unterminated-text"),
    ("missing-fields", "missing-field", "", "unterminated-text"),
    ("short-input", "missing-field", "", "missing-field"),
    ("always-requests", "resend-needless", "", "resend-needless"),
    ("wrong-version", "wrong-version", "", "wrong-version"),
];

/// The oddities of the npm client without a fault.
pub(super) const OF_NPM: &str = "unknown-message,empty-without-resend,input-late";

/// Number of clients that run in parallel.
const BESIDE: usize = 3;

/// The outcome of a run with its recording.
#[derive(Debug)]
pub(super) struct Run {
    /// The codes of notes about the client's messages and the kinds of warnings, each with its text.
    odd: Vec<(String, String)>,
    /// The code of the first finding, not counting the findings about the client without a fault.
    first: Option<String>,
    /// True if the first finding is an error or a warning.
    is_accused: bool,
}

impl Run {
    /// Lets a client play through the proxy, and compares the findings of the run with the findings of its recording.
    /// `known` lists the codes that the client also causes without a fault.
    pub(super) fn of(
        server: &impl Server,
        known: &str,
        play: impl FnOnce(&Teetap) -> Result<()>,
    ) -> Result<Self> {
        let folder = home("faults")?;
        let path = folder.path().join("run.pcapng");
        let path = path.to_str().context("a path in UTF-8")?;
        let teetap = Teetap::start(Path::new(TEETAP), server.addr(), &["-w", path])?;
        play(&teetap)?;
        let objects = teetap.stop()?;
        let live: Vec<Value> = objects.iter().filter(is_finding).cloned().collect();
        let judged = judge(&[path])?;
        ensure!(live == judged, "live {live:#?}\nrecording {judged:#?}");
        let others = judge(&[path, "--ignore", known])?;
        Ok(Self {
            odd: objects.iter().flat_map(odd).collect(),
            is_accused: others.iter().any(|finding| text(finding, "severity") != "info"),
            first: others.first().map(|finding| text(finding, "code").to_owned()),
        })
    }

    /// Returns true if there are only harmless findings.
    pub(super) const fn is_clean(&self) -> bool {
        !self.is_accused
    }

    /// Returns true if the fault was named during the run and is the first finding.
    pub(super) fn names(&self, (_, code, words, first): &Row) -> bool {
        let mut odd = self.odd.iter();
        let is_live = code.is_empty() || odd.any(|(kind, text)| kind == code && text.contains(words));
        is_live && self.first.as_deref() == Some(*first)
    }
}

fn is_finding(object: &&Value) -> bool {
    text(object, "event") == "finding"
}

/// Returns the findings of `teetap judge`.
fn judge(arguments: &[&str]) -> Result<Vec<Value>> {
    let out = Command::new(TEETAP)
        .args(["judge", "--json"])
        .args(arguments)
        .output()?;
    // 1: the report contains an error.
    ensure!(matches!(out.status.code(), Some(0 | 1)), "{out:?}");
    let lines = String::from_utf8(out.stdout)?;
    let objects = lines.lines().map(serde_json::from_str::<Value>);
    let objects = objects.collect::<Result<Vec<_>, _>>()?;
    Ok(objects.into_iter().filter(|object| is_finding(&object)).collect())
}

fn odd(object: &Value) -> Vec<(String, String)> {
    if text(object, "event") == "notice" && text(object, "level") == "warning" {
        return vec![(text(object, "kind").to_owned(), text(object, "text").to_owned())];
    }
    let notes = object.get("notes").and_then(Value::as_array);
    let of_client = text(object, "dir") == "c2s";
    let notes = notes.into_iter().flatten().filter(|_| of_client);
    notes
        .map(|note| (text(note, "code").to_owned(), text(note, "text").to_owned()))
        .collect()
}

/// Tries each row, several in parallel; returns the rows that fail.
pub(super) fn try_all<T: Sync>(rows: &[T], run: impl Fn(&T) -> Option<String> + Sync) -> Vec<String> {
    let (next, wrong) = (Mutex::new(rows.iter()), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let row = next.lock().unwrap().next();
            let Some(row) = row else { return };
            let found = run(row);
            wrong.lock().unwrap().extend(found);
        }
    };
    thread::scope(|scope| {
        for _ in 0..BESIDE {
            scope.spawn(work);
        }
    });
    wrong.into_inner().unwrap()
}

fn npm(fault: &str, server: &DdnetServer) -> Result<Run> {
    Run::of(server, OF_NPM, |teetap| faulty(fault, teetap.listen()).map(drop))
}

#[test]
fn each_fault_of_a_client_is_named() -> Result<()> {
    let _turn = turn::shared()?;
    let server = DdnetServer::start(&[])?;
    let wrong = try_all(FAULTS, |row| {
        let run = npm(row.0, &server);
        let is_named = run.as_ref().is_ok_and(|run| run.names(row));
        (!is_named).then(|| format!("{row:?}: {run:?}"))
    });
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

#[test]
fn a_client_without_a_fault_is_not_accused() -> Result<()> {
    let _turn = turn::shared()?;
    let server = DdnetServer::start(&[])?;
    let run = npm("none", &server)?;
    let of_others: Vec<&str> = FAULTS.iter().map(|(_, code, ..)| *code).collect();
    let odd: Vec<_> = run
        .odd
        .iter()
        .filter(|(kind, _)| of_others.contains(&&**kind))
        .collect();
    ensure!(odd.is_empty() && run.is_clean(), "{run:?}");
    Ok(())
}
