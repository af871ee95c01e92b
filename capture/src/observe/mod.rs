//! Finds sessions in captures of other programs, and emits the same events as the [`Hub`](teetap_proxy::session::Hub)
//! for its own sessions.
//!
//! # Usage
//!
//! Call [`Observer::see`] for every datagram in the order of the recording, and after each datagram [`Observer::poll`] until
//! it returns `None`. Call [`Observer::finish`] at the end of the recording, then poll again.
//!
//! # Law
//!
//! The observer does no I/O and reads no clock: like the Hub, it receives times and bytes as inputs. A handshake
//! identifies client, server, variant and start of a session. If a recording starts in the middle of a session, they
//! are guessed from many datagrams, and a notice reports the guess. Until a pair of addresses is classified, its
//! datagrams and all later datagrams wait, so that events are emitted in the order of the recording.
//!
//! Memory is bounded: at most [`MAX_FLOWS`] pairs of addresses are tracked, and at most [`MAX_WAITING`] datagrams wait.
//! Pairs are dropped after [`IDLE`]; at the limit, the pair that has been silent longest is dropped.
//!
//! The observer finds sessions; [`RecordedSession`](teetap_inspect::track::recorded::RecordedSession) judges their tokens and
//! acks.

mod emit;
mod evidence;
mod flow;
mod flows;

use std::{
    collections::{BTreeMap, VecDeque},
    net::SocketAddr,
    time::Duration,
};

use teetap_wire::{MAX_DATAGRAM, Scratch, is_connless};

pub(crate) use flow::IDLE;
use flow::{Flow, Verdict};
use flows::{AddressPair, FlowId, Flows};
use teetap_inspect::recording::Tally;
use teetap_proxy::session::{Event, SessionId, Time, readable};

/// Maximum number of address pairs that are tracked at once.
const MAX_FLOWS: usize = 4096;

/// Maximum number of datagrams that wait for a verdict. At the limit, the flow of the first waiting datagram is
/// classified.
pub(crate) const MAX_WAITING: usize = 4096;

/// Maximum wait for a verdict, in time of the recording.
const PATIENCE: Duration = Duration::from_secs(5);

/// Interval between searches for idle pairs, in time of the recording.
const SWEEP: Duration = Duration::from_secs(10);

/// Maximum advance of the idle clock per datagram, so that pairs do not become idle if the system clock was set or the
/// recording was paused.
const LONGEST_STEP: Duration = Duration::from_secs(10);

/// Maximum number of addresses for which the number of partners is counted.
const MAX_PARTNERS: usize = 4 * MAX_FLOWS;

/// Usual ports of servers: 8303 and the other ports that the server browser probes in a local network, and some more.
const SERVER_PORTS: std::ops::RangeInclusive<u16> = 8303..=8403;

/// One datagram of a recording.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sighting<'a> {
    /// Time since the start of the recording.
    pub(crate) at: Time,
    /// Address of the sender.
    pub(crate) from: SocketAddr,
    /// Address of the receiver.
    pub(crate) to: SocketAddr,
    /// Recorded bytes, which may be truncated.
    pub(crate) bytes: &'a [u8],
    /// Length on the wire.
    pub(crate) len: usize,
    /// Number of the packet in the recording, from 1.
    pub(crate) frame: u64,
}

/// Finds sessions in the datagrams of a recording.
#[derive(Debug, Default)]
pub(crate) struct Observer {
    flows: Flows,
    /// Number of partners with which each address has exchanged datagrams.
    partners: BTreeMap<SocketAddr, u32>,
    waiting: VecDeque<PendingItem>,
    events: VecDeque<Event>,
    tally: Tally,
    /// Idle clock, which advances steadily even if the time of the recording jumps.
    now: Time,
    /// Latest time of the recording since it last jumped back.
    latest: Time,
    next_sweep: Time,
    last_session: u32,
    scratch: Scratch,
    filled: Vec<u8>,
}

/// A datagram or the end of a flow that has not been emitted yet.
#[derive(Debug)]
struct PendingItem {
    at: Time,
    /// Start of the wait, on the idle clock.
    since: Time,
    flow: FlowId,
    what: PendingKind,
}

/// A datagram of a known flow.
#[derive(Clone, Copy, Debug)]
struct Seen<'a> {
    at: Time,
    frame: u64,
    from_low: bool,
    bytes: &'a [u8],
    len: usize,
}

#[derive(Debug)]
enum PendingKind {
    Datagram {
        frame: u64,
        from_low: bool,
        bytes: Box<[u8]>,
        len: usize,
    },
    /// The client began a new session from the same address.
    Restart,
    /// The flow was idle.
    Idle,
}

impl Observer {
    /// Creates an observer without flows.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds the next datagram of the recording. The resulting events are returned by [`Self::poll`].
    pub(crate) fn see(&mut self, sighting: Sighting<'_>) {
        let Sighting {
            at,
            from,
            to,
            len,
            frame,
            ..
        } = sighting;
        let bytes = readable(sighting.bytes);
        self.advance(at);
        self.sweep();
        let (pair, from_low) = AddressPair::from_addresses(from, to);
        let mut id = self.flow_of(pair);
        if self.look(id, from_low, bytes, len, at) {
            self.end(id, PendingKind::Restart);
            id = self.flow_of(pair);
            self.look(id, from_low, bytes, len, at);
        }
        let mut is_decided = is_connless(bytes);
        if let Some((_, flow)) = self.flows.get_mut(id) {
            (flow.last, flow.last_recorded) = (self.now, Some(at));
            let [low, high] = &mut flow.bytes;
            *(if from_low { low } else { high }) += bytes.len() as u64;
            is_decided |= flow.verdict != Verdict::Open;
        }
        let seen = Seen {
            at,
            frame,
            from_low,
            bytes,
            len,
        };
        if is_decided && self.waiting.is_empty() {
            return self.emit(id, seen);
        }
        self.wait(id, seen);
        self.settle();
    }

    fn wait(&mut self, id: FlowId, seen: Seen<'_>) {
        if let Some((_, flow)) = self.flows.get_mut(id) {
            flow.waiting += 1;
        }
        self.waiting.push_back(PendingItem {
            at: seen.at,
            since: self.now,
            flow: id,
            what: PendingKind::Datagram {
                frame: seen.frame,
                from_low: seen.from_low,
                bytes: seen.bytes.into(),
                len: seen.len,
            },
        });
    }

    /// Advances the idle clock, by at most [`LONGEST_STEP`]. A jump of the recording's time back does not stop it.
    fn advance(&mut self, at: Time) {
        if at > self.latest {
            self.now = self.now + at.since(self.latest).min(LONGEST_STEP);
            self.latest = at;
        } else if self.latest.since(at) >= IDLE {
            self.latest = at;
        }
    }

    /// Ends the recording: classifies the flows of all waiting datagrams, and emits them.
    pub(crate) fn finish(&mut self) {
        let end = self.latest;
        for id in self.flows.open_if(|flow| flow.is_silent(end)) {
            self.end(id, PendingKind::Idle);
        }
        while let Some(id) = self.waiting.front().map(|first| first.flow) {
            self.decide(id);
            self.emit_first();
        }
    }

    /// Removes and returns the next event; `None` if another datagram is needed first.
    pub(crate) fn poll(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns the counts so far.
    #[must_use]
    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }

    /// Lets a flow inspect a datagram. Returns true if the datagram begins a new flow.
    fn look(&mut self, id: FlowId, from_low: bool, bytes: &[u8], len: usize, at: Time) -> bool {
        let Some((_, flow)) = self.flows.get_mut(id) else {
            return false;
        };
        flow.was_quiet = flow.is_silent(at);
        let whole = filled_up(&mut self.filled, bytes, len);
        let is_cut = whole.len() > bytes.len();
        flow.look(at, from_low, (whole, is_cut), &mut self.scratch)
    }

    /// Returns the open flow of a pair, and adds one if there is none. At the limit, ends the flow that has been silent
    /// longest.
    fn flow_of(&mut self, pair: AddressPair) -> FlowId {
        if let Some(id) = self.flows.between(&pair) {
            return id;
        }
        if self.flows.open() >= MAX_FLOWS
            && let Some(idlest) = self.flows.idlest()
        {
            self.end(idlest, PendingKind::Idle);
        }
        for address in [pair.low, pair.high] {
            if self.partners.len() < MAX_PARTNERS || self.partners.contains_key(&address) {
                let partners = self.partners.entry(address).or_default();
                *partners = partners.saturating_add(1);
            }
        }
        self.flows.add(pair, Flow::new(self.now))
    }

    /// Closes a flow. The end of its session is queued, so that it is emitted after earlier datagrams.
    fn end(&mut self, id: FlowId, how: PendingKind) {
        if let Some((pair, flow)) = self.flows.get_mut(id) {
            flow.is_over = true;
            flow.waiting += 1;
            let pair = *pair;
            self.flows.close(&pair);
            self.waiting.push_back(PendingItem {
                at: self.latest,
                since: self.now,
                flow: id,
                what: how,
            });
        }
    }

    /// Ends idle flows, at most once per [`SWEEP`].
    fn sweep(&mut self) {
        if self.now < self.next_sweep {
            return;
        }
        self.next_sweep = self.now + SWEEP;
        let now = self.now;
        let idle = self.flows.open_if(|flow| now.since(flow.last) >= IDLE);
        for id in idle {
            self.end(id, PendingKind::Idle);
        }
    }

    /// Emits waiting datagrams and ends of flows, up to the first datagram that has to wait for a verdict.
    fn settle(&mut self) {
        while let Some(first) = self.waiting.front() {
            let open = self
                .flows
                .get(first.flow)
                .is_some_and(|(_, flow)| flow.verdict == Verdict::Open);
            let alone = matches!(&first.what, PendingKind::Datagram { bytes, .. } if is_connless(bytes));
            if open && !alone {
                let (id, is_late) = (first.flow, self.now.since(first.since) >= PATIENCE);
                if !is_late && self.waiting.len() <= MAX_WAITING {
                    return;
                }
                self.decide(id);
            }
            self.emit_first();
        }
    }

    /// Classifies a flow by its evidence.
    fn decide(&mut self, id: FlowId) {
        let partners = &self.partners;
        if let Some((pair, flow)) = self.flows.get_mut(id) {
            flow.decide(|| pair.likely_low_is_client(partners));
        }
    }
}

/// Returns the recorded bytes of a datagram of `len` bytes, padded with zeros if the recording truncated them. At most
/// [`MAX_DATAGRAM`] bytes, since receivers read no more.
fn filled_up<'a>(filled: &'a mut Vec<u8>, bytes: &'a [u8], len: usize) -> &'a [u8] {
    let len = len.min(MAX_DATAGRAM);
    if bytes.len() >= len {
        return bytes;
    }
    filled.clear();
    filled.extend_from_slice(bytes);
    filled.resize(len, 0);
    filled
}

impl AddressPair {
    /// Guesses from ports and numbers of partners whether the lower address is the client. Returns `None` if both
    /// addresses are equally likely.
    fn likely_low_is_client(&self, partners: &BTreeMap<SocketAddr, u32>) -> Option<bool> {
        let [low, high] = [self.low, self.high].map(|address| {
            let many = partners.get(&address).copied().unwrap_or_default();
            (SERVER_PORTS.contains(&address.port()), many)
        });
        (low != high).then_some(low < high)
    }
}

impl Observer {
    /// Returns the id of a new session.
    fn next_session(&mut self) -> SessionId {
        self.tally.sessions += 1;
        self.last_session = self.last_session.saturating_add(1);
        SessionId(self.last_session)
    }
}

#[cfg(test)]
mod tests;
