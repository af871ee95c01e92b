//! Changes of the state by named actions, and by keys.

mod key;

use crate::{
    Action,
    app::{
        App, Overlay, Pane, View,
        help::Help,
        prompt::{Prompt, Purpose},
    },
};

pub use key::{key, paste};

/// Applies an action.
pub fn update(app: &mut App, action: Action) {
    app.changed = true;
    if let Err(why) = apply(app, action) {
        app.refuse(why);
    }
}

/// Applies an action. Returns the reason if there is nothing that it can act on.
fn apply(app: &mut App, action: Action) -> Result<(), String> {
    match action {
        Action::Help => app.overlay = Some(Overlay::Help(Help::default())),
        Action::Command => open(app, Purpose::Command, ""),
        Action::Down => app.focused().down(1),
        Action::Up => app.focused().up(1),
        Action::PageDown => {
            let page = app.focused().page();
            app.focused().down(page);
        }
        Action::PageUp => {
            let page = app.focused().page();
            app.focused().up(page);
        }
        Action::First => app.focused().first(),
        Action::Last => app.focused().last(),
        Action::Follow => app.messages.toggle_follow(),
        Action::Freeze => {
            if app.messages.toggle_frozen() {
                app.say("frozen: the traffic goes on");
            }
        }
        Action::Fold => {
            let group = app.messages.group().ok_or("select a message to fold its type")?;
            let way = if app.messages.toggle_fold(group) {
                "folded"
            } else {
                "unfolded"
            };
            app.say(format!("{group} is {way}"));
        }
        Action::Lint => {
            if app.messages.toggle_lint() {
                let codes = app
                    .meter
                    .lints
                    .iter()
                    .map(|(code, count)| format!("{count} {code}"));
                let codes: Vec<String> = codes.collect();
                app.say(if codes.is_empty() {
                    "no warnings so far".to_owned()
                } else {
                    codes.join(", ")
                });
            }
        }
        Action::Messages => app.show(View::Messages),
        Action::Theme => {
            app.theme = app.theme.next();
            app.say(format!("theme {}", app.theme.name()));
        }
        Action::Back => back(app),
        Action::Quit => {
            if is_at_start(app) {
                app.leaving = true;
            } else {
                back(app);
            }
        }
        Action::QuitNow | Action::Stop => app.leaving = true,
        Action::Suspend => app.suspending = true,
    }
    Ok(())
}

fn open(app: &mut App, purpose: Purpose, text: &str) {
    let mut prompt = Prompt::new(purpose, text);
    key::check(app, &mut prompt);
    app.overlay = Some(Overlay::Prompt(prompt));
}

/// Returns true if there is nothing to go back from.
fn is_at_start(app: &App) -> bool {
    app.view == View::Messages && app.focus == Pane::List
}

fn back(app: &mut App) {
    if !is_at_start(app) {
        app.show(View::Messages);
    } else if !app.messages.follows() && !app.messages.is_frozen() {
        app.messages.toggle_follow();
    }
}
