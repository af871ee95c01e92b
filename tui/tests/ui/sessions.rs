//! The sessions and the log over a recording of the proxy itself.

use crate::{
    feed::{SIZES, draw, press},
    proxied,
};
use teetap_proxy::session::{Level, SessionId, Time};
use teetap_tui::app::View;

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
    assert_eq!((app.view, app.session()), (View::Ladder, Some(SessionId(1))));
    press(&mut app, "2");
    draw(&mut app, (80, 24));
    press(&mut app, "j enter");
    assert_eq!(app.session(), Some(SessionId(2)));

    let mut app = proxied::part(0);
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
    let mut app = proxied::part(0);
    press(&mut app, "7");
    assert!(draw(&mut app, (80, 24)).contains("nothing yet"));
    let mut app = proxied::app();
    press(&mut app, "7 g");
    let screen = draw(&mut app, (80, 60));
    assert!(screen.contains("rule \"loud\": a chat line"), "{screen}");
    assert!(screen.contains("log 1/"), "{screen}");
    let text = "x".repeat(1 << 10);
    for _ in 0..20_000 {
        app.log(Time(0), Level::Info, &text);
    }
    let numbers = app.log.numbers();
    assert!(numbers.end - numbers.start <= 2 << 10, "{numbers:?}");
}
