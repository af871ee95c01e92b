//! Changes of the state by named actions, and by keys.

mod choose;
mod find;
mod key;
mod pane;
mod rows;

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
        Action::FilterOnOff => rows::filter(app)?,
        Action::Search => open(app, Purpose::Search, ""),
        Action::NextMatch => find::next(app, true)?,
        Action::LastMatch => find::next(app, false)?,
        Action::Follow => app.messages.toggle_follow(),
        Action::Freeze => rows::freeze(app),
        Action::Fold => rows::fold(app)?,
        Action::Lint => rows::lint(app),
        Action::Session => choose::session(app)?,
        Action::Time => rows::time(app),
        Action::Mark => rows::mark(app)?,
        Action::NextMark => rows::next_mark(app)?,
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

/// Opens a prompt with a text.
fn open(app: &mut App, purpose: Purpose, text: &str) {
    let mut prompt = Prompt::new(purpose, text);
    key::check(app, &mut prompt);
    app.overlay = Some(Overlay::Prompt(prompt));
}
