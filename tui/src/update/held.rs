//! The intercept key and the queue.

use crate::{
    app::{App, Overlay, filter::Filtering, form::Form, rules::INTERCEPT},
    request::Request,
};

/// Pauses the messages that pass the filter, or stops that.
pub(super) fn intercept(app: &mut App) -> Result<(), String> {
    if app.rules.intercepts() {
        return app.ask(Request::RemoveRule(INTERCEPT.to_owned()));
    }
    let filter = app.messages.filter().filter(|filter| filter.is_on());
    let filter: Option<&Filtering> = filter;
    let text = filter.ok_or_else(|| {
        let key = app.keymap.hint(crate::Action::Filter);
        format!("set a filter first with {key}: the messages that pass it are paused")
    })?;
    let rule = format!("{INTERCEPT}: pause when ({})", text.text);
    app.ask(Request::AddRule(rule))
}

fn selected(app: &App) -> Result<Box<teetap_proxy::session::Waiting>, String> {
    let held = app.queue.selected().ok_or_else(|| {
        let key = app.keymap.hint(crate::Action::Intercept);
        format!("no message is held; {key} pauses those that pass the filter")
    })?;
    Ok(Box::new(held.waiting.clone()))
}

/// Lets the selected message go.
pub(super) fn release(app: &mut App) -> Result<(), String> {
    let waiting = selected(app)?;
    app.ask(Request::Release(waiting))
}

/// Lets all messages go, in their order.
pub(super) fn release_all(app: &mut App) -> Result<(), String> {
    selected(app)?;
    let all: Vec<_> = app.queue.list.iter().map(|held| held.waiting.clone()).collect();
    all.into_iter()
        .try_for_each(|waiting| app.ask(Request::Release(Box::new(waiting))))
}

/// Drops the selected message.
pub(super) fn drop_held(app: &mut App) -> Result<(), String> {
    let waiting = selected(app)?;
    app.ask(Request::Drop(waiting))
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
