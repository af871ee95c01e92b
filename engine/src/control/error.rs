//! Errors of lines and subscriptions on the control socket.

use std::io;

use teetap_inspect::control::Refusal;
use teetap_proxy::io::Busy;
use teetap_rules::Diagnostic;

use super::MAX_LINE;
use crate::commands::{CommandError, lines};

/// The reason why a line has no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum LineError {
    /// The line is too long.
    #[error("the line is longer than {MAX_LINE} bytes")]
    TooLong,
    /// The line is no command.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The command was not carried out.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The subscription did not start.
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
    /// There is no subscription to end.
    #[error("there is no subscription")]
    NotSubscribed,
}

/// The reason why a subscription did not start.
#[derive(Debug, thiserror::Error)]
pub(super) enum SubscribeError {
    /// The filter has errors.
    #[error("invalid filter: {}", lines(.0).join("; "))]
    Filter(Vec<Diagnostic>),
    /// There is no such level of detail.
    #[error("invalid verbose {0}: expected 0, 1 or 2")]
    Verbosity(u8),
    /// All subscriptions of the run are in use.
    #[error("too many subscriptions")]
    TooMany,
    /// The proxy did not accept a request.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The connection cannot be woken for held messages.
    #[error("cannot watch for held messages: {0}")]
    Bell(#[source] io::Error),
}
