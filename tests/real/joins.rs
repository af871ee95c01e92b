//! Unusual joins by real clients through the built binary: a dummy beside its player, a changed map, a server that
//! ends and restarts, a client that leaves and returns.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use teetap_kit::real::{
    Client, DdnetClient, DdnetServer, Game, Log, PATIENCE, Player, Server, Teetap, chat_between, entered,
    left, text, turn,
};

use crate::TEETAP;

/// The server's log line for a player that enters the world, at a join and at every new map.
const INTO_WORLD: &str = r"player has entered the game\. ClientID=";

/// A proxy that reports only sessions and oddities.
fn proxy(server: &dyn Server) -> Result<Teetap> {
    Teetap::start(Path::new(TEETAP), server.addr(), &["--quiet"])
}

/// Returns the story of each session, in the order of their numbers: its states, who ended it, and the reason.
fn sessions(objects: &[Value]) -> Vec<String> {
    let mut stories: Vec<(u64, String)> = Vec::new();
    for object in objects {
        let Some(number) = object.get("session").and_then(Value::as_u64) else {
            continue;
        };
        let text = |key: &str| text(object, key);
        if stories.iter().all(|(known, _)| *known != number) {
            stories.push((number, text("proto").to_owned()));
        }
        let Some((_, story)) = stories.iter_mut().find(|(known, _)| *known == number) else {
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
    stories.sort();
    stories.into_iter().map(|(_, story)| story).collect()
}

/// Checks that the proxy ends cleanly, had these sessions, and reports nothing else than `complaints`.
fn finish(teetap: Teetap, expected: &[&str], complaints: &[&str]) -> Result<()> {
    let objects = teetap.stop()?;
    let seen = sessions(&objects);
    ensure!(seen == expected, "not {expected:?}: {seen:?}");
    for object in &objects {
        let event = text(object, "event");
        let line = object.to_string();
        let known = ["start", "session", "summary"].contains(&event)
            || complaints.iter().any(|complaint| line.contains(complaint));
        ensure!(known, "unexpected: {object}");
    }
    Ok(())
}

/// The notice about a crashed server.
const UNREACHABLE: &str = "the server is unreachable";
/// The notice about a silent server.
const SILENT: &str = "the server has not answered for ";
/// The notice about a client that stays for less than a second.
const EARLY: &str = "CLOSE within 1 s of CONNECT";
/// The note about the npm client, which sends one empty data packet.
const EMPTY: &str = "empty-without-resend";
/// Maximum time until a player's chat line reaches the server's log before it is sent again.
const SWITCH: Duration = Duration::from_secs(2);
const VISIT: &str = "opening online closing by client closed";

fn visit(proto: &str) -> String {
    format!("{proto} {VISIT}")
}

/// Returns the pattern of the server's log line for a chat line.
fn chat_line(name: &str, text: &str) -> String {
    format!(r"chat.*: ?{}: {text}$", escaped(name))
}

/// Escapes the brackets in the names of dummies.
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
    // Player and dummy both play: the client controls one while the other stays.
    for (turn, name) in ["1", "0", "1", "0"]
        .into_iter()
        .zip([DUMMY, "player", DUMMY, "player"])
    {
        // The client switches only to a dummy that has entered its game, which happens after the server reports it.
        let text = format!("{name} says so").replace(['[', ']'], "");
        let (mark, deadline) = (server.log().mark(), Instant::now() + PATIENCE);
        loop {
            client.command(&format!("cl_dummy {turn}"))?;
            client.command(&format!("say {text}"))?;
            let received = server.log().wait_after(mark, &chat_line(name, &text), SWITCH);
            if received.is_ok() {
                break;
            }
            ensure!(Instant::now() < deadline, "{name} says nothing");
        }
    }
    client.command("dummy_disconnect")?;
    left(&server, DUMMY)?;
    client.command("say the dummy is gone")?;
    server
        .log()
        .wait_for(&chat_line("player", "the dummy is gone"), PATIENCE)?;
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
    // The dummy leaves with its player.
    client.quit()?;
    left(&server, "player")?;
    server.stop()?;
    finish(teetap, &[&visit("ddnet"), &visit("ddnet"), &visit("ddnet")], &[])
}

/// Waits until DDNet's client is in the world of a newly loaded map: until its first snapshot it shows no chat, since
/// it does not know the names.
fn is_back(player: &mut dyn Player) -> Result<()> {
    let (mark, deadline) = (player.log().mark(), Instant::now() + PATIENCE);
    let echo = chat_line(player.name(), "back again");
    loop {
        player.command("say back again")?;
        let seen = player.log().wait_after(mark, &echo, Duration::from_secs(1));
        if seen.is_ok() {
            return Ok(());
        }
        ensure!(Instant::now() < deadline, "no chat on the new map: {seen:?}");
    }
}

/// All clients of a server follow it to another map. The last client acts, the first one listens; npm clients speak
/// too.
fn follow_to_another_map(game: Game, clients: &[(Client, &str)], complaints: &[&str]) -> Result<()> {
    let _turn = turn::shared()?;
    let mut server = game.start(&[])?;
    let teetap = proxy(&*server)?;
    let mut players = Vec::new();
    for (client, name) in clients {
        players.push(client.join(name, teetap.listen())?);
        entered(&*server, name)?;
    }
    let (speaker, others) = players.split_last_mut().context("no clients")?;
    chat_between(&*server, &mut **speaker, &*others[0], "still on the first map")?;
    let marks = [server.log(), others[0].log(), speaker.log()].map(Log::mark);
    server.command(match game {
        Game::Ddnet => "change_map dm2",
        Game::Seven => "change_map ctf1",
    })?;
    for id in 0..clients.len() {
        server
            .log()
            .wait_after(marks[0], &format!("{INTO_WORLD}{id} "), PATIENCE)?;
    }
    let seven = r"client/network\]: loading done";
    others[0].log().wait_after(marks[1], seven, PATIENCE)?;
    if game == Game::Ddnet {
        let loaded = "loading done. datafile='maps/dm2.map'";
        speaker.log().wait_after(marks[2], loaded, PATIENCE)?;
        is_back(&mut **speaker)?;
    }
    chat_between(&*server, &mut **speaker, &*others[0], "on the second map")?;
    for ((_, name), player) in clients
        .iter()
        .zip(others)
        .filter(|((client, _), _)| *client == Client::Npm)
    {
        chat_between(
            &*server,
            &mut **player,
            &**speaker,
            &format!("{name} is there too"),
        )?;
    }
    for player in &mut players {
        player.quit()?;
        left(&*server, player.name())?;
    }
    server.stop()?;
    let visits: Vec<String> = clients.iter().map(|(client, _)| visit(client.proto())).collect();
    let visits: Vec<&str> = visits.iter().map(String::as_str).collect();
    finish(teetap, &visits, complaints)
}

#[test]
fn clients_of_a_ddnet_server_follow_to_another_map() -> Result<()> {
    let clients = [
        (Client::Offscreen, "seven"),
        (Client::Npm, "npm"),
        (Client::Ddnet, "ddnet"),
    ];
    follow_to_another_map(Game::Ddnet, &clients, &[EMPTY])
}

#[test]
fn clients_of_a_0_7_server_follow_to_another_map() -> Result<()> {
    let clients = [(Client::Offscreen, "listener"), (Client::Seven, "speaker")];
    follow_to_another_map(Game::Seven, &clients, &[])
}

/// The server ends cleanly, or crashes so that the first session ends like `crash`, and restarts on its port; the
/// client notices, reconnects and plays.
fn after_a_restart(game: Game, crash: Option<&str>) -> Result<()> {
    let _turn = turn::shared()?;
    let (mut server, client) = (game.start(&[])?, own_client(game));
    let teetap = proxy(&*server)?;
    let mut player = client.join("guest", teetap.listen())?;
    if game == Game::Ddnet {
        // The default timeout is a hundred seconds.
        player.command("conn_timeout 5")?;
    }
    entered(&*server, "guest")?;
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
    entered(&*server, "guest")?;
    player.command("say here again")?;
    server.log().wait_for("chat.*: ?.*here again$", PATIENCE)?;
    player.quit()?;
    left(&*server, "guest")?;
    server.stop()?;
    let ends = [&format!("{} {first}", client.proto())[..], &visit(client.proto())];
    finish(teetap, &ends, &[UNREACHABLE, SILENT, EARLY])
}

/// Returns the client of the same program that can act.
fn own_client(game: Game) -> Client {
    match game {
        Game::Ddnet => Client::Ddnet,
        Game::Seven => Client::Seven,
    }
}

#[test]
fn a_ddnet_server_starts_again() -> Result<()> {
    after_a_restart(Game::Ddnet, None)
}

#[test]
fn a_0_7_server_starts_again() -> Result<()> {
    after_a_restart(Game::Seven, None)
}

/// DDNet's client sends nothing when it gives up; it reconnects from the same port.
#[test]
fn a_ddnet_server_crashes_and_starts_again() -> Result<()> {
    after_a_restart(Game::Ddnet, Some("opening online closing closed"))
}

#[test]
fn a_0_7_server_crashes_and_starts_again() -> Result<()> {
    after_a_restart(
        Game::Seven,
        Some("opening online closing by client Timeout closed"),
    )
}

/// A client rejoins from the same port, a moment after its CLOSE and long after it.
fn comes_back(game: Game) -> Result<()> {
    let _turn = turn::shared()?;
    let (mut server, client) = (game.start(&[])?, own_client(game));
    let teetap = proxy(&*server)?;
    let mut player = client.join("guest", teetap.listen())?;
    entered(&*server, "guest")?;
    let mut id = 0;
    for (round, leaves) in [true, false, true].into_iter().enumerate() {
        let leave = format!("leave player='{id}:guest'");
        let mark = server.log().mark();
        if leaves {
            player.command("disconnect")?;
            server.log().wait_after(mark, &leave, PATIENCE)?;
        }
        // Without a previous disconnect, the client disconnects and reconnects at once.
        player.command(&format!("connect {}", teetap.listen()))?;
        server.log().wait_after(mark, &leave, PATIENCE)?;
        // A server that receives CLOSE and the new join together has not freed the slot yet.
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
    let expected = visit(client.proto());
    finish(teetap, &[&expected[..]; 4], &[EARLY])
}

#[test]
fn a_ddnet_client_comes_back() -> Result<()> {
    comes_back(Game::Ddnet)
}

#[test]
fn a_0_7_client_comes_back() -> Result<()> {
    comes_back(Game::Seven)
}
