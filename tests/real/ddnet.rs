//! Debian's DDNet 16.4 client and the npm client on Debian's DDNet server, straight and through the built binary.
//!
//! Each test runs its scenario both ways and compares the servers' logs; the steps are proved by the peers' own logs.

use std::path::Path;

use anyhow::Result;
use teetap_kit::real::{
    DdnetClient, DdnetServer, NpmBot, PATIENCE, Player as _, Route, Server as _, TeeworldsClient, both_ways,
    chat_between, entered, kick, left, refused, server_transcript, turn, visit,
};

use crate::TEETAP;

#[test]
fn a_ddnet_client_visits_a_ddnet_server() -> Result<()> {
    let _turn = turn::shared()?;
    both_ways(Path::new(TEETAP), |via| {
        let mut server = DdnetServer::start(&[])?;
        let route = Route::open(via, &server)?;
        visit(&mut server, DdnetClient::start("ddnet", route.addr())?.joined()?)?;
        route.close(&["ddnet"])?;
        server.stop()?;
        server_transcript(server.log())
    })
}

#[test]
fn an_npm_client_visits_a_ddnet_server() -> Result<()> {
    let _turn = turn::shared()?;
    both_ways(Path::new(TEETAP), |via| {
        let mut server = DdnetServer::start(&[])?;
        let route = Route::open(via, &server)?;
        let bot = NpmBot::start("npm", route.addr())?.joined()?;
        // One second of play: the game goes on between the messages.
        bot.log().wait_for("^snapshots 25$", PATIENCE)?;
        visit(&mut server, bot)?;
        route.close(&["ddnet"])?;
        server.stop()?;
        server_transcript(server.log())
    })
}

#[test]
fn a_ddnet_client_is_kicked_with_the_reason() -> Result<()> {
    let _turn = turn::shared()?;
    both_ways(Path::new(TEETAP), |via| {
        let mut server = DdnetServer::start(&[])?;
        let route = Route::open(via, &server)?;
        let mut client = DdnetClient::start("rude", route.addr())?.joined()?;
        kick(&mut server, &client)?;
        client.quit()?;
        route.close_with(&["ddnet"], "Kicked (the reason is shown)")?;
        server.stop()?;
        server_transcript(server.log())
    })
}

#[test]
fn an_npm_client_is_kicked_with_the_reason() -> Result<()> {
    let _turn = turn::shared()?;
    both_ways(Path::new(TEETAP), |via| {
        let mut server = DdnetServer::start(&[])?;
        let route = Route::open(via, &server)?;
        kick(&mut server, &NpmBot::start("rude", route.addr())?.joined()?)?;
        route.close_with(&["ddnet"], "Kicked (the reason is shown)")?;
        server.stop()?;
        server_transcript(server.log())
    })
}

#[test]
fn a_client_of_a_full_server_gets_the_reason() -> Result<()> {
    let _turn = turn::shared()?;
    both_ways(Path::new(TEETAP), |via| {
        let mut server = DdnetServer::start(&["sv_max_clients 1"])?;
        let mut first = NpmBot::start("first", server.addr())?.joined()?;
        entered(&server, "first")?;
        let route = Route::open(via, &server)?;
        refused(&NpmBot::start("second", route.addr())?, "This server is full")?;
        route.close_with(&["ddnet"], "This server is full")?;
        first.quit()?;
        left(&server, "first")?;
        server.stop()?;
        server_transcript(server.log())
    })
}

#[test]
fn clients_of_three_kinds_play_at_once() -> Result<()> {
    let _turn = turn::shared()?;
    both_ways(Path::new(TEETAP), |via| {
        let mut server = DdnetServer::start(&[])?;
        let route = Route::open(via, &server)?;
        let mut npm = NpmBot::start("npm", route.addr())?.joined()?;
        entered(&server, "npm")?;
        let mut seven = TeeworldsClient::offscreen("seven", route.addr())?.joined()?;
        entered(&server, "seven")?;
        let mut ddnet = DdnetClient::start("ddnet", route.addr())?.joined()?;
        chat_between(&server, &mut npm, &ddnet, "from npm to ddnet")?;
        chat_between(&server, &mut ddnet, &npm, "from ddnet to npm")?;
        chat_between(&server, &mut ddnet, &seven, "from ddnet to seven")?;
        npm.quit()?;
        left(&server, "npm")?;
        seven.quit()?;
        left(&server, "seven")?;
        ddnet.quit()?;
        left(&server, "ddnet")?;
        route.close(&["ddnet", "ddnet", "0.7"])?;
        server.stop()?;
        server_transcript(server.log())
    })
}
