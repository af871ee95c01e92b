//! The statistics and the snapshot over a recording of the proxy itself.

use teetap_inspect::Snapshots;
use teetap_proxy::session::SessionId;

use super::{
    feed::{SIZES, draw, press},
    proxied,
};

#[test]
fn the_statistics_at_each_size() {
    for (width, height) in SIZES {
        let mut app = proxied::app();
        press(&mut app, "6");
        let screen = draw(&mut app, (width, height));
        insta::assert_snapshot!(format!("stats-{width}x{height}"), screen);
    }
}

#[test]
fn each_graph_comes_first_in_turn() {
    let mut app = proxied::app();
    press(&mut app, "6");
    let first = draw(&mut app, (80, 24));
    let titles = [
        "rtt ms",
        "seq to server",
        "seq to client",
        "messages/s",
        "snapshot bytes",
        "ms between snapshots",
        "input margin ms",
    ];
    for title in titles {
        let screen = draw(&mut app, (80, 24));
        assert!(screen.contains(&format!("── {title}")), "{title}: {screen}");
        press(&mut app, "right");
    }
    assert_eq!(draw(&mut app, (80, 24)), first);
    press(&mut app, "h");
    assert!(draw(&mut app, (80, 24)).contains("── input margin ms"));
}

#[test]
fn both_legs_are_lines_of_the_plot_of_numbers() {
    let mut app = proxied::app();
    app.sessions.pick(SessionId(1));
    press(&mut app, "6 right right");
    insta::assert_snapshot!("stats-numbers", draw(&mut app, (80, 24)));
}

#[test]
fn all_sessions_are_counted_together() {
    let mut app = proxied::app();
    press(&mut app, "6");
    let count = |screen: &str| {
        let line = screen.lines().find(|line| line.contains("sv_motd"));
        let line = line.unwrap_or_else(|| panic!("{screen}"));
        line.split_whitespace().nth(3).unwrap().to_owned()
    };
    assert_eq!(count(&draw(&mut app, (120, 60))), "2", "no session is picked");
    press(&mut app, "a");
    assert_eq!(count(&draw(&mut app, (120, 60))), "1");
    press(&mut app, "a s");
    assert_eq!(count(&draw(&mut app, (120, 60))), "1", "a session is picked");
    let mut app = proxied::with_events(0);
    press(&mut app, "6");
    assert!(draw(&mut app, (80, 24)).contains("connect 127.0.0.1:8303"));
}

#[test]
fn the_snapshot_at_each_size() {
    for (width, height) in SIZES {
        let mut app = proxied::app();
        press(&mut app, "5");
        let screen = draw(&mut app, (width, height));
        insta::assert_snapshot!(format!("snapshot-{width}x{height}"), screen);
    }
}

#[test]
fn the_map_shows_tees_at_each_size() {
    for (width, height) in SIZES {
        let mut app = proxied::app();
        press(&mut app, "5 M");
        let screen = draw(&mut app, (width, height));
        insta::assert_snapshot!(format!("map-{width}x{height}"), screen);
    }
    let mut app = proxied::app();
    press(&mut app, "5 M M");
    let without = draw(&mut app, (80, 24));
    assert!(without.contains("character[0]"), "{without}");
}

#[test]
fn a_snapshot_is_kept_while_newer_ones_come() {
    let mut app = proxied::app();
    press(&mut app, "5");
    let before = draw(&mut app, (80, 24));
    press(&mut app, "space");
    assert!(draw(&mut app, (80, 24)).contains("this snapshot is kept"));
    app.sessions.snapshot.shared = Snapshots::default();
    let session = app.sessions.shown().unwrap();
    let tick = app.sessions.snapshot.get(session).unwrap().view().tick;
    assert!(before.contains(&format!("tick {tick} ")), "{before}");
    press(&mut app, "space");
    assert!(draw(&mut app, (80, 24)).contains("the newest snapshot is shown"));
    assert!(app.sessions.snapshot.get(session).is_none());

    let mut app = proxied::with_events(0);
    press(&mut app, "5 space");
    let screen = draw(&mut app, (80, 24));
    assert!(
        screen.contains("connect 127.0.0.1:8303") && screen.contains("no session so far"),
        "{screen}"
    );
}
