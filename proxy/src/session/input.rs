//! The inputs of the core.

use std::{net::SocketAddr, sync::Arc};

use teetap_rules::{Program, RuleId};
use teetap_wire::{Dir, Side};

#[cfg(doc)]
use super::Output;
use super::{
    datagram::HeldId,
    family::Speaks,
    ids::{ListenerId, SessionId, UpstreamId},
};

/// An input of the core.
pub enum Input<'a> {
    /// A datagram received on a listen socket.
    FromClient {
        /// The listen socket.
        listener: ListenerId,
        /// The address of the sender.
        addr: SocketAddr,
        /// The bytes of the datagram.
        bytes: &'a [u8],
    },
    /// A datagram received on an upstream socket. The socket is connected, so the server sent the datagram.
    FromServer {
        /// The upstream socket.
        upstream: UpstreamId,
        /// The bytes of the datagram.
        bytes: &'a [u8],
    },
    /// The socket requested with [`Output::OpenUpstream`] is open.
    UpstreamOpened {
        /// The socket.
        upstream: UpstreamId,
        /// The local address.
        local: SocketAddr,
    },
    /// The socket could not be opened.
    UpstreamFailed {
        /// The socket.
        upstream: UpstreamId,
        /// The error of the operating system.
        error: &'a str,
        /// True if descriptors or ports are used up, so that closing another socket would make room for this
        /// one.
        exhausted: bool,
    },
    /// The socket requested with [`Output::OpenListener`] is open.
    ListenerOpened {
        /// The socket.
        listener: ListenerId,
        /// The local address.
        local: SocketAddr,
    },
    /// The socket could not be opened.
    ListenerFailed {
        /// The socket.
        listener: ListenerId,
        /// The error of the operating system.
        error: &'a str,
    },
    /// The network reported an error on an upstream socket (ICMP port unreachable and the like).
    Unreachable {
        /// The socket.
        upstream: UpstreamId,
        /// The error of the operating system.
        error: &'a str,
    },
    /// Result of a probe: the protocols that the server is known to speak.
    Probed(Speaks),
    /// A deadline has passed, see [`Hub::deadline`](super::Hub::deadline).
    Timeout,
    /// New rules; `None` removes all rules.
    Program(Option<Arc<Program>>),
    /// A command of a user, answered by one [`Answer`](super::Answer).
    Command {
        /// Number of the command. Its answer has the same number.
        id: CommandId,
        /// The command.
        command: Command,
    },
    /// The end of the run: closes every session on both legs and forgets it immediately.
    Shutdown {
        /// Reason sent to the peers; empty for none.
        reason: &'a [u8],
    },
}

/// Number of a command, chosen by its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u64);

/// Selects held messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// All messages held under the key that [`teetap_rules::Fate::Hold`] named.
    Key(u64),
    /// One message.
    One(Dir, HeldId),
}

/// A command of a user.
///
/// The input log stores commands by the names of variants and fields, so renaming one needs a new version of
/// the log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "io",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case", deny_unknown_fields)
)]
pub enum Command {
    /// Send an additional message.
    Inject {
        /// The session.
        session: SessionId,
        /// The direction.
        dir: Dir,
        /// True to send the message as vital, with a sequence number.
        vital: bool,
        /// Message id and fields.
        #[cfg_attr(feature = "io", serde(with = "crate::hex"))]
        data: Box<[u8]>,
    },
    /// Release all messages held under the key that [`teetap_rules::Fate::Hold`] named.
    Release {
        /// The session.
        session: SessionId,
        /// The key.
        key: u64,
    },
    /// Release one held message.
    ReleaseOne {
        /// The session.
        session: SessionId,
        /// The direction of the message.
        dir: Dir,
        /// The number of the message.
        held: HeldId,
    },
    /// Drop a held message. It is never sent.
    #[cfg_attr(feature = "io", serde(rename = "drop_held"))]
    Drop {
        /// The session.
        session: SessionId,
        /// The direction of the message.
        dir: Dir,
        /// The number of the message.
        held: HeldId,
    },
    /// Replace the bytes of a held message. It stays held.
    #[cfg_attr(feature = "io", serde(rename = "edit_held"))]
    Edit {
        /// The session.
        session: SessionId,
        /// The direction of the message.
        dir: Dir,
        /// The number of the message.
        held: HeldId,
        /// The new id and fields.
        #[cfg_attr(feature = "io", serde(with = "crate::hex"))]
        data: Box<[u8]>,
    },
    /// List the held messages, in [`Answer::held`](super::Answer::held).
    #[cfg_attr(feature = "io", serde(rename = "list_held"))]
    List {
        /// The session; `None` for all.
        session: Option<SessionId>,
    },
    /// Make the server send a complete snapshot, for watchers that lack the snapshot on which later ones are
    /// based.
    Resync {
        /// The session.
        session: SessionId,
    },
    /// Enable or disable a rule for all sessions. Disabling a rule releases the messages that it holds.
    Toggle {
        /// The rule.
        rule: RuleId,
        /// False to disable it.
        enabled: bool,
    },
    /// Enable or disable a link line for all sessions. Datagrams that are already queued in the link keep
    /// their departure time.
    ToggleLine {
        /// Index of the link line, from 0.
        line: u16,
        /// False to disable it.
        enabled: bool,
    },
    /// Enable or disable a rule or link line for all sessions by its name.
    ToggleNamed {
        /// Name of a rule, or its text if it has no name; if no rule matches, the text of a link line.
        rule: Box<str>,
        /// False to disable it.
        enabled: bool,
    },
    /// Close a session with a reason. Both peers get a CLOSE.
    Close {
        /// The session; `None` for all.
        session: Option<SessionId>,
        /// The peer that is told the reason; the other peer gets a CLOSE without one. `None` to tell both.
        side: Option<Side>,
        /// Reason that the peers display; empty for none.
        #[cfg_attr(feature = "io", serde(with = "crate::hex"))]
        reason: Box<[u8]>,
    },
}

impl Command {
    /// Returns the session that the command names; `None` if the command is for all sessions.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        match self {
            Self::Inject { session, .. }
            | Self::Release { session, .. }
            | Self::ReleaseOne { session, .. }
            | Self::Drop { session, .. }
            | Self::Edit { session, .. }
            | Self::Resync { session } => Some(*session),
            Self::Close { session, .. } | Self::List { session } => *session,
            Self::Toggle { .. } | Self::ToggleLine { .. } | Self::ToggleNamed { .. } => None,
        }
    }
}
