//! Oddities that no single datagram shows: joins, notices, and those that other code found.

use std::borrow::Cow;

use teetap_proxy::session::{Event, Notice, SessionChange, SessionId, State, Stranger};
use teetap_wire::{Severity, Side, printable, receiver::Rejection};

use super::{
    Judge,
    entries::Entry,
    finding::Place,
    matter::{LedBy, Matter, Role, Topic},
    peers::By,
};
use crate::course::{self, Join, JoinOutcome};

/// The reasons of a side that gives up (`CNetConnection::Update` and `QueueChunkEx` in `network_conn.cpp` of Teeworlds 0.6.5 and 0.7.5, and of
/// DDNet).
const LIMITS: [&str; 2] = ["Timeout", "Too weak connection"];

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

impl Judge {
    /// Takes an oddity that is not a note of a decoded event.
    pub fn report(&mut self, report: Report) {
        self.add(report, None);
    }

    /// Adds an oddity to those of its kind, and of strangers to those with the same mistake.
    fn add(&mut self, report: Report, stranger: Option<Stranger>) {
        let at = report.place.at;
        let key = (report.topic, report.by, stranger);
        if let Some(entry) = self.entries.known_of(report.session, key) {
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
        if let Some(session) = self.entries.room(session) {
            let mut entry = Entry::new(topic, by, (text, detail), place);
            entry.severity = severity;
            entry.stranger = stranger;
            session.entries.push(entry);
        }
    }

    pub(super) fn joined(&mut self, join: &Join) {
        if join.outcome == JoinOutcome::Entered && join.is_by_loss {
            for by in [By::Client, By::Server] {
                let topic = Topic::Matter(Matter::LoginStalled);
                if let Some(entry) = self.entries.known(Some(join.session), topic, by) {
                    entry.role = Some(Role::Network);
                }
            }
        }
        if let Some(found) = course::Finding::of_join(join) {
            let rejection = join.rejection();
            let is_rejected = matches!(
                rejection,
                Some(Rejection::WrongVersion | Rejection::WrongPassword)
            );
            let is_of_client = is_rejected || join.is_of_client;
            // A message that was sent in vain is a fault of its sender, whatever is acked.
            let acked = join.acked.filter(|_| join.misstep.is_none());
            let awaited = join.awaited.map(|(_, side)| cause(side, acked));
            let awaited = if is_of_client { Some(Side::Client) } else { awaited };
            let limit = Topic::Matter(Matter::HalfOpenLimit);
            let gave_way = self.entries.known(Some(join.session), limit, By::Proxy).is_some();
            let led_by = match join.note {
                _ if join.kept || gave_way => LedBy::Proxy,
                Some(code) => LedBy::Only(Topic::Note(code)),
                None => LedBy::Any,
            };
            self.course(found, awaited.map(By::from), led_by);
        }
    }

    /// Takes a finding about a join that waits because of this side, or of a message that the proxy kept back.
    fn course(&mut self, found: course::Finding, cause: Option<By>, led_by: LedBy) {
        let Some(matter) = Matter::named(found.code) else {
            return;
        };
        let by = match led_by {
            LedBy::Proxy => By::Proxy,
            LedBy::Any | LedBy::Only(_) => cause.unwrap_or(By::Client),
        };
        let (topic, session) = (Topic::Matter(matter), Some(found.session));
        self.report(Report {
            topic,
            session,
            by,
            severity: Some(found.severity),
            text: Cow::Owned(found.sentence),
            detail: None,
            place: Place::at(found.at),
        });
        if let Some(entry) = self.entries.known(session, topic, by) {
            entry.led_by = led_by;
        }
    }

    pub(super) fn notice(&mut self, event: &Event, notice: &Notice) {
        if let Some(matter) = Matter::of(notice) {
            self.matter(event, notice, matter);
        }
        if let Notice::Suppressed { of, count } = notice {
            self.suppressed(event, of, *count);
        }
        if let (
            Some(found),
            Notice::LoginStalled {
                from,
                acked,
                kept,
                waits_for,
                why,
                ..
            },
        ) = (course::Finding::of_event(event), notice)
        {
            let led_by = if *kept { LedBy::Proxy } else { LedBy::Any };
            let is_in_vain = why.as_ref().is_some_and(|why| why.starts_with(&**waits_for));
            let acked = acked.filter(|_| !is_in_vain);
            self.course(found, Some(By::from(cause(*from, acked))), led_by);
        }
    }

    /// Counts what the proxy decided because of a limit and reported only by its number. Of sessions only the first are listed.
    fn suppressed(&mut self, event: &Event, of: &str, count: u64) {
        let matter = Matter::named(&of.replace('_', "-")).filter(|matter| matter.is_limit());
        let Some(matter) = matter else { return };
        if let Some(entry) = self
            .entries
            .known(event.session, Topic::Matter(matter), By::Proxy)
        {
            entry.again_times(event.at, count);
        }
    }

    /// Takes the end of a session. A side that gives up names one of its limits.
    pub(super) fn closed(&mut self, event: &Event, change: &SessionChange) {
        let is_end = matches!(change.state, State::Closing | State::Closed);
        let (Some(by), Some(reason)) = (change.by.filter(|_| is_end), &change.reason) else {
            return;
        };
        let cause = By::from(by.other());
        let topic = Topic::Matter(Matter::TimedOut);
        let is_limit = LIMITS.iter().any(|limit| reason.starts_with(limit.as_bytes()));
        if !is_limit || self.entries.known(event.session, topic, cause).is_some() {
            return;
        }
        self.report(Report {
            topic,
            session: event.session,
            by: cause,
            severity: None,
            text: Cow::Owned(format!("the {by} closed the session: \"{}\"", printable(reason))),
            detail: None,
            place: Place::at(event.at),
        });
    }

    /// A peer that was silent sends again.
    pub(super) fn is_back(&mut self, session: Option<SessionId>, by: By) {
        let silent = Topic::Matter(Matter::PeerSilent);
        if let Some(entry) = self.entries.known(session, silent, by) {
            entry.severity = Some(Severity::Info);
        }
    }

    fn matter(&mut self, event: &Event, notice: &Notice, matter: Matter) {
        let (client, stranger) = match notice {
            Notice::UnknownSender { client, what, .. } => (Some(*client), Some(*what)),
            Notice::OtherProtocol { client, .. }
            | Notice::ProtocolRefused { client, .. }
            | Notice::AnsweredByProxy { client, .. }
            | Notice::DroppedByProxy { client }
            | Notice::RelayLimit { client } => (Some(*client), None),
            _ => (None, None),
        };
        let report = Report {
            topic: Topic::Matter(matter),
            session: event.session,
            by: match matter {
                Matter::PeerSilent => match notice {
                    Notice::PeerSilent { side, .. } => By::from(*side),
                    _ => By::Client,
                },
                Matter::UpstreamSilent | Matter::UpstreamUnreachable => By::Server,
                Matter::Hole => By::Proxy,
                _ if matter.is_limit() => By::Proxy,
                _ => By::Client,
            },
            // Bytes that are like nothing of the game need not be of a client.
            severity: stranger
                .is_some_and(|what| matter == Matter::OpensNothing && !what.is_mistake())
                .then_some(Severity::Warning),
            text: Cow::Owned(printable(notice.to_string().as_bytes())),
            detail: None,
            place: Place {
                client,
                ..Place::at(event.at)
            },
        };
        self.add(report, stranger);
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
