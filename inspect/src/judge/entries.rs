//! Findings grouped by session while a run is in progress.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use teetap_proxy::session::{OpensNothing, SessionChange, SessionId, State, Time};
use teetap_wire::{Code, Seq, Severity, Side};

use crate::{Values, stated::StatedVersion};

use super::{
    finding::{Finding, Occurrence},
    finding_code::{PossibleCause, Role, Topic},
    peers::{Culprit, PeerRelease, Peers},
    reaction::reaction,
};

/// Maximum number of findings kept.
pub const MOST: usize = 4096;

/// Maximum number of sessions kept.
pub const SESSIONS: usize = 4096;

/// The oddities of one run, grouped by session.
///
/// Law: memory is bounded. At most [`MOST`] findings are kept over all runs, and at most [`SESSIONS`] sessions; a
/// repeated oddity only increments a counter.
#[derive(Debug)]
pub(super) struct Entries {
    sessions: BTreeMap<Option<SessionId>, Session>,
    /// Number of findings so far, over all runs.
    kept: usize,
    /// Number of oddities discarded because a limit was reached.
    unlisted: u64,
}

/// A session with its findings.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) peers: Peers,
    pub(super) entries: Vec<Oddity>,
    /// True from the answer to CONNECT until the end of the session.
    pub(super) is_online: bool,
    /// True if the server got inputs in another order than the client sent them, because of a rule or the link.
    pub(super) has_late_inputs: bool,
    /// True if the server got a text that is not UTF-8.
    pub(super) has_invalid_text: bool,
}

/// One kind of oddity caused by one peer, with its first occurrence and count.
#[derive(Debug)]
pub(super) struct Oddity {
    topic: Topic,
    pub(super) by: Culprit,
    pub(super) text: Cow<'static, str>,
    detail: Option<Values>,
    first: Occurrence,
    last: Time,
    count: u64,
    /// The kind of stranger; `None` if the entry is not about a stranger.
    pub(super) stranger: Option<OpensNothing>,
    /// True if the oddity may lead to a consequence.
    pub(super) leads: bool,
    /// The faults that may have led to this consequence.
    pub(super) led_by: PossibleCause,
    /// Overrides the role of the topic.
    pub(super) role: Option<Role>,
    /// Overrides the severity of the topic.
    pub(super) severity: Option<Severity>,
    /// The number whose ack refutes the finding; `None` if no ack does.
    pub(super) refuted_by: Option<Seq>,
}

impl Oddity {
    pub(super) fn new(
        topic: Topic,
        by: Culprit,
        (text, detail): (Cow<'static, str>, Option<Values>),
        first: Occurrence,
    ) -> Self {
        Self {
            topic,
            by,
            text,
            detail,
            last: first.at,
            first,
            count: 1,
            stranger: None,
            leads: topic.leads(),
            led_by: PossibleCause::Any,
            role: None,
            severity: None,
            refuted_by: None,
        }
    }

    /// Appends a value that later datagrams have shown.
    pub(super) fn add_detail(&mut self, more: impl fmt::Display) {
        self.detail = Some(match self.detail.take() {
            Some(detail) => detail.and(format_args!("; {more}")),
            None => more.to_string().into(),
        });
    }

    pub(super) fn again(&mut self, at: Time) {
        self.again_times(at, 1);
    }

    pub(super) fn again_times(&mut self, at: Time, times: u64) {
        self.count = self.count.saturating_add(times);
        self.last = self.last.max(at);
    }

    fn finding(&self, session: Option<SessionId>, run: u32, program: Option<PeerRelease>) -> Finding {
        let role = self.role.unwrap_or_else(|| self.topic.role());
        Finding {
            topic: self.topic,
            severity: self.severity.unwrap_or_else(|| self.topic.severity_as(role)),
            role,
            session,
            run,
            by: self.by,
            program,
            text: self.text.clone(),
            detail: self.detail.clone(),
            first: self.first.clone(),
            last: self.last,
            count: self.count,
            leads: self.leads,
            led_by: self.led_by,
        }
    }
}

impl Entries {
    pub(super) const fn new() -> Self {
        Self {
            sessions: BTreeMap::new(),
            kept: 0,
            unlisted: 0,
        }
    }

    /// Returns the existing entry for this kind of oddity and this side; `None` if there is none.
    pub(super) fn known(
        &mut self,
        session: Option<SessionId>,
        topic: Topic,
        by: Culprit,
    ) -> Option<&mut Oddity> {
        self.known_of(session, (topic, by, None))
    }

    /// Returns the existing entry for this topic, side and kind of stranger; `None` if there is none.
    pub(super) fn known_of(
        &mut self,
        session: Option<SessionId>,
        key: (Topic, Culprit, Option<OpensNothing>),
    ) -> Option<&mut Oddity> {
        let session = self.sessions.get_mut(&session)?;
        let mut entries = session.entries.iter_mut();
        entries.find(|entry| (entry.topic, entry.by, entry.stranger) == key)
    }

    /// Returns true if this kind of oddity of this side was found in a message of this name.
    pub(super) fn has_place(
        &self,
        session: Option<SessionId>,
        topic: Topic,
        by: Culprit,
        message: Option<&str>,
    ) -> bool {
        let session = self.sessions.get(&session);
        let mut entries = session.into_iter().flat_map(|session| &session.entries);
        entries
            .any(|entry| (entry.topic, entry.by) == (topic, by) && entry.first.message.as_deref() == message)
    }

    /// Reserves a place for one more finding and returns the session to add it to. Counts the oddity as unlisted and
    /// returns `None` if a limit is reached.
    pub(super) fn room(&mut self, id: Option<SessionId>) -> Option<&mut Session> {
        if self.kept >= MOST || !self.make_room(id) {
            self.unlisted = self.unlisted.saturating_add(1);
            return None;
        }
        self.kept += 1;
        Some(self.sessions.entry(id).or_default())
    }

    /// Returns a session, adding it if necessary; `None` if the maximum number of sessions is reached.
    pub(super) fn session(&mut self, id: Option<SessionId>) -> Option<&mut Session> {
        self.make_room(id).then(|| self.sessions.entry(id).or_default())
    }

    /// Returns true if the session is present or can be added. At the limit, evicts a session without findings.
    fn make_room(&mut self, id: Option<SessionId>) -> bool {
        if self.sessions.len() < SESSIONS || self.sessions.contains_key(&id) {
            return true;
        }
        let mut sessions = self.sessions.iter();
        let clean = sessions.find(|(_, session)| session.entries.is_empty());
        let clean = clean.map(|(id, _)| *id);
        clean.is_some_and(|clean| self.sessions.remove(&clean).is_some())
    }

    /// Records a state change of a session. Forgets the session if it closes without findings.
    pub(super) fn change(&mut self, id: Option<SessionId>, change: &SessionChange) {
        if change.state == State::Online
            && let Some(session) = self.session(id)
        {
            session.peers.online();
        }
        if let Some(session) = self.sessions.get_mut(&id) {
            session.is_online = change.state == State::Online;
            session.peers.set_proto(change.proto);
            if change.state == State::Closed && session.entries.is_empty() {
                self.sessions.remove(&id);
            }
        }
    }

    /// Removes the findings of a peer about acks that do not advance, if the peer's ack advances after all.
    pub(super) fn acked(&mut self, id: Option<SessionId>, by: Culprit, ack: Seq) {
        let Some(session) = self.sessions.get_mut(&id) else {
            return;
        };
        let before = session.entries.len();
        let is_refuted = |missing: Seq| missing.is_behind(ack);
        session
            .entries
            .retain(|entry| entry.by != by || !entry.refuted_by.is_some_and(is_refuted));
        self.kept -= before - session.entries.len();
    }

    /// Removes the findings of both peers about a topic, because the recording lacks the datagrams that refute them.
    pub(super) fn retract(&mut self, id: Option<SessionId>, topic: Topic) {
        let Some(session) = self.sessions.get_mut(&id) else {
            return;
        };
        let before = session.entries.len();
        session
            .entries
            .retain(|entry| entry.topic != topic || entry.by.side().is_none());
        self.kept -= before - session.entries.len();
    }

    /// Returns true if datagrams of the session were lost, and no error of a peer may be the cause of a failure.
    pub(super) fn has_only_losses(&self, id: Option<SessionId>) -> bool {
        let Some(session) = self.sessions.get(&id) else {
            return false;
        };
        let is_loss = |entry: &Oddity| {
            matches!(
                entry.topic,
                Topic::Note(Code::SeqAhead | Code::ResendRequest | Code::Overtaken)
            )
        };
        let is_error = |entry: &Oddity| {
            let role = entry.role.unwrap_or_else(|| entry.topic.role());
            role == Role::Fault && entry.topic.severity_as(role) == Severity::Error
        };
        session.entries.iter().any(is_loss) && !session.entries.iter().any(is_error)
    }

    /// Returns true if an oddity of `by` in the session may be the cause of a failure.
    pub(super) fn has_fault(&self, id: Option<SessionId>, by: Culprit) -> bool {
        let session = self.sessions.get(&id);
        let mut entries = session.into_iter().flat_map(|session| &session.entries);
        entries.any(|entry| {
            let role = entry.role.unwrap_or_else(|| entry.topic.role());
            let severity = entry.severity.unwrap_or_else(|| entry.topic.severity_as(role));
            let may_lead = severity == Severity::Error || severity == Severity::Warning && entry.leads;
            entry.by == by && role == Role::Fault && may_lead
        })
    }

    /// Returns true if the session is online.
    pub(super) fn is_online(&self, id: Option<SessionId>) -> bool {
        self.sessions.get(&id).is_some_and(|session| session.is_online)
    }

    /// Returns the sessions that are online.
    pub(super) fn online(&self) -> Vec<SessionId> {
        let online = self.sessions.iter().filter(|(_, session)| session.is_online);
        online.filter_map(|(id, _)| *id).collect()
    }

    /// Returns the findings of the run with number `run`. `version` is the version stated by the server.
    pub(super) fn findings(
        &self,
        run: u32,
        version: Option<StatedVersion<'_>>,
    ) -> impl Iterator<Item = Finding> {
        let sessions = self.sessions.iter();
        let entries =
            sessions.flat_map(|(id, session)| session.entries.iter().map(move |entry| (id, session, entry)));
        entries.map(move |(id, session, entry)| {
            let side = entry.by.side();
            let program = side.and_then(|side| session.peers.program(side, version));
            let mut finding = entry.finding(*id, run, program);
            let receiver = side.map(Side::other);
            let release = receiver.and_then(|side| Some((session.peers.release(side, version)?, side)));
            let name = finding.first.message.as_deref();
            if let Some(text) = release.and_then(|receiver| reaction(finding.topic, name, receiver)) {
                finding.text = text;
            }
            finding
        })
    }

    /// Forgets all sessions of the run.
    pub(super) fn clear(&mut self) {
        self.sessions.clear();
    }

    /// Returns the number of oddities discarded because a limit was reached.
    pub(super) const fn unlisted(&self) -> u64 {
        self.unlisted
    }
}
