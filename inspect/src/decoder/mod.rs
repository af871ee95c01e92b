//! Messages read through the definitions, for watchers.
//!
//! Law: every byte a peer sent is read off the data thread, once for all watchers, and never fails: oddities are
//! notes. Each message is decoded at most once, whether a filter, the context of its session or the reading needs its fields
//! first. Messages that no watcher shows get no fields, and a datagram without others is only counted.

mod buffers;
mod build;
mod demand;
mod ending;
mod feed;
mod layers;
mod read;
mod skim;
mod snapshots;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use teetap_proxy::session::{SessionChange, SessionId, State, Time};
use teetap_rules::{RuleId, context::Contexts, eval::SessionState};
use teetap_wire::{Dir, def::Registry, printable};

use crate::{course::Courses, judge, select::Select, stated::Stated, stream::Streams};

use self::{buffers::Buffers, demand::Demand, ending::FirstEnding, snapshots::SnapshotViews};

/// Reads messages and asks the filters about them, with the context of their sessions.
pub struct Decoder {
    registry: &'static Registry,
    contexts: Contexts,
    select: Select,
    demand: Demand,
    buffers: Buffers,
    snapshots: SnapshotViews,
    end: FirstEnding,
    streams: Streams,
    /// The version that the server states.
    stated: Stated,
    /// The names of the rules that are set.
    rules: Vec<Arc<str>>,
    /// The joins of sessions.
    pub(crate) courses: Courses,
    /// The collector of findings; `None` where not all events are decoded whole.
    judge: Option<judge::Live>,
}

impl Decoder {
    /// Creates a decoder that shows everything, read through these definitions.
    #[must_use]
    pub fn new(registry: &'static Registry) -> Self {
        Self {
            registry,
            contexts: Contexts::new(registry),
            select: Select::default(),
            demand: Demand::default(),
            buffers: Buffers::default(),
            snapshots: SnapshotViews::default(),
            end: FirstEnding::default(),
            streams: Streams::default(),
            stated: Stated::default(),
            rules: Vec::new(),
            courses: Courses::default(),
            judge: None,
        }
    }

    /// Collects the findings of a run in which all events are decoded whole.
    pub fn collect_findings(&mut self, judge: judge::Live) {
        self.judge = Some(judge);
    }

    /// Returns the collector of findings.
    pub(crate) const fn judge(&self) -> Option<&judge::Live> {
        self.judge.as_ref()
    }

    /// Shares the version that the server states.
    pub fn share_stated(&mut self, stated: Stated) {
        self.stated = stated;
    }

    /// Returns the version that the server states.
    #[must_use]
    pub const fn stated(&self) -> &Stated {
        &self.stated
    }

    /// Takes a line of the log of a recording, which may say the version that the server states.
    pub fn log(&mut self, line: &str) {
        self.stated.learn_from_log(line);
    }

    /// A session has changed its state.
    pub fn on_session(&mut self, at: Time, session: SessionId, change: &SessionChange) {
        let state = change.state;
        let context = self.contexts.get(session.0);
        let was_online = context.is_some_and(|context| context.known().state == SessionState::Online);
        // In recordings datagrams come after CLOSE.
        if state != State::Closed || !was_online {
            self.select.on_session(session, state);
        }
        self.streams.on_session(session, change);
        if matches!(state, State::Opening | State::Closed) {
            self.snapshots.forget(session.0);
        }
        self.contexts
            .on_session(at.0, session.0, state.into(), change.client);
    }

    /// Sets the names to which the numbers of rules refer.
    pub(crate) fn set_rules(&mut self, names: &[Box<str>]) {
        self.rules = names.iter().map(|name| Arc::from(&**name)).collect();
    }

    /// Returns the names of rules, as far as they are known.
    pub(crate) fn rule_names(&self, ids: &[RuleId]) -> Vec<Arc<str>> {
        let name = |RuleId(id): &RuleId| self.rules.get(usize::from(*id)).cloned();
        ids.iter().filter_map(name).collect()
    }

    /// Another run begins, with sessions of its own.
    pub fn restart(&mut self) {
        self.select.restart();
        self.streams.restart();
        self.stated.forget();
        self.snapshots.restart();
        self.contexts.restart();
        self.courses.restart();
        self.rules.clear();
    }

    /// The contexts of all sessions.
    #[must_use]
    pub const fn contexts(&self) -> &Contexts {
        &self.contexts
    }

    /// Returns the name of a session's own player without control characters; `None` until it is known.
    #[must_use]
    pub fn player(&self, session: SessionId) -> Option<String> {
        let players = &self.contexts.get(session.0)?.known().players;
        players.own_name().map(printable)
    }

    /// Returns the time at which a session began, as filters count it.
    pub(crate) fn began(&self, session: Option<SessionId>) -> Option<Time> {
        let context = self.contexts.get(session?.0)?;
        Some(Time(context.known().since))
    }

    /// Events were missed.
    pub fn gap(&mut self) {
        self.contexts.gap();
        self.courses.gap();
        self.streams.gap();
    }

    /// Messages of one session were missed.
    pub(crate) fn gap_in(&mut self, session: Option<SessionId>) {
        self.courses.gap_in(session);
        if let Some(session) = session {
            self.contexts.gap_in(session.0);
            self.streams.gap_in(session);
        }
    }

    /// Returns the numbers, acks and pace of all sessions.
    pub(crate) const fn streams(&mut self) -> &mut Streams {
        &mut self.streams
    }

    /// Returns the definitions.
    pub(crate) const fn registry(&self) -> &'static Registry {
        self.registry
    }

    /// Returns true if the receiver of this direction has shown that it is of DDNet.
    pub(crate) fn is_to_ddnet(&self, session: Option<SessionId>, dir: Dir) -> bool {
        let session = session.map(|session| session.0);
        self.contexts.of(session).is_to_ddnet(dir)
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("matches", &self.matches())
            .finish_non_exhaustive()
    }
}
