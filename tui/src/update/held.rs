//! The intercept key and the queue.

use teetap_inspect::control::{Command, HeldPlace, RuleCommand};
use teetap_proxy::session::HeldMessage;

use super::Refused;
use crate::app::{App, Overlay, Pane, filter::Filtering, form::MessageForm, rules::INTERCEPT};

/// The reason why no message is held, changed or released.
#[derive(Debug, thiserror::Error)]
pub(super) enum HeldError {
    /// No filter is set; contains the key of the filter.
    #[error("set a filter first with {0}: the messages that pass it are paused")]
    NoFilter(String),
    /// No message is held; contains the key of the intercept rule.
    #[error("no message is held; {0} pauses those that pass the filter")]
    Nothing(String),
    /// The fields of the message are unknown.
    #[error("the message is unknown: it has no fields to change")]
    Unknown,
}

/// Starts or stops to hold the messages that pass the filter.
pub(super) fn intercept(app: &mut App) -> Result<(), Refused> {
    if app.rules.intercepts() {
        app.ask(RuleCommand::Remove {
            name: INTERCEPT.to_owned(),
        })?;
        return Ok(());
    }
    let filter = app.messages.filter().filter(|filter| filter.is_on());
    let filter: Option<&Filtering> = filter;
    let text = filter.ok_or_else(|| HeldError::NoFilter(app.dialog.keymap.hint(crate::Action::Filter)))?;
    let rule = format!("{INTERCEPT}: pause when ({})", text.text);
    Ok(app.ask(RuleCommand::Add { text: rule })?)
}

fn selected(app: &App) -> Result<&HeldMessage, HeldError> {
    let held = app.queue.selected();
    let held = held.ok_or_else(|| HeldError::Nothing(app.dialog.keymap.hint(crate::Action::Intercept)))?;
    Ok(&held.message)
}

/// Releases the selected message.
pub(super) fn release(app: &mut App) -> Result<(), Refused> {
    let place = HeldPlace::from_held(selected(app)?);
    Ok(app.ask(Command::Release(place))?)
}

/// Releases all messages in order.
pub(super) fn release_all(app: &mut App) -> Result<(), Refused> {
    selected(app)?;
    let held = app.queue.list.iter();
    let all: Vec<_> = held.map(|held| HeldPlace::from_held(&held.message)).collect();
    for place in all {
        app.ask(Command::Release(place))?;
    }
    Ok(())
}

/// Drops the selected message.
pub(super) fn drop_held(app: &mut App) -> Result<(), Refused> {
    let place = HeldPlace::from_held(selected(app)?);
    Ok(app.ask(Command::Drop(place))?)
}

/// Opens the form of the selected held message; without one, or in the detail panes, that of the selected row.
pub(super) fn edit(app: &mut App) -> Result<(), Refused> {
    if app.queue.list.is_empty() || matches!(app.panes.focus, Pane::Tree | Pane::Hex) {
        return Ok(super::send::edit_selected(app)?);
    }
    let held = app.queue.selected();
    let form = held.and_then(|held| MessageForm::edit(held, app.look.style.secrets, app.registry));
    let form = form.ok_or(HeldError::Unknown)?;
    app.dialog.overlay = Some(Overlay::Form(form));
    Ok(())
}
