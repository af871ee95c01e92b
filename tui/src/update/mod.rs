//! Changes of the state by named actions, and by keys.

mod choose;
mod find;
mod key;
mod pane;

use crate::{
    Action,
    app::{
        App, Overlay, View,
        help::Help,
        prompt::{Prompt, Purpose},
    },
};

pub use key::{key, paste};
pub use pane::click;

/// Applies an action.
pub fn update(app: &mut App, action: Action) {
    app.changed = true;
    if let Err(why) = apply(app, action) {
        app.refuse(why);
    }
    app.sync();
}

/// Applies an action. Returns the reason if there is nothing that it can act on.
fn apply(app: &mut App, action: Action) -> Result<(), String> {
    match action {
        Action::Help => app.overlay = Some(Overlay::Help(Help::default())),
        Action::Command => open(app, Purpose::Command, ""),
        Action::Down
        | Action::Up
        | Action::PageDown
        | Action::PageUp
        | Action::First
        | Action::Last
        | Action::Left
        | Action::Right => pane::move_by(app, action),
        Action::Open => pane::open(app),
        Action::NextPane => pane::next(app, true),
        Action::LastPane => pane::next(app, false),
        Action::Zoom => app.shape.is_zoomed = !app.shape.is_zoomed,
        Action::Wider => app.shape.more = (app.shape.more + 1).min(pane::MOST),
        Action::Narrower => app.shape.more = (app.shape.more - 1).max(-pane::MOST),
        Action::Filter => {
            let text = app.messages.filter().map_or("", |filter| &filter.text).to_owned();
            open(app, Purpose::Filter, &text);
        }
        Action::FilterOnOff => {
            let on = app.messages.toggle_filter().ok_or("no filter is set")?;
            app.say(if on {
                "the filter is on"
            } else {
                "the filter is off"
            });
        }
        Action::Search => open(app, Purpose::Search, ""),
        Action::NextMatch => find::next(app, true)?,
        Action::LastMatch => find::next(app, false)?,
        Action::Follow => app.messages.toggle_follow(),
        Action::Freeze => {
            if app.messages.toggle_frozen() {
                app.say("frozen: the traffic is not held");
            }
        }
        Action::Fold => {
            let group = app.messages.group().ok_or("select a message to fold its type")?;
            let is_folded = app.messages.toggle_fold(group);
            app.say(format!(
                "{group} is {}",
                if is_folded { "folded" } else { "unfolded" }
            ));
        }
        Action::Lint => lint(app),
        Action::Session => choose::session(app)?,
        Action::Time => {
            app.time = app.time.next();
            app.say(format!("time {}", app.time.name()));
        }
        Action::Mark => {
            let is_marked = app.messages.toggle_mark().ok_or("there is no row to mark")?;
            app.say(if is_marked {
                "marked"
            } else {
                "the mark is removed"
            });
        }
        Action::NextMark => {
            if !app.messages.next_mark() {
                return Err("no row is marked".to_owned());
            }
        }
        Action::Messages => app.show(View::Messages),
        Action::Theme => {
            app.theme = app.theme.next();
            app.say(format!("theme {}", app.theme.name()));
        }
        Action::Back => pane::back(app),
        Action::Quit => {
            if pane::is_at_start(app) {
                app.leaving = true;
            } else {
                pane::back(app);
            }
        }
        Action::QuitNow | Action::Stop => app.leaving = true,
        Action::Suspend => app.suspending = true,
    }
    Ok(())
}

/// Shows only rows with warnings, with the counts by code, or all.
fn lint(app: &mut App) {
    if !app.messages.toggle_lint() {
        return app.say("all rows");
    }
    let mut codes: Vec<(u64, &str)> = app
        .meter
        .lints
        .iter()
        .map(|(code, count)| (*count, *code))
        .collect();
    codes.sort_unstable_by(|one, other| other.cmp(one));
    let codes: Vec<String> = codes
        .iter()
        .map(|(count, code)| format!("{count} {code}"))
        .collect();
    app.say(if codes.is_empty() {
        "no warnings so far".to_owned()
    } else {
        format!("warnings: {}", codes.join(", "))
    });
}

/// Opens a prompt with a text.
fn open(app: &mut App, purpose: Purpose, text: &str) {
    let mut prompt = Prompt::new(purpose, text);
    key::check(app, &mut prompt);
    app.overlay = Some(Overlay::Prompt(prompt));
}
