//! Real clients on real servers, recorded on both sides of the built binary: the proxy changes nothing but tokens.

use std::{path::Path, thread, time::Duration};

use anyhow::{Context as _, Result, ensure};
use teetap_kit::{
    codec::{NO_TOKEN, Packing, Variant, control, open, seal},
    real::{Client, Game, Line, PATIENCE, Player, Route, Server, Talk, Via, entered, left, turn, visit},
};

use crate::TEETAP;

/// Number of a server's last datagrams that may be sent to a client that has just left.
const TOO_LATE: usize = 3;

/// Returns a datagram in the form in which both sides of the proxy must have it: without its token, and uncompressed
/// if the compression depends on the token. `None` for a handshake packet, which belongs to one leg.
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
        // Only the token may differ, compressed or not.
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

/// Returns the traffic of the only client that played; browser requests use other sockets.
fn carried(variant: Variant, talks: &[Talk]) -> Result<Talk> {
    let is_game = |talk: &&Talk| all_crossing(variant, &talk.up).is_ok_and(|sent| sent.len() > 5);
    let mut games = talks.iter().filter(is_game);
    let game = games.next().context("no game was recorded")?;
    ensure!(games.next().is_none(), "more than one game was recorded");
    Ok(game.clone())
}

fn variant(client: Client) -> Variant {
    match client {
        Client::Ddnet | Client::Npm => Variant::Ddnet,
        Client::Seven | Client::Offscreen => Variant::V7,
    }
}

/// Records one visit: the traffic between the client and the proxy, and the traffic between the proxy and the server.
fn recorded_visit(game: Game, client: Client, loses: bool) -> Result<[Talk; 2]> {
    let mut server = game.start(&[])?;
    let far = Line::recording(server.addr())?;
    let route = Route::open_to(Via::Proxy(Path::new(TEETAP)), far.addr())?;
    let near = Line::recording(route.addr())?;
    if loses {
        let line = Line::losing(near.addr())?;
        let mut player = client.join("lossy", line.addr())?;
        listen_to_many_lines(&mut *server, &mut *player, &line)?;
    } else {
        visit(&mut *server, &mut *client.join("guest", near.addr())?)?;
    }
    route.close(&[client.proto()])?;
    server.stop()?;
    let talks = |line: &Line| line.talks().into_iter().map(|(_, talk)| talk).collect::<Vec<_>>();
    let variant = variant(client);
    Ok([carried(variant, &talks(&near))?, carried(variant, &talks(&far))?])
}

/// The time for which the line loses datagrams. If it loses the answer to a resend request, the server retransmits
/// one message per second, and drops a client that does not ack one for 10 s.
const LOSSY: Duration = Duration::from_secs(5);

/// The server sends more lines than the line delivers at once, so the client has to request a resend.
fn listen_to_many_lines(server: &mut dyn Server, player: &mut dyn Player, line: &Line) -> Result<()> {
    entered(server, player.name())?;
    for number in 0..12 {
        server.command(&format!("say line number {number}"))?;
        thread::sleep(Duration::from_millis(60));
    }
    let _may_come_later = player.log().wait_for("line number 11$", LOSSY);
    line.heal();
    player.log().wait_for("line number 11$", PATIENCE)?;
    let name = player.name().to_owned();
    player.quit()?;
    left(server, &name)
}

/// Plays one visit with a recording line on each side of the proxy, and compares the traffic.
fn visit_is_transparent(game: Game, client: Client, loses: bool) -> Result<()> {
    let _turn = turn::shared()?;
    let variant = variant(client);
    let [near, far] = recorded_visit(game, client, loses)?;
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

/// Returns the number of retransmitted chunks, and of datagrams that request a resend.
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

/// Checks that every datagram was forwarded, in order; the last `too_late` may have arrived too late.
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
    visit_is_transparent(Game::Seven, Client::Seven, false)
}

#[test]
fn a_0_7_client_on_a_ddnet_server() -> Result<()> {
    visit_is_transparent(Game::Ddnet, Client::Seven, false)
}

#[test]
fn a_ddnet_client_on_a_ddnet_server() -> Result<()> {
    visit_is_transparent(Game::Ddnet, Client::Ddnet, false)
}

#[test]
fn an_npm_client_on_a_ddnet_server() -> Result<()> {
    visit_is_transparent(Game::Ddnet, Client::Npm, false)
}

#[test]
fn a_0_7_client_that_loses_datagrams() -> Result<()> {
    visit_is_transparent(Game::Seven, Client::Seven, true)
}

#[test]
fn a_ddnet_client_that_loses_datagrams() -> Result<()> {
    visit_is_transparent(Game::Ddnet, Client::Ddnet, true)
}
