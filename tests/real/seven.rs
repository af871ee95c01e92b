//! Debian's Teeworlds 0.7.5 client on real servers, straight and through the built binary.
//!
//! Each test runs its scenario both ways and compares the servers' logs; the steps are proved by the peers' own logs.

use std::path::Path;

use anyhow::Result;
use teetap_kit::real::{
    DdnetServer, Player as _, Route, Server as _, TeeworldsClient, TeeworldsServer, Via, both_ways,
    chat_between, entered, kick, left, refused, server_transcript, turn, visit,
};

use crate::TEETAP;

#[test]
fn a_0_7_client_visits_a_0_7_server() -> Result<()> {
    let _turn = turn::shared()?;
    both_ways(Path::new(TEETAP), |via| {
        let mut server = TeeworldsServer::start(&[])?;
        let route = Route::open(via, &server)?;
        visit(
            &mut server,
            TeeworldsClient::on_display("seven", route.addr())?.joined()?,
        )?;
        route.close(&["0.7"])?;
        server.stop()?;
        server_transcript(server.log())
    })
}

#[test]
fn a_0_7_client_visits_a_ddnet_server() -> Result<()> {
    let _turn = turn::shared()?;
    both_ways(Path::new(TEETAP), |via| {
        let mut server = DdnetServer::start(&[])?;
        let route = Route::open(via, &server)?;
        visit(
            &mut server,
            TeeworldsClient::on_display("sixup", route.addr())?.joined()?,
        )?;
        route.close(&["0.7"])?;
        server.stop()?;
        server_transcript(server.log())
    })
}

#[test]
fn a_0_7_client_is_kicked_with_the_reason() -> Result<()> {
    let _turn = turn::shared()?;
    both_ways(Path::new(TEETAP), |via| {
        let mut server = TeeworldsServer::start(&[])?;
        let route = Route::open(via, &server)?;
        let mut client = TeeworldsClient::offscreen("rude", route.addr())?.joined()?;
        kick(&mut server, &client)?;
        client.quit()?;
        route.close_with(&["0.7"], "Kicked (the reason is shown)")?;
        server.stop()?;
        server_transcript(server.log())
    })
}

#[test]
fn a_0_7_client_without_the_password_gets_the_reason() -> Result<()> {
    let _turn = turn::shared()?;
    both_ways(Path::new(TEETAP), |via| {
        let mut server = TeeworldsServer::start(&["password \"secret\""])?;
        let route = Route::open(via, &server)?;
        let mut client = TeeworldsClient::offscreen("stranger", route.addr())?;
        refused(&client, "Wrong password")?;
        client.quit()?;
        route.close_with(&["0.7"], "Wrong password")?;
        server.stop()?;
        server_transcript(server.log())
    })
}

#[test]
fn two_0_7_clients_play_at_once() -> Result<()> {
    let _turn = turn::shared()?;
    both_ways(Path::new(TEETAP), |via: Via<'_>| {
        let mut server = TeeworldsServer::start(&[])?;
        let route = Route::open(via, &server)?;
        let mut listener = TeeworldsClient::offscreen("listener", route.addr())?.joined()?;
        entered(&server, "listener")?;
        let mut speaker = TeeworldsClient::on_display("speaker", route.addr())?.joined()?;
        chat_between(&server, &mut speaker, &listener, "two of a kind")?;
        speaker.quit()?;
        left(&server, "speaker")?;
        listener.quit()?;
        left(&server, "listener")?;
        route.close(&["0.7", "0.7"])?;
        server.stop()?;
        server_transcript(server.log())
    })
}
