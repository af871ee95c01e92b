//! Real clients whose line loses everything at the start of their join: they join through the built binary as they do
//! directly.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use teetap_kit::real::{Client, Game, Line, Route, Server, Via, entered, left, turn};

use crate::TEETAP;

/// The time for which no datagram arrives.
const OUTAGE: Duration = Duration::from_millis(300);

/// The directions in which datagrams are lost: to the server, to the client.
const LOST: [[bool; 2]; 3] = [[true, true], [true, false], [false, true]];

fn join(server: &mut dyn Server, client: Client, via: Via<'_>, lost: [bool; 2]) -> Result<()> {
    let route = Route::open(via, server)?;
    let line = Line::late(route.addr(), OUTAGE, lost)?;
    let mut player = client.join("late", line.addr())?;
    entered(server, player.name())?;
    player.quit()?;
    left(server, "late")?;
    route.close(&[client.proto()])
}

fn joins(game: Game, client: Client) -> Result<()> {
    let _turn = turn::shared()?;
    for lost in LOST {
        for via in [Via::Direct, Via::Proxy(Path::new(TEETAP))] {
            let mut server = game.start(&[])?;
            join(&mut *server, client, via, lost).with_context(|| format!("{via:?} {lost:?}"))?;
            server.stop()?;
        }
    }
    Ok(())
}

#[test]
fn a_client_of_ddnet_joins_after_the_loss_of_its_first_datagrams() -> Result<()> {
    joins(Game::Ddnet, Client::Ddnet)
}

#[test]
fn a_client_of_teeworlds_joins_after_the_loss_of_its_first_datagrams() -> Result<()> {
    joins(Game::Seven, Client::Offscreen)
}

#[test]
fn an_npm_client_joins_after_the_loss_of_its_first_datagrams() -> Result<()> {
    joins(Game::Ddnet, Client::Npm)
}
