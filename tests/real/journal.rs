//! The time of joins in journals, with a real client and a real server.

use std::{fs, path::Path, process::Command};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use teetap_kit::{
    binary,
    real::{DdnetServer, Server as _, turn},
};

use crate::TEETAP;

/// The condition under which a client is in the game.
const IN_GAME: &str = "any_snap and since(enter_game) > 200ms";

/// Lets a client join under a rule. Returns the lines of the journal.
fn join(server: &DdnetServer, rule: &str, folder: &Path, exit: i32) -> Result<Vec<Value>> {
    let journal = folder.join("journal.jsonl");
    let bot = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/bot.js");
    let mut command = Command::new(TEETAP);
    command.args([
        "run",
        &server.addr().to_string(),
        "-q",
        "-l",
        ":0",
        "-r",
        rule,
        "--journal",
    ]);
    command.arg(&journal);
    command.args([
        "--until",
        IN_GAME,
        "--timeout",
        "6s",
        "--",
        "node",
        bot,
        "{host}",
        "{port}",
        "tee",
    ]);
    binary::run(&mut command, exit);
    let lines = binary::objects(&fs::read_to_string(&journal)?);
    fs::remove_file(&journal)?;
    Ok(lines)
}

/// Returns the microseconds from the opening of the session until the client is in the game.
fn entered(lines: &[Value]) -> Option<u64> {
    lines.iter().find_map(|line| line["entered_us"].as_u64())
}

#[test]
fn a_journal_says_how_much_later_a_client_joins() -> Result<()> {
    let _turn = turn::shared()?;
    let folder = tempfile::tempdir()?;
    let mut server = DdnetServer::start(&[])?;
    let direct = join(&server, "pass when c2s and ready first 1", folder.path(), 0)?;
    let late = join(&server, "lose when c2s and ready first 1", folder.path(), 0)?;
    let never = join(&server, "drop when c2s and ready first 1", folder.path(), 4)?;
    server.stop()?;
    let direct = entered(&direct).context("no entry in the journal of the direct join")?;
    let after = entered(&late).context("no entry in the journal of the late join")?;
    let is_lost = |line: &Value| line["message"] == "ready" && line["action"] == "lose";
    ensure!(late.iter().any(is_lost), "{late:?}");
    ensure!(
        after > direct + 200_000,
        "{after} us after a loss, {direct} us without"
    );
    ensure!(entered(&never).is_none(), "{never:?}");
    Ok(())
}
