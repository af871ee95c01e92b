//! The facts about one run of a cell, collected from its events and its end.
//!
//! Law: memory is bounded, however long the run is. The outcomes of the joins decide whether the client joined.

use std::{sync::Arc, time::Duration};

use teetap_inspect::{
    DecodedEvent, Layer, Message,
    joins::{Join, JoinOutcome, STOPPED},
    judge::{Culprit, Finding, Findings, Role},
    reading::MessageOutcome,
};
use teetap_proxy::{
    io::Ended,
    session::{Action, Datagram, EventKind, Origin, SessionChange, SessionId, State, Time},
};
use teetap_wire::{Dir, Severity, Side, printable};

use super::{
    limit::{Limit, OldClients},
    login::{Login, LoginMessage},
};
use crate::child;

/// Maximum findings kept of a run.
const FINDINGS: usize = 32;

/// Maximum joins kept of a run.
const JOINS: usize = 200;

/// Findings about a join as a whole, which this module judges itself.
const OF_JOINS: [&str; 3] = ["never-entered", "never-online", "login-stalled"];

/// A finding about the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClientFinding {
    pub(super) code: &'static str,
    pub(super) is_error: bool,
    pub(super) text: String,
}

impl ClientFinding {
    /// Returns the finding if it is about the client and not harmless.
    fn of_client(finding: &Finding) -> Option<Self> {
        let code = finding.topic.name();
        let detail = finding.detail.as_ref();
        let detail = detail.map_or(String::new(), |detail| format!("; {detail}"));
        is_grave(code, finding.by, finding.role, finding.severity).then(|| Self {
            code,
            is_error: finding.severity == Severity::Error,
            text: format!("{code}: {}{detail}", finding.text),
        })
    }
}

/// Returns true for a finding about the client that is not harmless. Excludes findings about a join as a whole.
fn is_grave(code: &str, by: Culprit, role: Role, severity: Severity) -> bool {
    by == Culprit::Client && role == Role::Fault && severity != Severity::Info && !OF_JOINS.contains(&code)
}

/// Cause of the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The client was in the game long enough, or a rule ended the run.
    Message,
    /// The client did not join in time, or was no longer sent snapshots.
    Timeout,
    /// The client ended by itself.
    Client,
    /// The matrix was stopped.
    Stopped,
    /// The data thread crashed.
    Crash,
}

impl Cause {
    /// Returns the cause of the end of a run after its last events are recorded and its client has ended.
    pub(super) const fn confirmed(
        self,
        has_ending: bool,
        is_client_stopped: bool,
        has_crashed: bool,
    ) -> Self {
        match self {
            Self::Stopped | Self::Crash => self,
            _ if has_crashed => Self::Crash,
            Self::Timeout | Self::Client if has_ending => Self::Message,
            // The client ended just when the time was over.
            Self::Timeout if !is_client_stopped => Self::Client,
            cause => cause,
        }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    pub(super) cause: Cause,
    pub(super) client: child::End,
    /// True if a rule acted.
    pub(super) has_hit: bool,
    /// Number of datagrams that the proxy refused.
    pub(super) refused: u64,
}

impl End {
    /// Returns the end of a run; `ended` is the result of its proxy.
    pub(super) fn new(cause: Cause, client: child::End, ended: Option<&Ended>) -> Self {
        let mut rules = ended.iter().flat_map(|ended| &ended.report.rules);
        Self {
            cause,
            client,
            has_hit: rules.any(|rule| rule.hits.count > 0),
            refused: ended.map_or(0, |ended| ended.stats.refused),
        }
    }
}

/// State of a message that changes places with another one.
#[derive(Clone, Copy, Debug, Default)]
enum Swapped {
    #[default]
    No,
    /// A rule holds the message with this session, direction and name.
    Held(Option<SessionId>, Dir, Option<&'static str>),
    /// The message was released. Later messages did not overtake it.
    Released,
}

/// The facts about a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched {
    /// Messages that the client and the server sent until the client was in the game.
    pub(super) login: Login,
    /// Findings about the client, the most severe first.
    pub(super) findings: Vec<ClientFinding>,
    /// Limit for which the server refused a client.
    refused: Option<Limit>,
    old: OldClients,
    /// Number of sessions that were opened.
    sessions: u64,
    swapped: Swapped,
    /// True if a message overtook the held one.
    pub(super) is_overtaken: bool,
    /// Joins that have ended.
    joins: Vec<Arc<Join>>,
    /// How the run ended; `None` before its end.
    pub(super) end: Option<End>,
}

impl Watched {
    /// Records an event.
    pub(super) fn event(&mut self, decoded: &DecodedEvent) {
        if let Some(join) = &decoded.joined {
            self.join(join);
        }
        let event = &decoded.event;
        match (&event.what, &decoded.reading) {
            (EventKind::Session(change), _) => self.change(change),
            (EventKind::Datagram(datagram), Some(reading)) => {
                for message in &reading.messages {
                    self.message(event.at, event.session, datagram, message);
                }
            }
            _ => {}
        }
    }

    /// Records a join that has ended.
    pub(super) fn join(&mut self, join: &Arc<Join>) {
        if self.joins.len() < JOINS {
            self.joins.push(Arc::clone(join));
        }
    }

    /// Records the version that the server states.
    pub(super) fn version(&mut self, version: &str) {
        self.old.version(version);
    }

    /// Records the findings, the most severe first.
    pub(super) fn judged(&mut self, findings: &Findings) {
        let of_client = findings.list.iter().filter_map(ClientFinding::of_client);
        self.findings = of_client.take(FINDINGS).collect();
    }

    /// Records a change of a session.
    pub(super) fn change(&mut self, change: &SessionChange) {
        if change.state == State::Opening {
            self.sessions += 1;
            self.old.opened(change.proto);
        }
        let reason = change
            .reason
            .as_deref()
            .filter(|_| change.by == Some(Side::Server));
        let limit = reason.and_then(|reason| Limit::of_close(&printable(reason)));
        self.refused = self.refused.or(limit);
    }

    fn message(&mut self, at: Time, session: Option<SessionId>, datagram: &Datagram, message: &Message) {
        if let Some(step) = LoginMessage::from_message(datagram, message) {
            self.login.add(at, step);
        }
        let is_control = message.layer == Layer::Control;
        if is_control {
            self.old.message(at, message.name, datagram.leg);
        }
        let place = (session, datagram.dir);
        let is_held = message.handling.done == MessageOutcome::Placed(Action::Hold);
        self.order(
            place,
            message.name,
            (is_control, is_held, message.handling.origin),
        );
    }

    /// Records the order of the messages of one direction: the message that a rule holds, and those after it.
    pub(super) fn order(
        &mut self,
        (session, dir): (Option<SessionId>, Dir),
        name: Option<&'static str>,
        (is_control, is_held, origin): (bool, bool, Origin),
    ) {
        match self.swapped {
            Swapped::No if is_held => self.swapped = Swapped::Held(session, dir, name),
            Swapped::Held(of, way, held) if (of, way) == (session, dir) => {
                // If the held message is vital, so is the message that overtakes it.
                self.is_overtaken |= held != name && !is_control;
                if held == name && origin == Origin::Rule {
                    self.swapped = Swapped::Released;
                }
            }
            _ => {}
        }
    }

    /// Returns the limit for which the server refused the client, or ignored its first CONNECT. The server named the
    /// limit, or it is the limit of 0.6.5 for clients without tokens.
    pub(super) fn limit(&self) -> Option<Limit> {
        let named = || self.refused.filter(|_| self.joined().is_none());
        self.old.limit().or_else(named)
    }

    /// Returns the joins in the order in which they began.
    fn sorted(&self) -> Vec<&Arc<Join>> {
        let mut joins: Vec<&Arc<Join>> = self.joins.iter().collect();
        joins.sort_by_key(|join| (join.begin, join.session));
        joins
    }

    /// Returns the time from the first request of the client to its first snapshot in the game; `None` if it did not join.
    pub(super) fn joined(&self) -> Option<Duration> {
        let begin = self.joins.iter().map(|join| join.begin).min()?;
        let entered = self
            .joins
            .iter()
            .filter(|join| join.outcome == JoinOutcome::Entered);
        Some(entered.map(|join| join.end).min()?.since(begin))
    }

    /// Returns true if the server accepted no client.
    pub(super) fn is_never_online(&self) -> bool {
        let mut joins = self.joins.iter();
        joins.all(|join| join.outcome == JoinOutcome::NeverOnline)
    }

    /// Returns the sentence about the join that stopped; `None` if there is none.
    pub(super) fn why(&self) -> Option<String> {
        let joins = self.sorted();
        let stopped = joins.iter().rev().find_map(|join| join.stopped());
        // Leaves out the end of the run, which the reader knows.
        let stopped = stopped.map(|why| why.replace(&format!("; closed \"{STOPPED}\""), ""));
        stopped.or_else(|| {
            let join = joins.last().filter(|join| join.outcome != JoinOutcome::Entered)?;
            let (awaited, from) = join.awaited?;
            Some(format!("the run ended before {awaited} from the {from}"))
        })
    }

    /// Returns true if the client sent a datagram.
    pub(super) fn has_client(&self) -> bool {
        self.sessions > 0 || self.end.is_some_and(|end| end.refused > 0)
    }

    /// Returns true if the rule of the cell acted.
    pub(super) fn has_hit(&self) -> bool {
        self.end.is_some_and(|end| end.has_hit)
    }

    /// Returns the cause of the end; `None` before the end.
    pub(super) fn cause(&self) -> Option<Cause> {
        self.end.map(|end| end.cause)
    }

    /// Returns the exit code of a client that exited by itself.
    pub(super) fn code(&self) -> Option<i32> {
        let client = self.end?.client;
        (!client.is_stopped).then_some(client.code)
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
pub(in crate::torture) mod tests;
