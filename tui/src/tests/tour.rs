//! The guided tour of the demo.

use teetap_inspect::control::{Command, RuleCommand};

use super::{
    feed::{SIZES, draw, press, type_text},
    proxied,
};
use crate::{
    App,
    app::{View, tour::STEPS},
    request::Request,
};

fn app() -> App {
    let mut app = proxied::app();
    app.orders.is_live = true;
    app.take_requests();
    app.begin_tour();
    app
}

/// Returns the texts of rules that were added (`+`) and removed (`-`).
fn rules(app: &mut App) -> Vec<String> {
    let requests = app.take_requests().into_iter();
    let texts = requests.filter_map(|request| match request {
        Request::Run(Command::Rules { change: Some(change) }) => match change {
            RuleCommand::Add { text } => Some(format!("+{text}")),
            RuleCommand::Remove { name } => Some(format!("-{name}")),
            _ => None,
        },
        _ => None,
    });
    texts.collect()
}

#[test]
fn the_tour_begins_at_each_size() {
    for (width, height) in SIZES {
        let mut app = app();
        insta::assert_snapshot!(format!("tour-{width}x{height}"), draw(&mut app, (width, height)));
    }
}

#[test]
fn each_step_has_a_screen_and_a_fault_is_made_and_removed() {
    let mut app = app();
    let mut changes = Vec::new();
    for (number, step) in STEPS.iter().enumerate() {
        let screen = draw(&mut app, (80, 24));
        let title = format!("tour {}/{}: {}", number + 1, STEPS.len(), step.title);
        assert!(screen.contains(&title), "{screen}");
        assert_eq!(app.panes.view, step.view);
        let filter = app.messages.filter().map_or("", |filter| &filter.text);
        assert_eq!(filter, step.filter);
        insta::assert_snapshot!(format!("tour-step-{}", number + 1), screen);
        changes.extend(rules(&mut app).into_iter().map(|change| (number, change)));
        press(&mut app, "enter");
    }
    assert!(app.tour.is_none());
    let add = (3, "+tour: lose when s2c and sv_chat".to_owned());
    assert_eq!(changes, [add, (6, "-tour".to_owned())]);
    assert!(!draw(&mut app, (80, 24)).contains("tour "));
}

#[test]
fn esc_skips_the_tour_with_its_rule_and_its_filter() {
    let mut app = app();
    draw(&mut app, (80, 24));
    press(&mut app, "enter enter enter backspace enter");
    assert_eq!(rules(&mut app).len(), 3, "added, removed on the way back, added");
    press(&mut app, "esc");
    assert_eq!(rules(&mut app), ["-tour"]);
    assert!(app.tour.is_none() && app.messages.filter().is_none());
    press(&mut app, "enter");
    assert!(app.panes.shape.is_open, "Enter opens a message again");
}

#[test]
fn other_keys_work_during_the_tour_and_none_is_taken_by_a_tour_that_is_not_drawn() {
    let mut app = app();
    draw(&mut app, (80, 24));
    press(&mut app, "6");
    assert_eq!(app.panes.view, View::Stats);
    press(&mut app, "? ");
    type_text(&mut app, "first row");
    press(&mut app, "enter");
    assert_eq!(app.tour.unwrap().step, 0, "Enter was of the help");
    draw(&mut app, (20, 5));
    press(&mut app, "1 enter");
    assert_eq!(app.tour.unwrap().step, 0);
    assert!(app.panes.shape.is_open);
}
