//! Joins that are not plain, by real clients through the built binary: a dummy beside its player, a changed map, a server
//! that ends and starts again, a client that leaves and comes back.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use teetap_kit::real::{
    DdnetClient, DdnetServer, NpmBot, PATIENCE, Player, Server, Teetap, TeeworldsClient, TeeworldsServer,
    chat_between, entered, left, turn,
};

use crate::TEETAP;

/// The line of a server's log for a player that comes into the world, at a join and at every new map.
const INTO_WORLD: &str = r"player has entered the game\. ClientID=";

/// A proxy that reports only sessions and oddities.
fn proxy(server: &impl Server) -> Result<Teetap> {
    Teetap::start(Path::new(TEETAP), server.addr(), &["--quiet"])
}

/// The end of each session, in the order of their numbers: its states, who ended it, and the reason.
fn sessions(objects: &[Value]) -> Vec<String> {
    let mut told: Vec<(u64, String)> = Vec::new();
    for object in objects {
        let Some(number) = object.get("session").and_then(Value::as_u64) else {
            continue;
        };
        let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        if told.iter().all(|(known, _)| *known != number) {
            told.push((number, text("proto").to_owned()));
        }
        let Some((_, story)) = told.iter_mut().find(|(known, _)| *known == number) else {
            continue;
        };
        let (by, reason) = (text("by"), text("reason"));
        for word in [text("state"), if by.is_empty() { "" } else { "by" }, by, reason] {
            if !word.is_empty() {
                story.push(' ');
                story.push_str(word);
            }
        }
    }
    told.sort();
    told.into_iter().map(|(_, story)| story).collect()
}

/// The proxy ends in order, had these sessions and complains of nothing (but what the caller expects).
fn finish(teetap: Teetap, expected: &[&str], complaints: &[&str]) -> Result<()> {
    let (code, objects) = teetap.stop()?;
    ensure!(code == 128 + 15, "teetap ended with {code}");
    let seen = sessions(&objects);
    ensure!(seen == expected, "not {expected:?}: {seen:?}");
    for object in &objects {
        let event = object.get("event").and_then(Value::as_str).unwrap_or_default();
        let line = object.to_string();
        let known = ["start", "session", "summary"].contains(&event)
            || complaints.iter().any(|complaint| line.contains(complaint));
        ensure!(known, "unexpected: {object}");
    }
    Ok(())
}

/// The notice about a server that has crashed.
const UNREACHABLE: &str = "the server is unreachable";
/// The notice about a silent server.
const SILENT: &str = "the server has not answered for ";
/// The notice about a client that stays shorter than a second.
const EARLY: &str = "CLOSE within 1 s of CONNECT";
/// The npm client sends one data packet without anything in it.
const EMPTY: &str = "empty-without-resend";
/// The time that a line of a player takes to the server's log, at most, before it is sent again.
const SWITCH: Duration = Duration::from_secs(2);
const VISIT: &str = "opening online closing by client closed";

fn visit(proto: &str) -> String {
    format!("{proto} {VISIT}")
}

/// The player says something that the server hears.
fn says(server: &impl Server, player: &mut impl Player, name: &str, text: &str) -> Result<()> {
    player.command(&format!("say {text}"))?;
    server.log().wait_for(&said(name, text), PATIENCE).map(drop)
}

/// The server's line about that.
fn said(name: &str, text: &str) -> String {
    format!(r"chat.*: ?{}: {text}$", escaped(name))
}

/// Names of dummies have brackets.
fn escaped(name: &str) -> String {
    name.replace('[', r"\[").replace(']', r"\]")
}

#[test]
fn a_dummy_plays_beside_its_player() -> Result<()> {
    let _turn = turn::shared()?;
    const DUMMY: &str = "[D] player";
    let mut server = DdnetServer::start(&[])?;
    let teetap = proxy(&server)?;
    let mut client = DdnetClient::start("player", teetap.listen())?.joined()?;
    entered(&server, "player")?;
    client.command("dummy_connect")?;
    entered(&server, DUMMY)?;
    // Each of the two plays: one is switched to, the other stays.
    for (turn, name) in ["1", "0", "1", "0"]
        .into_iter()
        .zip([DUMMY, "player", DUMMY, "player"])
    {
        // The client switches only to a dummy that has come into its game, which is after the server says so.
        let text = format!("{name} says so").replace(['[', ']'], "");
        let (mark, deadline) = (server.log().mark(), Instant::now() + PATIENCE);
        loop {
            client.command(&format!("cl_dummy {turn}"))?;
            client.command(&format!("say {text}"))?;
            let heard = server.log().wait_after(mark, &said(name, &text), SWITCH);
            if heard.is_ok() {
                break;
            }
            ensure!(Instant::now() < deadline, "{name} says nothing");
        }
    }
    client.command("dummy_disconnect")?;
    left(&server, DUMMY)?;
    says(&server, &mut client, "player", "the dummy is gone")?;
    // The client connects a dummy only every five seconds.
    let (mark, deadline) = (server.log().mark(), Instant::now() + PATIENCE);
    let again = format!("chat: .*'{}' entered", escaped(DUMMY));
    while server
        .log()
        .wait_after(mark, &again, Duration::from_secs(1))
        .is_err()
    {
        ensure!(
            Instant::now() < deadline,
            "no second dummy:\n{}",
            client.log().tail()
        );
        client.command("dummy_connect")?;
    }
    // The player takes it along.
    client.quit()?;
    left(&server, "player")?;
    server.stop()?;
    finish(teetap, &[&visit("ddnet"), &visit("ddnet"), &visit("ddnet")], &[])
}

#[test]
fn clients_of_a_ddnet_server_follow_to_another_map() -> Result<()> {
    let _turn = turn::shared()?;
    let mut server = DdnetServer::start_with(&[], |data| {
        let seven = "/usr/share/games/teeworlds/data/maps/dm2.map";
        std::fs::copy(seven, data.join("maps7/dm2.map")).context(seven)?;
        Ok(())
    })?;
    let teetap = proxy(&server)?;
    let mut seven = TeeworldsClient::offscreen("seven", teetap.listen())?.joined()?;
    entered(&server, "seven")?;
    let mut npm = NpmBot::start("npm", teetap.listen())?.joined()?;
    entered(&server, "npm")?;
    let mut ddnet = DdnetClient::start("ddnet", teetap.listen())?.joined()?;
    chat_between(&server, &mut ddnet, &seven, "still on the first map")?;
    let mark = server.log().mark();
    let clients = [seven.log().mark(), ddnet.log().mark()];
    server.command("change_map dm2")?;
    for id in 0..3 {
        server
            .log()
            .wait_after(mark, &format!("{INTO_WORLD}{id} "), PATIENCE)?;
    }
    seven
        .log()
        .wait_after(clients[0], r"client/network\]: loading done", PATIENCE)?;
    ddnet
        .log()
        .wait_after(clients[1], "loading done. datafile='maps/dm2.map'", PATIENCE)?;
    chat_between(&server, &mut ddnet, &seven, "on the second map")?;
    chat_between(&server, &mut npm, &ddnet, "npm is there too")?;
    for player in [&mut seven as &mut dyn Player, &mut npm, &mut ddnet] {
        player.quit()?;
        left(&server, player.name())?;
    }
    server.stop()?;
    finish(
        teetap,
        &[&visit("0.7"), &visit("ddnet"), &visit("ddnet")],
        &[EMPTY],
    )
}

#[test]
fn clients_of_a_0_7_server_follow_to_another_map() -> Result<()> {
    let _turn = turn::shared()?;
    let mut server = TeeworldsServer::start(&[])?;
    let teetap = proxy(&server)?;
    let mut listener = TeeworldsClient::offscreen("listener", teetap.listen())?.joined()?;
    entered(&server, "listener")?;
    let mut speaker = TeeworldsClient::on_display("speaker", teetap.listen())?.joined()?;
    chat_between(&server, &mut speaker, &listener, "still on the first map")?;
    let (mark, client) = (server.log().mark(), listener.log().mark());
    server.command("change_map ctf1")?;
    for id in 0..2 {
        server
            .log()
            .wait_after(mark, &format!("{INTO_WORLD}{id} "), PATIENCE)?;
    }
    listener
        .log()
        .wait_after(client, r"client/network\]: loading done", PATIENCE)?;
    chat_between(&server, &mut speaker, &listener, "on the second map")?;
    speaker.quit()?;
    left(&server, "speaker")?;
    listener.quit()?;
    left(&server, "listener")?;
    server.stop()?;
    finish(teetap, &[&visit("0.7"), &visit("0.7")], &[])
}

/// The server ends in order, or by a crash that ends the first session like `crash`, and starts again on its port; the
/// client hears of it, connects again and plays.
fn after_a_restart(
    mut server: impl Server,
    proto: &str,
    crash: Option<&str>,
    join: impl FnOnce(&Teetap) -> Result<Box<dyn Player>>,
) -> Result<()> {
    let teetap = proxy(&server)?;
    let mut player = join(&teetap)?;
    let name = player.name().to_owned();
    entered(&server, &name)?;
    let mark = player.log().mark();
    let first = if let Some(end) = crash {
        server.kill()?;
        teetap.wait_for("that the server is unreachable", |object| {
            object.to_string().contains(UNREACHABLE)
        })?;
        server.start_again()?;
        // The new server does not know the client, so the client gives up after some seconds.
        let tired = r"offline error='(Timeout|Too weak connection \(not acked for \d+ seconds\))'";
        player.log().wait_after(mark, tired, PATIENCE)?;
        end
    } else {
        server.command("shutdown")?;
        player
            .log()
            .wait_after(mark, "offline error='Server shutdown'", PATIENCE)?;
        server.start_again()?;
        "opening online closing by server Server shutdown closed"
    };
    player.command(&format!("connect {}", teetap.listen()))?;
    entered(&server, &name)?;
    player.command("say here again")?;
    server.log().wait_for("chat.*: ?.*here again$", PATIENCE)?;
    player.quit()?;
    left(&server, &name)?;
    server.stop()?;
    finish(
        teetap,
        &[&format!("{proto} {first}"), &visit(proto)],
        &[UNREACHABLE, SILENT, EARLY],
    )
}

fn ddnet(teetap: &Teetap) -> Result<Box<dyn Player>> {
    Ok(Box::new(DdnetClient::start("ddnet", teetap.listen())?.joined()?))
}

fn seven(teetap: &Teetap) -> Result<Box<dyn Player>> {
    Ok(Box::new(
        TeeworldsClient::on_display("seven", teetap.listen())?.joined()?,
    ))
}

#[test]
fn a_ddnet_server_starts_again() -> Result<()> {
    let _turn = turn::shared()?;
    after_a_restart(DdnetServer::start(&[])?, "ddnet", None, ddnet)
}

#[test]
fn a_0_7_server_starts_again() -> Result<()> {
    let _turn = turn::shared()?;
    after_a_restart(TeeworldsServer::start(&[])?, "0.7", None, seven)
}

/// DDNet's client says nothing when it gives up; it comes again from its port.
const TAKEN_OVER: &str = "opening online closing closed";

#[test]
fn a_ddnet_server_crashes_and_starts_again() -> Result<()> {
    let _turn = turn::shared()?;
    after_a_restart(DdnetServer::start(&[])?, "ddnet", Some(TAKEN_OVER), |teetap| {
        let mut client = ddnet(teetap)?;
        // Not a hundred seconds.
        client.command("conn_timeout 5")?;
        Ok(client)
    })
}

#[test]
fn a_0_7_server_crashes_and_starts_again() -> Result<()> {
    let _turn = turn::shared()?;
    let end = "opening online closing by client Timeout closed";
    after_a_restart(TeeworldsServer::start(&[])?, "0.7", Some(end), seven)
}

/// From the same port, a moment after its CLOSE and long after it.
fn comes_back(
    mut server: impl Server,
    proto: &str,
    join: impl FnOnce(&Teetap) -> Result<Box<dyn Player>>,
) -> Result<()> {
    let teetap = proxy(&server)?;
    let mut player = join(&teetap)?;
    let name = player.name().to_owned();
    entered(&server, &name)?;
    let mut id = 0;
    for (round, leaves) in [true, false, true].into_iter().enumerate() {
        let leave = format!("leave player='{id}:{name}'");
        let mark = server.log().mark();
        if leaves {
            player.command("disconnect")?;
            server.log().wait_after(mark, &leave, PATIENCE)?;
        }
        // Without a disconnect before, this is both at once.
        player.command(&format!("connect {}", teetap.listen()))?;
        server.log().wait_after(mark, &leave, PATIENCE)?;
        // A server that finds CLOSE and the new join at once has not freed the slot yet.
        let came = server
            .log()
            .wait_after(mark, &format!("{INTO_WORLD}[01] "), PATIENCE)?;
        id = u8::from(came.text.contains("ClientID=1 "));
        player.command(&format!("say round {round}"))?;
        server
            .log()
            .wait_after(mark, &format!("chat.*round {round}$"), PATIENCE)?;
    }
    player.quit()?;
    server.stop()?;
    let expected = visit(proto);
    finish(teetap, &[&expected[..]; 4], &[EARLY])
}

#[test]
fn a_ddnet_client_comes_back() -> Result<()> {
    let _turn = turn::shared()?;
    comes_back(DdnetServer::start(&[])?, "ddnet", ddnet)
}

#[test]
fn a_0_7_client_comes_back() -> Result<()> {
    let _turn = turn::shared()?;
    comes_back(TeeworldsServer::start(&[])?, "0.7", seven)
}
