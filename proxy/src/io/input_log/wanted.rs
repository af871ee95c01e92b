//! Outputs in the form of the log, in which a replay compares them.

use std::{fmt, net::SocketAddr};

use serde::{Deserialize, Serialize};

use super::Hex;
use crate::session::Output;

/// An [`Output`] that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are those of the outputs")]
pub enum LoggedOutput {
    /// [`Output::OpenUpstream`].
    Open { upstream: u32, port: u16 },
    /// [`Output::OpenListener`].
    Listen { listener: u32, port: u16 },
    /// [`Output::CloseUpstream`].
    Close(u32),
    /// [`Output::ToClient`].
    ToClient {
        listener: u32,
        addr: SocketAddr,
        bytes: Hex,
    },
    /// [`Output::ToServer`].
    ToServer { upstream: u32, bytes: Hex },
}

impl LoggedOutput {
    /// Returns the output for the log; `None` for an event, which has no effect on the network.
    #[must_use]
    pub fn from_output(output: &Output<'_>) -> Option<Self> {
        Some(match output {
            Output::OpenUpstream { upstream, port } => Self::Open {
                upstream: upstream.0,
                port: *port,
            },
            Output::OpenListener { listener, port } => Self::Listen {
                listener: listener.0,
                port: *port,
            },
            Output::CloseUpstream(upstream) => Self::Close(upstream.0),
            Output::ToClient {
                listener,
                addr,
                bytes,
            } => Self::ToClient {
                listener: listener.0,
                addr: *addr,
                bytes: Hex::from(*bytes),
            },
            Output::ToServer { upstream, bytes } => Self::ToServer {
                upstream: upstream.0,
                bytes: Hex::from(*bytes),
            },
            Output::Event(_) => return None,
        })
    }

    /// Returns true for a datagram.
    #[must_use]
    pub(crate) fn is_datagram(&self) -> bool {
        matches!(self, Self::ToClient { .. } | Self::ToServer { .. })
    }
}

impl fmt::Display for LoggedOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { upstream, port } => {
                write!(f, "open upstream socket {upstream} to the server's port {port}")
            }
            Self::Listen { listener, port } => {
                write!(f, "open listen socket {listener} for the server's port {port}")
            }
            Self::Close(upstream) => write!(f, "close upstream socket {upstream}"),
            Self::ToClient {
                listener: 0,
                addr,
                bytes,
            } => write!(f, "to client {addr}: {bytes}"),
            Self::ToClient {
                listener,
                addr,
                bytes,
            } => write!(f, "to client {addr} from listen socket {listener}: {bytes}"),
            Self::ToServer { upstream, bytes } => {
                write!(f, "to the server on upstream socket {upstream}: {bytes}")
            }
        }
    }
}
