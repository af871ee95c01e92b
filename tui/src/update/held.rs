//! The intercept key and the queue.

use teetap_inspect::control::{Command, HeldPlace, RuleCommand};
use teetap_proxy::session::Waiting;

use crate::app::{App, Overlay, filter::Filtering, form::Form, rules::INTERCEPT};

/// Starts or stops to hold the messages that pass the filter.
pub(super) fn intercept(app: &mut App) -> Result<(), String> {
    if app.rules.intercepts() {
        return app.ask(RuleCommand::Remove {
            name: INTERCEPT.to_owned(),
        });
    }
    let filter = app.messages.filter().filter(|filter| filter.is_on());
    let filter: Option<&Filtering> = filter;
    let text = filter.ok_or_else(|| {
        let key = app.keymap.hint(crate::Action::Filter);
        format!("set a filter first with {key}: the messages that pass it are paused")
    })?;
    let rule = format!("{INTERCEPT}: pause when ({})", text.text);
    app.ask(RuleCommand::Add { text: rule })
}

fn selected(app: &App) -> Result<&Waiting, String> {
    let held = app.queue.selected().ok_or_else(|| {
        let key = app.keymap.hint(crate::Action::Intercept);
        format!("no message is held; {key} pauses those that pass the filter")
    })?;
    Ok(&held.waiting)
}

/// Releases the selected message.
pub(super) fn release(app: &mut App) -> Result<(), String> {
    let place = HeldPlace::of(selected(app)?);
    app.ask(Command::Release(place))
}

/// Releases all messages in order.
pub(super) fn release_all(app: &mut App) -> Result<(), String> {
    selected(app)?;
    let held = app.queue.list.iter();
    let all: Vec<_> = held.map(|held| HeldPlace::of(&held.waiting)).collect();
    all.into_iter()
        .try_for_each(|place| app.ask(Command::Release(place)))
}

/// Drops the selected message.
pub(super) fn drop_held(app: &mut App) -> Result<(), String> {
    let place = HeldPlace::of(selected(app)?);
    app.ask(Command::Drop(place))
}

/// Opens the form of the selected message.
pub(super) fn edit(app: &mut App) -> Result<(), String> {
    selected(app)?;
    let held = app.queue.selected();
    let form = held.and_then(|held| Form::edit(held, app.style.secrets, app.registry));
    let form = form.ok_or("the message is unknown: it has no fields to change")?;
    app.overlay = Some(Overlay::Form(form));
    Ok(())
}
