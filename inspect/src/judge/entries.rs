//! Findings while they are collected, by session.

use std::borrow::Cow;

use teetap_proxy::session::{SessionId, Time};
use teetap_wire::Severity;

use super::{
    Judge,
    finding::{Finding, Place},
    matter::Topic,
    peers::{By, Peers, Program},
};

/// The most findings that are kept.
pub const MOST: usize = 4096;

/// The most sessions of which something is kept.
pub const SESSIONS: usize = 4096;

/// A session with its findings.
#[derive(Debug, Default)]
pub(super) struct Session {
    pub(super) peers: Peers,
    pub(super) entries: Vec<Entry>,
}

/// A kind of oddity of a peer.
#[derive(Debug)]
pub(super) struct Entry {
    topic: Topic,
    by: By,
    text: Cow<'static, str>,
    detail: Option<String>,
    first: Place,
    last: Time,
    count: u64,
    /// The importance, where it is not that of its kind.
    pub(super) severity: Option<Severity>,
}

impl Entry {
    pub(super) fn new(
        topic: Topic,
        by: By,
        (text, detail): (Cow<'static, str>, Option<String>),
        first: Place,
    ) -> Self {
        Self {
            topic,
            by,
            text,
            detail,
            last: first.at,
            first,
            count: 1,
            severity: None,
        }
    }

    pub(super) fn again(&mut self, at: Time) {
        self.count = self.count.saturating_add(1);
        self.last = self.last.max(at);
    }

    fn finding(&self, session: Option<SessionId>, run: u32, program: Option<Program>) -> Finding {
        let role = self.topic.role();
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
        }
    }
}

impl Judge {
    /// Returns the findings of this run.
    pub(super) fn current(&self) -> Vec<Finding> {
        let version = self.version.as_ref().and_then(Option::as_deref);
        let sessions = self.sessions.iter();
        let entries =
            sessions.flat_map(|(id, session)| session.entries.iter().map(move |entry| (id, session, entry)));
        entries
            .map(|(id, session, entry)| {
                let side = entry.by.side();
                entry.finding(
                    *id,
                    self.run.max(1),
                    side.and_then(|side| session.peers.program(side, version)),
                )
            })
            .collect()
    }

    /// Returns the entry of an oddity that was seen before.
    pub(super) fn known(&mut self, session: Option<SessionId>, topic: Topic, by: By) -> Option<&mut Entry> {
        let session = self.sessions.get_mut(&session)?;
        let mut entries = session.entries.iter_mut();
        entries.find(|entry| entry.topic == topic && entry.by == by)
    }

    /// Returns the session for one more finding; counts the oddity if there is no room.
    pub(super) fn room(&mut self, id: Option<SessionId>) -> Option<&mut Session> {
        if self.kept >= MOST || !self.make_room(id) {
            self.unlisted = self.unlisted.saturating_add(1);
            return None;
        }
        self.kept += 1;
        Some(self.sessions.entry(id).or_default())
    }

    pub(super) fn session(&mut self, id: Option<SessionId>) -> Option<&mut Session> {
        self.make_room(id).then(|| self.sessions.entry(id).or_default())
    }

    /// Returns true if there is room for a session, where it has to be that of one without findings.
    fn make_room(&mut self, id: Option<SessionId>) -> bool {
        if self.sessions.len() < SESSIONS || self.sessions.contains_key(&id) {
            return true;
        }
        let mut sessions = self.sessions.iter();
        let clean = sessions.find(|(_, session)| session.entries.is_empty());
        let clean = clean.map(|(id, _)| *id);
        clean.is_some_and(|clean| self.sessions.remove(&clean).is_some())
    }
}
