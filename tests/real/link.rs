//! Real clients that play over a bad link while rules act on their messages, for some rounds, or for ten minutes with
//! `TEETAP_LONG=1` (`tests/run --long`).

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::Value;
use teetap_kit::real::{
    Client, DdnetServer, PATIENCE, Player, Server, Teetap, TeeworldsServer, entered, text, turn,
};

use crate::{
    TEETAP,
    soak::{complaints_of, say},
};

/// A link over which playing is still possible.
const LINK: &str = "link both delay 60ms jitter 20ms normal loss 5% dup 1% reorder 2%";

/// Rules that change the messages of players and their order, but end no session.
const RULES: [&str; 7] = [
    "lap: replace cl_say.message /^round/ with \"lap\" when cl_say",
    "slow: delay 20ms..80ms when c2s and input chance 10%",
    "gone: drop when s2c and any_snap chance 3%",
    "lost: lose when s2c and sv_chat chance 30%",
    "held: delay 200ms when cl_emoticon",
    "twice: dup gap 15ms when sv_emoticon",
    "made: inject s2c sv_broadcast{message: \"still here\"} every 3s",
];

/// Parts of the proxy's output lines that are kept.
const KEPT: [&str; 4] = [
    r#""event":"start""#,
    r#""event":"session""#,
    r#""event":"summary""#,
    r#""severity":"error""#,
];

/// The time between two rounds.
const ROUND: Duration = Duration::from_secs(2);

/// Sends a chat line in each round; it must arrive as the rule changes it, at the server and at the player.
fn plays(server: &dyn Server, player: &mut dyn Player, moves: &[&str]) -> Result<usize> {
    let is_long = std::env::var_os("TEETAP_LONG").is_some();
    let end = Instant::now() + Duration::from_secs(if is_long { 600 } else { 8 });
    let mut number = 0;
    while Instant::now() < end {
        player.command(&format!("say round {number}"))?;
        let line = format!("(?i)chat.*{}: lap {number}$", player.name());
        server.log().wait_for(&line, PATIENCE)?;
        player.log().wait_for(&line, PATIENCE)?;
        if let Some(step) = moves.get(number % moves.len()) {
            player.command(step)?;
        }
        number += 1;
        thread::sleep(ROUND);
    }
    Ok(number)
}

/// Plays, and quits. No peer may complain, and only the player may end the session.
fn session(mut server: impl Server, client: Client, moves: &[&str]) -> Result<()> {
    let rules = RULES.iter().chain([&LINK]);
    let mut options: Vec<&str> = rules.flat_map(|rule| ["-r", rule]).collect();
    // DDNet's ACCEPT is sent once: if the link loses it, the login fails as it does directly.
    options.push("--heal");
    let teetap = Teetap::start_keeping(Path::new(TEETAP), server.addr(), &options, |line| {
        KEPT.iter().any(|part| line.contains(part))
    })?;
    let mut player = client.join("guest", teetap.listen())?;
    entered(&server, "guest")?;
    let rounds = plays(&server, &mut *player, moves)?;
    player.quit()?;
    // The CLOSE may get lost and is never retransmitted: the server need not receive it.
    let objects = teetap.stop()?;
    server.stop()?;
    let mut complaints = complaints_of("the client", player.log())?;
    complaints.extend(complaints_of("the server", server.log())?);
    let events = |event: &'static str| {
        objects
            .iter()
            .filter(move |object| text(object, "event") == event)
    };
    ensure!(
        events("session")
            .filter(|object| text(object, "state") == "online")
            .count()
            == 1
    );
    for object in events("session").filter(|object| text(object, "state") == "closing") {
        ensure!(text(object, "by") != "server", "the server ended it: {object}");
    }
    for object in &objects {
        let is_error = |note: &Value| text(note, "severity") == "error";
        let notes = object["notes"].as_array();
        ensure!(!notes.is_some_and(|notes| notes.iter().any(is_error)), "{object}");
    }
    ensure!(complaints.is_empty(), "complaints:\n{}", complaints.join("\n"));
    let summary = objects.last().unwrap_or(&Value::Null);
    say(&format!("link, {client:?}: {rounds} rounds; {summary}"))?;
    for rule in summary["rules"].as_array().into_iter().flatten() {
        // The other rules act by chance, or on messages that not every client sends.
        let is_sure = ["lap", "slow", "made"].contains(&text(rule, "name"));
        ensure!(!is_sure || rule["hits"].as_u64() > Some(0), "never: {rule}");
    }
    for link in summary["links"].as_array().into_iter().flatten() {
        let count = |name: &str| link[name].as_u64().unwrap_or_default();
        ensure!(
            count("lost") > 0 && count("lost") < count("delayed") / 5,
            "{link}"
        );
    }
    Ok(())
}

#[test]
fn a_ddnet_client_plays_over_a_bad_link_under_rules() -> Result<()> {
    let _turn = turn::shared()?;
    session(DdnetServer::start(&[])?, Client::Ddnet, crate::soak::DDNET)
}

#[test]
fn a_seven_client_plays_over_a_bad_link_under_rules() -> Result<()> {
    let _turn = turn::shared()?;
    session(TeeworldsServer::start(&[])?, Client::Seven, crate::soak::SEVEN)
}
