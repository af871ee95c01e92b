//! The sans-IO session core.
//!
//! # How it is driven
//!
//! ```text
//! hub.handle(time, input)                  once for everything that happened
//! while let Some(output) = hub.poll() {}   until None: transmits first, then events
//! hub.deadline()                           when to call handle(time, Input::Timeout) next
//! ```
//!
//! # Its law
//!
//! Time, the secret that tokens are made of, rules and commands are inputs. Nothing here reads a clock, draws
//! randomness, touches a socket or depends on the order of a hash map, so the same inputs give the same outputs.
//! Bytes of peers never become an `Err` and never panic: oddities become notes on events.

mod compose;
mod datagram;
mod event;
mod handshake;
mod hub;
mod leg;
mod link;
mod listeners;
mod mint;
mod outbox;
mod resync;
mod rewrites;
mod splice;
mod time;

use std::{fmt, net::SocketAddr, time::Duration};

use teetap_rules::{Decide, Made};
use teetap_wire::{Proto, Side};

pub use datagram::{Datagram, readable};
pub use event::{Action, Connless, Ends, Event, Level, Origin, Placed, Remark, SessionChange, State, What};
pub use hub::{Hub, Stats, Traffic};
pub use time::Time;

/// Number of a session, from 1, in order of their first datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u32);

/// Number of an upstream socket, from 1; never used twice in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UpstreamId(pub u32);

/// Number of a listen socket: 0 = the one of the start, from 1 those that redirects asked for; never used twice in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListenerId(pub u32);

impl ListenerId {
    /// The one of the start.
    pub const FIRST: Self = Self(0);
}

/// Where a client is, and which listen socket it talks to: the same address may play behind several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientAddr {
    /// Its own address.
    pub addr: SocketAddr,
    /// The listen socket.
    pub listener: ListenerId,
}

impl From<SocketAddr> for ClientAddr {
    /// A client of the first listen socket.
    fn from(addr: SocketAddr) -> Self {
        Self {
            addr,
            listener: ListenerId::FIRST,
        }
    }
}

/// Between which addresses a [`Hub`] stands at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Where clients come in: the address of the first listen socket.
    pub listen: SocketAddr,
    /// The server behind it. A redirect changes the port alone.
    pub server: SocketAddr,
}

/// What a [`Hub`] is made of.
#[derive(Clone, Debug)]
pub struct Config {
    /// What all tokens of our own are derived from; from the operating system in a live run, never shown.
    pub secret: [u8; 16],
    /// The one protocol that clients may ask for; `None` = all.
    pub proto: Option<Proto>,
    /// How long a receiver may leave a message unacked that the proxy answers for; `None` = as long as the peers'
    /// own kind does, 10 s, DDNet 100 s.
    pub patience: Option<Duration>,
    /// Which events are made: making one costs an allocation on the data path.
    pub events: Events,
}

/// Which events are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Events {
    /// None: nobody watches.
    Nothing,
    /// States of sessions, remarks, and of the traffic only what is odd about it.
    Odd,
    /// All.
    All,
}

impl fmt::Display for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nothing",
            Self::Odd => "odd",
            Self::All => "all",
        })
    }
}

/// Something that happened.
pub enum Input<'a> {
    /// A datagram on a listen socket.
    FromClient {
        /// The listen socket.
        listener: ListenerId,
        /// Who sent it.
        addr: SocketAddr,
        /// Its bytes.
        bytes: &'a [u8],
    },
    /// A datagram on an upstream socket (which is connected, so it is the server's).
    FromServer {
        /// The socket.
        upstream: UpstreamId,
        /// Its bytes.
        bytes: &'a [u8],
    },
    /// The socket asked for with [`Output::OpenUpstream`] is open.
    UpstreamOpened {
        /// The socket.
        upstream: UpstreamId,
        /// Its own address.
        local: SocketAddr,
    },
    /// The socket could not be opened.
    UpstreamFailed {
        /// The socket.
        upstream: UpstreamId,
        /// What the operating system said.
        error: &'a str,
    },
    /// The socket asked for with [`Output::OpenListener`] is open.
    ListenerOpened {
        /// The socket.
        listener: ListenerId,
        /// Its own address.
        local: SocketAddr,
    },
    /// The socket could not be opened.
    ListenerFailed {
        /// The socket.
        listener: ListenerId,
        /// What the operating system said.
        error: &'a str,
    },
    /// The network reported an error on an upstream socket (ICMP port unreachable and the like).
    Unreachable {
        /// The socket.
        upstream: UpstreamId,
        /// What the operating system said.
        error: &'a str,
    },
    /// Time has passed.
    Timeout,
    /// New rules; `None` = none.
    Program(Option<Box<dyn Decide>>),
    /// A person, or the end of the program, wants something.
    Command(Command),
}

/// What a person can ask for.
#[derive(Clone, Debug)]
pub enum Command {
    /// Send one more message.
    Inject {
        /// In which session.
        session: SessionId,
        /// What.
        message: Made,
    },
    /// Let go what rules hold under this key.
    Release {
        /// In which session.
        session: SessionId,
        /// The key that [`teetap_rules::Fate::Hold`] named.
        key: u64,
    },
    /// Have the server send a complete snapshot, for watchers that do not know the one that later ones differ from.
    Resync {
        /// In which session.
        session: SessionId,
    },
    /// The end of the run: every session is closed on both legs and gone at once.
    Shutdown {
        /// The reason that the peers show; empty = none.
        reason: Box<[u8]>,
    },
    /// Close one or both legs with a reason.
    Close {
        /// Which session; `None` = all.
        session: Option<SessionId>,
        /// Which leg is sent the CLOSE; `None` = both.
        side: Option<Side>,
        /// The reason that the peers show; empty = none.
        reason: Box<[u8]>,
    },
}

/// What the driver has to do.
#[derive(Debug)]
pub enum Output<'a> {
    /// Open a fresh socket, connected to a server; answer with `UpstreamOpened` or `UpstreamFailed`.
    /// Datagrams for it may follow in the same drain.
    OpenUpstream {
        /// The socket.
        upstream: UpstreamId,
        /// The server's port, on the host of [`Route::server`].
        port: u16,
    },
    /// Open one more listen socket, at the IP address of the first and any free port; answer with `ListenerOpened` or
    /// `ListenerFailed`. It stays open to the end.
    OpenListener {
        /// The socket.
        listener: ListenerId,
        /// The port of the server that is to be behind it, on the host of [`Route::server`].
        port: u16,
    },
    /// Send from a listen socket.
    ToClient {
        /// The listen socket.
        listener: ListenerId,
        /// To whom.
        addr: SocketAddr,
        /// What.
        bytes: &'a [u8],
    },
    /// Send from an upstream socket.
    ToServer {
        /// From which socket.
        upstream: UpstreamId,
        /// What.
        bytes: &'a [u8],
    },
    /// Close a socket. What was to be sent on it has come before.
    CloseUpstream(UpstreamId),
    /// Tell the watchers.
    Event(Event),
}
