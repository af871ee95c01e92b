//! A real client that plays over a bad link, which the built binary makes of a link line.

use std::path::Path;

use anyhow::{Result, ensure};
use teetap_kit::real::{Client, DdnetServer, PATIENCE, Server as _, Teetap, text, turn, visit};

use crate::TEETAP;

/// A line on which one still can play.
const LINK: &str = "link both delay 60ms jitter 20ms normal loss 5% dup 1% reorder 2%";

#[test]
fn an_npm_client_visits_a_ddnet_server_over_a_bad_link() -> Result<()> {
    let _turn = turn::shared()?;
    let mut server = DdnetServer::start(&[])?;
    let options = ["-v", "--seed", "7", "-r", LINK];
    let teetap = Teetap::start(Path::new(TEETAP), server.addr(), &options)?;
    let mut npm = Client::Npm.join("guest", teetap.listen())?;
    npm.log().wait_for("^snapshots 25$", PATIENCE)?;
    visit(&mut server, &mut *npm)?;
    let objects = teetap.stop()?;
    server.stop()?;
    let closed = objects.iter().find(|object| text(object, "state") == "closing");
    ensure!(
        closed.is_some_and(|object| text(object, "by") == "client"),
        "the session did not end by its client: {closed:?}"
    );
    let link = objects
        .iter()
        .filter(|object| text(object, "event") == "datagram")
        .filter_map(|object| object["link"].as_array())
        .flatten();
    let (mut all, mut lost) = (0, 0);
    for transit in link {
        all += 1;
        lost += usize::from(text(transit, "lost") == "loss");
    }
    println!("{lost} of {all} datagrams were lost");
    ensure!(
        all > 100 && (all / 50..all / 10).contains(&lost),
        "{lost} of {all} were lost"
    );
    Ok(())
}
