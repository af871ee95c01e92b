//! Findings: the oddities of a run or a recording by peer, with the first place of each, and ranked.
//!
//! ```text
//! event ── decoder ──> reading ──> Judge::event ──┐
//!          oddities of a session ─> Judge::report ┴─> Findings: causes first, losses last
//! ```
//!
//! Law: pure and bounded. A datagram without an oddity costs a look at its lists of notes, and one with a known oddity a count;
//! text is made only for the first of a kind, peer and session. There are at most [`MOST`] of these, and [`SESSIONS`] sessions; what
//! is beyond is counted.
//!
//! | file | contents |
//! |---|---|
//! | `matter.rs` | the kinds of findings, their severity and role |
//! | `finding.rs` | a finding, its place and its words |
//! | `peers.rs` | the release of each peer |
//! | `known.rs` | the findings that are wanted or ignored |
//! | `rank.rs` | the order |
//! | `live.rs` | the findings of a run while it lasts |

#[cfg(test)]
mod faulty_tests;
mod finding;
mod known;
mod live;
mod matter;
mod peers;
mod rank;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, collections::BTreeMap};

use teetap_proxy::session::{
    Connless, Datagram, Notice, Origin, SessionChange, SessionId, State, Time, What,
};
use teetap_wire::{Note, Severity, Side, def::Secrets, printable};

pub use finding::{Finding, Place};
pub use known::{Ignored, Wanted, named};
pub use live::Live;
pub use matter::{Matter, Role, Topic};
pub use peers::{By, Program};
pub use rank::{Counts, Findings};

use crate::{
    DecodedEvent, Decoder, Message, Reading,
    course::{self, Join},
    recording::Item,
    sentence,
};
use peers::Peers;

/// The most findings that are kept.
pub const MOST: usize = 4096;

/// The most sessions of which something is kept.
pub const SESSIONS: usize = 4096;

/// Collects the findings of a run or a recording.
#[derive(Debug)]
pub struct Judge {
    /// The number of the run in the recording, from 1; 0 before the first begins.
    run: u32,
    sessions: BTreeMap<Option<SessionId>, Session>,
    /// The findings of runs before this one.
    before: Vec<Finding>,
    /// The number of findings so far.
    kept: usize,
    unlisted: u64,
    missed: bool,
    /// The time of the last event.
    last: Time,
    /// The version in the server's replies to browsers; the inner `None` if there were several.
    version: Option<Option<String>>,
    secrets: Secrets,
}

/// A session with its findings.
#[derive(Debug, Default)]
struct Session {
    peers: Peers,
    entries: Vec<Entry>,
}

/// A kind of oddity of a peer.
#[derive(Debug)]
struct Entry {
    topic: Topic,
    by: By,
    text: Cow<'static, str>,
    detail: Option<String>,
    first: Place,
    last: Time,
    count: u64,
    /// The importance, where it is not that of its kind.
    severity: Option<Severity>,
}

/// An oddity that no single datagram shows, or that other code found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The kind.
    pub topic: Topic,
    /// The session; `None` outside of sessions.
    pub session: Option<SessionId>,
    /// The side that is the cause.
    pub by: By,
    /// The importance; `None` for that of its kind.
    pub severity: Option<Severity>,
    /// The meaning, and the reaction of the receiver.
    pub text: Cow<'static, str>,
    /// The value that came, and the one that was expected.
    pub detail: Option<String>,
    /// The place. Of a state that lasts, each further report with a later time is its end so far.
    pub place: Place,
}

/// A datagram with its reading.
struct Seen<'a> {
    at: Time,
    session: Option<SessionId>,
    datagram: &'a Datagram,
    reading: &'a Reading,
}

impl Judge {
    /// Creates a collector that shows or hides secrets in its sentences.
    #[must_use]
    pub const fn new(secrets: Secrets) -> Self {
        Self {
            run: 0,
            sessions: BTreeMap::new(),
            before: Vec::new(),
            kept: 0,
            unlisted: 0,
            missed: false,
            last: Time::ZERO,
            version: None,
            secrets,
        }
    }

    /// Takes an item of a recording, and what was due before it.
    pub fn take(&mut self, item: Item, decoder: &mut Decoder) {
        match item {
            Item::Start { .. } => {
                self.finish(decoder);
                decoder.restart();
                self.restart();
            }
            Item::Event(event) => {
                while let Some(due) = decoder.due(event.at) {
                    self.event(&due);
                }
                let decoded = decoder.decode(event);
                self.event(&decoded);
                if let Some(reading) = decoded.reading {
                    decoder.recycle(reading);
                }
            }
            Item::Gap { .. } => {
                decoder.gap();
                self.gap();
            }
            Item::Log { .. } => {}
        }
    }

    /// Takes what was due at the end of a recording, and the joins that are not over.
    pub fn finish(&mut self, decoder: &mut Decoder) {
        while let Some(due) = decoder.due(self.last) {
            self.event(&due);
        }
        for join in decoder.finish(self.last) {
            self.joined(&join);
        }
    }

    /// Takes an event that was decoded whole.
    pub fn event(&mut self, decoded: &DecodedEvent) {
        let event = &decoded.event;
        self.last = self.last.max(event.at);
        if let Some(join) = &decoded.joined {
            self.joined(join);
        }
        match (&event.what, &decoded.reading) {
            (What::Datagram(datagram), Some(reading)) => self.datagram(&Seen {
                at: event.at,
                session: event.session,
                datagram,
                reading,
            }),
            (What::Connless(connless), Some(reading)) => self.connless(event.at, connless, reading),
            (What::Session(change), _) => self.change(event.session, change),
            (What::Notice(notice), _) => {
                self.notice(event.at, event.session, notice);
                if let (Some(found), Notice::LoginStalled { from, acked, .. }) =
                    (course::Finding::of_event(event), notice)
                {
                    self.course(found, Some(cause(*from, *acked)));
                }
            }
            _ => {}
        }
    }

    /// Takes an oddity that is not a note of a decoded event.
    pub fn report(&mut self, report: Report) {
        let at = report.place.at;
        if let Some(entry) = self.known(report.session, report.topic, report.by) {
            entry.again(at);
            entry.severity = entry.severity.max(report.severity);
            return;
        }
        let Report {
            topic,
            session,
            by,
            severity,
            text,
            detail,
            place,
        } = report;
        if let Some(session) = self.room(session) {
            session.entries.push(Entry {
                severity,
                ..Entry::new(topic, by, (text, detail), place)
            });
        }
    }

    /// Another run of the recording begins, with sessions of its own.
    pub fn restart(&mut self) {
        self.before.extend(self.current());
        self.run = self.run.saturating_add(1);
        self.sessions.clear();
        self.version = None;
        self.last = Time::ZERO;
    }

    /// Events were missed.
    pub const fn gap(&mut self) {
        self.missed = true;
    }

    /// Returns all findings, ranked.
    #[must_use]
    pub fn findings(&self) -> Findings {
        let mut list = self.before.clone();
        list.extend(self.current());
        Findings {
            list: Findings::rank(list),
            unlisted: self.unlisted,
            missed: self.missed,
        }
    }

    /// Returns the findings of this run.
    fn current(&self) -> Vec<Finding> {
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

    fn datagram(&mut self, seen: &Seen<'_>) {
        if Peers::may_learn(seen.datagram, seen.reading)
            && let Some(session) = self.session(seen.session)
        {
            session.peers.learn(seen.datagram, seen.reading);
        }
        for note in &seen.reading.notes {
            self.note(seen, None, note);
        }
        for message in &seen.reading.messages {
            for note in &message.notes {
                self.note(seen, Some(message), note);
            }
        }
    }

    fn note(&mut self, seen: &Seen<'_>, message: Option<&Message>, note: &Note) {
        let Seen {
            at,
            session,
            datagram,
            reading,
        } = *seen;
        let origin = message.map_or(datagram.origin, |message| message.origin);
        let by = match origin {
            Origin::Peer => datagram.dir.sender().into(),
            Origin::Rule | Origin::User | Origin::Proxy => By::Proxy,
        };
        let topic = Topic::Note(note.code);
        if let Some(entry) = self.known(session, topic, by) {
            return entry.again(at);
        }
        let secrets = self.secrets;
        let Some(session) = self.room(session) else {
            return;
        };
        session.peers.set_proto(datagram.proto);
        let place = Place {
            dir: Some(datagram.dir),
            datagram: Some(datagram.ordinal).filter(|ordinal| *ordinal > 0),
            frame: datagram.ends.frame,
            message: message.map(|message| reading.label(message)),
            ..Place::at(at)
        };
        let detail = sentence::detail(reading, message, Some(datagram), note, secrets);
        let text = Cow::Borrowed(note.code.text());
        session.entries.push(Entry::new(topic, by, (text, detail), place));
    }

    fn connless(&mut self, at: Time, connless: &Connless, reading: &Reading) {
        let Some(message) = reading.messages.first() else {
            return;
        };
        let is_info = message.name.is_some_and(|name| name.starts_with("info"));
        if is_info && let Some(version) = reading.text(message, "version") {
            self.learn_version(version);
        }
        for note in &message.notes {
            let topic = Topic::Note(note.code);
            let by = connless.dir.sender().into();
            if let Some(entry) = self.known(None, topic, by) {
                entry.again(at);
                continue;
            }
            let place = Place {
                dir: Some(connless.dir),
                frame: connless.ends.frame,
                message: Some(reading.label(message)),
                client: Some(connless.client),
                ..Place::at(at)
            };
            let detail = sentence::detail(reading, Some(message), None, note, self.secrets);
            let text = Cow::Borrowed(note.code.text());
            if let Some(session) = self.room(None) {
                session.entries.push(Entry::new(topic, by, (text, detail), place));
            }
        }
    }

    /// Takes the version in a reply of a server. In captures there may be several servers: which one it was is not known then.
    fn learn_version(&mut self, version: String) {
        match &mut self.version {
            None => self.version = Some(Some(version)),
            Some(known) if known.as_ref() != Some(&version) => *known = None,
            Some(_) => {}
        }
    }

    fn joined(&mut self, join: &Join) {
        if let Some(found) = course::Finding::of_join(join) {
            let awaited = join.awaited.map(|(_, side)| cause(side, join.acked));
            self.course(found, awaited);
        }
    }

    /// Takes a finding about a join that waits because of this side.
    fn course(&mut self, found: course::Finding, cause: Option<Side>) {
        let Some(matter) = Matter::named(found.code) else {
            return;
        };
        self.report(Report {
            topic: Topic::Matter(matter),
            session: Some(found.session),
            by: cause.map_or(By::Client, By::from),
            severity: Some(found.severity),
            text: Cow::Owned(found.sentence),
            detail: None,
            place: Place::at(found.at),
        });
    }

    fn change(&mut self, id: Option<SessionId>, change: &SessionChange) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.peers.set_proto(change.proto);
            if change.state == State::Closed && session.entries.is_empty() {
                self.sessions.remove(&id);
            }
        }
    }

    fn notice(&mut self, at: Time, session: Option<SessionId>, notice: &Notice) {
        let Some(matter) = Matter::of(notice) else {
            return;
        };
        let client = match notice {
            Notice::UnknownSender { client, .. }
            | Notice::OtherProtocol { client, .. }
            | Notice::ProtocolRefused { client, .. } => Some(*client),
            _ => None,
        };
        self.report(Report {
            topic: Topic::Matter(matter),
            session,
            by: match matter {
                Matter::UpstreamSilent | Matter::UpstreamUnreachable => By::Server,
                Matter::Hole => By::Proxy,
                _ => By::Client,
            },
            severity: None,
            text: Cow::Owned(printable(notice.to_string().as_bytes())),
            detail: None,
            place: Place {
                client,
                ..Place::at(at)
            },
        });
    }

    /// Returns the entry of an oddity that was seen before.
    fn known(&mut self, session: Option<SessionId>, topic: Topic, by: By) -> Option<&mut Entry> {
        let session = self.sessions.get_mut(&session)?;
        let mut entries = session.entries.iter_mut();
        entries.find(|entry| entry.topic == topic && entry.by == by)
    }

    /// Returns the session for one more finding; counts the oddity if there is no room.
    fn room(&mut self, id: Option<SessionId>) -> Option<&mut Session> {
        if self.kept >= MOST || !self.make_room(id) {
            self.unlisted = self.unlisted.saturating_add(1);
            return None;
        }
        self.kept += 1;
        Some(self.sessions.entry(id).or_default())
    }

    fn session(&mut self, id: Option<SessionId>) -> Option<&mut Session> {
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

/// Returns the side because of which a join waits for the other. A message that is not acked did not count: its sender is to look.
fn cause(awaited: Side, acked: Option<bool>) -> Side {
    if acked == Some(false) {
        awaited.other()
    } else {
        awaited
    }
}

impl Default for Judge {
    fn default() -> Self {
        Self::new(Secrets::Hide)
    }
}

impl Entry {
    fn new(topic: Topic, by: By, (text, detail): (Cow<'static, str>, Option<String>), first: Place) -> Self {
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

    fn again(&mut self, at: Time) {
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
