//! Tests of messages that a person sends, of rules and texts made from rows, and of commands.

use teetap_inspect::control::{Command, Inject};
use teetap_proxy::session::{Level, SessionId, State, Time};
use teetap_wire::def::{Registry, Secrets};

use super::{
    feed::{blank, draw, press, recorded, type_text},
    list::unfolded,
    live::{command, live, requests, with_rules},
};
use crate::{
    App,
    app::{Overlay, cursor::Moves as _, history::Row},
    request::{Request, RequestError},
};

#[test]
fn a_command_with_a_condition_is_a_rule() {
    let mut app = live();
    for line in [
        "close both when cl_kill",
        r#"inject s2c sv_broadcast{message: "hi"} when cl_kill"#,
    ] {
        assert_eq!(command(&mut app, line), [format!("Add {{ text: {line:?} }}")]);
    }
    assert_eq!(
        command(&mut app, "close see you"),
        [r#"Close { session: None, all: false, side: Both, reason: "see you" }"#]
    );
    let found = command(&mut app, r#"inject s2c sv_broadcast{message: "tell me when"}"#);
    assert!(found[0].starts_with("Inject"), "{found:?}");
}

#[test]
fn a_command_acts_on_the_session_that_is_shown() {
    let mut app = super::proxied::app();
    app.orders.is_live = true;
    app.sessions.pick(SessionId(1));
    assert_eq!(command(&mut app, "resync"), ["Resync { session: None }"]);
    for view in ["4", "5", "6"] {
        press(&mut app, view);
        let found = command(&mut app, "resync");
        assert_eq!(found, ["Resync { session: Some(SessionId(1)) }"]);
    }
    press(&mut app, "2 j");
    draw(&mut app, (80, 24));
    press(&mut app, "G");
    let found = command(&mut app, "close x");
    assert_eq!(
        found,
        [r#"Close { session: Some(SessionId(2)), all: false, side: Both, reason: "x" }"#]
    );
}

/// The view shows a session, or the message is sent in the session of the selected row.
#[test]
fn a_message_is_sent_in_the_session_that_is_shown() {
    let mut app = super::proxied::with_events(0);
    let is_online = |app: &App, session| {
        let followed = app.sessions.follow.session(SessionId(session));
        followed.is_some_and(|followed| followed.state == State::Online)
    };
    let mut events = super::proxied::events().into_iter();
    while !(is_online(&app, 1) && is_online(&app, 2)) {
        app.push(&events.next().unwrap());
    }
    app.orders.is_live = true;
    for _ in 0..app.messages.len() {
        if app.messages.row().and_then(Row::session) != Some(SessionId(2)) {
            app.messages.up(1);
        }
    }
    app.sessions.pick(SessionId(1));
    let mut sent = Vec::new();
    for view in ["1", "4"] {
        press(&mut app, view);
        press(&mut app, ":");
        type_text(&mut app, "inject s2c sv_broadcast{message: \"hi\"}");
        press(&mut app, "enter");
        for request in app.take_requests() {
            if let Request::Run(Command::Inject(Inject { session, .. })) = request {
                sent.push((view, session));
            }
        }
    }
    let expected = [("1", 2), ("4", 1)].map(|(view, session)| (view, Some(SessionId(session))));
    assert_eq!(sent, expected, "view, session");
}

#[test]
fn the_form_of_a_new_message_is_that_of_the_session() {
    let mut app = live();
    press(&mut app, "i");
    type_text(&mut app, "s2c sv_chat");
    press(&mut app, "enter");
    let Some(Overlay::Form(form)) = &app.dialog.overlay else {
        panic!("{:?}", app.dialog.status)
    };
    let names: Vec<&str> = form.fields.iter().map(|field| &*field.name).collect();
    assert_eq!(names, ["mode", "client_id", "target_id", "message", "session"]);
    press(&mut app, "esc i");
    type_text(&mut app, "c2s sv_chat");
    press(&mut app, "enter");
    assert!(draw(&mut app, (80, 24)).contains("no message 'sv_chat' is sent c2s"));
}

#[test]
fn a_message_is_sent_again_and_again_until_it_is_stopped_or_refused() {
    let mut app = live();
    app.tick(Time(1_000_000));
    let injected = |app: &mut App| {
        let requests = app.take_requests().into_iter();
        let injects = requests.filter(|request| matches!(request, Request::Run(Command::Inject(_))));
        injects.collect::<Vec<_>>()
    };
    press(&mut app, "i");
    type_text(&mut app, "s2c sv_broadcast{message: \"hi\"} every 500ms");
    press(&mut app, "enter");
    assert!(app.dialog.overlay.is_none());
    for (ms, count) in [(1000, 1), (1400, 0), (1500, 1), (2100, 1)] {
        app.tick(Time(ms * 1000));
        assert_eq!(injected(&mut app).len(), count, "{ms} ms");
    }
    assert!(draw(&mut app, (100, 24)).contains("SENDING every 500ms: 3"));
    press(&mut app, "I");
    assert!(draw(&mut app, (100, 24)).contains("it was sent 3 times"));
    app.tick(Time(9_000_000));
    assert!(injected(&mut app).is_empty());

    // The form can repeat a message, too. A refusal ends the repetition.
    press(&mut app, "i");
    type_text(&mut app, "s2c sv_broadcast every 1s");
    press(&mut app, "enter");
    assert!(draw(&mut app, (100, 24)).contains("inject s2c sv_broadcast every 1s"));
    press(&mut app, "enter");
    app.tick(Time(10_000_000));
    let request = injected(&mut app).pop().unwrap();
    app.answer(
        &request,
        Err(RequestError::Refused("no session is online".into())),
    );
    assert!(draw(&mut app, (100, 24)).contains("no session is online; the message is not sent again"));
    assert!(app.orders.repeat.is_none());
    press(&mut app, "I");
    assert!(draw(&mut app, (100, 24)).contains("no message is sent again and again"));
}

#[test]
fn a_message_is_injected_by_its_text_or_by_a_form() {
    let mut app = live();
    press(&mut app, "i");
    type_text(&mut app, "s2c sv_broadc");
    assert!(draw(&mut app, (80, 24)).contains("sv_broadcast"));
    press(&mut app, "tab");
    type_text(&mut app, "{message: \"hi\"}");
    press(&mut app, "enter");
    let found = requests(&mut app);
    assert!(
        found[0].starts_with("Inject") && found[0].contains(r#"s2c sv_broadcast{message: \"hi\"}"#),
        "{found:?}"
    );
    press(&mut app, "i up");
    assert!(draw(&mut app, (80, 24)).contains("s2c sv_broadcast{message: \"hi\"}"));
    press(&mut app, "ctrl-u");
    type_text(&mut app, "s2c sv_emoticon");
    press(&mut app, "enter");
    insta::assert_snapshot!("inject-form", draw(&mut app, (80, 24)));
    press(&mut app, "down tab enter");
    let found = requests(&mut app);
    assert!(found[0].contains("s2c sv_emoticon{"), "{found:?}");
}

#[test]
fn a_row_becomes_a_rule_and_a_text_and_is_sent_again() {
    let mut app = live();
    draw(&mut app, (80, 24));
    press(&mut app, "g ctrl-f");
    type_text(&mut app, "hello team");
    press(&mut app, "enter x");
    insta::assert_snapshot!("rule-menu", draw(&mut app, (80, 24)));
    press(&mut app, "0 enter");
    assert_eq!(
        requests(&mut app),
        [r#"Add { text: "drop when c2s and cl_say" }"#]
    );

    press(&mut app, "enter");
    draw(&mut app, (80, 24));
    press(&mut app, "G x 0 enter");
    assert_eq!(
        requests(&mut app),
        [r#"Add { text: "drop when c2s and cl_say and .message == \"hello team\"" }"#]
    );
    press(&mut app, "y");
    insta::assert_snapshot!("copy-menu", draw(&mut app, (80, 24)));
    press(&mut app, "5");
    let text = "inject c2s cl_say{mode: team, target: -1, message: \"hello team\"}";
    assert_eq!(app.terminal.clipboard.as_deref(), Some(text));
    assert!(requests(&mut app)[0].starts_with("Copy("));

    press(&mut app, "r");
    let found = requests(&mut app);
    assert!(
        found[0].starts_with("Inject(Inject { session: Some(SessionId(1)), message: None"),
        "{found:?}"
    );
    press(&mut app, "w 1 enter");
    let found = requests(&mut app);
    assert!(found[0].starts_with("Save { path: \"rows.pcapng\""), "{found:?}");
}

/// The message has the same bytes and direction, and is vital only if it was.
#[test]
fn a_message_is_sent_again_as_it_was() {
    let mut app = unfolded();
    app.orders.is_live = true;
    draw(&mut app, (80, 24));
    press(&mut app, "g");
    let mut seen = [0, 0];
    for _ in 0..60 {
        press(&mut app, "j r");
        let Some((reading, message)) = app.messages.row().and_then(Row::message) else {
            continue;
        };
        let vital = message.transport.vital;
        let bytes = reading.data(message).iter();
        let hex: String = bytes.map(|byte| format!("{byte:02x}")).collect();
        let requests = app.take_requests();
        for command in requests.iter().flat_map(Request::commands) {
            if let Command::Inject(inject) = command {
                assert_eq!(inject.session, Some(SessionId(1)));
                assert_eq!((inject.vital, inject.hex.as_deref()), (Some(vital), Some(&*hex)));
                seen[usize::from(vital)] += 1;
            }
        }
    }
    assert!(
        seen.iter().all(|count| *count > 3),
        "{seen:?} messages not vital and vital"
    );
}

#[test]
fn a_link_has_the_datagram_unless_a_secret_is_in_it() {
    let link = |app: &mut App| {
        press(app, "y");
        let Some(Overlay::Menu(menu)) = app.dialog.overlay.take() else {
            panic!("no menu")
        };
        let links = menu
            .entries
            .into_iter()
            .find(|entry| entry.text.starts_with("twnet link"));
        links.map(|entry| format!("{:?}", entry.choice))
    };
    // The link contains the datagram of a chat line, as tcpdump shows it.
    let mut app = live();
    draw(&mut app, (80, 24));
    press(&mut app, "g ctrl-f");
    type_text(&mut app, "hello team");
    press(&mut app, "enter");
    let found = link(&mut app).unwrap();
    assert!(
        found.starts_with("Copy(\"https://twnet.zillyhuhn.com/?d=") && found.ends_with("&v=7\")"),
        "{found}"
    );
    let hex = found.split(['=', '&']).nth(1).unwrap();
    let capture = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/captures/tw07-session.pcap");
    let capture = std::fs::read(capture).unwrap();
    let bytes: Vec<u8> = (0..hex.len() / 2)
        .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    assert!(
        capture.windows(bytes.len()).any(|window| window == bytes),
        "{hex}"
    );
    assert!(
        bytes.len() > 7 && bytes.ends_with(b"hello team\0") || bytes[0] & 0x10 != 0,
        "{hex}"
    );
    // A password has no link.
    press(&mut app, "g ctrl-f");
    type_text(&mut app, "rcon_auth");
    press(&mut app, "enter");
    assert_eq!(app.messages.group(), Some("rcon_auth"));
    assert_eq!(link(&mut app), None);
    app.look.style.secrets = Secrets::Show;
    assert!(link(&mut app).is_some());
    let mut app = blank();
    app.log(Time(1), Level::Info, "x");
    assert_eq!(link(&mut app), None);
}

#[test]
fn every_rule_that_is_offered_is_right() {
    let mut app = live();
    draw(&mut app, (80, 24));
    press(&mut app, "G");
    let mut count = 0;
    for _ in 0..app.messages.len() {
        app.messages.up(1);
        press(&mut app, "x");
        let Some(Overlay::Menu(menu)) = app.dialog.overlay.take() else {
            continue;
        };
        for entry in &menu.entries {
            let text = format!("{:?}", entry.choice);
            let text = text.trim_start_matches("Rule(\"").trim_end_matches("\")");
            // Rules may refuse some actions for handshakes, but every condition must be valid.
            let when = text.split_once(" when ").unwrap().1;
            let rule = format!("log when {}", when.replace("\\\"", "\""));
            let checked = teetap_rules::Program::compile(&rule, Registry::builtin());
            assert!(checked.is_ok(), "{rule}: {:?}", checked.err());
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn a_form_that_is_refused_at_once_keeps_its_text() {
    let mut app = recorded();
    press(&mut app, "i");
    type_text(&mut app, "s2c sv_broadcast");
    press(&mut app, "enter");
    type_text(&mut app, "typed");
    press(&mut app, "enter");
    let screen = draw(&mut app, (80, 24));
    assert!(
        screen.contains("typed") && matches!(app.dialog.overlay, Some(Overlay::Form(_))),
        "{screen}"
    );
    assert!(screen.contains("there is no proxy"), "{screen}");
}

#[test]
fn without_a_proxy_requests_are_refused() {
    let mut app = with_rules();
    app.orders.is_live = false;
    press(&mut app, "space");
    assert!(requests(&mut app).is_empty());
    assert!(draw(&mut app, (80, 24)).contains("this screen shows a recording: there is no proxy"));
    let mut app = blank();
    app.tick(Time(1));
    assert!(app.take_requests().is_empty());
}
