//! Tests of the intercept queue, its form, and the requests that they send.

use teetap_inspect::control::Command;
use teetap_proxy::session::{HeldMessage, SessionId, Time};
use teetap_wire::Dir;

use super::{
    feed::{SIZES, draw, press, type_text},
    live::{held_message, live, requests, rule, with_held},
};
use crate::{
    App,
    app::{Overlay, Pane},
    request::{Reply, Request, RequestError},
};

/// Text of the second held message.
const CL_SAY_TWO: &str = "cl_say{mode: team, message: \"two\"}";

#[test]
fn held_messages_are_requested_once_after_a_gap_or_several_answers() {
    let mut app = with_held();
    app.tick(Time(11_600_000));
    app.take_requests();
    let held = |app: &mut App| {
        app.tick(Time(11_600_000));
        let all = app.take_requests().into_iter();
        all.filter(|request| matches!(request, Request::Run(Command::Held { .. })))
            .count()
    };
    assert_eq!(held(&mut app), 0);
    app.gap(1);
    assert_eq!(held(&mut app), 1);
    press(&mut app, "A");
    for request in app.take_requests() {
        app.answer(&request, Ok(Reply::Done(String::new())));
    }
    assert_eq!(held(&mut app), 1);
}

#[test]
fn messages_are_paused_by_the_filter() {
    let mut app = live();
    press(&mut app, "p");
    assert!(
        app.dialog
            .status
            .as_ref()
            .unwrap()
            .1
            .contains("set a filter first with /")
    );
    app.set_filter("cl_say or cl_kill").unwrap();
    press(&mut app, "p");
    assert_eq!(
        requests(&mut app),
        [r#"Add { text: "intercept: pause when (cl_say or cl_kill)" }"#]
    );
    let list = vec![rule("intercept", "pause when (cl_say or cl_kill)", true)];
    app.answer(&Command::Rules { change: None }.into(), Ok(Reply::Rules(list)));
    assert!(draw(&mut app, (80, 24)).contains("PAUSING"));
    let off = vec![rule("intercept", "pause when (cl_say or cl_kill)", false)];
    let on = vec![rule("intercept", "pause when (cl_say or cl_kill)", true)];
    app.answer(&Command::Rules { change: None }.into(), Ok(Reply::Rules(off)));
    assert!(!draw(&mut app, (80, 24)).contains("PAUSING"));
    app.answer(&Command::Rules { change: None }.into(), Ok(Reply::Rules(on)));
    press(&mut app, "p");
    assert_eq!(requests(&mut app), [r#"Remove { name: "intercept" }"#]);
}

#[test]
fn held_messages_are_released_in_any_order_and_dropped() {
    for size in SIZES {
        let mut app = with_held();
        insta::assert_snapshot!(format!("held-{}x{}", size.0, size.1), draw(&mut app, size));
    }
    let mut app = with_held();
    draw(&mut app, (80, 24));
    press(&mut app, "tab");
    assert_eq!(app.panes.focus, Pane::Queue);
    press(&mut app, "j a k d");
    let question = "d again drops it for good; another key keeps it";
    assert!(draw(&mut app, (60, 16)).contains(question));
    // The question is about this message, and another key is a no.
    press(&mut app, "j d k d");
    press(&mut app, "d A");
    let found = requests(&mut app);
    let is = |request: &str, start: &str, held: u32| {
        request.starts_with(start) && request.contains(&format!("held: HeldId({held})"))
    };
    assert!(
        is(&found[0], "Release", 2) && is(&found[1], "Drop", 1),
        "{found:?}"
    );
    assert!(
        is(&found[2], "Release", 1) && is(&found[3], "Release", 2),
        "{found:?}"
    );
    app.answer(
        &Command::Held { session: None }.into(),
        Ok(Reply::Held(Vec::new())),
    );
    assert_eq!(app.panes.focus, Pane::List);
    press(&mut app, "a");
    assert!(
        app.dialog
            .status
            .as_ref()
            .unwrap()
            .1
            .contains("no message is held")
    );
}

#[test]
fn a_held_message_is_edited_in_a_form() {
    let mut app = with_held();
    draw(&mut app, (80, 24));
    press(&mut app, "e tab down down ctrl-u");
    type_text(&mut app, "goodbye");
    for size in SIZES {
        insta::assert_snapshot!(format!("form-{}x{}", size.0, size.1), draw(&mut app, size));
    }
    press(&mut app, "enter");
    let found = requests(&mut app);
    assert!(
        found[0].starts_with("Edit(") && found[0].contains("message: \\\"goodbye\\\""),
        "{found:?}"
    );
    // An invalid value keeps the form open.
    press(&mut app, "e down ctrl-u");
    type_text(&mut app, "99999999999999");
    press(&mut app, "enter");
    assert!(requests(&mut app).is_empty());
    let Some(Overlay::Form(form)) = &app.dialog.overlay else {
        panic!()
    };
    assert!(form.error.is_some());
}

/// Changes the text of the first held message in its form.
fn with_edited_form() -> App {
    let mut app = with_held();
    draw(&mut app, (80, 24));
    press(&mut app, "e down down ctrl-u");
    type_text(&mut app, "goodbye");
    app
}

#[test]
fn the_form_of_a_held_message_shows_the_time_that_is_left() {
    let mut app = with_edited_form();
    assert!(draw(&mut app, (80, 24)).contains("── edit held 1 cl_say  8.5 s left ──"));
    app.tick(Time(18_000_000));
    assert!(app.terminal.changed);
    assert!(draw(&mut app, (60, 16)).contains("── edit held 1 cl_say  2.0 s left ──"));
}

#[test]
fn what_is_typed_outlives_the_time_of_a_held_message() {
    let mut app = with_edited_form();
    // Only the second message is still held.
    app.answer(
        &Command::Held { session: None }.into(),
        Ok(Reply::Held(vec![held_message(2, CL_SAY_TWO)])),
    );
    let screen = draw(&mut app, (80, 24));
    assert!(
        screen.contains("edit held 1 cl_say: no longer held, Enter sends it as a new message"),
        "{screen}"
    );
    assert!(screen.contains("goodbye"), "{screen}");
    type_text(&mut app, "!");
    press(&mut app, "enter");
    let sent = app.take_requests();
    let found = sent.iter().find_map(|request| match request {
        Request::Run(Command::Inject(message)) => Some(message.clone()),
        _ => None,
    });
    let message = found.unwrap();
    assert_eq!(
        (message.session, message.dir, message.vital),
        (Some(SessionId(1)), Some(Dir::C2s), Some(true))
    );
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    let data = message.hex.unwrap();
    assert!(
        data.contains(&hex("goodbye!")) && !data.contains(&hex("one")),
        "{data}"
    );
    assert!(app.dialog.overlay.is_none());
}

#[test]
fn a_form_that_is_refused_is_opened_again() {
    for (is_late, again) in [(false, true), (true, true)] {
        let mut app = with_edited_form();
        if is_late {
            app.answer(
                &Command::Held { session: None }.into(),
                Ok(Reply::Held(Vec::new())),
            );
        }
        press(&mut app, "enter");
        assert!(app.dialog.overlay.is_none());
        let request = app.take_requests().pop().unwrap();
        app.answer(
            &request,
            Err(RequestError::Refused("no message 1 is held in session 1".into())),
        );
        assert_eq!(matches!(app.dialog.overlay, Some(Overlay::Form(_))), again);
        let screen = draw(&mut app, (80, 24));
        assert!(
            screen.contains("goodbye") && screen.contains("no message 1 is held"),
            "{screen}"
        );
        // The message was accepted, so the form is closed.
        press(&mut app, "enter");
        let request = app.take_requests().pop().unwrap();
        app.answer(&request, Ok(Reply::Done(String::new())));
        app.answer(&request, Err(RequestError::Refused("too late".into())));
        assert!(app.dialog.overlay.is_none());
    }
}

#[test]
fn a_long_value_of_a_form_is_scrolled_to_the_cursor() {
    let mut app = with_held();
    draw(&mut app, (60, 16));
    press(&mut app, "e down down");
    type_text(&mut app, &"x".repeat(100));
    type_text(&mut app, " the end");
    let screen = draw(&mut app, (60, 16));
    assert!(screen.contains("xxx the end"), "{screen}");
}

/// Each direction numbers its held messages from 1.
#[test]
fn the_selected_message_stays_selected_in_its_direction() {
    let mut app = live();
    let c2s = held_message(1, "cl_say{mode: all, message: \"one\"}");
    let s2c = HeldMessage {
        dir: Dir::S2c,
        ..c2s.clone()
    };
    let mut selected = Vec::new();
    for _ in 0..3 {
        let list = vec![c2s.clone(), s2c.clone()];
        app.answer(&Command::Held { session: None }.into(), Ok(Reply::Held(list)));
        selected.push(app.queue.selected().map(|held| held.message.dir));
        app.queue.cursor.select(1);
    }
    assert_eq!(selected, [Dir::C2s, Dir::S2c, Dir::S2c].map(Some));
}
