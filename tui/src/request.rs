//! Requests to the proxy, and the answers.
//!
//! The screen touches no sockets: its owner takes the requests from [`App::take_requests`](crate::App::take_requests), carries
//! them out and gives each back with its answer to [`App::answer`](crate::App::answer).

use std::{slice, sync::Arc};

use teetap_inspect::{
    DecodedEvent,
    control::{Command, RuleCommand},
    jsonl::RuleBody,
};
use teetap_proxy::session::Waiting;

/// A request to the proxy.
#[derive(Clone, Debug)]
pub enum Request {
    /// Carry out a command.
    Run(Command),
    /// Carry out commands in this order, up to the first that is refused.
    RunAll(Vec<Command>),
    /// Write events to a new file; its ending selects the format.
    Save {
        /// The file.
        path: String,
        /// The events.
        events: Vec<Arc<DecodedEvent>>,
    },
    /// Keep a text in a file, for terminals that have no clipboard.
    Copy(String),
}

impl Request {
    /// Returns the commands; none for a request about files.
    #[must_use]
    pub fn commands(&self) -> &[Command] {
        match self {
            Self::Run(command) => slice::from_ref(command),
            Self::RunAll(commands) => commands,
            Self::Save { .. } | Self::Copy(_) => &[],
        }
    }
}

impl From<Command> for Request {
    fn from(command: Command) -> Self {
        Self::Run(command)
    }
}

impl From<RuleCommand> for Request {
    fn from(change: RuleCommand) -> Self {
        Self::Run(change.into())
    }
}

/// The answer to a request that was carried out.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Done; a sentence to show, which may be empty.
    Done(String),
    /// The rules in their order.
    Rules(Vec<RuleBody>),
    /// The held messages.
    Held(Vec<Waiting>),
}
