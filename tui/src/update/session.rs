//! Changes the views of sessions.

use teetap_proxy::session::SessionId;

use crate::{
    Action,
    app::{App, View, ladder::LadderLine},
};

use super::rows::RowError;

/// The reason why the views of sessions stay as they are.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    /// No session was opened.
    #[error("no session so far")]
    NoSession,
    /// No datagram above the selected one repeats a message.
    #[error("no datagram above repeats one that is kept")]
    NothingRepeated,
    /// No datagram below the selected one repeats a message.
    #[error("no datagram below repeats one that is kept")]
    NoResendBelow,
    /// The selected line is not about a datagram.
    #[error("select a datagram")]
    NoDatagram,
    /// The list does not keep the datagram.
    #[error("the list of messages does not keep this datagram")]
    NotListed,
    /// The session has no snapshot.
    #[error("no snapshot so far")]
    NoSnapshot,
}

/// Applies an action. Returns the reason if there is nothing to apply it to.
pub(super) fn apply(app: &mut App, action: Action) -> Result<(), SessionError> {
    match action {
        Action::OpenSession => {
            let session = app.sessions.selected().ok_or(SessionError::NoSession)?;
            app.sessions.pick(session);
            app.panes.show(View::Ladder);
        }
        Action::NextSession => next(app)?,
        Action::Original => {
            let session = app.sessions.shown().ok_or(SessionError::NoSession)?;
            let ladder = &app.sessions.ladder;
            let selected = ladder.selected(session);
            let original = selected.and_then(|line| ladder.original(session, line));
            let line = selected.unwrap_or(ladder.numbers(session).end);
            let target = original.or_else(|| ladder.resend_above(session, line));
            let target = target.ok_or(SessionError::NothingRepeated)?;
            app.sessions.ladder.go_to(session, target);
        }
        Action::NextResend | Action::PreviousResend => resend(app, action == Action::NextResend)?,
        Action::OpenDatagram => open(app)?,
        Action::Map => app.sessions.snapshot.has_map = !app.sessions.snapshot.has_map,
        Action::KeepSnapshot => {
            let session = app.sessions.shown().ok_or(SessionError::NoSession)?;
            let kept = app.sessions.snapshot.toggle_frozen(session);
            let text = if kept.ok_or(SessionError::NoSnapshot)? {
                "this snapshot is kept; the traffic goes on"
            } else {
                "the newest snapshot is shown"
            };
            app.dialog.say(text);
        }
        Action::NextGraph => app.sessions.stats.turn(true),
        Action::PreviousGraph => app.sessions.stats.turn(false),
        Action::AllSessions => app.sessions.stats.all = Some(!app.sessions.counts_all()),
        _ => {}
    }
    Ok(())
}

/// Shows or hides the noise in the ladder.
pub(super) fn fold(app: &mut App) {
    let session = app.sessions.shown();
    let text = match app.sessions.ladder.toggle_noise(session) {
        true => "all datagrams are shown",
        false => "datagrams that only bring inputs, snapshots and acks are hidden",
    };
    app.dialog.say(text);
}

/// Switches the filter of the ladder off, or on again.
pub(super) fn filter(app: &mut App) -> Result<(), RowError> {
    let session = app.sessions.shown();
    let on = app.sessions.ladder.toggle_filter(session);
    on.map(|_| ()).ok_or(RowError::NoFilter)
}

/// Selects the next or previous datagram of the ladder that repeats a message.
fn resend(app: &mut App, forward: bool) -> Result<(), SessionError> {
    let session = app.sessions.shown().ok_or(SessionError::NoSession)?;
    let ladder = &app.sessions.ladder;
    let rows = ladder.numbers(session);
    let found = match (ladder.selected(session), forward) {
        (Some(line), true) => ladder.resend_below(session, line),
        // From the newest row the search begins at the oldest one.
        (None, true) => ladder.resend_below(session, rows.start),
        (line, false) => ladder.resend_above(session, line.unwrap_or(rows.end)),
    };
    let target = found.ok_or(match forward {
        true => SessionError::NoResendBelow,
        false => SessionError::NothingRepeated,
    })?;
    app.sessions.ladder.go_to(session, target);
    Ok(())
}

/// Shows the messages of the selected datagram of the ladder.
fn open(app: &mut App) -> Result<(), SessionError> {
    let session = app.sessions.shown().ok_or(SessionError::NoSession)?;
    let ladder = &app.sessions.ladder;
    let newest = ladder.rows(session).end.saturating_sub(1);
    let line = ladder
        .selected(session)
        .or_else(|| ladder.number(session, newest));
    let line = line.ok_or(SessionError::NoDatagram)?;
    let event = ladder.get(session, line).and_then(LadderLine::event).cloned();
    let event = event.ok_or(SessionError::NoDatagram)?;
    let lifted = app.messages.show_event(&event).ok_or(SessionError::NotListed)?;
    app.panes.show(View::Messages);
    app.panes.shape.is_open = true;
    if lifted {
        app.dialog.say("what hid it from the list is lifted");
    }
    Ok(())
}

/// Shows the next session. After the last one, continues at the first.
fn next(app: &mut App) -> Result<(), SessionError> {
    let shown = app.sessions.shown();
    let sessions = || app.sessions.follow.sessions().map(|(session, _)| session);
    let after = sessions().find(|session| Some(*session) > shown);
    let next = after
        .or_else(|| sessions().next())
        .ok_or(SessionError::NoSession)?;
    app.sessions.pick(next);
    app.dialog.say(format!("session #{}", next.0));
    Ok(())
}

/// Returns the session of the view: the session of a view of one session, the selected session of the table, otherwise
/// the session to which the message list is limited.
pub(super) fn shown(app: &App) -> Option<SessionId> {
    match app.panes.view {
        View::Messages | View::Rules | View::Log => app.messages.session(),
        View::Sessions => app.sessions.selected(),
        View::Ladder | View::Snapshot | View::Stats => app.sessions.shown(),
    }
}
