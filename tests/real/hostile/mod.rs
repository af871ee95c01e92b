//! Hostile datagrams sent to Debian's DDNet 16.4 client, which does not survive some of them without the proxy.

mod relay;

use std::{net::SocketAddr, path::Path, thread, time::Duration};

use anyhow::{Result, ensure};
use teetap_kit::real::{DdnetClient, DdnetServer, PATIENCE, Player as _, Server as _, Teetap, entered, turn};

use crate::TEETAP;
use relay::Relay;

/// The time for which hostile datagrams are sent to the client.
const THROWN_AT: Duration = Duration::from_secs(20);

/// Runs a DDNet 16.4 client on a real server with an attacker between them, or between the server and the proxy, who
/// adds hostile datagrams in the server's name. Returns the client after the attack.
fn attacked(server: &DdnetServer, relay: &Relay, addr: SocketAddr) -> Result<DdnetClient> {
    let client = DdnetClient::start("target", addr)?.joined()?;
    entered(server, "target")?;
    relay.throw(true);
    thread::sleep(THROWN_AT);
    relay.throw(false);
    Ok(client)
}

#[test]
fn a_ddnet_client_survives_behind_the_proxy() -> Result<()> {
    let _turn = turn::shared()?;
    let mut server = DdnetServer::start(&[])?;
    let relay = Relay::open(server.addr())?;
    let teetap = Teetap::start(Path::new(TEETAP), relay.addr(), &[])?;
    let mut client = attacked(&server, &relay, teetap.listen())?;
    ensure!(relay.thrown() > 2_000, "only {} were thrown", relay.thrown());
    client.command("say still here")?;
    server.log().wait_for("target: still here$", PATIENCE)?;
    server.command("say so am I")?;
    client.log().wait_for("so am I$", PATIENCE)?;
    client.quit()?;
    let noted = teetap.notes()?;
    for code in ["unknown-flags", "wrong-token", "bad-huffman", "too-short"] {
        ensure!(
            noted.iter().any(|noted| noted == code),
            "{code} is not in {noted:?}"
        );
    }
    server.stop()
}

/// Shows that the client in the test above needs the protection of the proxy.
#[test]
fn a_ddnet_client_does_not_survive_without_it() -> Result<()> {
    let _turn = turn::shared()?;
    let mut server = DdnetServer::start(&[])?;
    let relay = Relay::open(server.addr())?;
    let mut client = DdnetClient::start("target", relay.addr())?.joined()?;
    entered(&server, "target")?;
    relay.throw(true);
    let end = client.wait_end()?;
    ensure!(!end.success(), "the client ended in order: {end}");
    server.stop()
}
