//! The outputs of the core, in order. The bytes of datagrams are stored in reused buffers.

use std::collections::VecDeque;

use teetap_wire::MAX_DATAGRAM;

use super::{
    ClientAddr, Event, EventKind, Events, ListenerId, Output, SessionId, Time, UpstreamId, datagram::Transit,
};

/// Maximum number of buffers kept between inputs.
const KEPT: usize = 64;

/// Receiver of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    Client(ClientAddr),
    Server(UpstreamId),
}

#[derive(Debug)]
enum Queued {
    Open(UpstreamId, u16),
    Listen(ListenerId, u16),
    /// Sends the datagram in the buffer with this index.
    Send(Destination, usize),
    /// Marks a datagram that was passed to an impaired link. This step does not send it.
    Kept(usize),
    /// Sends a datagram that was queued in an impaired link.
    Late(Destination, usize),
    Close(UpstreamId),
}

/// Collects outputs until they are polled: steps first, then events.
#[derive(Debug)]
pub(crate) struct Outbox {
    /// Buffers of datagrams. The first `used` belong to `steps`.
    buffers: Vec<Vec<u8>>,
    used: usize,
    steps: Vec<Queued>,
    /// Number of `steps` that have been polled.
    polled: usize,
    /// Effects of links on datagrams, each with the index of the step of its datagram.
    transits: Vec<(usize, Transit)>,
    events: VecDeque<Box<Event>>,
    watched: Events,
}

impl Outbox {
    pub(crate) fn new(watched: Events) -> Self {
        Self {
            buffers: Vec::new(),
            used: 0,
            steps: Vec::new(),
            polled: 0,
            transits: Vec::new(),
            events: VecDeque::new(),
            watched,
        }
    }

    /// Changes the events that are collected.
    pub(crate) fn watch(&mut self, watched: Events) {
        self.watched = watched;
    }

    /// Discards the steps once all are polled, so that their buffers are reused. Frees the buffers of a rare
    /// flood.
    pub(crate) fn reset(&mut self) {
        if self.polled == self.steps.len() {
            self.steps.clear();
            self.transits.clear();
            self.polled = 0;
            self.used = 0;
            self.buffers.truncate(KEPT);
        }
    }

    /// Opens a socket to the server at this port of its host.
    pub(crate) fn open(&mut self, upstream: UpstreamId, port: u16) {
        self.steps.push(Queued::Open(upstream, port));
    }

    /// Opens a listen socket for the server at this port of its host.
    pub(crate) fn listen(&mut self, listener: ListenerId, port: u16) {
        self.steps.push(Queued::Listen(listener, port));
    }

    pub(crate) fn close(&mut self, upstream: UpstreamId) {
        self.steps.push(Queued::Close(upstream));
    }

    /// Sends the datagram that `write` appends to an empty buffer. Sends nothing if the buffer is still empty
    /// afterwards.
    pub(crate) fn send(&mut self, to: Destination, write: impl FnOnce(&mut Vec<u8>)) {
        if let Some(buffer) = self.fill(write) {
            self.steps.push(Queued::Send(to, buffer));
        }
    }

    /// Sends a datagram that was queued in a link. Its event was emitted when it was queued.
    pub(crate) fn send_late(&mut self, to: Destination, bytes: &[u8]) {
        if let Some(buffer) = self.fill(|out| out.extend_from_slice(bytes)) {
            self.steps.push(Queued::Late(to, buffer));
        }
    }

    /// Passes the datagram that `write` appends to an empty buffer to an impaired link. `pass` gets the bytes
    /// and returns the effects of the link on them.
    pub(crate) fn keep(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>),
        pass: impl FnOnce(&[u8]) -> Vec<Transit>,
    ) {
        let Some(buffer) = self.fill(write) else { return };
        let step = self.steps.len();
        self.steps.push(Queued::Kept(buffer));
        let transits = pass(self.buffers.get(buffer).map_or(&[], Vec::as_slice));
        if self.is_watched() {
            self.transits
                .extend(transits.into_iter().map(|transit| (step, transit)));
        }
    }

    /// Fills the next buffer with `write` and returns its index; `None` if the buffer is still empty
    /// afterwards.
    fn fill(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Option<usize> {
        if self.used == self.buffers.len() {
            self.buffers.push(Vec::with_capacity(MAX_DATAGRAM));
        }
        let buffer = self.buffers.get_mut(self.used)?;
        buffer.clear();
        write(buffer);
        let is_filled = !buffer.is_empty();
        self.used += usize::from(is_filled);
        is_filled.then(|| self.used - 1)
    }

    /// Returns a mark for [`Self::sent_since`].
    pub(crate) fn mark(&self) -> usize {
        self.steps.len()
    }

    /// Returns the datagrams sent since a mark, in order. Includes datagrams that wait in a link or were lost
    /// in it.
    pub(crate) fn sent_since(&self, mark: usize) -> impl Iterator<Item = &[u8]> + Clone {
        self.steps.iter().skip(mark).filter_map(|step| match step {
            Queued::Send(_, buffer) | Queued::Kept(buffer) => self.buffers.get(*buffer).map(Vec::as_slice),
            Queued::Open(..) | Queued::Listen(..) | Queued::Close(_) | Queued::Late(..) => None,
        })
    }

    /// Returns the effects of links on the datagrams of [`Self::sent_since`].
    pub(crate) fn transits_since(&self, mark: usize) -> Box<[Transit]> {
        let is_sent = |step: &&Queued| matches!(step, Queued::Send(..) | Queued::Kept(_));
        let since = self.transits.iter().filter(|(step, _)| *step >= mark);
        since
            .map(|(step, transit)| {
                let before = self.steps.get(mark..*step).unwrap_or_default();
                Transit {
                    datagram: u16::try_from(before.iter().filter(is_sent).count()).unwrap_or(u16::MAX),
                    ..transit.clone()
                }
            })
            .collect()
    }

    /// Returns true if any events are wanted.
    pub(crate) fn is_watched(&self) -> bool {
        self.watched != Events::Nothing
    }

    /// Returns true if events for ordinary traffic are wanted.
    pub(crate) fn is_watched_closely(&self) -> bool {
        self.watched == Events::All
    }

    pub(crate) fn event(&mut self, at: Time, session: Option<SessionId>, what: EventKind) {
        if self.is_watched() {
            self.events.push_back(Box::new(Event { at, session, what }));
        }
    }

    pub(crate) fn poll(&mut self) -> Option<Output<'_>> {
        while let Some(Queued::Kept(_)) = self.steps.get(self.polled) {
            self.polled += 1;
        }
        let Some(step) = self.steps.get(self.polled) else {
            return self.events.pop_front().map(Output::Event);
        };
        self.polled += 1;
        Some(match step {
            Queued::Open(upstream, port) => Output::OpenUpstream {
                upstream: *upstream,
                port: *port,
            },
            Queued::Listen(listener, port) => Output::OpenListener {
                listener: *listener,
                port: *port,
            },
            Queued::Close(upstream) => Output::CloseUpstream(*upstream),
            Queued::Kept(_) => return None,
            Queued::Send(to, buffer) | Queued::Late(to, buffer) => {
                let bytes = self.buffers.get(*buffer).map_or(&[][..], Vec::as_slice);
                match *to {
                    Destination::Client(ClientAddr { addr, listener }) => Output::ToClient {
                        listener,
                        addr,
                        bytes,
                    },
                    Destination::Server(upstream) => Output::ToServer { upstream, bytes },
                }
            }
        })
    }
}
