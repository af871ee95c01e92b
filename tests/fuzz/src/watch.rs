//! A wrapper around the session core that checks its guarantees after every input.
//!
//! These hold whatever peers, strangers, rules and commands do:
//!
//! * The core sends only on open sockets. No datagram is empty or longer than receivers read (1400 bytes).
//! * An unproven address is sent no more bytes than the current input contained: the bytes of its own datagram, or those
//!   of a server's datagram and a header. It is sent nothing if only time passed.
//! * An address with a session of 0.6 that never sent 0.7 is sent nothing that looks like 0.7, because DDNet 16.4's
//!   client would crash.
//! * Listen sockets are requested only because of a server's datagram, and at most 8 are open beside the first.
//! * The numbers of sessions that were never online and of relays of the server browser are limited, and there are no
//!   more sockets than sessions and relays.
//! * The states of a session are reported in order (opening, online, closing, closed), and no event follows the last.
//! * The next deadline is in the future, and one input causes a bounded number of datagrams and events.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};

use teetap_kit::hostile::looks_seven;
use teetap_proxy::session::{
    ClientAddr, Config, Event, EventKind, Events, Hub, Input, ListenerId, Output, Route, SessionChange,
    SessionId, State, Time, UpstreamId,
};
use teetap_wire::{Dir, MAX_DATAGRAM, Proto, def::Registry};

/// Maximum sessions that were never online: 256 of clients that have shown a token, 256 of clients without tokens that
/// connected during a flood, and 256 others.
pub const MAX_OPENING: usize = 3 * 256;
/// Maximum relays of the server browser.
pub const MAX_RELAYS: usize = 64;
/// Maximum listen sockets beside the first.
pub const MAX_LISTENERS: usize = 8;
/// Maximum datagrams and events per input and session. A session holds up to 400 unacked and 300 queued messages, and
/// rules may add more.
const MAX_OUTPUTS: usize = 4_000;
/// Maximum bytes that the core adds to a server's datagram for a client: a token, the end of a reason and an ACCEPT.
const HEADERS: usize = 24;

/// A datagram that the core sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// To a client, from a listen socket.
    Client(ClientAddr, Vec<u8>),
    /// To the server, on a socket.
    Server(UpstreamId, Vec<u8>),
}

/// A socket that the core requested.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    Upstream(UpstreamId),
    Listener(ListenerId),
}

/// The reported state of a session.
#[derive(Clone, Copy, Debug)]
struct Known {
    state: State,
    was_online: bool,
}

/// A hub, and the state known from its outputs.
#[derive(Debug)]
pub struct Watch {
    hub: Hub,
    /// Time of the last input in microseconds.
    pub now: u64,
    /// Open sockets.
    pub sockets: BTreeSet<UpstreamId>,
    /// Events of the last input.
    pub events: Vec<Event>,
    last_upstream: UpstreamId,
    /// Sockets that could not be opened, and may be requested again.
    failed: BTreeSet<UpstreamId>,
    /// Listen sockets that are open, in order.
    pub listeners: Vec<ListenerId>,
    last_listener: ListenerId,
    /// Length of the server's last datagram, which may have caused the last listen socket to be requested.
    request_len: usize,
    /// Sessions that were reported and are not closed yet.
    sessions: BTreeMap<SessionId, Known>,
    closed: BTreeSet<SessionId>,
    /// Addresses that had a session online, or sent a datagram that was forwarded to the server.
    proven: BTreeSet<SocketAddr>,
    /// Addresses with a session of 0.6 that went online.
    six: BTreeMap<SocketAddr, SessionId>,
    /// Addresses that have sent a datagram that looks like 0.7.
    seven: BTreeSet<SocketAddr>,
}

/// Returns the local address of an upstream socket.
pub fn local(upstream: UpstreamId) -> SocketAddr {
    let port = u16::try_from(20_000 + upstream.0 % 40_000).unwrap_or(0);
    SocketAddr::from((Ipv4Addr::new(10, 9, 0, 1), port))
}

/// Returns the address of a listen socket.
pub fn listen(listener: ListenerId) -> SocketAddr {
    let port = u16::try_from(9_000 + listener.0 % 10_000).unwrap_or(0);
    SocketAddr::from((Ipv4Addr::new(10, 9, 0, 2), port))
}

impl Default for Watch {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Watch {
    /// Creates an empty hub that accepts one protocol; all protocols if `None`.
    pub fn new(proto: Option<Proto>) -> Self {
        let config = Config {
            seed: 0,
            secret: *b"no secret at all",
            proto,
            patience: None,
            heals: false,
            events: Events::All,
            registry: Registry::builtin(),
        };
        let route = Route {
            listen: listen(ListenerId::FIRST),
            server: SocketAddr::from(([10, 8, 0, 1], 8303)),
        };
        Self {
            hub: Hub::new(config, route),
            now: 0,
            sockets: BTreeSet::new(),
            events: Vec::new(),
            last_upstream: UpstreamId(0),
            failed: BTreeSet::new(),
            listeners: vec![ListenerId::FIRST],
            last_listener: ListenerId::FIRST,
            request_len: 0,
            sessions: BTreeMap::new(),
            closed: BTreeSet::new(),
            proven: BTreeSet::new(),
            six: BTreeMap::new(),
            seven: BTreeSet::new(),
        }
    }

    /// Returns the hub for queries.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Iterates over the sessions that are online.
    pub fn online(&self) -> impl Iterator<Item = SessionId> {
        let online = |known: &Known| known.state == State::Online;
        self.sessions
            .iter()
            .filter(move |(_, known)| online(known))
            .map(|(id, _)| *id)
    }

    /// Passes an input to the hub and checks its effects. Requested sockets are opened immediately, except for every
    /// third listen socket, which fails to open.
    pub fn input(&mut self, at: u64, input: Input<'_>) -> Vec<Sent> {
        let mut wanted = VecDeque::new();
        let mut sent = self.one(at, input, &mut wanted);
        while let Some(next) = wanted.pop_front() {
            let input = match next {
                Wanted::Upstream(upstream) => Input::UpstreamOpened {
                    upstream,
                    local: local(upstream),
                },
                Wanted::Listener(listener) if listener.0 % 3 == 0 => Input::ListenerFailed {
                    listener,
                    error: "no port",
                },
                Wanted::Listener(listener) => {
                    self.listeners.push(listener);
                    Input::ListenerOpened {
                        listener,
                        local: listen(listener),
                    }
                }
            };
            sent.extend(self.one(at, input, &mut wanted));
        }
        assert!(self.listeners.len() <= 1 + MAX_LISTENERS, "{:?}", self.listeners);
        sent
    }

    /// Returns an open listen socket selected by `number`, which may exceed their count.
    pub fn some_listener(&self, number: usize) -> ListenerId {
        let count = self.listeners.len();
        self.listeners.get(number % count).copied().unwrap_or_default()
    }

    fn one(&mut self, at: u64, input: Input<'_>, opened: &mut VecDeque<Wanted>) -> Vec<Sent> {
        self.now = self.now.max(at);
        if let Input::UpstreamFailed { upstream, .. } = &input {
            self.failed.insert(*upstream);
        }
        let may_ask = match &input {
            Input::FromServer { bytes, .. } => {
                self.request_len = bytes.len();
                true
            }
            Input::ListenerOpened { .. } | Input::ListenerFailed { .. } => true,
            _ => false,
        };
        let before = self.last_listener;
        let allowed = self.allowed(&input);
        let six = self.six.clone();
        self.hub.handle(Time(at), input);
        let (sent, events, closed) = self.drain(opened);
        assert!(
            may_ask || before == self.last_listener,
            "a listen socket for no client"
        );
        for upstream in closed {
            self.sockets.remove(&upstream);
        }
        events.iter().for_each(|event| self.follow(event));
        // A client that goes online with this input has proved its address.
        self.check_clients(&sent, &six, allowed);
        self.events = events;
        let most = MAX_OUTPUTS * (1 + self.sessions.len());
        assert!(sent.len() + self.events.len() <= most, "too much of one input");
        self.check_numbers();
        sent
    }

    /// Returns the only unproven address that may be sent data because of this input (any if `None`), and the maximum
    /// number of bytes. Returns `None` if there is no limit.
    fn allowed(&mut self, input: &Input<'_>) -> Option<(Option<SocketAddr>, usize)> {
        match input {
            Input::FromClient { addr, bytes, .. } => {
                if looks_seven(bytes) {
                    self.seven.insert(*addr);
                }
                Some((Some(*addr), bytes.len()))
            }
            Input::FromServer { bytes, .. } => Some((None, bytes.len() + HEADERS)),
            Input::ListenerOpened { .. } | Input::ListenerFailed { .. } => {
                Some((None, self.request_len + HEADERS))
            }
            // A user's reason may have any length.
            Input::Command { .. } | Input::Shutdown { .. } => None,
            _ => Some((None, 0)),
        }
    }

    fn drain(&mut self, opened: &mut VecDeque<Wanted>) -> (Vec<Sent>, Vec<Event>, Vec<UpstreamId>) {
        let (mut sent, mut events, mut closed) = (Vec::new(), Vec::new(), Vec::new());
        while let Some(output) = self.hub.poll() {
            assert!(
                events.is_empty() || matches!(output, Output::Event(_)),
                "sent after it ended"
            );
            match output {
                Output::OpenListener { listener, .. } => {
                    assert!(listener > self.last_listener, "{listener:?} is used twice");
                    self.last_listener = listener;
                    opened.push_back(Wanted::Listener(listener));
                }
                Output::OpenUpstream { upstream, .. } => {
                    assert!(
                        upstream > self.last_upstream || self.failed.remove(&upstream),
                        "{upstream:?} is used twice"
                    );
                    self.last_upstream = self.last_upstream.max(upstream);
                    self.sockets.insert(upstream);
                    opened.push_back(Wanted::Upstream(upstream));
                }
                Output::CloseUpstream(upstream) => {
                    assert!(self.sockets.contains(&upstream), "{upstream:?} is closed twice");
                    closed.push(upstream);
                }
                Output::ToClient {
                    listener,
                    addr,
                    bytes,
                } => {
                    assert!(self.listeners.contains(&listener), "{listener:?} is not open");
                    sent.push(Sent::Client(ClientAddr { addr, listener }, bytes.to_vec()));
                }
                Output::ToServer { upstream, bytes } => {
                    let open = self.sockets.contains(&upstream) && !closed.contains(&upstream);
                    assert!(open, "{upstream:?} is not open");
                    sent.push(Sent::Server(upstream, bytes.to_vec()));
                }
                Output::Event(event) => events.push(*event),
            }
        }
        for one in &sent {
            let (Sent::Client(_, bytes) | Sent::Server(_, bytes)) = one;
            let len = bytes.len();
            assert!((1..=MAX_DATAGRAM).contains(&len), "{len} bytes: {one:?}");
        }
        (sent, events, closed)
    }

    /// Checks that no client is sent a datagram that would crash it, and that unproven addresses are sent no more than
    /// `allowed`.
    fn check_clients(
        &self,
        sent: &[Sent],
        six: &BTreeMap<SocketAddr, SessionId>,
        allowed: Option<(Option<SocketAddr>, usize)>,
    ) {
        let mut total = 0;
        for one in sent {
            let Sent::Client(ClientAddr { addr, .. }, bytes) = one else {
                continue;
            };
            let is_six = six.contains_key(addr) && !self.seven.contains(addr);
            assert!(
                !is_six || !looks_seven(bytes),
                "0.7 to a client of 0.6 at {addr}: {bytes:02x?}"
            );
            let Some((to, most)) = allowed.filter(|_| !self.proven.contains(addr)) else {
                continue;
            };
            total += bytes.len();
            assert!(
                to.is_none_or(|to| to == *addr),
                "{addr} is sent what another requested"
            );
            assert!(
                total <= most,
                "{total} bytes to strangers, {most} came: {bytes:02x?}"
            );
        }
    }

    fn follow(&mut self, event: &Event) {
        let Some(id) = event.session else { return };
        if matches!(event.what, EventKind::Answer(_)) {
            // A command may name a closed session; its answer reports that.
            return;
        }
        assert!(!self.closed.contains(&id), "{id:?} is closed: {event:?}");
        let known = self.sessions.get(&id).copied();
        if let EventKind::Datagram(datagram) = &event.what
            && datagram.dir == Dir::C2s
            && datagram.leg.is_none()
            && let Some(client) = datagram.ends.client
        {
            // The datagram was forwarded to the server, so that it came from the client and had its token.
            self.proven.insert(client);
        }
        if let EventKind::Session(change) = &event.what {
            self.changed(id, known, change);
        }
    }

    fn changed(&mut self, id: SessionId, known: Option<Known>, change: &SessionChange) {
        let fits = match (known.map(|known| known.state), change.state) {
            (None, State::Opening)
            | (Some(State::Opening), State::Online | State::Closing | State::Closed)
            | (Some(State::Online), State::Closing | State::Closed)
            | (Some(State::Closing), State::Closed) => true,
            // A candidate that is closing is first reported when it replaces the old session.
            (None | Some(State::Closing), _) => change.state != State::Online,
            _ => false,
        };
        assert!(fits, "{id:?} from {known:?} to {change:?}");
        let was_online = known.is_some_and(|known| known.was_online) || change.state == State::Online;
        if change.state == State::Closed {
            self.sessions.remove(&id);
            self.closed.insert(id);
        } else {
            let state = change.state;
            self.sessions.insert(id, Known { state, was_online });
        }
        if change.state == State::Online {
            self.proven.insert(change.client);
            if change.proto == Proto::V7 {
                self.six.remove(&change.client);
            } else {
                self.six.insert(change.client, id);
            }
        } else if self.six.get(&change.client) == Some(&id) {
            self.six.remove(&change.client);
        }
    }

    fn check_numbers(&self) {
        let online = self.sessions.values().filter(|known| known.was_online).count();
        let sessions = self.hub.sessions();
        assert!(
            sessions <= MAX_OPENING + online,
            "{sessions} sessions, {online} of them online"
        );
        let sockets = self.sockets.len();
        assert!(
            sockets <= MAX_RELAYS + sessions,
            "{sockets} sockets, {sessions} sessions"
        );
        if let Some(deadline) = self.hub.deadline() {
            assert!(deadline.0 > self.now, "a deadline that has passed");
        }
    }
}
