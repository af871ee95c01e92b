//! Tests every action on a screen with traffic, rules and held messages: each has an effect.

use ratatui::{Terminal, backend::TestBackend, buffer::Buffer};
use teetap_inspect::control::Command;
use teetap_proxy::session::{Level, Time};

use super::{
    feed::{draw, press},
    live::{held_message, rule},
    proxied,
};
use crate::{
    Action, App,
    action::ACTIONS,
    app::{Pane, View},
    request::Reply,
    update::{click, update},
    view,
};

/// Returns a screen with two sessions, rules, a link line and two held messages. A message in the middle of the list is
/// open.
fn populated(view: View, pane: Pane, size: (u16, u16)) -> App {
    let mut app = proxied::app();
    app.orders.is_live = true;
    app.log(Time(1), Level::Info, "one");
    app.log(Time(2), Level::Warning, "two");
    let rules = vec![
        rule("first", "drop when sv_motd", true),
        rule("second", "log when sv_chat", true),
        rule("third", "log when cl_kill", true),
        rule("link s2c delay 40ms", "link s2c delay 40ms", true),
    ];
    app.answer(&Command::Rules { change: None }.into(), Ok(Reply::Rules(rules)));
    let held = vec![
        held_message(1, "cl_say{mode: all, message: \"one\"}"),
        held_message(2, "cl_say{mode: team, message: \"two\"}"),
    ];
    app.answer(&Command::Held { session: None }.into(), Ok(Reply::Held(held)));
    draw(&mut app, size);
    press(&mut app, "G PgUp");
    // Selects a message with several lines of bytes and fields.
    while app.detail.contents.bytes.len() <= 16 {
        press(&mut app, "k");
    }
    app.panes.show(view);
    app.panes.focus = pane;
    app.panes.shape.is_open = matches!(pane, Pane::Tree | Pane::Hex);
    app.sync();
    draw(&mut app, size);
    app.take_requests();
    app.dialog.status = None;
    app
}

/// Everything that an action can change: the screen, requests and the clipboard.
#[derive(PartialEq)]
struct Effects {
    screen: Buffer,
    requests: String,
    clipboard: Option<String>,
    ends: (bool, bool, bool),
}

fn effects(app: &mut App, (width, height): (u16, u16)) -> Effects {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view::draw(frame, app)).unwrap();
    Effects {
        screen: terminal.backend().buffer().clone(),
        requests: format!("{:?}", app.take_requests()),
        clipboard: app.terminal.clipboard.clone(),
        ends: (
            app.terminal.leaving,
            app.terminal.suspending,
            app.terminal.redrawing,
        ),
    }
}

/// Returns the action to apply first, so that there is room to move.
fn action_before(action: Action) -> Option<Action> {
    Some(match action {
        Action::Down | Action::PageDown | Action::Last => Action::First,
        Action::Up | Action::PageUp | Action::First => Action::Last,
        Action::Left => Action::Right,
        _ => return None,
    })
}

#[test]
fn no_key_is_without_an_effect() {
    let mut count = 0;
    for size in [(80, 24), (120, 40)] {
        for view in View::ALL {
            for pane in view.panes() {
                for entry in ACTIONS.iter().filter(|entry| entry.scope.has(*pane)) {
                    // The key of the current view has no effect.
                    if entry.action.view() == Some(*view) {
                        continue;
                    }
                    let mut app = populated(*view, *pane, size);
                    if let Some(before) = action_before(entry.action) {
                        update(&mut app, before);
                        app.dialog.status = None;
                    }
                    let was = effects(&mut app, size);
                    update(&mut app, entry.action);
                    let is = effects(&mut app, size);
                    assert!(was != is, "{} in {pane:?} at {size:?}", entry.name);
                    count += 1;
                }
            }
        }
    }
    assert!(count > 600, "{count}");
}

#[test]
fn a_click_selects_the_row_under_it() {
    let (mut count, size) = (0, (120, 40));
    for view in View::ALL {
        let mut app = populated(*view, view.panes()[0], size);
        for (pane, area) in app.panes.areas.clone() {
            for row in [1, 0] {
                click(&mut app, area.x + 3, area.y + row);
                assert_eq!(app.panes.focus, pane);
                let screen = effects(&mut app, size).screen;
                let cell = &screen[(area.x + 3, area.y + row)];
                let mut again = cell.clone();
                again.set_style(app.look.theme.selected(true));
                // In the bytes pane only the byte is selected, not its line.
                let is_selected = pane == Pane::Hex || again == *cell;
                assert!(is_selected, "{pane:?}, row {row}: {cell:?}");
                count += 1;
            }
        }
    }
    assert_eq!(count, 2 * Pane::ALL.len());
}

#[test]
fn a_key_that_finds_nothing_to_act_on_says_why() {
    let mut app = super::feed::blank();
    draw(&mut app, (80, 24));
    for (keys, why) in [
        ("tab", "only the list is shown; enter opens a message beside it"),
        ("\\", "only the list is shown; enter opens a message beside it"),
        ("+", "only the list is shown; enter opens a message beside it"),
        ("esc", "there is nothing to go back from; q ends the run"),
        ("space esc", "the view is frozen; space shows new rows"),
        ("space 3 tab", "the view rules has one pane; ? lists the keys"),
        ("1 enter \\ +", "only one pane is shown; \\ shows all"),
    ] {
        press(&mut app, keys);
        let status = app.dialog.status.as_ref().map(|(_, text)| text.as_str());
        assert_eq!(status, Some(why), "{keys}");
    }
}

#[test]
fn a_search_or_a_mark_that_leads_to_the_selected_row_reports_it() {
    let mut app = super::feed::recorded();
    draw(&mut app, (80, 24));
    press(&mut app, "g ctrl-f");
    super::feed::type_text(&mut app, "hello team");
    press(&mut app, "enter n n");
    let found = app.messages.number();
    let status = |app: &App| app.dialog.status.clone().unwrap().1;
    press(&mut app, "m '");
    assert_eq!(status(&app), "no other row is marked");
    assert_eq!(app.messages.number(), found);
    press(&mut app, "ctrl-f");
    super::feed::type_text(&mut app, "cl_emoticon");
    press(&mut app, "enter n");
    assert_eq!(status(&app), "no other row has 'cl_emoticon'");
}

#[test]
fn the_help_the_arrows_enter_and_esc_reach_every_view_and_every_pane() {
    let size = (80, 24);
    for from in View::ALL {
        for to in View::ALL {
            let mut app = proxied::app();
            app.panes.show(*from);
            draw(&mut app, size);
            run_help_row(&mut app, to.name());
            assert_eq!(app.panes.view, *to, "from {from:?}");
            // Esc returns to the messages.
            press(&mut app, "esc");
            assert_eq!(app.panes.view, View::Messages);
        }
    }
    let mut app = proxied::app();
    draw(&mut app, size);
    press(&mut app, "up up enter");
    assert_eq!(app.panes.focus, Pane::Tree);
    press(&mut app, "enter");
    assert_eq!(app.panes.focus, Pane::Hex);
    press(&mut app, "esc");
    assert_eq!((app.panes.focus, app.panes.has_detail()), (Pane::List, false));
    // Opens prompts, menus and forms.
    for (name, lead) in [
        ("filter", "/"),
        ("command", ":"),
        ("inject", "inject "),
        ("search", "search "),
    ] {
        run_help_row(&mut app, name);
        let screen = draw(&mut app, size);
        // The last line has the hints.
        let line = screen.lines().rev().nth(1).unwrap().to_owned();
        assert!(line.trim_start_matches('"').starts_with(lead), "{name}: {line}");
        press(&mut app, "esc");
    }
    while app.messages.group().is_none() {
        press(&mut app, "up");
    }
    for name in ["rule-from-row", "copy", "save", "fold", "session"] {
        run_help_row(&mut app, name);
        assert!(app.dialog.overlay.is_some(), "{name}: {:?}", app.dialog.status);
        press(&mut app, "esc");
    }
}

/// Runs a row of the help with the arrow keys.
fn run_help_row(app: &mut App, name: &str) {
    press(app, "?");
    let rows = crate::app::help::rows(&app.dialog.keymap, app.panes.focus);
    let place = rows.iter().position(|row| row.name == name).unwrap();
    draw(app, (80, 24));
    for _ in 0..place {
        press(app, "down");
    }
    press(app, "enter");
}
