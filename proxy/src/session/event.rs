//! What the core tells its watchers.
//!
//! An event owns right-sized bytes and says what was done; it is not decoded. Watchers decode what they show.

use std::{fmt, net::SocketAddr, time::Duration};

use teetap_rules::eval::SessionState;
use teetap_wire::{Dir, Proto, Side};

use super::{
    datagram::{Datagram, Ends},
    ids::SessionId,
    time::Time,
};

/// One thing that happened.
#[derive(Clone, Debug)]
pub struct Event {
    /// When.
    pub at: Time,
    /// In which session, when it belongs to one.
    pub session: Option<SessionId>,
    /// What.
    pub what: What,
}

impl Event {
    /// The addresses of its datagram, when it is about one.
    pub fn ends_mut(&mut self) -> Option<&mut Ends> {
        match &mut self.what {
            What::Datagram(datagram) => Some(&mut datagram.ends),
            What::Connless(connless) => Some(&mut connless.ends),
            What::Session(_) | What::Notice(_) => None,
        }
    }
}

/// The kinds of event.
#[derive(Clone, Debug)]
pub enum What {
    /// A session changed its state.
    Session(SessionChange),
    /// A datagram of a session arrived, left, or both.
    Datagram(Datagram),
    /// A connless datagram (server browser, master server) passed.
    Connless(Connless),
    /// Something worth telling that is no traffic.
    Notice(Notice),
}

/// State of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The client knocked; the server has not let it in yet.
    Opening,
    /// Both legs carry messages.
    Online,
    /// One side has closed; late datagrams are swallowed.
    Closing,
    /// Gone.
    Closed,
}

impl From<State> for SessionState {
    fn from(state: State) -> Self {
        match state {
            State::Opening => Self::Opening,
            State::Online => Self::Online,
            State::Closing => Self::Closing,
            State::Closed => Self::Closed,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Opening => "opening",
            Self::Online => "online",
            Self::Closing => "closing",
            Self::Closed => "closed",
        })
    }
}

/// A change of state.
#[derive(Clone, Debug)]
pub struct SessionChange {
    /// The new state.
    pub state: State,
    /// Protocol of the legs, as far as the server has decided it; before that, what the client asked for.
    pub proto: Proto,
    /// The client's address.
    pub client: SocketAddr,
    /// The server, where a redirect has led the client to another one than that of the start.
    pub server: Option<SocketAddr>,
    /// Our own address towards the server, when the socket is open.
    pub upstream: Option<SocketAddr>,
    /// Who ended it, for `Closing` and `Closed`: a side, or nobody but the proxy.
    pub by: Option<Side>,
    /// The reason given, raw as it was on the wire or our own words.
    pub reason: Option<Box<[u8]>>,
}

/// A connless datagram that passed.
#[derive(Clone, Debug)]
pub struct Connless {
    /// Where it was going.
    pub dir: Dir,
    /// The asking client.
    pub client: SocketAddr,
    /// As received.
    pub bytes: Box<[u8]>,
    /// How many bytes behind these a recording lacks.
    pub cut: usize,
    /// Whether it went on.
    pub forwarded: bool,
    /// What left because of it at once; a request of 0.7 may wait for the server's token.
    pub sent: Option<Box<[u8]>>,
    /// Our socket towards the server.
    pub ends: Ends,
}

/// Something worth telling that is no traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The server has not answered for so long while a session opens.
    ServerSilent(Duration),
    /// The server's host says that nothing listens there, or the network fails.
    Unreachable(Box<str>),
    /// No upstream socket could be opened.
    NoSocket(Box<str>),
    /// A datagram from an address without a session that starts none.
    Stray(SocketAddr, Box<[u8]>),
    /// A client asked for a protocol that `--proto` refuses.
    Refused(SocketAddr, Proto),
    /// A CONNECT or TOKEN on a living session that waits beside it until it proves itself.
    Candidate,
    /// The client restarted on its port; the candidate took the session's place.
    Restart,
    /// The join of a legacy or anti-spoof handshake: nothing is touched until it is over.
    LegacyJoin,
    /// The lone ACCEPT of a DDNet client was sent to the server once more.
    AcceptRepeated,
    /// A direction is renumbered from now on.
    Armed(Dir),
    /// The hold queue of a direction is full; its sender's own clock runs.
    HoldFull(Dir),
    /// A message could not be injected.
    InjectRefused(&'static str),
    /// The server is asked for a complete snapshot: acks in the client's inputs are taken away.
    Resync,
    /// It sent one.
    Resynced,
    /// It did not, or cannot be asked.
    ResyncRefused(&'static str),
    /// CLOSE within a second of CONNECT: 0.6.4 and 0.7 servers ban the address for it.
    EarlyClose,
    /// Too many half-open sessions: the oldest gave way.
    HalfOpenLimit,
    /// A peer of 0.7 changed its token.
    NewToken(Side),
    /// A session of a recording whose handshake is not in it.
    Guessed {
        /// What it seems to speak.
        proto: Proto,
        /// Its client.
        client: SocketAddr,
        /// Its server.
        server: SocketAddr,
        /// Whether messages tell which is which.
        are_sides_clear: bool,
    },
    /// A datagram of a recording that is none of this protocol, the first between these two.
    Foreign {
        /// Its sender.
        from: SocketAddr,
        /// Its receiver.
        to: SocketAddr,
        /// Its bytes.
        len: usize,
    },
    /// What a recording of our own says.
    Recorded(Level, Box<str>),
    /// A redirect asked for a listen socket, and it is open.
    Behind {
        /// The server that the redirect named.
        server: SocketAddr,
        /// Our listen socket in front of it.
        listen: SocketAddr,
    },
    /// A redirect goes to the client with the port of a listen socket of ours.
    Redirected {
        /// As the server named it.
        port: u16,
        /// As the client is told.
        listen: u16,
    },
    /// A redirect goes to the client as it is: what connects to that port is not seen here any more.
    RedirectPasses {
        /// As the server named it.
        port: u16,
        /// Why there is no listen socket of ours.
        why: Box<str>,
    },
}

/// How loud a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For those who look closely.
    Info,
    /// Something is probably wrong.
    Warning,
}

impl Notice {
    /// How loud it is.
    #[must_use]
    pub fn level(&self) -> Level {
        match self {
            Self::Recorded(level, _) => *level,
            Self::Candidate
            | Self::Restart
            | Self::LegacyJoin
            | Self::Armed(_)
            | Self::Resync
            | Self::Resynced
            | Self::NewToken(_)
            | Self::Guessed { .. }
            | Self::Foreign { .. }
            | Self::Behind { .. }
            | Self::Redirected { .. }
            | Self::Stray(..) => Level::Info,
            _ => Level::Warning,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ServerSilent(time) => write!(f, "the server has not answered for {} s", time.as_secs()),
            Self::Unreachable(error) => write!(f, "the server is unreachable: {error}"),
            Self::NoSocket(error) => write!(f, "no socket towards the server: {error}"),
            Self::Stray(address, bytes) => write!(
                f,
                "{address} sent {} bytes that belong to no session and start none (a session from before the proxy started?)",
                bytes.len()
            ),
            Self::Refused(address, proto) => write!(f, "{address} asked for {proto}, which --proto refuses"),
            Self::Candidate => {
                f.write_str("CONNECT on a living session: kept beside it until it proves itself")
            }
            Self::Restart => f.write_str("the client restarted on the same port: its new session takes over"),
            Self::LegacyJoin => f.write_str(
                "tokenless join: nothing is renumbered or injected until the server acks the client",
            ),
            Self::AcceptRepeated => f.write_str("nothing came back from the server: ACCEPT sent once more"),
            Self::Armed(dir) => write!(f, "{dir} is renumbered from now on"),
            Self::HoldFull(dir) => write!(
                f,
                "the hold queue of {dir} is full: messages are refused, their sender's clock runs"
            ),
            Self::InjectRefused(why) => write!(f, "not injected: {why}"),
            Self::Resync => f.write_str(
                "resync: inputs tell the server that the client has no snapshot, until it sends a complete one",
            ),
            Self::Resynced => f.write_str("resync: the server sent a complete snapshot"),
            Self::ResyncRefused(why) => write!(f, "no complete snapshot: {why}"),
            Self::EarlyClose => f.write_str(
                "CLOSE within 1 s of CONNECT: 0.6.4 and 0.7 servers ban the address for that (not localhost)",
            ),
            Self::HalfOpenLimit => f.write_str("too many half-open sessions: the oldest gave way"),
            Self::NewToken(side) => write!(f, "the {side} changed its token"),
            Self::Guessed {
                proto,
                client,
                server,
                are_sides_clear,
            } => {
                write!(
                    f,
                    "no handshake was recorded: taken for {proto}, client {client}, server {server}, by the look of its datagrams"
                )?;
                if *are_sides_clear {
                    return Ok(());
                }
                f.write_str("; which one is the server is a guess")
            }
            Self::Foreign { from, to, len } => write!(
                f,
                "{from} sent {to} {len} bytes that are not understood; more of the kind between them is only counted"
            ),
            Self::Recorded(_, text) => f.write_str(text),
            Self::Behind { server, listen } => write!(f, "redirect: {server} is now behind {listen}"),
            Self::Redirected { port, listen } => {
                write!(
                    f,
                    "redirect to port {port}: the client is told port {listen}, where this proxy listens for it"
                )
            }
            Self::RedirectPasses { port, why } => {
                write!(
                    f,
                    "redirect to port {port} passes as it is, so the client may leave this proxy: {why}"
                )
            }
        }
    }
}
