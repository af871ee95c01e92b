//! A real client that plays over a bad link, which the built binary makes of a link line.

use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::Value;
use teetap_kit::real::{Client, DdnetServer, PATIENCE, Server as _, Teetap, play, text, turn};

use crate::TEETAP;

/// A line on which one still can play.
const LINK: &str = "link both delay 60ms jitter 20ms normal loss 5% dup 1% reorder 2%";

#[test]
fn an_npm_client_plays_on_a_ddnet_server_over_a_bad_link() -> Result<()> {
    let _turn = turn::shared()?;
    let mut server = DdnetServer::start(&[])?;
    let options = ["-v", "--seed", "4", "-r", LINK];
    let teetap = Teetap::start(Path::new(TEETAP), server.addr(), &options)?;
    let mut npm = Client::Npm.join("guest", teetap.listen())?;
    npm.log().wait_for("^snapshots 25$", PATIENCE)?;
    play(&mut server, &mut *npm)?;
    // The CLOSE may get lost, and is not sent again.
    npm.quit()?;
    let objects = teetap.stop()?;
    server.stop()?;
    for object in &objects {
        let is_error = |note: &Value| text(note, "severity") == "error";
        let notes = object["notes"].as_array();
        ensure!(!notes.is_some_and(|notes| notes.iter().any(is_error)), "{object}");
        ensure!(text(object, "by") != "server", "the server ended it: {object}");
    }
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
    // By this seed some of the first datagrams are lost, whatever the peers send.
    ensure!(
        all > 50 && lost > 0 && lost < all / 5,
        "{lost} of {all} were lost"
    );
    Ok(())
}
