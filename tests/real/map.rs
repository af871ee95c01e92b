//! A map that the client lacks: it arrives byte for byte, and over a line not much later than directly from the
//! server.
//!
//! On the loopback the duration of a download depends on the processors, and another process costs its share. Over a
//! line it depends on the number of round trips, as for a player, and a proxy that stalls prolongs each.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use teetap_kit::real::{
    BigMap, DdnetClient, DdnetServer, Line, PATIENCE, Player, Route, Server as _, TeeworldsClient,
    TeeworldsServer, Via, downloaded, turn,
};

use crate::TEETAP;

/// Bytes of the map for a 0.7 client, which requests a few chunks per round trip.
const SEVEN: usize = 768 << 10;
/// Bytes of the map for a DDNet client, which requests 15 chunks per round trip: the size of the largest packaged
/// map.
const SIX: usize = 1 << 20;
/// One-way delay of the line.
const DELAY: Duration = Duration::from_millis(5);
/// Number of pairs of a direct and a proxied download; their order alternates.
const PAIRS: usize = 3;
/// Maximum number of pairs, as long as the ratio is above [`LIMIT`].
const MOST_PAIRS: usize = 7;
/// Maximum ratio of the fastest proxied download to the median of the direct ones.
const LIMIT: f64 = 1.5;

/// Returns the time that a 0.7 client needs to download the map, and checks the file.
fn download(addr: SocketAddr, map: &BigMap) -> Result<Duration> {
    let mut client = TeeworldsClient::offscreen("loader", addr)?.joined()?;
    let took = between(
        &client,
        "starting to download map",
        "download complete, loading map",
    )?;
    check(client.home(), "teeworlds", map)?;
    client.quit()?;
    Ok(took)
}

#[test]
fn a_0_7_client_downloads_a_map() -> Result<()> {
    let _turn = turn::alone()?;
    let map = BigMap::seven(SEVEN)?;
    let server =
        TeeworldsServer::start_with(&[&BigMap::setting()], |data| map.write_into(&data.join("maps")))?;
    compare(server.addr(), "0.7", |addr| download(addr, &map))
}

#[test]
fn a_0_7_client_downloads_a_map_of_a_ddnet_server() -> Result<()> {
    let _turn = turn::alone()?;
    let (six, seven) = (BigMap::six(SIX)?, BigMap::seven(SEVEN)?);
    let server = DdnetServer::start_with(&[&BigMap::setting()], |data| {
        six.write_into(&data.join("maps"))?;
        seven.write_into(&data.join("maps7"))
    })?;
    compare(server.addr(), "0.7", |addr| download(addr, &seven))
}

#[test]
fn a_ddnet_client_downloads_a_map() -> Result<()> {
    let _turn = turn::alone()?;
    let map = BigMap::six(SIX)?;
    let server = DdnetServer::start_with(&[&BigMap::setting()], |data| map.write_into(&data.join("maps")))?;
    compare(server.addr(), "ddnet", |addr| {
        let mut client = DdnetClient::start("loader", addr)?.joined()?;
        // The client asks the game server after the web download has failed, and loads the file when it is complete.
        let took = between(
            &client,
            "falling back to gameserver",
            r"loading done\. datafile='downloadedmaps/",
        )?;
        check(client.home(), "ddnet", &map)?;
        client.quit()?;
        Ok(took)
    })
}

/// Returns the ratio of the fastest proxied download to the median of the direct ones. Other load on the machine can
/// only add to a time, while a proxy that stalls prolongs every download.
fn ratio(pairs: &[(Duration, Duration)]) -> f64 {
    let mut direct: Vec<Duration> = pairs.iter().map(|pair| pair.0).collect();
    direct.sort();
    let proxied = pairs.iter().map(|pair| pair.1).min();
    let found = direct.get(direct.len() / 2).zip(proxied);
    found.map_or(f64::INFINITY, |(direct, proxied)| {
        proxied.as_secs_f64() / direct.as_secs_f64()
    })
}

/// Downloads over a line in pairs, directly and through one proxy, each with a fresh client.
fn compare(server: SocketAddr, proto: &str, download: impl Fn(SocketAddr) -> Result<Duration>) -> Result<()> {
    let line = Line::open(server, DELAY)?;
    let server = line.addr();
    let route = Route::open_to(Via::Proxy(Path::new(TEETAP)), server)?;
    let mut pairs: Vec<(Duration, Duration)> = Vec::new();
    // A busy machine needs more pairs.
    while pairs.len() < PAIRS || ratio(&pairs) > LIMIT && pairs.len() < MOST_PAIRS {
        let (direct, proxied) = if pairs.len().is_multiple_of(2) {
            let direct = download(server)?;
            (direct, download(route.addr())?)
        } else {
            let proxied = download(route.addr())?;
            (download(server)?, proxied)
        };
        pairs.push((direct, proxied));
    }
    route.close(&vec![proto; pairs.len()])?;
    let ratio = ratio(&pairs);
    // Written past the test harness, which would swallow it: the one figure of interest in a passing run.
    writeln!(
        std::io::stderr(),
        "map download, {proto}: {ratio:.2} times the direct one; {pairs:?}"
    )?;
    ensure!(
        ratio <= LIMIT,
        "a proxied download takes {ratio:.2} times a direct one: {pairs:?}"
    );
    Ok(())
}

/// Returns the time between two lines of the client's log.
fn between(client: &impl Player, from: &str, to: &str) -> Result<Duration> {
    let from = client.log().wait_for(from, PATIENCE)?;
    let to = client.log().wait_for(to, PATIENCE)?;
    Ok(to.at.duration_since(from.at))
}

/// Checks that the downloaded file equals the server's map (and so does its sha256, which the client puts into the
/// file name).
fn check(home: &Path, game: &str, map: &BigMap) -> Result<()> {
    let path = downloaded(home, game)?;
    ensure!(
        std::fs::read(&path)? == map.bytes(),
        "{} is not the server's map",
        path.display()
    );
    Ok(())
}
