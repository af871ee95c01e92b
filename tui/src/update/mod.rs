//! Changes the state by named actions and by keys.

mod choose;
mod command;
mod complete;
mod confirm;
mod find;
mod held;
mod key;
mod pane;
mod rows;
mod rule;
mod send;
mod session;
mod tour;

use teetap_inspect::control;

use crate::{
    Action,
    app::{
        App, Overlay, View,
        filter::SyntaxError,
        form::FormError,
        help::Help,
        prompt::{Prompt, PromptError, Purpose},
        repeat::InvalidInterval,
        rules::ValueError,
        timeline::UnknownPlace,
    },
    keymap::UnknownKey,
    request::NoProxy,
};
use command::CommandError;
use find::FindError;
use held::HeldError;
use pane::PaneError;
use rows::RowError;
use rule::RuleError;
use send::SendError;
use session::SessionError;

pub(crate) use key::{key, paste};
pub(crate) use pane::click;

/// The reason why an action or an entered line has no effect.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error(transparent)]
    NoProxy(#[from] NoProxy),
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error(transparent)]
    Form(#[from] FormError),
    #[error(transparent)]
    Value(#[from] ValueError),
    #[error(transparent)]
    Interval(#[from] InvalidInterval),
    #[error(transparent)]
    Place(#[from] UnknownPlace),
    #[error(transparent)]
    Key(#[from] UnknownKey),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error(transparent)]
    Control(#[from] control::PromptError),
    #[error(transparent)]
    Find(#[from] FindError),
    #[error(transparent)]
    Held(#[from] HeldError),
    #[error(transparent)]
    Pane(#[from] PaneError),
    #[error(transparent)]
    Row(#[from] RowError),
    #[error(transparent)]
    Rule(#[from] RuleError),
    #[error(transparent)]
    Send(#[from] SendError),
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Applies an action.
pub(crate) fn update(app: &mut App, action: Action) {
    app.terminal.changed = true;
    if let Err(why) = apply(app, action) {
        app.dialog.refuse(&why);
    }
    app.sync();
}

/// Applies an action. Returns the reason if there is nothing to apply it to.
fn apply(app: &mut App, action: Action) -> Result<(), Refused> {
    if let Some(view) = action.view() {
        app.panes.show(view);
        return Ok(());
    }
    match action {
        Action::Help => app.dialog.overlay = Some(Overlay::Help(Help::default())),
        Action::Command => open(app, Purpose::Command, ""),
        Action::Down
        | Action::Up
        | Action::PageDown
        | Action::PageUp
        | Action::First
        | Action::Last
        | Action::Left
        | Action::Right => pane::move_by(app, action),
        Action::Open => pane::open(app)?,
        Action::NextPane => pane::next(app, true)?,
        Action::PreviousPane => pane::next(app, false)?,
        Action::Zoom => pane::zoom(app)?,
        Action::Wider => pane::resize(app, 1)?,
        Action::Narrower => pane::resize(app, -1)?,
        Action::Filter => {
            let filter = match app.panes.view {
                View::Ladder => app.sessions.ladder.filter(),
                _ => app.messages.filter(),
            };
            let text = filter.map_or("", |filter| &filter.text).to_owned();
            open(app, Purpose::Filter, &text);
        }
        Action::FilterOnOff if app.panes.view == View::Ladder => session::filter(app)?,
        Action::FilterOnOff => rows::filter(app)?,
        Action::Search => open(app, Purpose::Search, ""),
        Action::NextMatch => find::next(app, true)?,
        Action::PreviousMatch => find::next(app, false)?,
        Action::Follow => app.messages.toggle_follow(),
        Action::Freeze => rows::freeze(app),
        Action::Fold if app.panes.view == View::Ladder => session::fold(app),
        Action::Fold => rows::fold(app)?,
        Action::Lint => rows::lint(app),
        Action::Session => choose::session(app)?,
        Action::Time => rows::time(app),
        Action::Earlier => rows::step(app, false)?,
        Action::Later => rows::step(app, true)?,
        Action::Mark => rows::mark(app)?,
        Action::NextMark => rows::next_mark(app)?,
        Action::OpenSession
        | Action::NextSession
        | Action::Original
        | Action::OpenDatagram
        | Action::NextResend
        | Action::PreviousResend
        | Action::Map
        | Action::KeepSnapshot
        | Action::NextGraph
        | Action::PreviousGraph
        | Action::AllSessions => session::apply(app, action)?,
        Action::Theme => {
            app.look.theme = app.look.theme.next();
            app.dialog.say(format!("theme {}", app.look.theme));
        }
        Action::Back => pane::back(app)?,
        Action::Quit => {
            if app.panes.is_at_start() {
                choose::leave(app);
            } else {
                pane::back(app)?;
            }
        }
        Action::QuitNow | Action::Stop => app.terminal.leaving = true,
        Action::Suspend => app.terminal.suspending = true,
        Action::Redraw => app.terminal.redrawing = true,
        _ => return order(app, action),
    }
    Ok(())
}

/// Applies an action that changes the traffic or the rules, or uses a row for a rule, a text or a file.
fn order(app: &mut App, action: Action) -> Result<(), Refused> {
    match action {
        Action::Intercept => held::intercept(app)?,
        Action::Release => held::release(app)?,
        Action::ReleaseAll => held::release_all(app)?,
        Action::Edit => held::edit(app)?,
        Action::DropHeld => held::drop_held(app)?,
        Action::RuleFromRow => send::rules(app)?,
        Action::Inject => open(app, Purpose::Inject, ""),
        Action::Again => send::resend_selected(app)?,
        Action::StopRepeat => send::stop_repeat(app)?,
        Action::Copy => send::copy(app)?,
        Action::Save => send::save(app),
        Action::AddRule => rule::add(app),
        Action::EditRule => rule::edit(app)?,
        Action::ToggleRule => rule::toggle(app)?,
        Action::DeleteRule => rule::delete(app)?,
        Action::Undo => rule::undo(app)?,
        Action::RuleDown => rule::shift(app, true)?,
        Action::RuleUp => rule::shift(app, false)?,
        Action::Less => rule::slide(app, false)?,
        Action::More => rule::slide(app, true)?,
        Action::AllRules => rule::all(app)?,
        _ => {}
    }
    Ok(())
}

/// Opens a prompt with a text.
fn open(app: &mut App, purpose: Purpose, text: &str) {
    let mut prompt = Prompt::new(purpose, text);
    prompt.is_fresh = prompt.purpose == Purpose::Filter && !text.is_empty();
    key::check(app, &mut prompt);
    app.dialog.overlay = Some(Overlay::Prompt(prompt));
}
