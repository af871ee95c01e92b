//! The events that the core emits.
//!
//! An event owns the bytes of its datagram and records what the core did with them. Events are not decoded;
//! watchers decode the part that they display.

use std::{borrow::Cow, fmt, net::SocketAddr};

use teetap_rules::eval::SessionState;
use teetap_wire::{Dir, Proto, Side};

#[cfg(doc)]
use super::input::Command;
use super::{
    datagram::{Datagram, Ends, MadeAt, Placed, Transit},
    ids::SessionId,
    input::CommandId,
    notice::Notice,
    time::Time,
    waiting::HeldMessage,
};

/// An event that the core emits.
#[derive(Clone, Debug)]
pub struct Event {
    /// Time of the event.
    pub at: Time,
    /// The session that the event belongs to; `None` if it belongs to none.
    pub session: Option<SessionId>,
    /// Kind and contents.
    pub what: EventKind,
}

impl Event {
    /// Returns the addresses of the datagram in the event; `None` if the event is not about a datagram.
    pub fn ends_mut(&mut self) -> Option<&mut Ends> {
        match &mut self.what {
            EventKind::Datagram(datagram) => Some(&mut datagram.ends),
            EventKind::Connless(connless) => Some(&mut connless.ends),
            EventKind::Session(_) | EventKind::Notice(_) | EventKind::Answer(_) => None,
        }
    }
}

/// The kinds of event.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// A session changed its state.
    Session(SessionChange),
    /// A datagram of a session was received, sent, or both.
    Datagram(Datagram),
    /// A connless datagram (server browser, master server) was received.
    Connless(Connless),
    /// A report that is not about a single datagram.
    Notice(Notice),
    /// A command was carried out or refused.
    Answer(Answer),
}

/// The answer to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The command.
    pub id: CommandId,
    /// `Ok` if the command was carried out; otherwise the reason why it was refused.
    pub result: Result<(), Cow<'static, str>>,
    /// The held messages, for [`Command::List`]; `None` for other commands.
    pub held: Option<Box<[HeldMessage]>>,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, result, held: _ } = self;
        match result {
            Ok(()) => write!(f, "command {}: done", id.0),
            Err(why) => write!(f, "command {}: refused: {why}", id.0),
        }
    }
}

/// State of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// The client sent CONNECT; the server has not accepted it yet.
    Opening,
    /// Messages are forwarded in both directions.
    Online,
    /// The session has ended; late datagrams are still expected.
    Closing,
    /// The session is forgotten.
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

/// A change of a session's state.
#[derive(Clone, Debug)]
pub struct SessionChange {
    /// The new state.
    pub state: State,
    /// Protocol of the legs once the server has decided it; before that, the protocol that the client
    /// requested.
    pub proto: Proto,
    /// The client's address.
    pub client: SocketAddr,
    /// Address of the server if a redirect led the client to it; `None` for the server with which the run
    /// started.
    pub server: Option<SocketAddr>,
    /// Local address of the upstream socket; `None` until the socket is open.
    pub upstream: Option<SocketAddr>,
    /// The peer whose CLOSE ended the session, for `Closing`, and for `Closed` in a capture; otherwise
    /// `None`, also if the proxy ended the session.
    pub by: Option<Side>,
    /// The reason of the end: the bytes of the CLOSE as received, or the proxy's own words.
    pub reason: Option<Box<[u8]>>,
}

/// A connless datagram that was received.
#[derive(Clone, Debug)]
pub struct Connless {
    /// Direction of the datagram.
    pub dir: Dir,
    /// Address of the client.
    pub client: SocketAddr,
    /// The datagram as received, at most 1400 bytes.
    pub bytes: Box<[u8]>,
    /// Number of bytes after `bytes` that a recording lacks.
    pub cut: usize,
    /// True if the datagram was forwarded.
    pub forwarded: bool,
    /// The datagram that was sent immediately, before the effects of the link. `None` if it was not
    /// forwarded, or if it is a request of 0.7 that waits for the server's token.
    pub sent: Option<Box<[u8]>>,
    /// Effects of link lines on the sent datagram. Empty if it was sent immediately, once and unchanged.
    pub link: Box<[Transit]>,
    /// Addresses of the datagram.
    pub ends: Ends,
    /// The decision of the rules; `None` if no rule acted on the datagram.
    pub placed: Option<Box<Placed>>,
    /// The record of a datagram that a rule sends later, or again; its time of receipt is that of an earlier event. `None` for
    /// a datagram that was received now.
    pub made: Option<Box<MadeAt>>,
}

impl Connless {
    /// Returns the datagram as received; `None` if it was received earlier.
    #[must_use]
    pub fn received(&self) -> Option<&[u8]> {
        self.made.is_none().then_some(&self.bytes)
    }
}
