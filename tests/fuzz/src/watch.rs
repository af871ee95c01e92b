//! The session core under watch: every input is followed by a check of what it must not have done.
//!
//! Whatever peers, strangers, rules and commands do:
//!
//! * it sends on sockets that are open only, nothing empty, nothing that a receiver would cut off (1400 bytes);
//! * an address that has not proved itself is sent no more than came in with that one input: the bytes of its own
//!   datagram, or those of a server's and a header more; nothing when only time passed;
//! * an address with a session of 0.6 that never spoke 0.7 is sent nothing that looks like 0.7: DDNet 16.4's client would
//!   crash;
//! * listen sockets are requested when a server speaks only, and at most 8 stay;
//! * sessions that are not online are at most 256, relays of the server browser at most 64, sockets no more than both;
//! * the states of a session come in their order (opening, online, closing, closed), and nothing after the last;
//! * the next deadline lies ahead, and one input makes a bounded number of datagrams and events.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{Ipv4Addr, SocketAddr};

use teetap_kit::hostile::looks_seven;
use teetap_proxy::session::{
    ClientAddr, Config, Event, Events, Hub, Input, ListenerId, Output, Route, SessionChange, SessionId,
    State, Time, UpstreamId, What,
};
use teetap_wire::{Dir, MAX_DATAGRAM, Proto, def::Registry};

/// Sessions that are not online: as many of clients that have shown a token, of those that have only come, and of others.
pub const MAX_OPENING: usize = 3 * 256;
/// Relays of the server browser, at most.
pub const MAX_RELAYS: usize = 64;
/// Listen sockets beside the first, at most.
pub const MAX_LISTENERS: usize = 8;
/// Datagrams and events of one input, at most, for each session that there is (one holds up to 400 unacked messages and
/// 300 waiting ones, and rules make more).
const MAX_OUTPUTS: usize = 4_000;
/// The bytes that a token, the end of a reason and an ACCEPT add to a server's datagram on its way to a client.
const HEADERS: usize = 24;

/// Something that the core sent.
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

/// A session as far as it was reported.
#[derive(Clone, Copy, Debug)]
struct Known {
    state: State,
    was_online: bool,
}

/// A hub and what is known of it.
#[derive(Debug)]
pub struct Watch {
    hub: Hub,
    /// The time of the last input, microseconds.
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
    /// Bytes of the datagram that requested the last one.
    request_len: usize,
    /// Sessions that were reported and are not closed.
    sessions: BTreeMap<SessionId, Known>,
    closed: BTreeSet<SessionId>,
    /// Addresses that ever had a session online, or sent a datagram that crossed to the server.
    proven: BTreeSet<SocketAddr>,
    /// Addresses with a session online in 0.6.
    six: BTreeMap<SocketAddr, SessionId>,
    /// Addresses from which something came that looks like 0.7.
    seven: BTreeSet<SocketAddr>,
}

/// Our own address of an upstream socket.
pub fn local(upstream: UpstreamId) -> SocketAddr {
    let port = u16::try_from(20_000 + upstream.0 % 40_000).unwrap_or(0);
    SocketAddr::from((Ipv4Addr::new(10, 9, 0, 1), port))
}

/// The address of a listen socket.
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
    /// An empty hub that takes one protocol, or all.
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

    /// The hub itself, to ask.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// The sessions that are online.
    pub fn online(&self) -> impl Iterator<Item = SessionId> {
        let online = |known: &Known| known.state == State::Online;
        self.sessions
            .iter()
            .filter(move |(_, known)| online(known))
            .map(|(id, _)| *id)
    }

    /// Hands in an input and checks its effect. Sockets that it requested are opened at once; of the listen sockets
    /// every third cannot be.
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

    /// An open listen socket, by any number.
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
        // A client that comes online with this input has proved its address with it.
        self.check_clients(&sent, &six, allowed);
        self.events = events;
        let most = MAX_OUTPUTS * (1 + self.sessions.len());
        assert!(sent.len() + self.events.len() <= most, "too much of one input");
        self.check_numbers();
        sent
    }

    /// Checks what is sent to unproven addresses; an address of `None` stands for all.
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
            // A person's reason is as long as he likes.
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

    /// Nothing that crashes, and nothing to strangers that they did not bring themselves.
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
        if matches!(event.what, What::Answer(_)) {
            // A command may name a session that is closed; the answer says so.
            return;
        }
        assert!(!self.closed.contains(&id), "{id:?} is closed: {event:?}");
        let known = self.sessions.get(&id).copied();
        if let What::Datagram(datagram) = &event.what
            && datagram.dir == Dir::C2s
            && datagram.leg.is_none()
            && let Some(client) = datagram.ends.client
        {
            // It has crossed to the server: it was the client's, with its token.
            self.proven.insert(client);
        }
        if let What::Session(change) = &event.what {
            self.changed(id, known, change);
        }
    }

    fn changed(&mut self, id: SessionId, known: Option<Known>, change: &SessionChange) {
        let fits = match (known.map(|known| known.state), change.state) {
            (None, State::Opening)
            | (Some(State::Opening), State::Online | State::Closing | State::Closed)
            | (Some(State::Online), State::Closing | State::Closed)
            | (Some(State::Closing), State::Closed) => true,
            // A candidate that takes over after it has ended, or the moment before.
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
