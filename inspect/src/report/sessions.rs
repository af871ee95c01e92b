//! The sessions of a recording: protocol, releases of the peers, traffic and losses.

use std::collections::BTreeMap;

use teetap_proxy::session::{EventKind, SessionId, State, Time};
use teetap_wire::{PerDir, PerSide, Proto, Side};

use crate::{
    DecodedEvent, Stated, Statistics,
    follow::Followed,
    judge::{PeerRelease, peers::Peers},
};

/// Maximum number of sessions in a report.
pub(super) const MAX: usize = 100;

/// A session.
#[derive(Clone, Debug)]
pub struct Session {
    /// Number of the run in the recording, from 1.
    pub run: u32,
    /// The session.
    pub id: SessionId,
    /// The protocol; `None` if unknown.
    pub proto: Option<Proto>,
    /// Time of the first event.
    pub begin: Time,
    /// Time of the last event.
    pub end: Time,
    /// The release of each peer; `None` if unknown.
    pub releases: PerSide<Option<PeerRelease>>,
    /// Number and bytes of the datagrams that the peers sent.
    pub traffic: PerDir<(u64, u64)>,
    /// Vital messages on each leg.
    pub legs: PerSide<LegCounts>,
}

/// Vital messages on one leg of a session, as far as resends show their loss.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LegCounts {
    /// Number of vital messages, resends included.
    pub vital: u64,
    /// Number of resent vital messages.
    pub resends: u64,
    /// Number of lost vital messages or acks.
    pub lost: u64,
    /// Shortest of the last round-trip times, in milliseconds.
    pub rtt: Option<f64>,
}

/// The sessions of one run.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    statistics: Statistics,
    /// Evidence of the releases of the peers, for the first [`MAX`] sessions.
    peers: BTreeMap<SessionId, (Peers, PerSide<Option<PeerRelease>>)>,
    finished: Vec<Session>,
    /// Number of sessions that are not kept.
    more: u64,
}

impl Sessions {
    pub(super) fn gap(&mut self) {
        self.statistics.gap();
    }

    pub(super) fn event(&mut self, decoded: &DecodedEvent, stated: &Stated) {
        let event = &decoded.event;
        let Some(id) = event.session else { return };
        self.statistics.event(decoded);
        self.learn(id, decoded, stated);
        if let EventKind::Session(change) = &event.what
            && change.state == State::Closed
        {
            self.close(id);
        }
    }

    /// Records evidence of the releases of the peers.
    fn learn(&mut self, id: SessionId, decoded: &DecodedEvent, stated: &Stated) {
        if self.peers.len() >= MAX && !self.peers.contains_key(&id) {
            return;
        }
        let (peers, releases) = self.peers.entry(id).or_default();
        match (&decoded.event.what, &decoded.reading) {
            (EventKind::Session(change), _) => {
                peers.set_proto(change.proto);
                if change.state == State::Online {
                    peers.online();
                }
            }
            (EventKind::Datagram(datagram), Some(reading)) => {
                peers.odd(datagram, reading);
                if !Peers::may_learn(datagram, reading) && datagram.ordinal != 1 {
                    return;
                }
                peers.learn(datagram, reading);
            }
            _ => return,
        }
        *releases = stated.with(|version| PerSide::from_fn(|side| peers.program(side, version)));
    }

    fn close(&mut self, id: SessionId) {
        if self.finished.len() >= MAX {
            self.more += 1;
            return;
        }
        if let Some(followed) = self.statistics.session(id) {
            let releases = self.peers.remove(&id).map(|(_, releases)| releases);
            let session = session(id, followed, releases.unwrap_or_default());
            self.finished
                .retain(|known| known.id != id || known.begin != session.begin);
            self.finished.push(session);
        }
    }

    /// Returns the sessions of the run, and the number of sessions that are not kept.
    pub(super) fn finish(mut self, run: u32) -> (Vec<Session>, u64) {
        let all: Vec<(SessionId, Followed)> = self
            .statistics
            .sessions()
            .map(|(id, followed)| (id, followed.clone()))
            .collect();
        for (id, followed) in all {
            let mut finished = self.finished.iter_mut();
            if let Some(known) = finished.find(|known| known.id == id && known.begin == followed.begin) {
                // Datagrams after the end of a session belong to it.
                let releases = std::mem::take(&mut known.releases);
                *known = session(id, &followed, releases);
            } else if self.finished.len() < MAX {
                let releases = self.peers.remove(&id).map(|(_, releases)| releases);
                self.finished
                    .push(session(id, &followed, releases.unwrap_or_default()));
            } else {
                self.more += 1;
            }
        }
        self.finished.sort_by_key(|session| (session.begin, session.id));
        for session in &mut self.finished {
            session.run = run;
        }
        (self.finished, self.more)
    }
}

fn session(id: SessionId, followed: &Followed, releases: PerSide<Option<PeerRelease>>) -> Session {
    let leg = |side: Side| {
        let leg = followed.leg(side);
        LegCounts {
            vital: leg.vital,
            resends: leg.resends,
            lost: leg.lost,
            rtt: leg.rtt(),
        }
    };
    Session {
        run: 1,
        id,
        proto: followed.proto,
        begin: followed.begin,
        end: followed.last,
        releases,
        traffic: PerDir::from_fn(|dir| {
            let packed = followed.counts.packed(dir);
            (packed.datagrams, packed.bytes)
        }),
        legs: PerSide::from_fn(leg),
    }
}
