//! The ladder over a recording of the proxy itself.

use teetap_proxy::session::SessionId;

use super::{
    feed::{SIZES, draw, press, recorded, type_text},
    proxied,
};
use crate::{
    App,
    app::{View, ladder::LadderLine},
};

#[test]
fn the_ladder_at_each_size() {
    for (width, height) in SIZES {
        let mut app = proxied::app();
        app.sessions.pick(SessionId(1));
        press(&mut app, "4 g PgDn");
        let screen = draw(&mut app, (width, height));
        insta::assert_snapshot!(format!("ladder-{width}x{height}"), screen);
    }
}

#[test]
fn both_legs_have_their_own_numbers_and_tokens() {
    let mut app = proxied::app();
    app.sessions.pick(SessionId(1));
    press(&mut app, "4");
    let screen = draw(&mut app, (120, 60));
    // The rule has injected a message earlier.
    assert!(screen.contains("seq+1"), "{screen}");
    assert!(screen.contains("sv_chat repeat"), "{screen}");
    assert!(screen.contains("cl_say drop (nochat)"), "{screen}");
    let tokens = screen.lines().find(|line| line.contains("server  ")).unwrap();
    let is_hex = |word: &&str| word.len() == 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words = tokens.split(|char: char| !char.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(is_hex).collect();
    assert_eq!(words.len(), 4, "{tokens}");
    assert!(words[0] != words[2], "{tokens}");
}

#[test]
fn a_resend_is_tied_to_its_original() {
    let mut app = proxied::app();
    let session = SessionId(1);
    app.sessions.pick(session);
    let is_resend = |number: &u64| {
        matches!(app.sessions.ladder.get(session, *number),
            Some(LadderLine::Datagram(_, ties)) if ties.resends.iter().any(|resend| resend.first.is_some()))
    };
    let resend = app.sessions.ladder.numbers(session).find(is_resend).unwrap();
    press(&mut app, "4");
    draw(&mut app, (80, 110));
    app.sessions.ladder.go_to(session, resend);
    let screen = draw(&mut app, (80, 110));
    assert!(screen.contains('●'), "{screen}");
    press(&mut app, "o");
    let original = app.sessions.ladder.selected(session).unwrap();
    assert!(original < resend);
    let step = |number| app.sessions.ladder.get(session, number).unwrap();
    assert!(step(original).shares_message(step(resend)));
    press(&mut app, "o");
    // No line above is a resend. From the end, the newest resend is found.
    assert!(draw(&mut app, (80, 24)).contains("no datagram above repeats one"));
    press(&mut app, "G o");
    assert_eq!(app.sessions.ladder.selected(session), Some(resend));
    press(&mut app, "o");
    assert_eq!(app.sessions.ladder.selected(session), Some(original));
}

#[test]
fn missing_numbers_and_missed_events_have_lines() {
    let mut app = proxied::with_events(0);
    for decoded in proxied::events() {
        // The client never receives the messages of one datagram.
        let reading = decoded.reading.as_ref();
        let has = |name| {
            reading.is_some_and(|reading| reading.messages.iter().any(|message| message.name == Some(name)))
        };
        if !has("sv_motd") {
            app.push(&decoded);
        }
    }
    app.gap(3);
    app.sessions.pick(SessionId(1));
    press(&mut app, "4");
    let screen = draw(&mut app, (120, 110));
    assert!(screen.contains("-- missing 3-4 --"), "{screen}");
    assert!(screen.contains("3 events missed"), "{screen}");
}

#[test]
fn the_next_session_is_shown_and_without_one_the_view_says_how_to_begin() {
    let mut app = proxied::app();
    press(&mut app, "4");
    assert_eq!(app.sessions.shown(), Some(SessionId(2)));
    press(&mut app, "s");
    assert_eq!(app.sessions.shown(), Some(SessionId(1)));
    assert!(draw(&mut app, (80, 24)).contains("#1 \"ddnet\""));
    press(&mut app, "s");
    assert_eq!(app.sessions.shown(), Some(SessionId(2)));

    let mut app = proxied::with_events(0);
    press(&mut app, "4 s");
    let screen = draw(&mut app, (80, 24));
    assert!(screen.contains("connect 127.0.0.1:8303"), "{screen}");
    assert!(screen.contains("no session so far"), "{screen}");
}

#[test]
fn a_recording_without_a_proxy_has_the_same_numbers_on_both_legs() {
    let mut app = recorded();
    press(&mut app, "4 g");
    insta::assert_snapshot!("ladder-foreign", draw(&mut app, (80, 24)));
}

#[test]
fn noise_is_hidden_until_it_is_unfolded_and_a_filter_hides_more() {
    let mut app = proxied::app();
    let session = SessionId(1);
    app.sessions.pick(session);
    press(&mut app, "4");
    draw(&mut app, (80, 24));
    let all = app.sessions.ladder.numbers(session).count();
    let rows = |app: &App| app.sessions.ladder.rows(session).count();
    let quiet = rows(&app);
    assert_eq!((quiet + 53, app.sessions.ladder.hidden(session)), (all, 53));
    // The selected line stays selected.
    press(&mut app, "N");
    let selected = app.sessions.ladder.selected(session);
    assert!(selected.is_some());
    press(&mut app, "z");
    assert_eq!(
        (rows(&app), app.sessions.ladder.selected(session)),
        (all, selected)
    );
    press(&mut app, "z /");
    type_text(&mut app, "cl_say");
    press(&mut app, "enter");
    let screen = draw(&mut app, (80, 24));
    assert!(screen.contains(" f filter cl_say"), "{screen}");
    assert!(
        rows(&app) < quiet && screen.contains("cl_say drop (nochat)"),
        "{screen}"
    );
    assert!(!screen.contains(" sv_chat lose"), "{screen}");
    assert!(app.messages.filter().is_none(), "the list has its own filter");
    press(&mut app, "f");
    assert_eq!(rows(&app), quiet);
}

#[test]
fn resends_are_visited_in_both_directions_and_a_datagram_opens_in_the_list() {
    let mut app = proxied::app();
    let session = SessionId(1);
    app.sessions.pick(session);
    press(&mut app, "4 N");
    let resend = app.sessions.ladder.selected(session).unwrap();
    press(&mut app, "g n");
    draw(&mut app, (80, 24));
    assert!(app.sessions.ladder.selected(session).unwrap() <= resend);
    press(&mut app, "G N");
    app.set_filter("cl_say").unwrap();
    press(&mut app, "enter");
    let screen = draw(&mut app, (80, 24));
    assert_eq!(app.panes.view, View::Messages);
    let is_own = app.messages.row().and_then(|row| row.event()).unwrap();
    let own = app
        .sessions
        .ladder
        .get(session, resend)
        .and_then(LadderLine::event)
        .unwrap();
    assert!(std::sync::Arc::ptr_eq(is_own, own), "{screen}");
    assert!(screen.contains("is lifted"), "{screen}");
}
