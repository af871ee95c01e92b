//! Rules, the intercept queue, forms, and the requests that they make.

use teetap_proxy::session::{HeldId, Level, SessionId, Time, Waiting};
use teetap_rules::Draft;
use teetap_tui::{
    App,
    app::{Overlay, Pane, cursor::Moves as _},
    request::{Reply, Request, Rule},
};
use teetap_wire::{
    Dir, Proto,
    def::{Registry, Secrets},
};

use crate::feed::{SIZES, blank, draw, press, recorded, type_text};

/// A screen with a proxy behind it.
fn live() -> App {
    let mut app = recorded();
    app.is_live = true;
    app
}

fn rule(name: &str, text: &str, on: bool) -> Rule {
    Rule {
        name: name.to_owned(),
        text: text.to_owned(),
        from: "--rule".to_owned(),
        on,
        hits: (!text.starts_with("link")).then_some(3),
        last: Some(Time(12_345_678)),
    }
}

fn with_rules() -> App {
    let mut app = live();
    let list = vec![
        rule("quiet", "drop when sv_motd", true),
        rule("log when sv_chat", "log when sv_chat", false),
        rule("link s2c delay 40ms loss 5%", "link s2c delay 40ms loss 5%", true),
    ];
    app.answer(&Request::Rules, Ok(Reply::Rules(list)));
    press(&mut app, "3");
    draw(&mut app, (80, 24));
    app
}

fn waiting(held: u32, message: &str) -> Waiting {
    let registry = Registry::builtin();
    let (draft, _) = Draft::inject(&format!("c2s {message}"), registry).unwrap();
    Waiting {
        session: SessionId(1),
        dir: Dir::C2s,
        proto: Proto::V7,
        held: HeldId(held.try_into().unwrap()),
        vital: true,
        rule: Some("intercept".into()),
        until: Some(Time(20_000_000)),
        edited: false,
        data: draft.made(Proto::V7).unwrap().data.into(),
    }
}

pub(crate) fn with_held() -> App {
    let mut app = live();
    app.now = Time(11_500_000);
    let list = vec![
        waiting(1, "cl_say{mode: all, message: \"one\"}"),
        waiting(2, "cl_say{mode: team, message: \"two\"}"),
    ];
    app.answer(&Request::Held, Ok(Reply::Held(list)));
    app
}

/// Returns the requests in their debug form, without those that only refresh the screen.
fn requests(app: &mut App) -> Vec<String> {
    let all = app.take_requests().into_iter();
    let asked = all.filter(|request| !matches!(request, Request::Rules | Request::Held));
    asked.map(|request| format!("{request:?}")).collect()
}

#[test]
fn the_rules_at_each_size() {
    for size in SIZES {
        let mut app = with_rules();
        insta::assert_snapshot!(format!("rules-{}x{}", size.0, size.1), draw(&mut app, size));
    }
    let mut app = live();
    press(&mut app, "3");
    insta::assert_snapshot!("rules-none", draw(&mut app, (80, 10)));
}

#[test]
fn rules_are_switched_moved_edited_and_deleted() {
    let mut app = with_rules();
    press(&mut app, "space");
    assert_eq!(
        requests(&mut app),
        [r#"SwitchRules { names: ["quiet"], on: false }"#]
    );
    press(&mut app, "J");
    assert_eq!(requests(&mut app), [r#"SwapRules("quiet", "log when sv_chat")"#]);
    assert_eq!(app.rules.selected().unwrap().name, "quiet");
    press(&mut app, "enter");
    type_text(&mut app, " once");
    press(&mut app, "enter");
    let text = r#"ReplaceRule { name: "quiet", text: "quiet: drop when sv_motd once" }"#;
    assert_eq!(requests(&mut app), [text]);
    press(&mut app, "d");
    assert_eq!(requests(&mut app), [r#"RemoveRule("quiet")"#]);
}

#[test]
fn a_rule_is_checked_while_it_is_typed() {
    let mut app = with_rules();
    press(&mut app, "o");
    type_text(&mut app, "drop when sv_caht");
    let screen = draw(&mut app, (80, 24));
    assert!(
        screen.contains("unknown message `sv_caht`; did you mean `sv_chat`?"),
        "{screen}"
    );
    press(&mut app, "enter");
    assert!(requests(&mut app).is_empty() && app.overlay.is_some());
    press(&mut app, "ctrl-w");
    type_text(&mut app, "sv_chat");
    press(&mut app, "enter");
    assert_eq!(requests(&mut app), [r#"AddRule("drop when sv_chat")"#]);
    // The command line takes rules as well.
    press(&mut app, ":");
    type_text(&mut app, "x: lose when sv_motd once");
    press(&mut app, "enter");
    assert_eq!(requests(&mut app), [r#"AddRule("x: lose when sv_motd once")"#]);
}

#[test]
fn a_completed_rule_is_checked_again() {
    let mut app = with_rules();
    press(&mut app, "o");
    type_text(&mut app, "drop when sv_mot");
    press(&mut app, "tab enter");
    assert_eq!(requests(&mut app), [r#"AddRule("drop when sv_motd")"#]);
}

/// Types a line on the command line, and returns the requests.
fn command(app: &mut App, line: &str) -> Vec<String> {
    press(app, ":");
    type_text(app, line);
    press(app, "enter");
    requests(app)
}

#[test]
fn a_command_with_a_condition_is_a_rule() {
    let mut app = live();
    for line in [
        "close both when cl_kill",
        r#"inject s2c sv_broadcast{message: "hi"} when cl_kill"#,
    ] {
        assert_eq!(command(&mut app, line), [format!("AddRule({line:?})")]);
    }
    assert_eq!(
        command(&mut app, "close see you"),
        [r#"Close { session: None, reason: "see you" }"#]
    );
    let found = command(&mut app, r#"inject s2c sv_broadcast{message: "tell me when"}"#);
    assert!(found[0].starts_with("Inject"), "{found:?}");
}

#[test]
fn a_command_acts_on_the_session_that_is_shown() {
    let mut app = crate::proxied::app();
    app.is_live = true;
    app.pick(SessionId(1));
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
    assert_eq!(found, [r#"Close { session: Some(SessionId(2)), reason: "x" }"#]);
}

#[test]
fn the_form_of_a_new_message_is_that_of_the_session() {
    let mut app = live();
    press(&mut app, "i");
    type_text(&mut app, "s2c sv_chat");
    press(&mut app, "enter");
    let Some(Overlay::Form(form)) = &app.overlay else {
        panic!("{:?}", app.status)
    };
    let names: Vec<&str> = form.fields.iter().map(|field| &*field.name).collect();
    assert_eq!(names, ["mode", "client_id", "target_id", "message"]);
    press(&mut app, "esc i");
    type_text(&mut app, "c2s sv_chat");
    press(&mut app, "enter");
    assert!(draw(&mut app, (80, 24)).contains("no message 'sv_chat' is sent c2s"));
}

#[test]
fn held_messages_are_requested_once_after_a_gap_or_several_answers() {
    let mut app = with_held();
    app.tick(Time(11_600_000));
    app.take_requests();
    let held = |app: &mut App| {
        app.tick(Time(11_600_000));
        let all = app.take_requests().into_iter();
        all.filter(|request| matches!(request, Request::Held)).count()
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
fn a_slider_never_lowers_a_larger_value() {
    let mut app = with_rules();
    let text = "link both delay 1500ms";
    app.answer(&Request::Rules, Ok(Reply::Rules(vec![rule(text, text, true)])));
    draw(&mut app, (80, 24));
    press(&mut app, "g j right");
    assert!(requests(&mut app).is_empty());
    assert!(app.status.as_ref().unwrap().1.contains("the value is 1500"));
}

#[test]
fn sliders_change_a_link_line_or_add_one() {
    let mut app = with_rules();
    press(&mut app, "G k right");
    let text = "link s2c delay 40ms loss 6%";
    let was = "link s2c delay 40ms loss 5%";
    let replaced = |name: &str, text: &str| format!("ReplaceRule {{ name: {name:?}, text: {text:?} }}");
    assert_eq!(requests(&mut app), [replaced(was, text)]);
    press(&mut app, "right k left");
    let after = "link s2c delay 40ms loss 7%";
    let both = [
        replaced(text, after),
        replaced(after, "link s2c delay 35ms loss 7%"),
    ];
    assert_eq!(requests(&mut app), both);

    let mut app = live();
    press(&mut app, "3");
    draw(&mut app, (80, 24));
    press(&mut app, "G right right left left");
    let steps = [
        r#"AddRule("link both loss 1%")"#.to_owned(),
        replaced("link both loss 1%", "link both loss 2%"),
        replaced("link both loss 2%", "link both loss 1%"),
        r#"RemoveRule("link both loss 1%")"#.to_owned(),
    ];
    assert_eq!(requests(&mut app), steps);
}

#[test]
fn a_message_is_sent_again_and_again_until_it_is_stopped_or_refused() {
    let mut app = live();
    app.tick(Time(1_000_000));
    let injected = |app: &mut App| {
        let requests = app.take_requests().into_iter();
        let injects = requests.filter(|request| matches!(request, Request::Inject { .. }));
        injects.collect::<Vec<_>>()
    };
    press(&mut app, "i");
    type_text(&mut app, "s2c sv_broadcast{message: \"hi\"} every 500ms");
    press(&mut app, "enter");
    assert!(app.overlay.is_none());
    for (ms, count) in [(1000, 1), (1400, 0), (1500, 1), (2100, 1)] {
        app.tick(Time(ms * 1000));
        assert_eq!(injected(&mut app).len(), count, "{ms} ms");
    }
    assert!(draw(&mut app, (100, 24)).contains("SENDING every 500ms: 3"));
    press(&mut app, "I");
    assert!(draw(&mut app, (100, 24)).contains("it was sent 3 times"));
    app.tick(Time(9_000_000));
    assert!(injected(&mut app).is_empty());

    // From a form, too; a refusal ends it.
    press(&mut app, "i");
    type_text(&mut app, "s2c sv_broadcast every 1s");
    press(&mut app, "enter");
    assert!(draw(&mut app, (100, 24)).contains("inject s2c sv_broadcast every 1s"));
    press(&mut app, "enter");
    app.tick(Time(10_000_000));
    let request = injected(&mut app).pop().unwrap();
    app.answer(&request, Err("no session is online".to_owned()));
    assert!(draw(&mut app, (100, 24)).contains("no session is online; the message is not sent again"));
    assert!(app.repeat.is_none());
    press(&mut app, "I");
    assert!(draw(&mut app, (100, 24)).contains("no message is sent again and again"));
}

#[test]
fn a_profile_is_chosen_changed_and_left() {
    let mut app = with_rules();
    press(&mut app, "G right");
    let texts = |app: &App| {
        app.rules
            .list
            .iter()
            .map(|rule| rule.text.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(texts(&app).last().unwrap(), "use \"3g\"");
    press(&mut app, "right");
    assert_eq!(texts(&app).last().unwrap(), "use \"4g\"");
    assert!(draw(&mut app, (80, 24)).contains("profile ‹ 4g ›"));
    press(&mut app, "left left");
    assert_eq!(texts(&app).len(), 3);
    let requests: Vec<String> = app
        .take_requests()
        .iter()
        .map(|request| format!("{request:?}"))
        .collect();
    let expected = [
        "AddRule(\"use \\\"3g\\\"\")",
        "ReplaceRule { name: \"use \\\"3g\\\"\", text: \"use \\\"4g\\\"\" }",
        "ReplaceRule { name: \"use \\\"4g\\\"\", text: \"use \\\"3g\\\"\" }",
        "RemoveRule(\"use \\\"3g\\\"\")",
    ];
    assert_eq!(requests[requests.len() - 4..], expected);
}

#[test]
fn all_rules_are_switched_off_and_those_that_were_on_on_again() {
    let mut app = with_rules();
    press(&mut app, "R");
    let names = r#"["quiet", "link s2c delay 40ms loss 5%"]"#;
    assert_eq!(
        requests(&mut app),
        [format!("SwitchRules {{ names: {names}, on: false }}")]
    );
    assert!(draw(&mut app, (80, 24)).contains("RULES OFF"));
    press(&mut app, "R");
    assert_eq!(
        requests(&mut app),
        [format!("SwitchRules {{ names: {names}, on: true }}")]
    );
    assert!(!draw(&mut app, (80, 24)).contains("RULES OFF"));
}

#[test]
fn rules_that_are_gone_or_renamed_are_not_switched_on_again() {
    let mut app = with_rules();
    press(&mut app, "R");
    requests(&mut app);
    let was = "link s2c delay 40ms loss 5%";
    let list = |link: &str| vec![rule("new", "drop when cl_kill", true), rule(link, link, false)];
    app.answer(&Request::Rules, Ok(Reply::Rules(list(was))));
    draw(&mut app, (80, 24));
    press(&mut app, "G k right");
    requests(&mut app);
    assert!(draw(&mut app, (80, 24)).contains("RULES OFF"));
    press(&mut app, "R");
    assert_eq!(
        requests(&mut app),
        [r#"SwitchRules { names: ["link s2c delay 40ms loss 6%"], on: true }"#]
    );
    // Nothing of them is left.
    let mut app = with_rules();
    press(&mut app, "R");
    requests(&mut app);
    let list = vec![rule("new", "drop when cl_kill", true)];
    app.answer(&Request::Rules, Ok(Reply::Rules(list)));
    assert!(!draw(&mut app, (80, 24)).contains("RULES OFF"));
    press(&mut app, "R");
    assert_eq!(
        requests(&mut app),
        [r#"SwitchRules { names: ["new"], on: false }"#]
    );
}

#[test]
fn a_refusal_to_switch_rules_off_leaves_no_banner() {
    let mut app = with_rules();
    press(&mut app, "R");
    let request = app.take_requests().pop().unwrap();
    app.answer(&request, Err("no".to_owned()));
    let on = vec![rule("quiet", "drop when sv_motd", true)];
    app.answer(&Request::Rules, Ok(Reply::Rules(on)));
    press(&mut app, "space");
    app.take_requests();
    assert!(!draw(&mut app, (80, 24)).contains("RULES OFF"));
}

#[test]
fn messages_are_paused_by_the_filter() {
    let mut app = live();
    press(&mut app, "p");
    assert!(
        app.status
            .as_ref()
            .unwrap()
            .1
            .contains("set a filter first with /")
    );
    app.set_filter("cl_say or cl_kill").unwrap();
    press(&mut app, "p");
    assert_eq!(
        requests(&mut app),
        [r#"AddRule("intercept: pause when (cl_say or cl_kill)")"#]
    );
    let list = vec![rule("intercept", "pause when (cl_say or cl_kill)", true)];
    app.answer(&Request::Rules, Ok(Reply::Rules(list)));
    assert!(draw(&mut app, (80, 24)).contains("PAUSING"));
    let off = vec![rule("intercept", "pause when (cl_say or cl_kill)", false)];
    let on = vec![rule("intercept", "pause when (cl_say or cl_kill)", true)];
    app.answer(&Request::Rules, Ok(Reply::Rules(off)));
    assert!(!draw(&mut app, (80, 24)).contains("PAUSING"));
    app.answer(&Request::Rules, Ok(Reply::Rules(on)));
    press(&mut app, "p");
    assert_eq!(requests(&mut app), [r#"RemoveRule("intercept")"#]);
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
    assert_eq!(app.focus, Pane::Queue);
    press(&mut app, "j a k d A");
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
    app.answer(&Request::Held, Ok(Reply::Held(Vec::new())));
    assert_eq!(app.focus, Pane::List);
    press(&mut app, "a");
    assert!(app.status.as_ref().unwrap().1.contains("no message is held"));
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
    // A value that does not fit keeps the form open.
    press(&mut app, "e down ctrl-u");
    type_text(&mut app, "99999999999999");
    press(&mut app, "enter");
    assert!(requests(&mut app).is_empty());
    let Some(Overlay::Form(form)) = &app.overlay else {
        panic!()
    };
    assert!(form.error.is_some());
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
    assert_eq!(requests(&mut app), [r#"AddRule("drop when c2s and cl_say")"#]);

    press(&mut app, "enter");
    draw(&mut app, (80, 24));
    press(&mut app, "G x 0 enter");
    assert_eq!(
        requests(&mut app),
        [r#"AddRule("drop when c2s and cl_say and .message == \"hello team\"")"#]
    );
    press(&mut app, "y");
    insta::assert_snapshot!("copy-menu", draw(&mut app, (80, 24)));
    press(&mut app, "5");
    let text = "inject c2s cl_say{mode: team, target: -1, message: \"hello team\"}";
    assert_eq!(app.clipboard.as_deref(), Some(text));
    assert!(requests(&mut app)[0].starts_with("Copy("));

    press(&mut app, "r");
    let found = requests(&mut app);
    assert!(found[0].starts_with("Send { session: SessionId(1)"), "{found:?}");
    press(&mut app, "w 1 enter");
    let found = requests(&mut app);
    assert!(found[0].starts_with("Save { path: \"rows.pcapng\""), "{found:?}");
}

#[test]
fn a_link_has_the_datagram_unless_a_secret_is_in_it() {
    let link = |app: &mut App| {
        press(app, "y");
        let Some(Overlay::Menu(menu)) = app.overlay.take() else {
            panic!("no menu")
        };
        let links = menu
            .entries
            .into_iter()
            .find(|entry| entry.text.starts_with("twnet link"));
        links.map(|entry| format!("{:?}", entry.choice))
    };
    // The datagram of a chat line, as tcpdump has it.
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
    assert!(capture.windows(bytes.len()).any(|window| window == bytes), "{hex}");
    assert!(bytes.len() > 7 && bytes.ends_with(b"hello team\0") || bytes[0] & 0x10 != 0, "{hex}");
    // A password, and nothing to link to.
    press(&mut app, "g ctrl-f");
    type_text(&mut app, "rcon_auth");
    press(&mut app, "enter");
    assert_eq!(app.messages.group(), Some("rcon_auth"));
    assert_eq!(link(&mut app), None);
    app.style.secrets = Secrets::Show;
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
        let Some(Overlay::Menu(menu)) = app.overlay.take() else {
            continue;
        };
        for entry in &menu.entries {
            let text = format!("{:?}", entry.choice);
            let text = text.trim_start_matches("Rule(\"").trim_end_matches("\")");
            // Some actions are refused for handshakes; the conditions must be right.
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
fn without_a_proxy_requests_are_refused() {
    let mut app = with_rules();
    app.is_live = false;
    press(&mut app, "space");
    assert!(requests(&mut app).is_empty());
    assert!(draw(&mut app, (80, 24)).contains("this screen shows a recording: there is no proxy"));
    let mut app = blank();
    app.tick(Time(1));
    assert!(app.take_requests().is_empty());
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
