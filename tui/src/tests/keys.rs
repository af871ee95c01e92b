//! Tests of keys, help and prompts, and of all of them at any size.

use std::sync::Arc;

use proptest::prelude::*;
use teetap_inspect::DecodedEvent;
use teetap_proxy::session::{Level, Time};
use teetap_wire::printable;

use super::{
    feed::{SIZES, blank, draw, events, press, recorded, type_text},
    live::with_held,
};
use crate::{
    App,
    action::ACTIONS,
    app::{Overlay, Pane, View, help},
    keymap::Keymap,
};

#[test]
fn every_key_has_a_row_of_help_and_every_row_a_key() {
    let keymap = Keymap::default();
    for pane in Pane::ALL {
        let rows = help::rows(&keymap, *pane);
        for action in ACTIONS.iter().map(|entry| entry.action) {
            for key in keymap.keys(action) {
                if keymap.action(key, *pane) == Some(action) {
                    let row = rows.iter().find(|row| row.action == Some(action)).unwrap();
                    assert!(row.keys.split(' ').any(|name| name == key.to_string()), "{row:?}");
                }
            }
        }
        for row in rows.iter().filter(|row| row.action.is_some()) {
            for key in row.keys.split(' ') {
                assert_eq!(keymap.action(key.parse().unwrap(), *pane), row.action, "{row:?}");
            }
        }
    }
    assert!(ACTIONS.iter().all(|entry| !entry.keys.is_empty()));
}

#[test]
fn a_view_is_shown_by_its_number_and_by_its_name() {
    for view in View::ALL {
        let mut app = recorded();
        press(&mut app, &view.number().to_string());
        assert_eq!(app.panes.view, *view);
        app.panes.view = View::Messages;
        press(&mut app, ":");
        type_text(&mut app, &format!("view {}", view.name()));
        press(&mut app, "enter");
        assert_eq!(app.panes.view, *view);
    }
}

#[test]
fn the_help_of_the_list_at_each_size() {
    for (width, height) in SIZES {
        let mut app = recorded();
        press(&mut app, "g ?");
        insta::assert_snapshot!(format!("help-{width}x{height}"), draw(&mut app, (width, height)));
    }
}

#[test]
fn no_sentence_of_the_help_is_cut_at_80_columns() {
    for view in View::ALL {
        let mut app = recorded();
        app.panes.show(*view);
        for pane in view.panes() {
            app.panes.focus = *pane;
            press(&mut app, "?");
            let screen = draw(&mut app, (80, 90));
            let cut: Vec<&str> = screen.lines().filter(|line| line.contains('…')).collect();
            assert!(cut.is_empty(), "{pane:?}: {cut:#?}");
            press(&mut app, "esc");
        }
    }
}

#[test]
fn the_views_are_named_where_they_have_room() {
    let mut app = recorded();
    press(&mut app, "3");
    let first = |app: &mut App, width| draw(app, (width, 24)).lines().next().unwrap().to_owned();
    let views = " 1 messages 2 sessions▸3 rules 4 ladder 5 snapshot 6 stats 7 log";
    assert!(first(&mut app, 120).contains(views));
    assert!(first(&mut app, 80).contains(views));
    assert!(first(&mut app, 60).contains(" 1 msgs 2 sess▸3 rules 4 ladder 5 snap 6 stats 7 log"));
    assert!(first(&mut app, 40).contains(" 1 2▸3 rules 4 5 6 7"));
    // A filter does not take their room.
    app.set_filter("vital and c2s").unwrap();
    assert!(first(&mut app, 80).contains(views));
}

#[test]
fn a_name_is_offered_once() {
    let mut app = recorded();
    press(&mut app, ":");
    type_text(&mut app, "fil");
    let Some(Overlay::Prompt(prompt)) = &app.dialog.overlay else {
        panic!()
    };
    let words: Vec<&str> = prompt.candidates.words.iter().map(|(word, _)| &**word).collect();
    assert_eq!(words, ["filter-on-off", "filter"]);
}

#[test]
fn the_help_is_searched_and_runs_what_is_chosen() {
    let mut app = recorded();
    press(&mut app, "?");
    type_text(&mut app, "first row");
    let screen = draw(&mut app, (80, 24));
    assert!(screen.contains("Move to the first row") && !screen.contains("Move to the last row"));
    press(&mut app, "enter");
    assert!(app.dialog.overlay.is_none());
    assert_eq!(app.messages.selected(), Some(0));

    press(&mut app, "?");
    type_text(&mut app, "no such words");
    assert!(draw(&mut app, (80, 24)).contains("no key or command has these words"));
    press(&mut app, "esc ?");
    type_text(&mut app, ":theme");
    press(&mut app, "enter");
    type_text(&mut app, "light");
    press(&mut app, "enter");
    assert_eq!(app.look.theme.to_string(), "light");
}

#[test]
fn a_command_is_completed_and_a_wrong_one_can_be_corrected() {
    let mut app = recorded();
    press(&mut app, ":");
    type_text(&mut app, "the");
    insta::assert_snapshot!("command", draw(&mut app, (80, 24)));
    press(&mut app, "tab");
    type_text(&mut app, " lihgt");
    press(&mut app, "enter");
    let screen = draw(&mut app, (80, 24));
    assert!(
        screen.contains("unknown theme 'lihgt'; did you mean 'light'?"),
        "{screen}"
    );
    press(&mut app, "ctrl-w");
    type_text(&mut app, "mono");
    press(&mut app, "enter");
    assert!(app.dialog.overlay.is_none() && app.look.theme.to_string() == "mono");
    press(&mut app, ": up");
    assert!(draw(&mut app, (80, 24)).contains(":theme mono"));
    press(&mut app, "ctrl-u");
    type_text(&mut app, "bind x quit");
    press(&mut app, "enter x");
    assert!(app.terminal.leaving);
}

#[test]
fn a_key_that_does_nothing_reports_it_and_q_leaves() {
    let mut app = recorded();
    press(&mut app, "F9");
    assert!(draw(&mut app, (80, 24)).contains("F9 does nothing here; ? lists the keys"));
    press(&mut app, "3 x");
    let why = "x (rule-from-row) works in: messages, fields, bytes, held messages; ? lists the keys";
    assert_eq!(app.dialog.status.as_ref().unwrap().1, why);
    // The first ctrl-c discards the line being typed.
    for keys in [":", "/", "?", "y", "i"] {
        press(&mut app, &format!("1 {keys} ctrl-c"));
        assert!(app.dialog.overlay.is_none() && !app.terminal.leaving, "{keys}");
    }
    press(&mut app, "ctrl-c");
    assert!(app.terminal.leaving);
    // In a text field a letter is typed, whatever it is bound to.
    let mut app = recorded();
    press(&mut app, ":");
    type_text(&mut app, "bind j stop");
    press(&mut app, "enter : j");
    assert!(!app.terminal.leaving && draw(&mut app, (80, 24)).contains(":j"));
    press(&mut app, "esc j");
    assert!(app.terminal.leaving);
    let mut app = recorded();
    press(&mut app, "q");
    assert!(app.terminal.leaving);
}

#[test]
fn q_asks_before_it_ends_a_run_with_players() {
    let playing = || {
        let mut app = blank();
        for decoded in events("tw07-session").iter().take(100) {
            app.push(decoded);
        }
        app.orders.is_live = true;
        app
    };
    let mut app = playing();
    press(&mut app, "q");
    let screen = draw(&mut app, (80, 24));
    assert!(
        !app.terminal.leaving && screen.contains("a player is online: end the run?"),
        "{screen}"
    );
    // The first entry stays in the run.
    press(&mut app, "enter");
    assert!(app.dialog.overlay.is_none() && !app.terminal.leaving);
    for keys in ["q q", "q esc", "q ctrl-c", "q 0"] {
        press(&mut app, keys);
        assert!(app.dialog.overlay.is_none() && !app.terminal.leaving, "{keys}");
    }
    press(&mut app, "q 1");
    assert!(app.terminal.leaving);
    let mut app = playing();
    press(&mut app, "Q");
    let question = "Q again ends the run with 1 player; another key goes on";
    assert!(!app.terminal.leaving && draw(&mut app, (60, 16)).contains(question));
    press(&mut app, "j Q");
    assert!(!app.terminal.leaving, "another key is a no");
    press(&mut app, "Q");
    assert!(app.terminal.leaving);
    let mut app = playing();
    press(&mut app, "ctrl-c");
    assert!(app.terminal.leaving, "ctrl-c asks nothing");
    // A recording has no players, and neither has a closed session.
    let mut app = playing();
    app.orders.is_live = false;
    press(&mut app, "q");
    assert!(app.terminal.leaving);
    let mut app = recorded();
    app.orders.is_live = true;
    press(&mut app, "q");
    assert!(app.terminal.leaving);
}

#[test]
fn ascii_has_no_other_characters() {
    for size in SIZES {
        for keys in [
            "g", "?", ":", "2", "3", "4", "5", "5 M", "6", "7", "s", "y", "y esc", "e",
        ] {
            let mut app = if keys == "e" { with_held() } else { recorded() };
            app.look.ascii = true;
            press(&mut app, keys);
            let screen = draw(&mut app, size);
            assert!(screen.is_ascii(), "{screen}");
        }
        let mut app = with_held();
        app.look.ascii = true;
        let screen = draw(&mut app, size);
        assert!(screen.is_ascii(), "{screen}");
    }
}

fn any_key() -> impl Strategy<Value = &'static str> {
    let bound: Vec<&str> = ACTIONS
        .iter()
        .flat_map(|entry| entry.keys)
        .copied()
        // These keys end the run or stop the process.
        .filter(|key| !matches!(*key, "ctrl-c" | "ctrl-z"))
        .collect();
    let typed = [
        "enter",
        "tab",
        "left",
        "right",
        "backspace",
        "Del",
        "a",
        "=",
        "\"",
        "1",
        "名",
        "ctrl-w",
    ];
    prop_oneof![3 => prop::sample::select(bound), 1 => prop::sample::select(typed.to_vec())]
}

#[derive(Clone, Debug)]
enum Step {
    Key(&'static str),
    Events(usize),
    Gap,
    Log(String),
    Draw(u16, u16),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => any_key().prop_map(Step::Key),
        2 => (0usize..200).prop_map(Step::Events),
        1 => Just(Step::Gap),
        1 => any::<String>().prop_map(Step::Log),
        3 => (1u16..130, 1u16..40).prop_map(|(width, height)| Step::Draw(width, height)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Presses any keys at any size. The screen never panics and never draws unsafe characters.
    #[test]
    fn any_keys_at_any_size(steps in prop::collection::vec(any_step(), 1..60), small in any::<bool>()) {
        thread_local! {
            static FEED: Vec<Arc<DecodedEvent>> = events("rich-tw07");
        }
        FEED.with(|feed| {
            let mut app = blank();
            if small {
                app.messages.history.limit = 20 << 10;
            }
            let mut rest = feed.iter();
            for step in &steps {
                match step {
                    Step::Key(key) => press(&mut app, key),
                    Step::Events(count) => rest.by_ref().take(*count).for_each(|event| app.push(event)),
                    Step::Gap => app.gap(1),
                    Step::Log(text) => app.log(Time(1), Level::Info, text),
                    Step::Draw(width, height) => {
                        let screen = draw(&mut app, (*width, *height));
                        prop_assert!(screen.lines().all(|line| printable(line.as_bytes()) == line));
                    }
                }
                if let Some(Overlay::Prompt(prompt)) = &app.dialog.overlay {
                    prop_assert!(prompt.editor.text().len() < 1 << 16);
                }
            }
            Ok(())
        })?;
    }
}

#[test]
fn statistics_are_drawn_in_one_cell() {
    let mut app = blank();
    for decoded in events("rich-tw07").iter().take(3) {
        app.push(decoded);
    }
    press(&mut app, "6");
    let screen = draw(&mut app, (1, 1));
    assert!(
        screen.lines().all(|line| printable(line.as_bytes()) == line),
        "{screen:?}"
    );
}

#[test]
fn the_page_of_the_screen_lists_every_key() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/src/screen.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, page) = page.split_once("\n## Keys\n").unwrap();
    for entry in ACTIONS {
        for key in entry.keys {
            let name = match *key {
                "esc" => "Esc",
                "enter" => "Enter",
                // The arrows.
                "up" | "down" | "left" | "right" => continue,
                key => key,
            };
            assert!(page.contains(&format!("`{name}`")), "{key} of {}", entry.name);
        }
    }
}
