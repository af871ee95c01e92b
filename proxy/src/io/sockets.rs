//! The sockets of the data thread: what the core wants sent, opened or closed is done here.
//!
//! Law: nothing here calls the core. What a socket has to say back (it is open, the network failed) waits as
//! [`News`] until the driver hands it in.

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    net::SocketAddr,
    rc::Rc,
};

use tokio::{net::UdpSocket, task::AbortHandle};

use super::{
    driver::Counters,
    outbox::{Outbox, Sent},
    udp,
};
use crate::session::{Event, Output, UpstreamId};

/// Which socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The one that clients send to.
    Listen,
    /// One towards the server.
    Upstream(UpstreamId),
}

/// What a socket has to say.
#[derive(Debug)]
pub(super) enum News {
    /// Open, at this address of our own.
    Opened(UpstreamId, SocketAddr),
    /// Not open.
    Failed(UpstreamId, io::Error),
    /// The network reported an error.
    Unreachable(UpstreamId, io::Error),
}

/// A socket with its queue.
#[derive(Debug)]
struct Line {
    socket: Rc<UdpSocket>,
    outbox: Outbox,
    /// The tasks that read it and wait for it to be writable; they end with it.
    tasks: Vec<AbortHandle>,
}

/// All sockets.
#[derive(Debug)]
pub(super) struct Sockets {
    target: SocketAddr,
    listen: Line,
    listen_ipv6: bool,
    upstreams: BTreeMap<UpstreamId, Line>,
    /// What the driver hands to the core.
    pub(super) news: VecDeque<News>,
    /// Sockets that were opened and have no reading task yet.
    pub(super) fresh: Vec<UpstreamId>,
    /// Sockets whose queue has begun to fill and that have no flushing task yet.
    pub(super) filling: Vec<Which>,
    /// Whether a socket was closed whose task has not been dropped yet: until then it is not closed for the kernel.
    pub(super) closing: bool,
    /// What was counted.
    pub(super) counters: Counters,
}

impl Sockets {
    /// With the socket that clients send to, and the address of the server.
    pub(super) fn new(listen: UdpSocket, target: SocketAddr) -> Self {
        Self {
            target,
            listen_ipv6: listen.local_addr().is_ok_and(|addr| addr.is_ipv6()),
            listen: Line::new(listen),
            upstreams: BTreeMap::new(),
            news: VecDeque::new(),
            fresh: Vec::new(),
            filling: Vec::new(),
            closing: false,
            counters: Counters::default(),
        }
    }

    /// The socket itself, for its tasks; `None` when it is closed.
    pub(super) fn socket(&self, which: Which) -> Option<Rc<UdpSocket>> {
        match which {
            Which::Listen => Some(Rc::clone(&self.listen.socket)),
            Which::Upstream(id) => self.upstreams.get(&id).map(|line| Rc::clone(&line.socket)),
        }
    }

    /// Whether a socket is open.
    pub(super) fn is_open(&self, which: Which) -> bool {
        match which {
            Which::Listen => true,
            Which::Upstream(id) => self.upstreams.contains_key(&id),
        }
    }

    /// The task ends when the socket is closed.
    pub(super) fn adopt(&mut self, which: Which, task: AbortHandle) {
        if let Some(line) = self.line(which) {
            line.tasks.retain(|task| !task.is_finished());
            line.tasks.push(task);
        }
    }

    /// Does what the core wants. Events are put aside: the watchers come last.
    pub(super) fn carry_out(&mut self, output: Output<'_>, events: &mut Vec<Event>) {
        match output {
            Output::ToServer { upstream, bytes } => self.send_to_server(upstream, bytes),
            Output::ToClient { addr, bytes } => self.send_to_client(addr, bytes),
            Output::Event(event) => events.push(event),
            Output::OpenUpstream(id) => self.open(id),
            Output::CloseUpstream(id) => self.close(id),
        }
    }

    /// Sends what waits on a socket that has become writable; whether nothing waits any more.
    pub(super) fn flush(&mut self, which: Which) -> bool {
        let Some(line) = self.line(which) else { return true };
        let refused = line.outbox.flush(&line.socket);
        let empty = line.outbox.is_empty();
        self.counters.unsent += refused;
        empty
    }

    /// Whether nothing waits anywhere.
    pub(super) fn is_idle(&self) -> bool {
        self.listen.outbox.is_empty() && self.upstreams.values().all(|line| line.outbox.is_empty())
    }

    fn send_to_server(&mut self, upstream: UpstreamId, bytes: &[u8]) {
        let Some(line) = self.upstreams.get_mut(&upstream) else {
            // It could not be opened, which the core learns from the news.
            self.counters.unsent += 1;
            return;
        };
        match line.outbox.send(&line.socket, None, bytes) {
            Sent::Now(None) | Sent::Behind => {}
            Sent::Now(Some(error)) => {
                self.counters.errors += 1;
                self.news.push_back(News::Unreachable(upstream, error));
            }
            Sent::First => self.filling.push(Which::Upstream(upstream)),
            Sent::Dropped => self.counters.unsent += 1,
            Sent::Failed(error) => {
                self.counters.unsent += 1;
                self.counters.errors += 1;
                self.news.push_back(News::Unreachable(upstream, error));
            }
        }
    }

    fn send_to_client(&mut self, addr: SocketAddr, bytes: &[u8]) {
        let addr = udp::native(addr, self.listen_ipv6);
        match self.listen.outbox.send(&self.listen.socket, Some(addr), bytes) {
            Sent::Now(_) | Sent::Behind => {}
            Sent::First => self.filling.push(Which::Listen),
            Sent::Dropped | Sent::Failed(_) => self.counters.unsent += 1,
        }
    }

    fn open(&mut self, id: UpstreamId) {
        let opened = udp::connect(self.target).and_then(UdpSocket::from_std);
        match opened.and_then(|socket| Ok((socket.local_addr()?, socket))) {
            Ok((local, socket)) => {
                self.upstreams.insert(id, Line::new(socket));
                self.fresh.push(id);
                self.news.push_back(News::Opened(id, local));
            }
            Err(error) => self.news.push_back(News::Failed(id, error)),
        }
    }

    /// Dropping the line ends its tasks and closes the socket.
    fn close(&mut self, id: UpstreamId) {
        if let Some(mut line) = self.upstreams.remove(&id) {
            self.closing = true;
            // What waits has come before the close: the last chance to send it.
            self.counters.unsent += line.outbox.flush(&line.socket);
            self.counters.unsent += u64::try_from(line.outbox.len()).unwrap_or(u64::MAX);
        }
    }

    fn line(&mut self, which: Which) -> Option<&mut Line> {
        match which {
            Which::Listen => Some(&mut self.listen),
            Which::Upstream(id) => self.upstreams.get_mut(&id),
        }
    }
}

impl Line {
    fn new(socket: UdpSocket) -> Self {
        Self {
            socket: Rc::new(socket),
            outbox: Outbox::default(),
            tasks: Vec::new(),
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}
