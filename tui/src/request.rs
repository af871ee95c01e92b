//! Requests to the proxy, and their answers.
//!
//! The screen does not use sockets. Its owner gets the requests from
//! [`App::take_requests`](crate::App::take_requests), carries them out and passes each with its answer to
//! [`App::answer`](crate::App::answer).

use std::{error::Error, io, slice, sync::Arc};

use teetap_inspect::{
    DecodedEvent,
    control::{Command, RuleCommand},
    jsonl::RuleBody,
};
use teetap_proxy::session::HeldMessage;

/// A request to the proxy.
#[derive(Clone, Debug)]
pub enum Request {
    /// Carry out a command.
    Run(Command),
    /// Carry out these commands in order until one is refused.
    RunAll(Vec<Command>),
    /// Write events to a new file, whose extension selects the format.
    Save {
        /// Path of the file.
        path: String,
        /// Events to write.
        events: Vec<Arc<DecodedEvent>>,
    },
    /// Write a text to a file, for terminals without a clipboard.
    Copy(String),
}

impl Request {
    /// Returns the commands; empty for a request about files.
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

/// There is no proxy for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this screen shows a recording: there is no proxy")]
pub struct NoProxy;

/// The reason why a request was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// There is no proxy.
    #[error(transparent)]
    NoProxy(#[from] NoProxy),
    /// The run refused a command.
    #[error(transparent)]
    Refused(Box<dyn Error + Send + Sync>),
    /// The events were not saved.
    #[error("cannot save to '{path}': {cause}")]
    Save {
        /// Path of the file.
        path: String,
        /// Cause of the failure.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    /// The text is in the clipboard only.
    #[error("copied by OSC 52; cannot write a file: {0}")]
    Copy(#[source] io::Error),
}

/// The answer to a request that was carried out.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Done; contains a sentence to show, which may be empty.
    Done(String),
    /// The rules in order.
    Rules(Vec<RuleBody>),
    /// The held messages.
    Held(Vec<HeldMessage>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_name_what_was_not_done() {
        let full = || io::Error::other("no space left");
        let save = |cause: Box<dyn Error + Send + Sync>| RequestError::Save {
            path: "a.pcapng".to_owned(),
            cause,
        };
        for (error, text) in [
            (
                RequestError::from(NoProxy),
                "this screen shows a recording: there is no proxy",
            ),
            (RequestError::Refused("no rule 'a'".into()), "no rule 'a'"),
            (save(full().into()), "cannot save to 'a.pcapng': no space left"),
            (
                RequestError::Copy(full()),
                "copied by OSC 52; cannot write a file: no space left",
            ),
        ] {
            assert_eq!(error.to_string(), text);
        }
    }
}
