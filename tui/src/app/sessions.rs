//! The sessions: facts about them, which one is shown, and the views of sessions.

use std::sync::Arc;

use teetap_inspect::{DecodedEvent, Statistics};
use teetap_proxy::session::{EventKind, SessionId, State, Time};

use super::{
    cursor::{Cursor, Moves as _},
    ladder::Ladder,
    snapshot::CurrentSnapshot,
    stats::Stats,
};

/// The sessions, and the state of their views.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    /// Facts about the sessions.
    pub(crate) follow: Statistics,
    /// Cursor in the table of sessions.
    pub(crate) cursor: Cursor,
    /// Datagrams of each session.
    pub(crate) ladder: Ladder,
    /// Current snapshot.
    pub(crate) snapshot: CurrentSnapshot,
    /// State of the statistics.
    pub(crate) stats: Stats,
    /// Session shown by views of one session, and true if the user picked it.
    shown: Option<(SessionId, bool)>,
}

impl Sessions {
    /// Returns the session shown by views of one session.
    #[must_use]
    pub(crate) fn shown(&self) -> Option<SessionId> {
        self.shown.map(|(session, _)| session)
    }

    /// Returns the selected session of the table.
    #[must_use]
    pub(crate) fn selected(&self) -> Option<SessionId> {
        let session = self.follow.sessions().nth(self.cursor.selected()?);
        session.map(|(session, _)| session)
    }

    /// Returns true if the statistics cover all sessions: by the user's choice, otherwise if there are several and none
    /// is picked.
    #[must_use]
    pub(crate) fn counts_all(&self) -> bool {
        let is_picked = self.shown.is_some_and(|(_, is_picked)| is_picked);
        self.stats
            .all
            .unwrap_or(!is_picked && self.follow.sessions().len() > 1)
    }

    /// Picks the session that views of one session show.
    pub(crate) fn pick(&mut self, session: SessionId) {
        self.shown = Some((session, true));
        self.stats.all = None;
        self.ladder.tail.last();
    }

    /// Returns true if a session is not closed.
    #[must_use]
    pub(crate) fn is_open(&self) -> bool {
        let mut sessions = self.follow.sessions();
        sessions.any(|(_, session)| session.state != State::Closed)
    }

    /// Updates the time of the run.
    pub(crate) fn tick(&mut self, now: Time) {
        self.follow.tick(now);
    }

    /// Adds an event. Returns true if the ladder shows it.
    pub(crate) fn event(&mut self, decoded: &Arc<DecodedEvent>) -> bool {
        let ties = self.follow.event(decoded);
        self.look_at(decoded);
        self.ladder.event(decoded, ties)
    }

    /// Adds an event of a recording that passes the filter. Keeps the facts about a session from all of its traffic.
    pub(crate) fn match_event(&mut self, decoded: &DecodedEvent) {
        let session = decoded.event.session;
        let known = session.and_then(|session| self.follow.session(session));
        let has_traffic = known.is_some_and(|known| known.counts.messages().next().is_some());
        if matches!(decoded.event.what, EventKind::Session(_)) && !has_traffic {
            self.follow.event(decoded);
        }
    }

    /// Records that `lost` events were missed.
    pub(crate) fn gap(&mut self, lost: u64) {
        self.follow.gap();
        self.ladder.gap(lost);
    }

    /// Forgets all sessions. Keeps the choices of the user.
    pub(crate) fn clear(&mut self) {
        self.follow = Statistics::default();
        self.ladder.clear();
        self.shown = None;
    }

    /// Shows the newest session that opens, unless the user picked another one.
    fn look_at(&mut self, decoded: &DecodedEvent) {
        let Some(session) = decoded.event.session else {
            return;
        };
        let opens =
            matches!(&decoded.event.what, EventKind::Session(change) if change.state == State::Opening);
        match self.shown {
            None => self.shown = Some((session, false)),
            Some((_, false)) if opens => self.shown = Some((session, false)),
            Some(_) => {}
        }
    }
}
