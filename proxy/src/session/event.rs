//! The events that the core emits.
//!
//! An event owns right-sized bytes and says what was done; it is not decoded. Watchers decode what they show.

use std::{borrow::Cow, fmt, net::SocketAddr};

use teetap_rules::eval::SessionState;
use teetap_wire::{Dir, Proto, Side};

#[cfg(doc)]
use super::input::Command;
use super::{
    datagram::{Datagram, Ends, Transit},
    ids::SessionId,
    input::CommandId,
    notice::Notice,
    time::Time,
    waiting::Waiting,
};
use crate::words::Words;

/// One thing that happened.
#[derive(Clone, Debug)]
pub struct Event {
    /// When.
    pub at: Time,
    /// In which session, when it belongs to one.
    pub session: Option<SessionId>,
    /// The value.
    pub what: What,
}

impl Event {
    /// The addresses of its datagram, when it is about one.
    pub fn ends_mut(&mut self) -> Option<&mut Ends> {
        match &mut self.what {
            What::Datagram(datagram) => Some(&mut datagram.ends),
            What::Connless(connless) => Some(&mut connless.ends),
            What::Session(_) | What::Notice(_) | What::Answer(_) => None,
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
    /// A report besides the traffic.
    Notice(Notice),
    /// A command was carried out, or refused.
    Answer(Answer),
}

/// The answer to a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The command.
    pub id: CommandId,
    /// Done, or why not.
    pub result: Result<(), Cow<'static, str>>,
    /// The messages that are held, for [`Command::List`]; `None` for other commands.
    pub held: Option<Box<[Waiting]>>,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, result, held: _ } = self;
        match result {
            Ok(()) => write!(f, "command {} is done", id.0),
            Err(why) => write!(f, "command {} is refused: {why}", id.0),
        }
    }
}

/// State of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The client sent CONNECT; the server has not accepted it yet.
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

impl Words for State {
    const ALL: &'static [Self] = &[Self::Opening, Self::Online, Self::Closing, Self::Closed];
}

/// A change of state.
#[derive(Clone, Debug)]
pub struct SessionChange {
    /// The new state.
    pub state: State,
    /// Protocol of the legs, as far as the server has decided it; before that, the one that the client requested.
    pub proto: Proto,
    /// The client's address.
    pub client: SocketAddr,
    /// The server, where a redirect has led the client to another one than that of the start.
    pub server: Option<SocketAddr>,
    /// Our own address towards the server, when the socket is open.
    pub upstream: Option<SocketAddr>,
    /// The side that ended it, for `Closing` and `Closed`; `None` = the proxy.
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
    /// True if it was sent on.
    pub forwarded: bool,
    /// The datagram that left at once, as it was before the link; a request of 0.7 may wait for the server's token.
    pub sent: Option<Box<[u8]>>,
    /// The effects of link lines on it. Empty: it left at once, once and unchanged.
    pub link: Box<[Transit]>,
    /// Our socket towards the server.
    pub ends: Ends,
}
