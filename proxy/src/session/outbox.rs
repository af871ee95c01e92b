//! What the core wants done, in order, with all bytes of one drain in one reused buffer.

use std::{collections::VecDeque, net::SocketAddr, ops::Range};

use super::{Event, Output, SessionId, Time, UpstreamId, What};

/// Where a datagram goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    Client(SocketAddr),
    Server(UpstreamId),
}

#[derive(Debug)]
enum Step {
    Open(UpstreamId),
    Send(Destination, Range<usize>),
    Close(UpstreamId),
}

/// Collects outputs until they are polled: transmits first, then events.
#[derive(Debug)]
pub(crate) struct Outbox {
    bytes: Vec<u8>,
    steps: Vec<Step>,
    /// How many of `steps` have been polled.
    polled: usize,
    events: VecDeque<Event>,
    watched: bool,
}

impl Outbox {
    pub(crate) fn new(watched: bool) -> Self {
        Self {
            bytes: Vec::new(),
            steps: Vec::new(),
            polled: 0,
            events: VecDeque::new(),
            watched,
        }
    }

    /// Forgets what has been polled, so that the buffers do not grow from input to input.
    pub(crate) fn reset(&mut self) {
        if self.polled == self.steps.len() {
            self.bytes.clear();
            self.steps.clear();
            self.polled = 0;
        }
    }

    pub(crate) fn open(&mut self, upstream: UpstreamId) {
        self.steps.push(Step::Open(upstream));
    }

    pub(crate) fn close(&mut self, upstream: UpstreamId) {
        self.steps.push(Step::Close(upstream));
    }

    /// Sends what `write` appends to the buffer; nothing when it appends nothing.
    pub(crate) fn send(&mut self, to: Destination, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        write(&mut self.bytes);
        if self.bytes.len() > start {
            self.steps.push(Step::Send(to, start..self.bytes.len()));
        }
    }

    /// A mark for [`Self::sent_since`].
    pub(crate) fn mark(&self) -> usize {
        self.steps.len()
    }

    /// The datagrams sent since a mark, in order.
    pub(crate) fn sent_since(&self, mark: usize) -> impl Iterator<Item = &[u8]> + Clone {
        self.steps.iter().skip(mark).filter_map(|step| match step {
            Step::Send(_, range) => self.bytes.get(range.clone()),
            Step::Open(_) | Step::Close(_) => None,
        })
    }

    /// Whether events are wanted at all.
    pub(crate) fn is_watched(&self) -> bool {
        self.watched
    }

    pub(crate) fn event(&mut self, at: Time, session: Option<SessionId>, what: What) {
        if self.watched {
            self.events.push_back(Event { at, session, what });
        }
    }

    pub(crate) fn poll(&mut self) -> Option<Output<'_>> {
        let Some(step) = self.steps.get(self.polled) else {
            return self.events.pop_front().map(Output::Event);
        };
        self.polled += 1;
        Some(match step {
            Step::Open(upstream) => Output::OpenUpstream(*upstream),
            Step::Close(upstream) => Output::CloseUpstream(*upstream),
            Step::Send(to, range) => {
                let bytes = self.bytes.get(range.clone()).unwrap_or_default();
                match *to {
                    Destination::Client(addr) => Output::ToClient { addr, bytes },
                    Destination::Server(upstream) => Output::ToServer { upstream, bytes },
                }
            }
        })
    }
}
