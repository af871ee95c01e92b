//! Messages read through the definitions, for watchers.
//!
//! Law: every byte a peer sent is read off the data thread, once for all watchers, and never fails: oddities are
//! notes. Each message is looked up once and decoded at most once, whether a filter, the context of its session or the
//! reading needs its fields first. Messages that no watcher shows get no fields.

mod demand;
mod layers;
mod read;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use teetap_proxy::session::{Event, SessionChange, SessionId, State, Time};
use teetap_rules::{RuleId, context::Contexts, eval::SessionState};
use teetap_wire::{
    Dir, Scratch,
    def::{Decoded, Registry},
    printable,
};

use crate::{
    Ending, EndingBy, Snapshots, Subscribers, course::Courses, judge, previous::Previous, reading::Reading,
    select::Select, stream::Streams,
};

/// Reads messages and asks the filters about them, with the context of their sessions.
pub struct Decoder {
    registry: &'static Registry,
    contexts: Contexts,
    select: Select,
    /// A buffer for each message.
    buffer: Decoded,
    /// A buffer for messages without a definition of their own.
    unknown: Decoded,
    /// Everything is decoded, whatever the filter shows.
    everything: bool,
    /// Sessions are shown, with their names.
    sessions: bool,
    /// Gists are shown, with the names of players.
    gists: bool,
    /// Items of snapshots are shown.
    items: bool,
    /// Items of snapshots are measured.
    measures: bool,
    /// The place of the newest snapshots.
    shared: Option<Snapshots>,
    /// The snapshots that the next ones are compared with; `None` where changes since them are not shown.
    previous: Option<Previous>,
    scratch: Option<Box<Scratch>>,
    reading: Option<Reading>,
    /// The names of the rules that are set.
    rules: Vec<Arc<str>>,
    /// Rules end the run.
    ends_by_rules: bool,
    /// The cause of the end of the run.
    ending: Option<Arc<Ending>>,
    streams: Streams,
    subscribers: Option<Subscribers>,
    /// The number of changes of subscriptions that are known.
    changes: u64,
    /// Snapshots are ignored while there is no subscriber.
    blind: bool,
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
            buffer: Decoded::new(),
            unknown: Decoded::new(),
            everything: false,
            sessions: true,
            gists: true,
            items: true,
            measures: false,
            shared: None,
            previous: None,
            scratch: None,
            reading: None,
            rules: Vec::new(),
            ends_by_rules: false,
            ending: None,
            streams: Streams::default(),
            subscribers: None,
            changes: 0,
            blind: false,
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

    /// Lets rules end the run. Without it, as in recordings, their notices are as any other.
    pub fn end_by_rules(&mut self) {
        self.ends_by_rules = true;
    }

    /// Takes a notice of a rule that ends the run. It counts more than a message that was waited for.
    pub(crate) fn on_notice(&mut self, event: &Event) {
        let may_end = match &self.ending {
            None => true,
            Some(ending) => ending.by == EndingBy::Until,
        };
        if self.ends_by_rules
            && may_end
            && let Some(ending) = Ending::of_rule(event)
        {
            self.ending = Some(Arc::new(ending));
        }
    }

    /// Returns the cause of the end of the run, once there is one.
    #[must_use]
    pub const fn ending(&self) -> Option<&Arc<Ending>> {
        self.ending.as_ref()
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
        if matches!(state, State::Opening | State::Closed)
            && let Some(previous) = &mut self.previous
        {
            previous.forget(session.0);
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
        self.previous = self.previous.take().map(|_| Previous::default());
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

    /// Lends a buffer to inflate into, until [`Self::give_back`].
    pub(crate) fn lend_scratch(&mut self) -> Box<Scratch> {
        self.scratch.take().unwrap_or_default()
    }

    pub(crate) fn give_back(&mut self, scratch: Box<Scratch>) {
        self.scratch = Some(scratch);
    }

    /// Lends an empty reading with buffers of one that was recycled.
    pub(crate) fn lend_reading(&mut self) -> Reading {
        self.reading.take().unwrap_or_default()
    }

    /// Takes the buffers of a reading that is not needed any more.
    pub fn recycle(&mut self, mut reading: Reading) {
        reading.clear();
        self.reading = Some(reading);
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("matches", &self.matches())
            .finish_non_exhaustive()
    }
}
