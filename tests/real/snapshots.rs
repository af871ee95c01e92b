//! Snapshots that rules change, between real servers and clients: the clients show the changed values, accept every
//! checksum, and never request a complete snapshot.

use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::Value;
use teetap_kit::real::{Client, Game, PATIENCE, Teetap, UNDECLARED, entered, left, text, turn};

use crate::TEETAP;

/// A client that cannot read snapshots acks none.
const RESET: &str = "fail \"the client lost its snapshots\" when input.ack_snapshot < 0 and snaps > 20";
const SNAPS: &str = "let snaps = count(snap_single) + count(snap) + count(snap_empty)";

/// Returns the notices about failed rules and failed assertions.
fn failures(objects: &[Value]) -> Vec<String> {
    let is_failure = |object: &&Value| ["rule_failed", "assertion_failed"].contains(&text(object, "kind"));
    objects
        .iter()
        .filter(is_failure)
        .map(ToString::to_string)
        .collect()
}

/// Tests a player whose client shows everybody under another name, until the player says "enough".
fn plays_among_others_with_other_names(client: Client) -> Result<()> {
    let _turn = turn::shared()?;
    let mut server = Game::Ddnet.start(&[])?;
    let rule = "set snap.client_info.name = \"mallory\", snap.character.x = snap.character.x + 64 \
                when any_snap until cl_say.message == \"enough\"";
    let rules = [SNAPS, rule, RESET].map(|rule| ["-r", rule]).concat();
    let teetap = Teetap::start(Path::new(TEETAP), server.addr(), &rules)?;
    let mut player = client.join("anna", teetap.listen())?;
    entered(&*server, "anna")?;
    if client == Client::Ddnet {
        player.command("console_output_level 2")?;
        player.command("debug 1")?;
    } else {
        player.log().wait_for("^snapshots 100$", PATIENCE)?;
    }
    // A second player joins and leaves, so that items appear and disappear.
    let mut other = Client::Npm.join("bert", server.addr())?;
    other.log().wait_for("^snapshots 25$", PATIENCE)?;
    player.command("say hello")?;
    server.log().wait_for("chat.*anna: hello$", PATIENCE)?;
    player.log().wait_for("chat.* mallory: hello$", PATIENCE)?;
    other.command("say hi")?;
    player.log().wait_for("chat.* mallory: hi$", PATIENCE)?;
    other.quit()?;
    left(&*server, "bert")?;
    // After the rule has ended, differences to changed snapshots continue for a moment.
    player.command("say enough")?;
    server.log().wait_for("chat.*anna: enough$", PATIENCE)?;
    let mut mark = player.log().mark();
    for words in ["one", "two", "three", "four", "five", "six"] {
        mark = player.log().mark();
        player.command(&format!("say {words}"))?;
        player
            .log()
            .wait_after(mark, &format!("chat.*: {words}$"), PATIENCE)?;
    }
    player.log().wait_after(mark, "chat.* anna: six$", PATIENCE)?;
    player.quit()?;
    let errors = player.log().matching("crc error|unpack|CRC", [])?;
    ensure!(errors.is_empty(), "{errors:?}");
    let objects = teetap.stop()?;
    server.stop()?;
    let failures = failures(&objects);
    ensure!(failures.is_empty(), "{failures:?}");
    let is_edited = |object: &&Value| object["actions"].to_string().contains("\"edit\"");
    let edited = objects.iter().filter(is_edited).count();
    ensure!(edited > 20, "only {edited} snapshots were changed");
    let is_wrong = |object: &&Value| {
        let mut notes = object["notes"].as_array().into_iter().flatten();
        notes.any(|note| {
            note["code"]
                .as_str()
                .is_some_and(|code| code.starts_with("snap-") && code != UNDECLARED)
        })
    };
    let wrong: Vec<_> = objects.iter().filter(is_wrong).collect();
    ensure!(wrong.is_empty(), "{wrong:?}");
    Ok(())
}

#[test]
fn an_npm_client_shows_other_names() -> Result<()> {
    plays_among_others_with_other_names(Client::Npm)
}

#[test]
fn a_ddnet_client_shows_other_names() -> Result<()> {
    plays_among_others_with_other_names(Client::Ddnet)
}

#[test]
fn a_0_7_client_reads_changed_snapshots() -> Result<()> {
    let _turn = turn::shared()?;
    let mut server = Game::Seven.start(&[])?;
    let rule = "set snap.player_info.score = 77, snap.character.x = snap.character.x + 64 when any_snap";
    let fail = "exit 17 when any_snap and snaps > 150";
    let rules = [SNAPS, rule, RESET, fail].map(|rule| ["-r", rule]).concat();
    let teetap = Teetap::start(Path::new(TEETAP), server.addr(), &rules)?;
    let mut player = Client::Seven.join("anna", teetap.listen())?;
    let ended = teetap.wait_for("150 snapshots", |object| text(object, "event") == "summary")?;
    ensure!(ended.to_string().contains("17"), "{ended}");
    player.quit().ok();
    server.stop()
}
