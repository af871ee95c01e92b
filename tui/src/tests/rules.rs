//! Tests of rules and link lines: their view, and the requests that it sends.

use teetap_inspect::control::Command;

use super::{
    feed::{SIZES, draw, press, type_text},
    live::{live, requests, rule, with_rules},
};
use crate::{
    App,
    request::{Reply, RequestError},
};

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
    assert_eq!(requests(&mut app), [r#"Off { name: "quiet" }"#]);
    press(&mut app, "J");
    assert_eq!(
        requests(&mut app),
        [r#"Swap { name: "quiet", with: "log when sv_chat" }"#]
    );
    assert_eq!(app.rules.selected().unwrap().name, "quiet");
    press(&mut app, "enter");
    type_text(&mut app, " once");
    press(&mut app, "enter");
    let text = r#"Replace { name: "quiet", text: "quiet: drop when sv_motd once" }"#;
    assert_eq!(requests(&mut app), [text]);
    press(&mut app, "d");
    assert_eq!(requests(&mut app), [r#"Remove { name: "quiet" }"#]);
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
    assert!(requests(&mut app).is_empty() && app.dialog.overlay.is_some());
    press(&mut app, "ctrl-w");
    type_text(&mut app, "sv_chat");
    press(&mut app, "enter");
    assert_eq!(requests(&mut app), [r#"Add { text: "drop when sv_chat" }"#]);
    // The command line accepts rules as well.
    press(&mut app, ":");
    type_text(&mut app, "x: lose when sv_motd once");
    press(&mut app, "enter");
    assert_eq!(
        requests(&mut app),
        [r#"Add { text: "x: lose when sv_motd once" }"#]
    );
}

#[test]
fn a_completed_rule_is_checked_again() {
    let mut app = with_rules();
    press(&mut app, "o");
    type_text(&mut app, "drop when sv_mot");
    press(&mut app, "tab enter");
    assert_eq!(requests(&mut app), [r#"Add { text: "drop when sv_motd" }"#]);
}

#[test]
fn the_value_of_a_slider_is_typed() {
    let mut app = live();
    press(&mut app, "3");
    draw(&mut app, (80, 24));
    press(&mut app, "G enter");
    assert!(draw(&mut app, (80, 24)).contains("loss instead of 0 %: "));
    type_text(&mut app, "10");
    press(&mut app, "enter");
    assert_eq!(requests(&mut app), [r#"Add { text: "link both loss 10%" }"#]);
    let replaced =
        |text: &str| format!("Replace {{ name: \"link s2c delay 40ms loss 5%\", text: {text:?} }}");
    // Replaces the value of a link line and keeps the rest of the line.
    for (keys, typed, asked, text) in [
        (
            "G k enter",
            "10",
            "loss instead of 5 %: ",
            "link s2c delay 40ms loss 10%",
        ),
        (
            "G k e",
            "2.5%",
            "loss instead of 5 %: ",
            "link s2c delay 40ms loss 2.5%",
        ),
        ("G k enter", "0", "loss instead of 5 %: ", "link s2c delay 40ms"),
        (
            "G k k enter",
            "1.5s",
            "delay instead of 40 ms: ",
            "link s2c delay 1.5s loss 5%",
        ),
        (
            "G k k enter",
            "7 ms",
            "delay instead of 40 ms: ",
            "link s2c delay 7ms loss 5%",
        ),
    ] {
        let mut app = with_rules();
        press(&mut app, keys);
        assert!(draw(&mut app, (80, 24)).contains(asked), "{keys}");
        type_text(&mut app, typed);
        press(&mut app, "enter");
        assert_eq!(requests(&mut app), [replaced(text)], "{keys} {typed}");
        assert!(app.dialog.overlay.is_none());
    }
    // An invalid value stays on the line with the reason. An empty line changes nothing.
    let mut app = with_rules();
    press(&mut app, "G k enter");
    for (typed, why) in [
        ("120", "no more than 100 % can be lost"),
        ("-3", "write a percentage, such as 3 or 2.5%"),
        ("3%10", "write a percentage, such as 3 or 2.5%"),
    ] {
        type_text(&mut app, typed);
        assert!(draw(&mut app, (80, 24)).contains(why), "{typed}");
        press(&mut app, "enter");
        assert!(
            requests(&mut app).is_empty() && app.dialog.overlay.is_some(),
            "{typed}"
        );
        press(&mut app, "ctrl-u");
    }
    press(&mut app, "enter");
    assert!(requests(&mut app).is_empty() && app.dialog.overlay.is_none());
    press(&mut app, "G enter");
    assert!(app.dialog.status.as_ref().unwrap().1.contains("choose a profile"));
    // The row of the link line edits the whole line.
    press(&mut app, "G k k k enter");
    type_text(&mut app, " rate 2mbit");
    press(&mut app, "enter");
    assert_eq!(
        requests(&mut app),
        [replaced("link s2c delay 40ms loss 5% rate 2mbit")]
    );
}

#[test]
fn a_link_line_whose_last_value_is_typed_as_0_is_removed() {
    let mut app = with_rules();
    let text = "link both loss 3%";
    app.answer(
        &Command::Rules { change: None }.into(),
        Ok(Reply::Rules(vec![rule(text, text, true)])),
    );
    press(&mut app, "g j j enter");
    type_text(&mut app, "0");
    press(&mut app, "enter");
    assert_eq!(requests(&mut app), [r#"Remove { name: "link both loss 3%" }"#]);
}

#[test]
fn a_slider_never_lowers_a_larger_value() {
    let mut app = with_rules();
    let text = "link both delay 1500ms";
    app.answer(
        &Command::Rules { change: None }.into(),
        Ok(Reply::Rules(vec![rule(text, text, true)])),
    );
    draw(&mut app, (80, 24));
    press(&mut app, "g j right");
    assert!(requests(&mut app).is_empty());
    assert!(
        app.dialog
            .status
            .as_ref()
            .unwrap()
            .1
            .contains("the value is 1500")
    );
}

#[test]
fn sliders_change_a_link_line_or_add_one() {
    let mut app = with_rules();
    press(&mut app, "G k right");
    let text = "link s2c delay 40ms loss 6%";
    let was = "link s2c delay 40ms loss 5%";
    let replaced = |name: &str, text: &str| format!("Replace {{ name: {name:?}, text: {text:?} }}");
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
        r#"Add { text: "link both loss 1%" }"#.to_owned(),
        replaced("link both loss 1%", "link both loss 2%"),
        replaced("link both loss 2%", "link both loss 1%"),
        r#"Remove { name: "link both loss 1%" }"#.to_owned(),
    ];
    assert_eq!(requests(&mut app), steps);
}

/// A slider of a link line that does not exist yet has no lower value, and no line is added for it.
#[test]
fn a_slider_ends_at_zero() {
    let mut app = live();
    press(&mut app, "3");
    draw(&mut app, (80, 24));
    press(&mut app, "G left");
    assert_eq!(requests(&mut app), [""; 0]);
    let status = app.dialog.status.as_ref().unwrap();
    assert!(status.1.contains("the value is 0"), "{}", status.1);
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
    let requests = requests(&mut app);
    let expected = [
        "Add { text: \"use \\\"3g\\\"\" }",
        "Replace { name: \"use \\\"3g\\\"\", text: \"use \\\"4g\\\"\" }",
        "Replace { name: \"use \\\"4g\\\"\", text: \"use \\\"3g\\\"\" }",
        "Remove { name: \"use \\\"3g\\\"\" }",
    ];
    assert_eq!(requests[requests.len() - 4..], expected);
}

#[test]
fn all_rules_are_switched_off_and_those_that_were_on_on_again() {
    let mut app = with_rules();
    press(&mut app, "R");
    let switched = |word: &str| {
        ["quiet", "link s2c delay 40ms loss 5%"].map(|name| format!("{word} {{ name: {name:?} }}"))
    };
    assert_eq!(requests(&mut app), switched("Off"));
    assert!(draw(&mut app, (80, 24)).contains("RULES OFF"));
    press(&mut app, "R");
    assert_eq!(requests(&mut app), switched("On"));
    assert!(!draw(&mut app, (80, 24)).contains("RULES OFF"));
}

#[test]
fn rules_that_are_gone_or_renamed_are_not_switched_on_again() {
    let mut app = with_rules();
    press(&mut app, "R");
    requests(&mut app);
    let was = "link s2c delay 40ms loss 5%";
    let list = |link: &str| vec![rule("new", "drop when cl_kill", true), rule(link, link, false)];
    app.answer(
        &Command::Rules { change: None }.into(),
        Ok(Reply::Rules(list(was))),
    );
    draw(&mut app, (80, 24));
    press(&mut app, "G k right");
    requests(&mut app);
    assert!(draw(&mut app, (80, 24)).contains("RULES OFF"));
    press(&mut app, "R");
    assert_eq!(
        requests(&mut app),
        [r#"On { name: "link s2c delay 40ms loss 6%" }"#]
    );
    // The rules that were switched off no longer exist.
    let mut app = with_rules();
    press(&mut app, "R");
    requests(&mut app);
    let list = vec![rule("new", "drop when cl_kill", true)];
    app.answer(&Command::Rules { change: None }.into(), Ok(Reply::Rules(list)));
    assert!(!draw(&mut app, (80, 24)).contains("RULES OFF"));
    press(&mut app, "R");
    assert_eq!(requests(&mut app), [r#"Off { name: "new" }"#]);
}

#[test]
fn a_refusal_to_switch_rules_off_leaves_no_banner() {
    let mut app = with_rules();
    press(&mut app, "R");
    let request = app.take_requests().pop().unwrap();
    app.answer(&request, Err(RequestError::Refused("no".into())));
    let on = vec![rule("quiet", "drop when sv_motd", true)];
    app.answer(&Command::Rules { change: None }.into(), Ok(Reply::Rules(on)));
    press(&mut app, "space");
    app.take_requests();
    assert!(!draw(&mut app, (80, 24)).contains("RULES OFF"));
}
