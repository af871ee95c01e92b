//! Decodes the messages of events for the watchers of a run.
//!
//! Law: messages are decoded outside the data thread, and at most once for all watchers, filters and session contexts.
//! Decoding never fails; oddities become notes. The fields of messages that no watcher needs are not decoded. If a
//! datagram has only such messages, only its sequence numbers and acks are recorded.

mod buffers;
mod build;
mod connless;
mod demand;
mod ending;
mod feed;
mod held;
mod layers;
mod read;
mod sent_snapshots;
mod skim;
mod snapshots;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use teetap_proxy::session::{SessionChange, SessionId, State, Time};
use teetap_rules::{RuleId, context::Contexts, eval::SessionState};
use teetap_wire::{Dir, def::Registry, printable};

use crate::{joins::JoinTracker, judge, select::Select, stated::Stated, track::Streams};

use self::{
    buffers::Buffers, demand::Demand, ending::FirstEnding, held::Held, sent_snapshots::SentSnapshots,
    snapshots::SnapshotViews,
};

/// Decodes messages, and evaluates filters on them in the context of their session.
pub struct Decoder {
    registry: &'static Registry,
    contexts: Contexts,
    select: Select,
    demand: Demand,
    buffers: Buffers,
    snapshots: SnapshotViews,
    /// The snapshots of sessions with changed messages, as their receivers get them.
    sent_snapshots: SentSnapshots,
    held: Held,
    end: FirstEnding,
    streams: Streams,
    /// The version stated by the server.
    stated: Stated,
    /// The names of the current rules, by rule number.
    rules: Vec<Arc<str>>,
    /// The joins of sessions.
    pub(crate) joins: JoinTracker,
    /// The judge that collects findings; `None` unless all events are fully decoded.
    judge: Option<judge::SharedJudge>,
}

impl Decoder {
    /// Creates a decoder that shows all messages, decoded with the definitions of `registry`.
    #[must_use]
    pub fn new(registry: &'static Registry) -> Self {
        Self {
            registry,
            contexts: Contexts::new(registry),
            select: Select::default(),
            demand: Demand::default(),
            buffers: Buffers::default(),
            snapshots: SnapshotViews::default(),
            sent_snapshots: SentSnapshots::default(),
            held: Held::default(),
            end: FirstEnding::default(),
            streams: Streams::default(),
            stated: Stated::default(),
            rules: Vec::new(),
            joins: JoinTracker::default(),
            judge: None,
        }
    }

    /// Passes every event to `judge`, which collects the findings. All events must be fully decoded.
    pub fn collect_findings(&mut self, judge: judge::SharedJudge) {
        self.judge = Some(judge);
    }

    /// Returns the judge that collects findings, if there is one.
    pub(crate) const fn judge(&self) -> Option<&judge::SharedJudge> {
        self.judge.as_ref()
    }

    /// Replaces the record of the server's version with one that is shared with other parts of the program.
    pub fn share_stated(&mut self, stated: Stated) {
        self.stated = stated;
    }

    /// Returns the record of the version stated by the server.
    #[must_use]
    pub const fn stated(&self) -> &Stated {
        &self.stated
    }

    /// Reads a log line of a recording, which may contain the version stated by the server.
    pub fn log(&mut self, line: &str) {
        self.stated.learn_from_log(line);
    }

    /// Records a state change of a session.
    pub fn on_session(&mut self, at: Time, session: SessionId, change: &SessionChange) {
        let state = change.state;
        let context = self.contexts.get(session.0);
        let was_online = context.is_some_and(|context| context.known().state == SessionState::Online);
        // Recordings may contain datagrams after CLOSE, so the state of an online session is kept.
        if state != State::Closed || !was_online {
            self.select.on_session(session, state);
        }
        self.streams.on_session(session, change);
        if matches!(state, State::Opening | State::Closed) {
            self.snapshots.forget(session.0);
            self.sent_snapshots.forget(session.0);
            self.held.forget(session);
        }
        self.contexts
            .on_session(at.0, session.0, state.into(), change.client);
    }

    /// Sets the names of the rules. The number of a rule is an index into this list.
    pub(crate) fn set_rules(&mut self, names: &[Box<str>]) {
        self.rules = names.iter().map(|name| Arc::from(&**name)).collect();
    }

    /// Returns the names of these rules; unknown rules are omitted.
    pub(crate) fn rule_names(&self, ids: &[RuleId]) -> Vec<Arc<str>> {
        let name = |RuleId(id): &RuleId| self.rules.get(usize::from(*id)).cloned();
        ids.iter().filter_map(name).collect()
    }

    /// Resets the state of all sessions, because the next run of the recording begins.
    pub fn restart(&mut self) {
        self.select.restart();
        self.streams.restart();
        self.stated.forget();
        self.snapshots.restart();
        self.sent_snapshots.restart();
        self.held.restart();
        self.contexts.restart();
        self.joins.restart();
        self.rules.clear();
    }

    /// Returns the contexts of all sessions.
    #[must_use]
    pub const fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    /// Returns the name of a session's own player without control characters; `None` until it is known.
    #[must_use]
    pub(crate) fn player(&self, session: SessionId) -> Option<String> {
        let players = &self.contexts.get(session.0)?.known().players;
        players.own_name().map(printable)
    }

    /// Returns the time from which filters measure the age of a session; `None` if the session is unknown.
    pub(crate) fn began(&self, session: Option<SessionId>) -> Option<Time> {
        let context = self.contexts.get(session?.0)?;
        Some(Time(context.known().since))
    }

    /// Records that events of any session may have been lost before they were decoded.
    pub fn gap(&mut self) {
        self.contexts.gap();
        self.joins.gap();
        self.streams.gap();
    }

    /// Records that messages of one session were lost before they were decoded.
    pub(crate) fn gap_in(&mut self, session: Option<SessionId>) {
        self.joins.gap_in(session);
        if let Some(session) = session {
            self.contexts.gap_in(session.0);
            self.streams.gap_in(session);
        }
    }

    /// Returns the tracker of sequence numbers, acks and timing of all sessions.
    pub(crate) const fn streams(&mut self) -> &mut Streams {
        &mut self.streams
    }

    /// Returns the definitions.
    pub(crate) const fn registry(&self) -> &'static Registry {
        self.registry
    }

    /// Returns true if the receiver in this direction is known to be DDNet.
    pub(crate) fn is_to_ddnet(&self, session: Option<SessionId>, dir: Dir) -> bool {
        let session = session.map(|session| session.0);
        self.contexts.of_session(session).is_to_ddnet(dir)
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("matches", &self.matches())
            .finish_non_exhaustive()
    }
}
