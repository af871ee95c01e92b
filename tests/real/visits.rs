//! Debian's DDNet 16.4 and Teeworlds 0.7.5 and the npm client, directly and through the built binary.
//!
//! Each test runs its scenario both ways and compares the servers' logs; the peers' own logs confirm the steps.

use std::path::Path;

use anyhow::Result;
use teetap_kit::real::{
    Client, Game, PATIENCE, Route, Server, Via, both_ways, chat_between, entered, kick, left, refused,
    server_transcript, turn, visit,
};

use crate::TEETAP;

/// Runs a scenario both ways, each on its own server.
fn on(
    game: Game,
    settings: &[&str],
    scenario: impl Fn(&mut dyn Server, Via<'_>) -> Result<()>,
) -> Result<()> {
    let _turn = turn::shared()?;
    both_ways(Path::new(TEETAP), |via| {
        let mut server = game.start(settings)?;
        scenario(&mut *server, via)?;
        server.stop()?;
        server_transcript(server.log())
    })
}

fn visits(game: Game, client: Client) -> Result<()> {
    on(game, &[], |server, via| {
        let route = Route::open(via, server)?;
        let mut player = client.join("guest", route.addr())?;
        if client == Client::Npm {
            // A second of play, so that the game continues between the messages.
            player.log().wait_for("^snapshots 25$", PATIENCE)?;
        }
        visit(server, &mut *player)?;
        route.close(&[client.proto()])
    })
}

#[test]
fn a_ddnet_client_visits_a_ddnet_server() -> Result<()> {
    visits(Game::Ddnet, Client::Ddnet)
}

#[test]
fn an_npm_client_visits_a_ddnet_server() -> Result<()> {
    visits(Game::Ddnet, Client::Npm)
}

#[test]
fn a_0_7_client_visits_a_0_7_server() -> Result<()> {
    visits(Game::Seven, Client::Seven)
}

#[test]
fn a_0_7_client_visits_a_ddnet_server() -> Result<()> {
    visits(Game::Ddnet, Client::Seven)
}

fn is_kicked(game: Game, client: Client) -> Result<()> {
    on(game, &[], |server, via| {
        let route = Route::open(via, server)?;
        let mut player = client.join("rude", route.addr())?;
        kick(server, &*player)?;
        if client != Client::Npm {
            player.quit()?;
        }
        route.close_with(&[client.proto()], "Kicked (the reason is shown)")
    })
}

#[test]
fn a_ddnet_client_is_kicked_with_the_reason() -> Result<()> {
    is_kicked(Game::Ddnet, Client::Ddnet)
}

#[test]
fn an_npm_client_is_kicked_with_the_reason() -> Result<()> {
    is_kicked(Game::Ddnet, Client::Npm)
}

#[test]
fn a_0_7_client_is_kicked_with_the_reason() -> Result<()> {
    is_kicked(Game::Seven, Client::Offscreen)
}

#[test]
fn a_client_of_a_full_server_gets_the_reason() -> Result<()> {
    on(Game::Ddnet, &["sv_max_clients 1"], |server, via| {
        let mut first = Client::Npm.join("first", server.addr())?;
        entered(server, "first")?;
        let route = Route::open(via, server)?;
        refused(
            &*Client::Npm.start("second", route.addr())?,
            "This server is full",
        )?;
        route.close_with(&["ddnet"], "This server is full")?;
        first.quit()?;
        left(server, "first")
    })
}

#[test]
fn a_0_7_client_without_the_password_gets_the_reason() -> Result<()> {
    on(Game::Seven, &["password \"secret\""], |server, via| {
        let route = Route::open(via, server)?;
        let mut client = Client::Offscreen.start("stranger", route.addr())?;
        refused(&*client, "Wrong password")?;
        client.quit()?;
        route.close_with(&["0.7"], "Wrong password")
    })
}

#[test]
fn clients_of_three_kinds_play_at_once() -> Result<()> {
    on(Game::Ddnet, &[], |server, via| {
        let route = Route::open(via, server)?;
        let mut npm = Client::Npm.join("npm", route.addr())?;
        entered(server, "npm")?;
        let mut seven = Client::Offscreen.join("seven", route.addr())?;
        entered(server, "seven")?;
        let mut ddnet = Client::Ddnet.join("ddnet", route.addr())?;
        chat_between(server, &mut *npm, &*ddnet, "from npm to ddnet")?;
        chat_between(server, &mut *ddnet, &*npm, "from ddnet to npm")?;
        chat_between(server, &mut *ddnet, &*seven, "from ddnet to seven")?;
        for player in [&mut npm, &mut seven, &mut ddnet] {
            player.quit()?;
            left(server, player.name())?;
        }
        route.close(&["ddnet", "ddnet", "0.7"])
    })
}

#[test]
fn two_0_7_clients_play_at_once() -> Result<()> {
    on(Game::Seven, &[], |server, via| {
        let route = Route::open(via, server)?;
        let mut listener = Client::Offscreen.join("listener", route.addr())?;
        entered(server, "listener")?;
        let mut speaker = Client::Seven.join("speaker", route.addr())?;
        chat_between(server, &mut *speaker, &*listener, "two of a kind")?;
        for player in [&mut speaker, &mut listener] {
            player.quit()?;
            left(server, player.name())?;
        }
        route.close(&["0.7", "0.7"])
    })
}
