//! The actions of players, the same for every client, server and route.
//!
//! Law: each step is confirmed by the other side's log before the next one starts, so no scenario needs a pause.
//! Vital messages are delivered in order: if something must *not* happen, a later chat line proves that its time has
//! passed.

use anyhow::{Result, ensure};
use regex::escape;

use super::{PATIENCE, Player, Server};

/// Plays the whole visit of a server's only player (client 0) after it joined: it plays and quits cleanly.
pub fn visit(server: &mut dyn Server, player: &mut dyn Player) -> Result<()> {
    play(server, player)?;
    player.quit()?;
    left(server, player.name())
}

/// Checks a server's only player: entry, chat both ways, rcon refused, granted and used, a death.
pub fn play(server: &mut dyn Server, player: &mut dyn Player) -> Result<()> {
    entered(server, player.name())?;
    says(server, player, "hello from the player")?;
    server.command("say hello from the server")?;
    receives(player, r"\*\*\* hello from the server$|: hello from the server$")?;

    player.command("rcon_auth wrong-rcon")?;
    player.command("rcon say nobody may say this")?;
    says(server, player, "after the wrong password")?;
    for forbidden in ["ClientID=0 authed", "nobody may say this"] {
        ensure!(
            !server.log().contains(forbidden),
            "{forbidden:?} in the server's log:\n{}",
            server.log().tail()
        );
    }
    player.command("rcon_auth right-rcon")?;
    server.log().wait_for("ClientID=0 authed", PATIENCE)?;
    player.command("rcon say only an admin says this")?;
    server
        .log()
        .wait_for("rcon='say only an admin says this'", PATIENCE)?;
    receives(player, "only an admin says this$")?;

    player.command("kill")?;
    says(server, player, "after the end of a tee")
}

/// Lets the server kick the joined `player` with a reason, which both sides must then name.
pub fn kick(server: &mut dyn Server, player: &dyn Player) -> Result<()> {
    let name = player.name();
    entered(server, name)?;
    let entrance = server
        .log()
        .wait_for(r"player has entered the game\. ClientID=\d+", PATIENCE)?
        .text;
    let id: String = entrance
        .split("ClientID=")
        .skip(1)
        .flat_map(str::chars)
        .take_while(char::is_ascii_digit)
        .collect();
    server.command(&format!("kick {id} the reason is shown"))?;
    receives(
        player,
        r"(offline error=|disconnected by server )'Kicked \(the reason is shown\)'",
    )?;
    server
        .log()
        .wait_for(r"Kicked \(the reason is shown\)", PATIENCE)?;
    server
        .log()
        .wait_for(&format!(r"leave player='\d+:{}'", escape(name)), PATIENCE)?;
    Ok(())
}

/// Checks that the server refuses `player`, and that the player receives `reason` unchanged.
pub fn refused(player: &dyn Player, reason: &str) -> Result<()> {
    receives(
        player,
        &format!("(offline error=|disconnected by server )'{}'", escape(reason)),
    )
}

/// Checks two joined players: both are in the game, and the text of `speaker` reaches the server and `listener`.
pub fn chat_between(
    server: &dyn Server,
    speaker: &mut dyn Player,
    listener: &dyn Player,
    text: &str,
) -> Result<()> {
    entered(server, speaker.name())?;
    entered(server, listener.name())?;
    says(server, speaker, text)?;
    receives(listener, &format!(": {}$", escape(text)))
}

/// Waits until the server's log reports that the player is in the game.
pub fn entered(server: &dyn Server, name: &str) -> Result<()> {
    let name = escape(name);
    let pattern = format!(r"team_join player='\d+:{name}'|'{name}' entered and joined the game");
    server.log().wait_for(&pattern, PATIENCE).map(drop)
}

/// Waits until the server's log reports that the player left voluntarily: without a reason, so neither a timeout nor
/// an error.
pub fn left(server: &dyn Server, name: &str) -> Result<()> {
    let name = escape(name);
    server
        .log()
        .wait_for(&format!(r"leave player='\d+:{name}'"), PATIENCE)?;
    // Teeworlds 0.7.5 prints the reason in a line of its own, DDNet in the chat line.
    let clean = format!(r"client dropped\. cid=\d+ addr=\S+ reason=''$|'{name}' has left the game$");
    server.log().wait_for(&clean, PATIENCE).map(drop)
}

fn says(server: &dyn Server, player: &mut dyn Player, text: &str) -> Result<()> {
    player.command(&format!("say {text}"))?;
    let line = format!(r"chat.*{}: {}$", escape(player.name()), escape(text));
    server.log().wait_for(&line, PATIENCE).map(drop)
}

fn receives(player: &dyn Player, pattern: &str) -> Result<()> {
    player.log().wait_for(pattern, PATIENCE).map(drop)
}
