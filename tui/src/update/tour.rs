//! The guided tour: its keys, and the screen of each step.

use crossterm::event::KeyCode;
use teetap_inspect::control::RuleCommand;

use crate::{
    app::{
        App, View,
        tour::{FAULT, RULE, STEPS, Tour},
    },
    keymap::KeyPress,
};

impl App {
    /// Begins the guided tour.
    pub fn begin_tour(&mut self) {
        self.tour = Some(Tour::default());
        show(self);
    }
}

/// Handles a key of the tour: Enter, backspace and Esc. Returns false for other keys.
pub(super) fn key(app: &mut App, key: KeyPress) -> bool {
    let Some(tour) = app.tour.as_mut().filter(|tour| tour.is_shown) else {
        return false;
    };
    match key.code() {
        KeyCode::Enter if tour.step + 1 < STEPS.len() => tour.step += 1,
        KeyCode::Backspace => tour.step = tour.step.saturating_sub(1),
        KeyCode::Enter | KeyCode::Esc => {
            end(app);
            return true;
        }
        _ => return false,
    }
    show(app);
    true
}

/// Ends the tour and removes its rule and its filter.
fn end(app: &mut App) {
    set_rule(app, false);
    let is_own = app.tour.and_then(|tour| tour.now()).is_some_and(|step| {
        let filter = app.messages.filter();
        filter.is_some_and(|filter| filter.text == step.filter)
    });
    if is_own {
        // An empty filter is always valid.
        let _right = app.set_filter("");
    }
    app.tour = None;
}

/// Sets up the screen for the current step.
fn show(app: &mut App) {
    let Some(step) = app.tour.and_then(|tour| tour.now()) else {
        return;
    };
    app.panes.show(step.view);
    app.panes.shape.is_open = step.is_open;
    // A test checks the filters of all steps.
    let _right = app.set_filter(step.filter);
    set_rule(app, step.has_rule);
    if step.view == View::Ladder
        && let Some((session, resend)) = app.sessions.ladder.newest_resend()
    {
        app.sessions.pick(session);
        app.sessions.ladder.go_to(session, resend);
    }
    app.sync();
}

/// Adds or removes the rule of the tour.
fn set_rule(app: &mut App, on: bool) {
    let Some(tour) = app.tour.as_mut().filter(|tour| tour.has_rule != on) else {
        return;
    };
    tour.has_rule = on;
    let request = match on {
        true => RuleCommand::Add {
            text: FAULT.to_owned(),
        },
        false => RuleCommand::Remove {
            name: RULE.to_owned(),
        },
    };
    if let Err(why) = app.ask(request) {
        app.dialog.refuse(&why);
    }
}
