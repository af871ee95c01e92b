//! The first sentence about a client with one mistake.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::Value;
use teetap_kit::real::{Teetap, text, turn};
use teetap_kit::script::{Got, Trace};

use super::cells::Cell;
use super::{lanes, side_by_side};
use crate::TEETAP;

/// Words of a finding about a join, used instead of its code.
const OF_CONNECT: &str = "the ack of connect is ";
const AHEAD: &str = "its receiver drops it (seq-ahead: got ";

/// The end of the name of a cell, and the codes or words of findings that name its mistake. The first matching row is
/// used.
const NAMED: &[(&str, &[&str])] = &[
    ("Token missing", &["opens-nothing"]),
    ("Token without padding", &["short-token-request"]),
    ("Token of 518 bytes", &["short-token-request"]),
    ("Connect missing", &["opens-nothing", "never-online"]),
    ("Accept missing", &["never-online", "never-entered"]),
    ("Accept before Connect", &["opens-nothing"]),
    ("Keepalive instead of Accept", &["never-online", "never-entered"]),
    (
        "Info before Accept",
        &["never-online", "never-entered", "not-connected"],
    ),
    ("Accept without token", &["missing-token"]),
    (
        "Accept shorter by a byte",
        &["control-empty", "missing-token", "wrong-token"],
    ),
    ("Connect with tken", &["opens-nothing", "wrong-magic"]),
    ("TKEN as the token", &["wrong-token"]),
    ("Info missing", &["never-online", "never-entered"]),
    ("one Connect, then waiting", &["never-online", "never-entered"]),
    ("Keepalive instead of Info", &["never-online", "never-entered"]),
    ("Info alone", &["opens-nothing"]),
    ("Info first", &["opens-nothing"]),
    (
        "of a wrong version",
        &["wrong-version", "never-entered", "never-online"],
    ),
    ("Ready missing", &["never-entered"]),
    ("StartInfo missing", &["never-entered"]),
    ("Ready without token", &["missing-token", "wrong-token"]),
    ("with a wrong token", &["wrong-token", "opens-nothing"]),
    ("with token ffffffff", &["wrong-token", "opens-nothing"]),
    ("with token 00000000", &["wrong-token", "opens-nothing"]),
    ("with ack 1023", &["ack-behind", "ack-ahead", OF_CONNECT]),
    ("with ack 1", &["ack-ahead", OF_CONNECT]),
    ("with ack 5", &["ack-ahead", OF_CONNECT]),
    ("with ack 77 after Info", &["ack-ahead"]),
    ("acks too much", &["ack-ahead"]),
    ("acks too little", &["ack-behind", "never-entered"]),
    ("acks vital 0", &["ack-behind"]),
    ("with a spare bit", &["unknown-flags", "opens-nothing"]),
    ("marked as compressed", &["bad-huffman", "opens-nothing"]),
    ("with a count of 0", &["empty-without-resend", "trailing-bytes"]),
    ("with a count of 2", &["chunk-count-too-high"]),
    ("with a count of 9", &["chunk-count-too-high"]),
    ("with a count of 1", &["control-with-chunks"]),
    ("with the control flag", &["control-with-chunks"]),
    ("with trailing bytes", &["trailing-bytes"]),
    ("Info longer by 4 bytes", &["trailing-bytes"]),
    ("with number 0", &["seq-behind"]),
    ("with number 2", &["seq-gap", AHEAD]),
    ("skips a number", &["seq-gap", AHEAD]),
    ("with the number of Info", &["resend-changed"]),
    ("with the number of Ready", &["resend-changed"]),
    (
        "Input vital",
        &["unexpected-vital", "resend-changed", "seq-ahead"],
    ),
    // Nothing shows that the byte before the id is a number.
    ("with a number though not vital", &["wrong-id", "unknown-message"]),
    ("not vital", &["not-vital"]),
    ("without class bit", &["wrong-id"]),
    ("with the class of the game", &["wrong-id"]),
    ("with the class of the engine", &["wrong-id"]),
    ("with the id of the other version", &["wrong-id"]),
    (
        "StartInfo with the chunk header of the other version",
        &["chunk-of-other-version"],
    ),
    (
        "Info with the chunk header of the other version",
        &["chunk-of-other-version"],
    ),
    ("Info without NUL", &["unterminated-text"]),
    ("StartInfo without NUL", &["unterminated-text"]),
    ("StartInfo cut behind the name", &["missing-field"]),
    ("StartInfo without its last byte", &["missing-field"]),
    ("Input acks no snapshot", &["snap-unacked", "input-ack-stuck"]),
    (
        "Input acks a tick of the future",
        &["input-ack-unknown", "snap-unacked"],
    ),
    ("Input for tick 0", &["input-late"]),
    ("Input of size 10", &["object-short"]),
    ("Input of size 0", &["object-short"]),
    ("Input cut", &["missing-field"]),
    (
        "Input with the resend flag",
        &["resend-needless", "resend-request"],
    ),
    ("Input as 32-bit integers", &["out-of-range", "object-short"]),
    ("client acks nothing", &["ack-stuck", "ack-behind"]),
    ("client acks 20 too much", &["ack-ahead"]),
    ("client acks all messages, vital or not", &["ack-ahead"]),
    ("client does not inflate", &["not-inflated", "ack-stuck"]),
    (
        "client gives each message number 1",
        &["seq-again", "resend-changed"],
    ),
    ("client counts from 0", &["seq-behind"]),
    (
        "client numbers all messages, vital or not",
        &["seq-gap", "seq-ahead", AHEAD],
    ),
    ("client shows its own token", &["wrong-token", "opens-nothing"]),
    (
        "client shows the token in reverse",
        &["token-reversed", "wrong-token", "opens-nothing"],
    ),
    (
        "lost and never sent again",
        &["resend-missing", "seq-gap", "never-entered"],
    ),
    ("the client acks nothing", &["ack-stuck", "ack-behind"]),
    ("for ever", &["resend-needless", "resend-acked", "resend-storm"]),
    ("EnterGame missing", &["never-entered"]),
    ("StartInfo right after Info", &["out-of-turn", "never-entered"]),
    (
        "StartInfo with five of six parts of the skin",
        &["missing-field", "unterminated-text"],
    ),
    (
        "StartInfo as 32-bit integers",
        &["missing-field", "out-of-range", "unterminated-text"],
    ),
    ("compressed without the flag", &["compression-unmarked"]),
    ("compressed without an end", &["bad-huffman"]),
    ("with the token in front", &["wrong-token", "missing-token"]),
    (
        "with the token behind the compression",
        &["wrong-token", "missing-token", "huffman-surplus"],
    ),
    ("as an empty control packet", &["control-empty"]),
    ("acks nothing in the game", &["ack-stuck", "ack-behind"]),
    ("falls silent in the game", &["peer-silent"]),
    ("Input 20 ticks late", &["input-late"]),
    ("Say not vital", &["not-vital"]),
    ("Say without NUL", &["unterminated-text"]),
    (
        "Say with the fields of 0.6",
        &["fields-of-other-version", "missing-field"],
    ),
];

/// Substrings of cell names. A cell whose name contains one also makes a mistake in the game, after the join.
const IN_GAME: &[&str] = &[
    ": Input",
    ": Say ",
    " in the game",
    " for ever",
    ": client ",
    "the client acks",
];

/// Minimum percentage of mistakes that the first sentence has to name. A quiet machine reaches 98.
const SHARE: usize = 96;

/// A cell with its findings.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) name: String,
    pub(super) has_joined: bool,
    findings: Vec<Value>,
}

impl Said {
    /// Runs a cell through its own proxy.
    pub(super) fn of(cell: &Cell, server: SocketAddr) -> Result<(Trace, Self)> {
        let teetap = Teetap::start_keeping(Path::new(TEETAP), server, &[], is_wanted)?;
        if cell.name.contains("of 0.7") {
            // The proxy tells a client of the other protocol that its server does not answer only after it has probed
            // the server.
            std::thread::sleep(Duration::from_millis(400));
        }
        let trace = cell.script.run(teetap.listen(), 2)?;
        let objects = teetap.stop()?;
        let is_finding = |object: &Value| text(object, "event") == "finding";
        let said = Self {
            name: cell.name.clone(),
            has_joined: trace.progress().contains(&Got::Snapshot),
            findings: objects.into_iter().filter(is_finding).collect(),
        };
        Ok((trace, said))
    }

    /// Returns true if the first sentence names the mistake. `None` if the cell is not in the table, or if the client
    /// has joined and the mistake has no effect in the game.
    fn is_named(&self) -> Option<bool> {
        let is_of_game = IN_GAME.iter().any(|part| self.name.contains(part));
        if self.has_joined && !is_of_game {
            return None;
        }
        self.names_it()
    }

    /// Returns true if the first sentence names the mistake; `None` if the cell is not in the table.
    pub(super) fn names_it(&self) -> Option<bool> {
        let (_, codes) = NAMED.iter().find(|(end, _)| self.name.ends_with(end))?;
        Some(self.names_one_of(codes))
    }

    /// Returns true if the first sentence has one of these codes, or contains one of these phrases.
    pub(super) fn names_one_of(&self, codes: &[&str]) -> bool {
        self.findings.first().is_some_and(|finding| {
            let (code, words) = (text(finding, "code"), text(finding, "text"));
            codes
                .iter()
                .any(|name| code == *name || name.contains(' ') && words.contains(name))
        })
    }

    fn is_explained(&self) -> bool {
        let accuses = |finding: &Value| text(finding, "severity") != "info";
        self.has_joined || self.findings.iter().any(accuses)
    }

    pub(super) fn line(&self) -> String {
        let first = self.findings.first();
        let first = first.map(|finding| {
            format!(
                "[{} of the {}] {}",
                text(finding, "code"),
                text(finding, "by"),
                text(finding, "text")
            )
        });
        format!("{}: {}", self.name, first.unwrap_or_else(|| "nothing".to_owned()))
    }
}

/// If a join fails, a finding says why, and the first finding mostly names the mistake itself. Only in the long form:
/// each client has its own proxy.
#[test]
fn the_failure_of_a_client_is_explained() -> Result<()> {
    if std::env::var_os("TEETAP_LONG").is_none() {
        return Ok(());
    }
    let _turn = turn::shared()?;
    let all = Mutex::new(Vec::new());
    // Clients that only wait make no mistake.
    let waits = |cell: &Cell| cell.name.contains(": waits ");
    thread::scope(|scope| {
        let lanes: Vec<_> = lanes()
            .into_iter()
            .map(|cells| cells.into_iter().filter(|cell| !waits(cell)).collect())
            .map(|cells| scope.spawn(|| listen(cells, &all)))
            .collect();
        lanes.into_iter().try_for_each(|lane| lane.join().unwrap())
    })?;
    check(&all.into_inner()?)
}

#[expect(clippy::print_stdout, reason = "the sentences are for those who run it")]
fn check(all: &[Said]) -> Result<()> {
    let unexplained: Vec<_> = all
        .iter()
        .filter(|said| !said.is_explained())
        .map(Said::line)
        .collect();
    let judged: Vec<_> = all
        .iter()
        .filter_map(|said| said.is_named().map(|is_named| (said, is_named)))
        .collect();
    let named = judged.iter().filter(|(_, is_named)| *is_named).count();
    for (said, _) in judged.iter().filter(|(_, is_named)| !is_named) {
        println!("not named: {}", said.line());
    }
    println!(
        "{} of {} mistakes named in the first sentence",
        named,
        judged.len()
    );
    ensure!(unexplained.is_empty(), "unexplained:\n{}", unexplained.join("\n"));
    ensure!(
        named * 100 >= judged.len() * SHARE,
        "only {named} of {} are named",
        judged.len()
    );
    Ok(())
}

fn listen(cells: Vec<Cell>, all: &Mutex<Vec<Said>>) -> Result<()> {
    let Some(target) = cells.first().map(|cell| cell.target) else {
        return Ok(());
    };
    let mut server = target.start()?;
    // At most 8 cells in parallel, since each has its own proxy process.
    let said = side_by_side(cells, server.room().min(8), |cell| {
        Ok(Said::of(&cell, server.addr())?.1)
    })?;
    all.lock().unwrap().extend(said);
    server.stop()
}

fn is_wanted(line: &str) -> bool {
    ["start", "finding"]
        .iter()
        .any(|event| line.contains(&format!("\"event\":\"{event}\"")))
}
