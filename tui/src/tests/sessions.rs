//! The sessions and the log over a recording of the proxy itself.

use std::{sync::Arc, time::Duration};

use teetap_inspect::DecodedEvent;
use teetap_proxy::session::{EventKind, Level, SessionId, Time};
use teetap_wire::Dir;

use super::{
    feed::{SIZES, blank, draw, events, press},
    proxied,
};
use crate::{App, app::View};

#[test]
fn the_sessions_at_each_size() {
    for (width, height) in SIZES {
        let mut app = proxied::app();
        press(&mut app, "2");
        let screen = draw(&mut app, (width, height));
        insta::assert_snapshot!(format!("sessions-{width}x{height}"), screen);
    }
}

#[test]
fn a_session_is_opened_in_the_ladder() {
    let mut app = proxied::app();
    press(&mut app, "2");
    draw(&mut app, (80, 24));
    press(&mut app, "k enter");
    assert_eq!(
        (app.panes.view, app.sessions.shown()),
        (View::Ladder, Some(SessionId(1)))
    );
    press(&mut app, "2");
    draw(&mut app, (80, 24));
    press(&mut app, "j enter");
    assert_eq!(app.sessions.shown(), Some(SessionId(2)));

    let mut app = proxied::with_events(0);
    press(&mut app, "2 enter");
    let screen = draw(&mut app, (80, 24));
    assert!(
        screen.contains("connect 127.0.0.1:8303") && screen.contains("no session so far"),
        "{screen}"
    );
}

#[test]
fn the_log_at_each_size() {
    for (width, height) in SIZES {
        let mut app = proxied::app();
        app.log(Time(1_700_000), Level::Warning, "port 8303 is taken");
        press(&mut app, "7");
        let screen = draw(&mut app, (width, height));
        insta::assert_snapshot!(format!("log-{width}x{height}"), screen);
    }
}

#[test]
fn the_log_has_the_texts_of_rules_and_is_bounded() {
    let mut app = proxied::with_events(0);
    press(&mut app, "7");
    assert!(draw(&mut app, (80, 24)).contains("nothing yet"));
    let mut app = proxied::app();
    press(&mut app, "7 g");
    let screen = draw(&mut app, (80, 60));
    assert!(screen.contains("rule \"loud\": a chat line"), "{screen}");
    assert!(screen.lines().last().unwrap().contains(" 1/"), "{screen}");
    let text = "x".repeat(1 << 10);
    for _ in 0..20_000 {
        app.log(Time(0), Level::Info, &text);
    }
    let numbers = app.log.numbers();
    assert!(numbers.end - numbers.start <= 2 << 10, "{numbers:?}");
}

#[test]
fn a_peer_that_falls_silent_is_not_shown_as_online() {
    let mut app = blank();
    let all = events("tw07-session");
    for decoded in all.iter().take(100) {
        app.push(decoded);
    }
    let last = all[99].event.at;
    let row = |app: &mut App| {
        let screen = draw(app, (100, 24));
        screen.lines().nth(2).unwrap().to_owned()
    };
    press(&mut app, "2");
    app.tick(last + Duration::from_secs(2));
    assert!(row(&mut app).contains("online  online"), "{}", row(&mut app));
    // The client continues to send, but the server is silent.
    let from_client = |decoded: &&Arc<DecodedEvent>| matches!(&decoded.event.what, EventKind::Datagram(datagram) if datagram.dir == Dir::C2s);
    for decoded in all.iter().skip(100).filter(from_client) {
        if decoded.event.at < last + Duration::from_secs(5) {
            app.push(decoded);
        }
    }
    app.terminal.changed = false;
    app.tick(last + Duration::from_secs(5));
    assert!(app.terminal.changed, "the clock alone shows it");
    assert!(row(&mut app).contains("online  silent"), "{}", row(&mut app));
    let screen = draw(&mut app, (100, 24));
    assert!(screen.contains(" server leg  silent 5s "), "{screen}");
    assert!(screen.contains("0 injected  client "), "{screen}");
    press(&mut app, "4");
    let screen = draw(&mut app, (120, 24));
    assert!(
        screen.contains("online, the server is silent for 5 s"),
        "{screen}"
    );
    // The server answers again.
    let answer = all.iter().skip(100).find(|decoded| !from_client(decoded));
    app.push(answer.unwrap());
    app.run.now = answer.unwrap().event.at;
    assert!(!draw(&mut app, (120, 24)).contains("is silent"));
}
