//! The torture matrix with a real client and a real server.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use teetap_kit::{
    binary,
    real::{DdnetServer, Server as _, text, turn},
};

use crate::TEETAP;

/// DDNet's ACCEPT is not retransmitted, so the matrix must find that its loss ends the join; retransmission of other
/// messages must let the client join later.
#[test]
fn the_matrix_finds_what_is_sent_once() -> Result<()> {
    let _turn = turn::shared()?;
    let mut server = DdnetServer::start(&[])?;
    let bot = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/bot.js");
    let mut command = Command::new(TEETAP);
    command.args(["torture", &server.addr().to_string(), "--json", "--timeout", "6s"]);
    command.args(["--only", "connect", "--only", "ctrl.accept", "--only", "ready"]);
    command.args(["--", "node", bot, "{host}", "{port}", "tee"]);
    let output = command.output()?;
    let stdout = String::from_utf8(output.stdout)?;
    server.stop()?;
    let lines = binary::objects(&stdout);
    let outcome = |message: &str, fault: &str| -> Result<&str> {
        let is_meant = |line: &&Value| text(line, "message") == message && text(line, "fault") == fault;
        let line = lines.iter().find(is_meant).context("no such cell")?;
        Ok(text(line, "outcome"))
    };
    for (message, fault, joins) in [
        ("ctrl.connect", "lose", true),
        ("ctrl.connect", "drop", true),
        ("ctrl.accept", "lose", false),
        ("ctrl.accept", "drop", false),
        ("ctrl.accept", "dup", true),
        ("ctrl.accept", "delay", true),
        ("sys.ready", "lose", true),
        ("sys.ready", "drop", false),
    ] {
        let got = outcome(message, fault)?;
        let is_expected = if joins {
            ["joined", "late"].contains(&got)
        } else {
            got == "never"
        };
        ensure!(is_expected, "{message} {fault}: {got}\n{stdout}");
    }
    let summary = lines.last().context("no line")?;
    // The client answers each CONNECT_ACCEPT with an ACCEPT, and each ACCEPT resets the server's numbers: if its
    // CONNECT is duplicated, it joins late or never receives a message, as without the proxy.
    let dup = outcome("ctrl.connect", "dup")?;
    ensure!(["late", "faulty"].contains(&dup), "{dup}\n{stdout}");
    let is_failed = |line: &&Value| line["failed"] == true;
    let failed: Vec<_> = lines
        .iter()
        .filter(is_failed)
        .map(|line| text(line, "message"))
        .collect();
    ensure!(
        failed.iter().all(|message| *message == "ctrl.connect"),
        "{failed:?}\n{stdout}"
    );
    let code = i32::from(!failed.is_empty());
    ensure!(
        output.status.code() == Some(code),
        "{}, not {code}\n{stdout}",
        output.status
    );
    ensure!(
        summary["cells"] == 16 && summary["failed"] == failed.len(),
        "{summary}"
    );
    Ok(())
}
