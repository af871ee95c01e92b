//! Changes the views of sessions.

use teetap_proxy::session::SessionId;

use crate::{
    Action,
    app::{App, View},
};

/// The reason why the views of sessions stay as they are.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
    /// No session was opened.
    #[error("no session so far")]
    NoSession,
    /// No datagram above the selected one repeats a message.
    #[error("no datagram above repeats one that is kept")]
    NothingRepeated,
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
            let selected = ladder.tail.selected();
            let original = selected.and_then(|line| ladder.original(session, line));
            let line = selected.unwrap_or(ladder.numbers(session).end);
            let target = original.or_else(|| ladder.resend_above(session, line));
            let target = target.ok_or(SessionError::NothingRepeated)?;
            app.sessions.ladder.tail.select(target);
        }
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
