//! Tracks how far the join of each session has progressed, and why it stalls.
//!
//! A join consists of the messages between the opening of a session and the first snapshot. Their order is a table in
//! `wire` ([`JoinKind`]). If a join makes no progress for [`PATIENCE`], the tracker creates a notice, once for each
//! step at which the join stalls. A finished join becomes a [`Join`] with the time of each step.
//!
//! Law: the only clock is the time of the events, so that a recording yields the same notices as its run.
//!
//! | file | contents |
//! |---|---|
//! | `follow/` | a join in progress |
//! | `fate.rs` | whether a message of a join is delivered |
//! | `flaw.rs` | why a message of a map download has no effect |
//! | `join.rs` | a finished join |
//! | `finding.rs` | the faults of joins, for programs that check sessions |
//! | `waterfall.rs` | the steps of a join as text |

mod fate;
mod finding;
mod flaw;
mod follow;
mod join;
#[cfg(test)]
mod tests;
mod waterfall;

use std::{collections::BTreeMap, fmt, net::SocketAddr, sync::Arc, time::Duration};

use teetap_proxy::session::{Datagram, Event, EventKind, SessionChange, SessionId, State, Time};
use teetap_rules::context::SESSIONS;
use teetap_wire::Side;

pub use finding::Finding;
pub use join::{Delayed, Ended, Join, JoinOutcome, PassedStep};
pub use waterfall::waterfall;

use crate::Reading;
use follow::JoinProgress;

#[cfg(doc)]
use teetap_wire::receiver::JoinKind;

/// The reason in the CLOSE that the proxy sends to peers at the end of a run.
pub const STOPPED: &str = "teetap was stopped";

/// Prefix of the CLOSE reason of a peer that has received nothing (`CNetConnection::Update` in `network_conn.cpp`).
pub(crate) const TIMEOUT: &str = "Timeout";

/// Name of the message that requests a part of the map.
pub(crate) const REQUEST: &str = "request_map_data";

/// Time without progress after which a login counts as stalled.
pub const PATIENCE: Duration = Duration::from_secs(1);

/// Additional timeout while the last message is not acked. An idle peer acks only with its next keepalive, more than a
/// second after its last datagram.
const FOR_ACK: Duration = Duration::from_millis(300);

/// Tracks the joins of all sessions, at most [`SESSIONS`].
#[derive(Default)]
pub struct JoinTracker {
    joins: BTreeMap<SessionId, JoinProgress>,
    /// Earliest time at which a join may stall; `None` if no join can stall.
    next: Option<Time>,
    /// The join ended by the last event.
    ended: Option<Arc<Join>>,
    /// The client of the last session that neither peer has closed.
    left: Option<SocketAddr>,
    is_blind: bool,
}

impl JoinTracker {
    /// Stops tracking joins for good, because not all events are received.
    pub(crate) fn ignore(&mut self) {
        self.is_blind = true;
        self.restart();
    }

    /// Returns true if the session has a join in progress.
    pub(crate) fn is_joining(&self, session: Option<SessionId>) -> bool {
        session.is_some_and(|session| self.joins.contains_key(&session))
    }

    /// Returns the message that the join of a session awaits from the side `from`; `None` if it awaits none.
    pub(crate) fn awaits(&self, session: Option<SessionId>, from: Side) -> Option<&'static str> {
        self.joins.get(&session?)?.awaits(from)
    }

    /// Forgets all joins, because the next run of the recording begins.
    pub(crate) fn restart(&mut self) {
        self.joins.clear();
        self.next = None;
        self.ended = None;
    }

    /// Forgets all joins, because events of any session may have been lost.
    pub(crate) fn gap(&mut self) {
        self.joins.clear();
    }

    /// Forgets the join of one session, because some of its events were lost.
    pub(crate) fn gap_in(&mut self, session: Option<SessionId>) {
        if let Some(session) = session {
            self.joins.remove(&session);
        }
    }

    /// Records an event other than a datagram.
    pub(crate) fn event(&mut self, event: &Event) {
        match (&event.what, event.session) {
            (EventKind::Session(change), Some(session)) => self.change(event.at, session, change),
            (EventKind::Notice(notice), Some(session)) => {
                if let Some(join) = self.joins.get_mut(&session) {
                    join.notice(notice);
                }
            }
            _ => {}
        }
    }

    fn change(&mut self, at: Time, session: SessionId, change: &SessionChange) {
        match change.state {
            State::Opening => {
                if self.is_blind {
                    return;
                }
                if self.joins.len() >= SESSIONS {
                    self.joins.pop_first();
                }
                let is_again = self.left.take() == Some(change.client);
                let join = JoinProgress::new(session, at, change.proto, is_again);
                self.joins.insert(session, join);
                self.expect(at);
            }
            State::Online => {
                if let Some(join) = self.joins.get_mut(&session) {
                    join.online(change.proto);
                }
            }
            State::Closing | State::Closed => {
                self.left = change.by.is_none().then_some(change.client);
                if let Some(join) = self.joins.remove(&session) {
                    let reason = change.reason.as_deref();
                    let ended = Ended::Closed {
                        by: change.by,
                        reason: reason.map(teetap_wire::printable),
                    };
                    self.ended = Some(Arc::new(join.end(at, ended)));
                }
            }
        }
    }

    /// Records a datagram of a session.
    pub(crate) fn datagram(
        &mut self,
        at: Time,
        session: Option<SessionId>,
        datagram: &Datagram,
        reading: &Reading,
    ) {
        let Some(session) = session else { return };
        let Some(join) = self.joins.get_mut(&session) else {
            return;
        };
        join.datagram(at, datagram, reading);
        let progress = join.progress();
        if join.has_entered()
            && let Some(join) = self.joins.remove(&session)
        {
            self.ended = Some(Arc::new(join.end(at, Ended::Entered)));
        }
        self.expect(progress);
    }

    /// Removes and returns the join that the last event ended.
    pub(crate) fn take_ended(&mut self) -> Option<Arc<Join>> {
        self.ended.take()
    }

    /// Schedules the timeout of a join that progressed at the time `progress`.
    fn expect(&mut self, progress: Time) {
        let due = progress + PATIENCE;
        self.next = Some(self.next.map_or(due, |next| next.min(due)));
    }

    /// Returns a notice for the first login that stalled before `before`, with the time of its timeout.
    pub(crate) fn due(&mut self, before: Time) -> Option<Event> {
        if self.next.is_none_or(|next| next >= before) {
            return None;
        }
        let waiting = self
            .joins
            .iter_mut()
            .filter_map(|(session, join)| Some((join.due()?, *session, join)));
        let (at, session, join) = match waiting.min_by_key(|(at, session, _)| (*at, *session)) {
            Some((at, session, join)) if at < before => (at, session, join),
            first => {
                self.next = first.map(|(at, ..)| at);
                return None;
            }
        };
        let stalled = join.stalled(at)?;
        Some(Event {
            at,
            session: Some(session),
            what: EventKind::Notice(stalled),
        })
    }

    /// Ends all joins at the end of the recording. Returns them in the order of their session ids.
    pub(crate) fn finish(&mut self, at: Time) -> Vec<Arc<Join>> {
        let joins = std::mem::take(&mut self.joins).into_values();
        let joins = joins.map(|join| Arc::new(join.end(at, Ended::Open)));
        joins.collect()
    }
}

impl fmt::Debug for JoinTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinTracker")
            .field("joins", &self.joins.len())
            .finish_non_exhaustive()
    }
}
