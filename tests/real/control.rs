//! The control socket between real peers, used by the scripts of the documentation.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use teetap_kit::binary::place;
use teetap_kit::control::Control;
use teetap_kit::real::{
    Client, DdnetServer, Launch, PATIENCE, Program, Server as _, Teetap, TeeworldsServer, home, turn,
};
use tempfile::TempDir;

use crate::TEETAP;

/// Returns the path of a script.
fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs/scripts")
        .join(name)
}

fn shout(socket: &Path) -> Result<(Program, TempDir)> {
    let home = home("shout")?;
    let launch = Launch::new("shout.py", "python3", home.path());
    let program = launch.arg(script("shout.py")).arg(socket).start()?;
    program.log().wait_for("^ready$", PATIENCE)?;
    Ok((program, home))
}

#[test]
fn a_script_edits_the_chat_of_an_npm_client_on_a_ddnet_server() -> Result<()> {
    let _turn = turn::shared()?;
    let (_folder, socket) = place("run.sock");
    let mut server = DdnetServer::start(&[])?;
    let options = ["--control", socket.to_str().context("not UTF-8")?];
    let teetap = Teetap::start(Path::new(TEETAP), server.addr(), &options)?;
    let mut npm = Client::Npm.join("guest", teetap.listen())?;
    let (mut script, _home) = shout(&socket)?;
    npm.command("say hello world")?;
    server.log().wait_for("guest: HELLO WORLD", PATIENCE)?;
    // The server sends back the text that it received.
    npm.log().wait_for("chat guest: HELLO WORLD", PATIENCE)?;
    npm.command("say \"quoted\" \\ ü")?;
    server.log().wait_for("guest: \"QUOTED\" \\\\ Ü", PATIENCE)?;
    ensure!(!server.log().contains("hello"), "{}", server.log().tail());
    npm.quit()?;
    let objects = teetap.stop()?;
    ensure!(script.wait_end(PATIENCE)?.success(), "{}", script.log().tail());
    server.stop()?;
    let edited = objects.iter().filter(|object| object["kind"] == "released");
    ensure!(edited.clone().count() == 2 && edited.clone().all(|object| object["edited"] == true));
    let errors = objects.iter().find(|object| {
        let notes = object["notes"].as_array();
        notes.is_some_and(|notes| notes.iter().any(|note| note["severity"] == "error"))
    });
    ensure!(errors.is_none(), "{errors:?}");
    Ok(())
}

#[test]
fn a_script_kicks_an_npm_client_and_sees_its_event() -> Result<()> {
    let _turn = turn::shared()?;
    let (_folder, socket) = place("run.sock");
    let mut server = DdnetServer::start(&[])?;
    let options = ["--control", socket.to_str().context("not UTF-8")?];
    let teetap = Teetap::start(Path::new(TEETAP), server.addr(), &options)?;
    let home = home("kick")?;
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/node_modules");
    let launch = Launch::new("kick.js", "node", home.path()).env("NODE_PATH", &modules);
    let listen = teetap.listen();
    let launch = launch
        .arg(script("kick.js"))
        .arg(&socket)
        .arg(listen.ip().to_string());
    let mut program = launch.arg(listen.port().to_string()).start()?;
    program
        .log()
        .wait_for("^disconnected: kicked by a script$", PATIENCE)?;
    ensure!(program.wait_end(PATIENCE)?.success(), "{}", program.log().tail());
    let objects = teetap.stop()?;
    server.stop()?;
    let closed = objects
        .iter()
        .find(|object| object["event"] == "session" && object["state"] == "closing");
    let closed = closed.context("no session was closed")?;
    ensure!(closed["reason"] == "kicked by a script", "{closed}");
    Ok(())
}

/// A real 0.7 server and a real client: injected messages arrive, a rule acts, and the session continues.
#[test]
fn a_person_injects_and_changes_rules_in_a_game_of_0_7() -> Result<()> {
    let _turn = turn::shared()?;
    let (_folder, socket) = place("run.sock");
    let mut server = TeeworldsServer::start(&[])?;
    let options = ["--control", socket.to_str().context("not UTF-8")?];
    let teetap = Teetap::start(Path::new(TEETAP), server.addr(), &options)?;
    let mut client = Client::Seven.join("anna", teetap.listen())?;
    // The server ignores everything before that.
    server.log().wait_for("team_join player='0:anna'", PATIENCE)?;
    let mut control = Control::connect(&socket)?;
    let fields = json!({"mode": "all", "client_id": -1, "message": "from the socket"});
    control.done(json!({"cmd": "inject", "dir": "s2c", "name": "sv_chat", "fields": fields}))?;
    client.log().wait_for("from the socket", PATIENCE)?;
    control.done(
        json!({"cmd": "inject", "message": "c2s cl_say{mode: all, target: -1, message: \"not typed\"}"}),
    )?;
    server.log().wait_for("anna: not typed", PATIENCE)?;
    control.done(json!({"cmd": "rule_add", "text": "quiet: drop when c2s and cl_say"}))?;
    client.command("say never")?;
    control.done(json!({"cmd": "subscribe", "filter": "cl_say"}))?;
    control.done(json!({"cmd": "rule_remove", "name": "quiet"}))?;
    client.command("say again")?;
    let said = |event: &Value| event["fields"]["message"] == "again";
    control.wait_for("the chat", said)?;
    server.log().wait_for("anna: again", PATIENCE)?;
    client.quit()?;
    teetap.stop()?;
    control.wait_for("the summary", |event| event["event"] == "summary")?;
    server.stop()?;
    Ok(())
}
