//! Real clients play on real servers over networks from good to bad, and no finding accuses one of the peers.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use teetap_kit::real::{
    Client, DdnetServer, Server, Teetap, TeeworldsServer, home, is_odd_as_known, text, turn,
};

use crate::{
    TEETAP,
    soak::{DDNET, SEVEN},
};

/// The networks, as options of the proxy.
const NETWORKS: [(&str, &[&str]); 4] = [
    ("clean", &[]),
    (
        "delay and jitter",
        &["--link", "both delay 60ms jitter 20ms normal"],
    ),
    (
        "3 % loss",
        &["--link", "both delay 40ms jitter 10ms normal loss 3%"],
    ),
    (
        "15 % loss",
        &["--link", "both delay 50ms jitter 25ms normal loss 15%"],
    ),
];

/// Time between two actions of a player.
const STEP: Duration = Duration::from_millis(700);

/// Lets players join a server over a network and act for `length`. Returns the findings in the recording.
fn findings(
    server: &dyn Server,
    clients: &[(Client, &[&str])],
    (network, options): (&str, &[&str]),
    length: Duration,
) -> Result<Vec<Value>> {
    let home = home("fair")?;
    let file = home.path().join("run.pcapng");
    let file = file.to_str().context("a path that is not UTF-8")?.to_owned();
    let options = [options, &["--quiet", "-w", &file]].concat();
    let teetap = Teetap::start_keeping(Path::new(TEETAP), server.addr(), &options, |line| {
        line.contains(r#""event":"finding""#)
            || line.contains(r#""event":"start""#)
            || line.contains(r#""event":"summary""#)
    })?;
    let mut players = Vec::new();
    for (index, (client, moves)) in clients.iter().enumerate() {
        // A join may fail if much is lost.
        if let Ok(player) = client.join(&format!("player {index}"), teetap.listen()) {
            players.push((player, *moves));
        }
    }
    ensure!(!players.is_empty(), "{network}: nobody has joined");
    let end = Instant::now() + length;
    let mut number = 0_usize;
    while Instant::now() < end {
        thread::sleep(STEP);
        for (player, moves) in &mut players {
            if let Some(step) = moves.get(number % moves.len().max(1)) {
                player.command(step)?;
            }
        }
        number += 1;
    }
    for (player, _) in &mut players {
        player.quit()?;
    }
    let live = teetap.stop()?;
    let live = live
        .into_iter()
        .filter(|object| text(object, "event") == "finding");
    let live = live
        .map(|object| text(&object, "code").to_owned())
        .collect::<Vec<_>>();
    let judged = Command::new(TEETAP).args(["judge", "--json", &file]).output()?;
    let lines = String::from_utf8(judged.stdout)?;
    let objects = lines
        .lines()
        .map(serde_json::from_str::<Value>)
        .collect::<Result<Vec<_>, _>>()?;
    let found = objects
        .into_iter()
        .filter(|object| text(object, "event") == "finding");
    let found = found.collect::<Vec<_>>();
    let codes = found
        .iter()
        .map(|object| text(object, "code").to_owned())
        .collect::<Vec<_>>();
    ensure!(
        live == codes,
        "{network}: live {live:?}, in the recording {codes:?}"
    );
    Ok(found)
}

/// Returns true if a finding accuses a peer of a fault that is not known of its release.
fn accuses(object: &Value) -> bool {
    let is_grave = ["error", "warning"].contains(&text(object, "severity"));
    let is_known = ["ddnet", "0.7"].iter().any(|proto| {
        let of = format!("{proto} {} {}", text(object, "dir"), text(object, "message"));
        is_odd_as_known(&of, text(object, "code"))
    });
    is_grave && text(object, "role") == "fault" && !is_known
}

#[test]
fn players_are_accused_on_no_network() -> Result<()> {
    let _turn = turn::shared()?;
    let is_long = std::env::var_os("TEETAP_LONG").is_some();
    let length = Duration::from_secs(if is_long { 120 } else { 10 });
    let mut accusations = Vec::new();
    for network in NETWORKS {
        let seven = TeeworldsServer::start(&[])?;
        let six = DdnetServer::start(&[])?;
        let of_six = [
            (Client::Ddnet, DDNET),
            (Client::Ddnet, DDNET),
            (Client::Offscreen, &[]),
        ];
        let of_seven = [(Client::Seven, SEVEN), (Client::Offscreen, &[])];
        let found = thread::scope(|scope| {
            let on_six = scope.spawn(|| findings(&six, &of_six, network, length));
            let on_seven = findings(&seven, &of_seven, network, length);
            Ok::<_, anyhow::Error>([on_six.join().unwrap()?, on_seven?].concat())
        })?;
        let found = found.into_iter().filter(accuses);
        accusations.extend(found.map(|object| format!("{}: {object}", network.0)));
    }
    ensure!(accusations.is_empty(), "{}", accusations.join("\n"));
    Ok(())
}
