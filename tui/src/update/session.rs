//! Changes the views of sessions.

use teetap_proxy::session::SessionId;

use crate::{
    Action,
    app::{App, View},
};

/// Applies an action. Returns the reason if there is nothing to apply it to.
pub(super) fn apply(app: &mut App, action: Action) -> Result<(), String> {
    match action {
        Action::OpenSession => {
            let place = app.sessions.selected();
            let session = place.and_then(|place| app.follow.sessions().nth(place));
            let (session, _) = session.ok_or("no session so far")?;
            app.pick(session);
            app.show(View::Ladder);
        }
        Action::NextSession => next(app)?,
        Action::Original => {
            let session = app.session().ok_or("no session so far")?;
            let ladder = &app.ladder;
            let selected = ladder.tail.selected();
            let original = selected.and_then(|line| ladder.original(session, line));
            let line = selected.unwrap_or(ladder.numbers(session).end);
            let target = original.or_else(|| ladder.resend_above(session, line));
            let target = target.ok_or("no datagram above repeats one that is kept")?;
            app.ladder.tail.select(target);
        }
        Action::Map => app.snapshot.has_map = !app.snapshot.has_map,
        Action::KeepSnapshot => {
            let session = app.session().ok_or("no session so far")?;
            let kept = app.snapshot.toggle_frozen(session);
            let text = if kept.ok_or("no snapshot so far")? {
                "this snapshot is kept; the traffic goes on"
            } else {
                "the newest snapshot is shown"
            };
            app.say(text);
        }
        Action::NextGraph => app.stats.turn(true),
        Action::PreviousGraph => app.stats.turn(false),
        Action::AllSessions => app.stats.all = Some(!app.counts_all()),
        _ => {}
    }
    Ok(())
}

/// Shows the next session. After the last one, continues at the first.
fn next(app: &mut App) -> Result<(), String> {
    let shown = app.session();
    let sessions = || app.follow.sessions().map(|(session, _)| session);
    let after = sessions().find(|session| Some(*session) > shown);
    let next = after.or_else(|| sessions().next()).ok_or("no session so far")?;
    app.pick(next);
    app.say(format!("session #{}", next.0));
    Ok(())
}

/// Returns the session of the view: the session of a view of one session, the selected session of the table, otherwise
/// the session to which the message list is limited.
pub(super) fn shown(app: &App) -> Option<SessionId> {
    match app.view {
        View::Messages | View::Rules | View::Log => app.messages.session(),
        View::Sessions => {
            let place = app.sessions.selected();
            let session = place.and_then(|place| app.follow.sessions().nth(place));
            session.map(|(session, _)| session)
        }
        View::Ladder | View::Snapshot | View::Stats => app.session(),
    }
}
