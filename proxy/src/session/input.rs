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
    /// A datagram on a listen socket.
    FromClient {
        /// The listen socket.
        listener: ListenerId,
        /// The address of the sender.
        addr: SocketAddr,
        /// The bytes of the datagram.
        bytes: &'a [u8],
    },
    /// A datagram on an upstream socket (which is connected, so it is the server's).
    FromServer {
        /// The socket.
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
        /// True if there would be room for it with another socket closed: descriptors or ports are used up.
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
    /// The protocols that the server speaks, as far as a probe has found out.
    Probed(Speaks),
    /// Handles a timeout.
    Timeout,
    /// New rules; `None` = none.
    Program(Option<Arc<Program>>),
    /// A command of a user, answered by one [`Answer`](super::Answer).
    Command {
        /// The number of the command, which its answer has too.
        id: CommandId,
        /// The command.
        command: Command,
    },
    /// The end of the run: every session is closed on both legs and gone at once.
    Shutdown {
        /// The reason that the peers show; empty = none.
        reason: &'a [u8],
    },
}

/// The number of a command, given by its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u64);

/// Messages that are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// All under the key that [`teetap_rules::Fate::Hold`] named.
    Key(u64),
    /// One.
    One(Dir, HeldId),
}

/// A command of a user.
///
/// It is a line of the input log: names of variants and fields are the format, and a change needs a new version.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "io",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case", deny_unknown_fields)
)]
pub enum Command {
    /// Send one more message.
    Inject {
        /// The session.
        session: SessionId,
        /// The direction.
        dir: Dir,
        /// True to send it with a number.
        vital: bool,
        /// Id and fields.
        #[cfg_attr(feature = "io", serde(with = "crate::hex"))]
        data: Box<[u8]>,
    },
    /// Let all messages go on that are held under the key that [`teetap_rules::Fate::Hold`] named.
    Release {
        /// The session.
        session: SessionId,
        /// The key.
        key: u64,
    },
    /// Let one held message go on.
    ReleaseOne {
        /// The session.
        session: SessionId,
        /// The direction of the message.
        dir: Dir,
        /// The number of the message.
        held: HeldId,
    },
    /// Drop a held message: it never goes on.
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
    /// List the messages that are held, in [`Answer::held`](super::Answer::held).
    #[cfg_attr(feature = "io", serde(rename = "list_held"))]
    List {
        /// The session; `None` for all.
        session: Option<SessionId>,
    },
    /// Have the server send a complete snapshot, for watchers that do not know the one that later ones differ from.
    Resync {
        /// The session.
        session: SessionId,
    },
    /// Enable or disable a rule for all sessions. What a disabled rule holds is released.
    Toggle {
        /// The rule.
        rule: RuleId,
        /// False to disable it.
        enabled: bool,
    },
    /// Enable or disable a link line for all sessions. What waits in the link leaves at its time.
    ToggleLine {
        /// The number of the link line, from 0.
        line: u16,
        /// False to disable it.
        enabled: bool,
    },
    /// Enable or disable a rule or link line for all sessions by its name.
    ToggleNamed {
        /// The name of a rule, or its text if it has none; else the text of a link line.
        rule: Box<str>,
        /// False to disable it.
        enabled: bool,
    },
    /// Close one or both legs with a reason.
    Close {
        /// The session; `None` for all.
        session: Option<SessionId>,
        /// The leg that is sent the CLOSE; `None` for both.
        side: Option<Side>,
        /// The reason that the peers show; empty for none.
        #[cfg_attr(feature = "io", serde(with = "crate::hex"))]
        reason: Box<[u8]>,
    },
}

impl Command {
    /// The session that it is about; `None` = all.
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
