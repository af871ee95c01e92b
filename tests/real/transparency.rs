//! Real clients on real servers, recorded on both sides of the built binary: what leaves is what came, but for tokens.

use std::{net::SocketAddr, path::Path, thread, time::Duration};

use anyhow::{Context as _, Result, ensure};
use teetap_kit::{
    codec::{NO_TOKEN, Packing, Variant, control, open, seal},
    real::{
        DdnetClient, DdnetServer, Line, NpmBot, PATIENCE, Player, Route, Server, Talk, TeeworldsClient,
        TeeworldsServer, Via, entered, left, turn, visit,
    },
};

use crate::TEETAP;

/// How many of its last datagrams a server may have sent to a client that had just left.
const TOO_LATE: usize = 3;

/// A datagram as both sides of the proxy must have it: without its token, and in clear where compression depends on
/// the token. `None` = a handshake packet, which belongs to one leg.
fn crossing(variant: Variant, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut opened = open(variant, bytes)
        .ok()
        .with_context(|| format!("{bytes:02x?}"))?;
    if !opened.head.flags.connless && opened.head.flags.control {
        match opened.payload[0] {
            control::CONNECT | control::CONNECT_ACCEPT | control::TOKEN => return Ok(None),
            control::ACCEPT if variant == Variant::Ddnet => return Ok(None),
            _ => {}
        }
    }
    if variant == Variant::V7 && !opened.head.flags.connless {
        // Nothing but the token may differ, compressed or not.
        return Ok(Some([&bytes[..3], &NO_TOKEN, &bytes[7..]].concat()));
    }
    opened.head.token = opened.head.token.map(|_| NO_TOKEN);
    Ok(Some(seal(&opened.head, &opened.payload, Packing::Clear)))
}

fn all_crossing(variant: Variant, datagrams: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
    let game = datagrams.iter().filter(|bytes| bytes[0] & 0x20 == 0);
    game.filter_map(|bytes| crossing(variant, bytes).transpose())
        .collect()
}

/// The one talk that carried a game; browser requests come from other sockets.
fn game(variant: Variant, talks: &[Talk]) -> Result<Talk> {
    let is_game = |talk: &&Talk| all_crossing(variant, &talk.up).is_ok_and(|sent| sent.len() > 5);
    let mut games = talks.iter().filter(is_game);
    let game = games.next().context("no game was recorded")?;
    ensure!(games.next().is_none(), "more than one game was recorded");
    Ok(game.clone())
}

/// The lines of one visit: what the proxy got from its client and gave it, and the same on its other side.
fn recorded_visit<S: Server, P: Player>(
    variant: Variant,
    mut server: S,
    loses: bool,
    join: impl FnOnce(SocketAddr) -> Result<P>,
) -> Result<[Talk; 2]> {
    let far = Line::recording(server.addr())?;
    let route = Route::open_to(Via::Proxy(Path::new(TEETAP)), far.addr())?;
    let near = Line::recording(route.addr())?;
    let lossy = if loses {
        Some(Line::losing(near.addr())?)
    } else {
        None
    };
    let player = join(lossy.as_ref().unwrap_or(&near).addr())?;
    match &lossy {
        Some(line) => listen_to_many_lines(&mut server, player, line)?,
        None => visit(&mut server, player)?,
    }
    route.close(&[if variant == Variant::V7 { "0.7" } else { "ddnet" }])?;
    server.stop()?;
    let talks = |line: &Line| line.talks().into_iter().map(|(_, talk)| talk).collect::<Vec<_>>();
    Ok([game(variant, &talks(&near))?, game(variant, &talks(&far))?])
}

/// The server says more than gets through at once, so the client has to ask for the rest.
fn listen_to_many_lines(server: &mut impl Server, mut player: impl Player, line: &Line) -> Result<()> {
    entered(server, player.name())?;
    for number in 0..12 {
        server.command(&format!("say line number {number}"))?;
        thread::sleep(Duration::from_millis(60));
    }
    player.log().wait_for("line number 11$", PATIENCE)?;
    line.heal();
    let name = player.name().to_owned();
    player.quit()?;
    left(server, &name)
}

/// One visit with a recording line on each side of the proxy: what left is what came.
fn visit_is_transparent<S: Server, P: Player>(
    variant: Variant,
    server: S,
    loses: bool,
    join: impl FnOnce(SocketAddr) -> Result<P>,
) -> Result<()> {
    let [near, far] = recorded_visit(variant, server, loses, join)?;
    let (sent, passed) = (all_crossing(variant, &near.up)?, all_crossing(variant, &far.up)?);
    same("c2s", &sent, &passed, 0)?;
    let (repeats, requests) = repairs(variant, &passed)?;
    let (sent, passed) = (
        all_crossing(variant, &far.down)?,
        all_crossing(variant, &near.down)?,
    );
    same("s2c", &sent, &passed, TOO_LATE)?;
    if loses {
        let (more_repeats, more_requests) = repairs(variant, &passed)?;
        let (repeats, requests) = (repeats + more_repeats, requests + more_requests);
        ensure!(
            repeats > 0 && requests > 0,
            "{repeats} repeats, {requests} resend requests: nothing was lost"
        );
    }
    let tokens = |datagrams: &[Vec<u8>]| {
        let last = datagrams.iter().rev().find(|bytes| bytes[0] & 0x20 == 0)?;
        open(variant, last).ok()?.head.token
    };
    ensure!(
        tokens(&near.up) != tokens(&far.up),
        "both legs have the same token"
    );
    Ok(())
}

/// How many chunks are repeats, and how many datagrams ask for one.
fn repairs(variant: Variant, datagrams: &[Vec<u8>]) -> Result<(usize, usize)> {
    let (mut repeats, mut requests) = (0, 0);
    for bytes in datagrams {
        let opened = open(variant, bytes)
            .ok()
            .with_context(|| format!("{bytes:02x?}"))?;
        requests += usize::from(opened.head.flags.resend);
        repeats += opened.chunks().filter(|chunk| chunk.resend).count();
    }
    Ok((repeats, requests))
}

/// Every datagram that was sent was passed on, in order; the last ones may have come too late.
fn same(dir: &str, sent: &[Vec<u8>], passed: &[Vec<u8>], too_late: usize) -> Result<()> {
    for (index, (sent, passed)) in sent.iter().zip(passed).enumerate() {
        ensure!(
            sent == passed,
            "{dir} datagram {index}:\n{sent:02x?} came\n{passed:02x?} left"
        );
    }
    ensure!(
        passed.len() <= sent.len() && sent.len() - passed.len() <= too_late,
        "{dir}: {} came, {} left",
        sent.len(),
        passed.len()
    );
    Ok(())
}

#[test]
fn a_0_7_client_on_a_0_7_server() -> Result<()> {
    let _turn = turn::shared()?;
    let server = TeeworldsServer::start(&[])?;
    visit_is_transparent(Variant::V7, server, false, |addr| {
        TeeworldsClient::on_display("seven", addr)?.joined()
    })
}

#[test]
fn a_0_7_client_on_a_ddnet_server() -> Result<()> {
    let _turn = turn::shared()?;
    let server = DdnetServer::start(&[])?;
    visit_is_transparent(Variant::V7, server, false, |addr| {
        TeeworldsClient::on_display("sixup", addr)?.joined()
    })
}

#[test]
fn a_ddnet_client_on_a_ddnet_server() -> Result<()> {
    let _turn = turn::shared()?;
    let server = DdnetServer::start(&[])?;
    visit_is_transparent(Variant::Ddnet, server, false, |addr| {
        DdnetClient::start("deedee", addr)?.joined()
    })
}

#[test]
fn an_npm_client_on_a_ddnet_server() -> Result<()> {
    let _turn = turn::shared()?;
    let server = DdnetServer::start(&[])?;
    visit_is_transparent(Variant::Ddnet, server, false, |addr| {
        NpmBot::start("npm", addr)?.joined()
    })
}

#[test]
fn a_0_7_client_that_loses_datagrams() -> Result<()> {
    let _turn = turn::shared()?;
    let server = TeeworldsServer::start(&[])?;
    visit_is_transparent(Variant::V7, server, true, |addr| {
        TeeworldsClient::on_display("lossy", addr)?.joined()
    })
}

#[test]
fn a_ddnet_client_that_loses_datagrams() -> Result<()> {
    let _turn = turn::shared()?;
    let server = DdnetServer::start(&[])?;
    visit_is_transparent(Variant::Ddnet, server, true, |addr| {
        DdnetClient::start("lossy", addr)?.joined()
    })
}
