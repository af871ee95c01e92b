//! How a message of a join is out of turn, and what the games do with it.

use std::{fmt, time::Duration};

use teetap_wire::Code;

use super::words::Seconds;
use crate::Values;

/// A message that is out of turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfTurn {
    pub(super) what: Turn,
    /// True if the receiver is DDNet.
    pub(super) is_ddnet: bool,
}

/// How a message is out of turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// A `ready` before `info`.
    Ready,
    /// A start info before `ready`.
    StartInfo,
    /// Another start info for the same map.
    StartInfoAgain,
    /// An `enter_game` before the named message.
    EnterGame(&'static str),
    /// A `con_ready` before `ready`.
    ConReady,
    /// A `sv_ready_to_enter` before any start info.
    ReadyToEnter,
    /// A snapshot before `enter_game`.
    Snapshot,
    /// Another ACCEPT in the session.
    AcceptAgain,
    /// Another `info`.
    InfoAgain,
    /// The version of a DDNet client after its `info`.
    VersionAfterInfo,
    /// The capabilities of a DDNet server after `map_change`.
    Capabilities,
    /// A command of the console without a login.
    RconCommand,
    /// Inputs long after a map change that the client has acked, but neither answered nor asked for the map.
    MapIgnored { inputs: u16, time: Duration },
    /// Requests for a session in a session that the client has not closed.
    RequestInSession { requests: u16, time: Duration },
    /// Another version of the game.
    Version { got: String, expected: &'static str },
}

impl Turn {
    pub(super) const fn code(&self) -> Code {
        match self {
            Self::RconCommand => Code::RconUnauthed,
            Self::Version { .. } => Code::WrongVersion,
            _ => Code::OutOfTurn,
        }
    }
}

impl OutOfTurn {
    /// Returns true if a join may fail because of the message.
    pub(crate) const fn leads(&self) -> bool {
        !matches!(
            self.what,
            Turn::InfoAgain | Turn::VersionAfterInfo | Turn::Capabilities
        )
    }

    /// Writes the received and the expected value, and what the games do.
    pub(super) fn write(&self, f: &mut Values) -> fmt::Result {
        let Self { what, is_ddnet } = self;
        let (got, expected) = match what {
            Turn::Ready => ("it before info", "it after the client has loaded the map"),
            Turn::StartInfo => ("it before ready", "it as the answer to con_ready"),
            Turn::StartInfoAgain => ("a second one", "one for each map"),
            Turn::EnterGame("ready") => ("it before ready", "it as the answer to sv_ready_to_enter"),
            Turn::EnterGame(_) => ("it before cl_start_info", "it as the answer to sv_ready_to_enter"),
            Turn::ConReady => ("it before ready", "it as the answer to ready"),
            Turn::ReadyToEnter => ("it before cl_start_info", "it as the answer to cl_start_info"),
            Turn::Snapshot => ("it before enter_game", "none before enter_game"),
            Turn::AcceptAgain => ("it in the session", "it only as the answer to connect_accept"),
            Turn::InfoAgain => ("a second one", "one for each session"),
            Turn::VersionAfterInfo => ("it after info", "it before info"),
            Turn::Capabilities => ("it after map_change", "it before map_change"),
            Turn::RconCommand => ("it without a login", "rcon_auth before"),
            Turn::MapIgnored { inputs, time } => {
                f.add_got(format_args!(
                    "{inputs} inputs in {} after map_change, which it has acked",
                    Seconds(*time)
                ))?;
                f.add_expected("ready, or a request for the map")?;
                return fmt::Write::write_str(
                    f,
                    "; servers of the games send no snapshots before the enter_game for the new map",
                );
            }
            Turn::RequestInSession { requests, time } => {
                f.add_got(format_args!(
                    "{requests} requests for a session in {}, in a session that it has not closed",
                    Seconds(*time)
                ))?;
                f.add_expected("a CLOSE before them, or another port")?;
                let until = if *is_ddnet {
                    "100 s with DDNet"
                } else {
                    "10 s, or 100 s with DDNet"
                };
                return fmt::Write::write_fmt(
                    f,
                    format_args!("; the server ignores them while it has a slot for the address ({until})"),
                );
            }
            Turn::Version { got, expected } => {
                f.add_got(format_args!("\"{got}\""))?;
                f.add_expected(format_args!("\"{expected}\""))?;
                return fmt::Write::write_str(f, "; servers of the games close the connection");
            }
        };
        f.add_got(got)?;
        f.add_expected(expected)?;
        let then = match (what, is_ddnet) {
            (Turn::Ready, true) => "a server of DDNet sends con_ready, but waits for another ready",
            (Turn::ConReady, true) => "a client of DDNet ignores it until the map is loaded",
            (Turn::ConReady, false) => "a client of Teeworlds begins without the map",
            (Turn::ReadyToEnter, _) => {
                "a client of the games answers with enter_game, which servers of the games ignore before cl_start_info"
            }
            (Turn::Snapshot, true) => {
                "servers of the games send none before; a client of DDNet ignores them until the map is loaded"
            }
            (Turn::Snapshot, false) => {
                "servers of the games send none before; a client of Teeworlds is in the game with the second"
            }
            (Turn::StartInfoAgain, _) => "servers of the games keep the first",
            (Turn::AcceptAgain, _) => {
                "a server of DDNet restarts its numbers and sends the map again, and a client that goes on drops the low numbers"
            }
            (Turn::VersionAfterInfo, _) => {
                "a server of DDNet ignores it, and takes the client for one without a version"
            }
            (Turn::Capabilities, _) => "a client of DDNet ignores it",
            _ => "servers of the games ignore it",
        };
        fmt::Write::write_fmt(f, format_args!("; {then}"))
    }
}
