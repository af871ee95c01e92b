//! Errors of lines and subscriptions on the control socket.

use std::io;

use teetap_inspect::control::Refusal;
use teetap_proxy::io::Busy;
use teetap_rules::Diagnostic;

use super::MAX_LINE;
use crate::commands::{CommandError, lines};

/// The control socket serves its maximum number of connections, which it contains.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("too many connections: at most {0} are served")]
pub(super) struct TooManyConnections(pub(super) usize);

/// The reason why a line of the client was answered with an error.
#[derive(Debug, thiserror::Error)]
pub(super) enum LineError {
    /// The line exceeds [`MAX_LINE`].
    #[error("the line is longer than {MAX_LINE} bytes")]
    TooLong,
    /// The line is not a valid command.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The command could not be carried out.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The subscription could not be started.
    #[error(transparent)]
    Subscribe(#[from] SubscribeError),
    /// The connection has no subscription that could be ended.
    #[error("there is no subscription")]
    NotSubscribed,
}

/// The reason why a subscription could not be started.
#[derive(Debug, thiserror::Error)]
pub(super) enum SubscribeError {
    /// The filter has errors.
    #[error("invalid filter: {}", lines(.0).join("; "))]
    Filter(Vec<Diagnostic>),
    /// The level of detail is greater than 2.
    #[error("invalid verbose {0}: expected 0, 1 or 2")]
    Verbosity(u8),
    /// The run already has its maximum number of subscriptions.
    #[error("too many subscriptions")]
    TooMany,
    /// The proxy did not accept a request.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The connection cannot be notified of held messages.
    #[error("cannot watch for held messages: {0}")]
    Bell(#[source] io::Error),
}
