//! Scripts: the steps of a join at which a peer behaves differently from a game.
//!
//! Law: a script is a value that refers to no peer and no connection. A peer without one behaves as a game.

use std::collections::{BTreeMap, VecDeque};

use strum::VariantArray as _;
use teetap_wire::Side;

use crate::message::Message;

/// A message, or a group of messages, that a peer sends by itself. The variants are in the order of a join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, strum::VariantArray)]
pub enum Step {
    /// 0.7: the client requests a token.
    TokenRequest,
    /// 0.7: the server replies with its token.
    TokenReply,
    /// The client sends CONNECT, possibly repeatedly.
    Connect,
    /// The server answers CONNECT.
    ConnectAccept,
    /// 0.6: the client sends ACCEPT.
    Accept,
    /// The client introduces itself with `info`; a client of DDNet sends `client_version` first.
    Info,
    /// The server announces its map with `map_change`; a server of DDNet sends its capabilities first.
    MapChange,
    /// The client requests a part of the map, or in 0.7 the next parts.
    RequestMapData,
    /// The server sends the requested parts of the map.
    MapData,
    /// The client reports that it has the map.
    Ready,
    /// The server sends `con_ready`, after its message of the day.
    ConReady,
    /// The client sends its name and appearance.
    StartInfo,
    /// The server lets the client enter, after sending its tuning.
    ReadyToEnter,
    /// The client enters the game.
    EnterGame,
    /// The server sends a snapshot.
    Snapshot,
    /// The client sends an input.
    Input,
}

impl Step {
    /// All steps, in their order.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the side that sends the messages of the step.
    #[must_use]
    pub const fn side(self) -> Side {
        match self {
            Self::TokenReply
            | Self::ConnectAccept
            | Self::MapChange
            | Self::MapData
            | Self::ConReady
            | Self::ReadyToEnter
            | Self::Snapshot => Side::Server,
            _ => Side::Client,
        }
    }
}

/// The behaviour of a peer at a step, instead of the usual one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Sends nothing, now and whenever the step is due again.
    Skip,
    /// Sends nothing until the step is released. When a server answers a token request, or a CONNECT of 0.6 with
    /// tokens or with a challenge, no client exists yet whose step could be released, so it only sends nothing.
    Stop,
    /// Sends these messages instead of the usual ones. Before there is a connection, sends nothing.
    Send(Vec<Message>),
}

/// The actions of a peer at the steps of its joins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    actions: BTreeMap<Step, Action>,
}

impl Script {
    /// Creates a script without actions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an action. It replaces the previous action at the same step.
    #[must_use]
    pub fn at(mut self, step: Step, action: Action) -> Self {
        self.actions.insert(step, action);
        self
    }

    /// Returns the action at a step; `None` if the behaviour is the usual one.
    #[must_use]
    pub(crate) fn action(&self, step: Step) -> Option<&Action> {
        self.actions.get(&step)
    }
}

/// The steps of one connection at which its peer stopped, oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stops {
    stopped: VecDeque<Step>,
    /// Steps that were released. The peer behaves as usual there from now on.
    released: Vec<Step>,
}

/// The behaviour of a peer at a step, as its script and the released steps define it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Behavior<'s> {
    /// The usual behaviour.
    Usual,
    /// The peer sends nothing. The value is true if it stops at this step for the first time.
    Nothing(bool),
    /// The peer sends these messages.
    Send(&'s [Message]),
}

impl Stops {
    /// Returns the behaviour of a peer with this script at a step.
    pub(crate) fn turn<'s>(&mut self, script: &'s Script, step: Step) -> Behavior<'s> {
        match script.action(step) {
            None => Behavior::Usual,
            Some(Action::Stop) if self.released.contains(&step) => Behavior::Usual,
            Some(Action::Skip) => Behavior::Nothing(false),
            Some(Action::Stop) => {
                let is_new = !self.stopped.contains(&step);
                if is_new {
                    self.stopped.push_back(step);
                }
                Behavior::Nothing(is_new)
            }
            Some(Action::Send(messages)) => Behavior::Send(messages),
        }
    }

    /// Releases the oldest step at which the peer stopped, and returns it; `None` if there is none.
    pub(crate) fn release(&mut self) -> Option<Step> {
        let step = self.stopped.pop_front()?;
        self.released.push(step);
        Some(step)
    }
}
