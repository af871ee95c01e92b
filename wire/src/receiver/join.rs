//! The order of a join: which side waits for which message at each step.
//!
//! The packets of the handshakes are listed here (`CNetConnection::Feed`, `CNetServer::Recv` and `CNetClient::Recv` of
//! each release). The messages after the handshake are derived from the rows of `message.rs`: each message is the reply
//! to the previous message. The first snapshot ends a join (`CServer::DoSnapshot` sends snapshots to clients in the
//! game).

use std::fmt;

use strum::VariantArray as _;

use super::{Refusal, Release, Stage, message, messages};
use crate::{Proto, Side};

/// The ways in which a client joins a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::VariantArray)]
pub enum JoinKind {
    /// 0.6 without tokens, as in 0.6.4.
    Plain,
    /// 0.6.5, with tokens in the header.
    Token,
    /// 0.6 with the token of DDNet at the end of the payload.
    Ddnet,
    /// 0.7.
    Seven,
    /// 0.7 with a server of DDNet.
    DdnetSeven,
    /// 0.6 without tokens, on a server that verifies the client's address: 0.6.5 with `sv_allow_old_clients`, DDNet
    /// with `sv_vanilla_antispoof`. The actual join is preceded by a join with a false map, in which the tick of an
    /// empty snapshot is a secret that the first input of the client has to ack.
    Challenge,
}

/// A message of a join that one side waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinStep {
    /// The name of the message. `snap` is any message with a snapshot.
    pub name: &'static str,
    /// The sender; the other side waits for it.
    pub from: Side,
    /// True for a control message of the handshake.
    pub is_control: bool,
    /// False if the other side continues without it.
    pub is_needed: bool,
}

/// The messages that carry a snapshot.
pub const SNAPSHOTS: [&str; 3] = ["snap", "snap_single", "snap_empty"];

/// The first message that the server waits for after the handshake.
const FIRST: &str = "info";

const fn control(name: &'static str, from: Side) -> JoinStep {
    JoinStep {
        name,
        from,
        is_control: true,
        is_needed: true,
    }
}

const fn needed(name: &'static str, from: Side) -> JoinStep {
    JoinStep {
        is_control: false,
        ..control(name, from)
    }
}

const CONNECT: JoinStep = control("connect", Side::Client);
const ACCEPTED: JoinStep = control("connect_accept", Side::Server);
/// Clients of DDNet send their version first; servers of DDNet continue without it.
const VERSION: JoinStep = JoinStep {
    is_needed: false,
    ..needed("client_version", Side::Client)
};

const PLAIN: &[JoinStep] = &[
    CONNECT,
    ACCEPTED,
    // The server ignores ACCEPT and waits for `info`.
    JoinStep {
        is_needed: false,
        ..control("accept", Side::Client)
    },
];
const TOKEN: &[JoinStep] = &[CONNECT, ACCEPTED];
const DDNET: &[JoinStep] = &[
    CONNECT,
    ACCEPTED,
    // ACCEPT gives the client a slot.
    control("accept", Side::Client),
    VERSION,
];
const SEVEN: &[JoinStep] = &[
    control("token", Side::Client),
    control("token", Side::Server),
    CONNECT,
    ACCEPTED,
    VERSION,
];
const CHALLENGE: &[JoinStep] = &[
    CONNECT,
    ACCEPTED,
    needed("snap_empty", Side::Server),
    needed("input", Side::Client),
];

impl JoinKind {
    /// All kinds.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the kind of a join in this protocol with a server that is DDNet or not, unless the server sends a
    /// challenge.
    #[must_use]
    pub const fn from_proto(proto: Proto, is_ddnet: bool) -> Self {
        match proto {
            Proto::V6 => Self::Plain,
            Proto::V65 => Self::Token,
            Proto::Ddnet => Self::Ddnet,
            Proto::V7 if is_ddnet => Self::DdnetSeven,
            Proto::V7 => Self::Seven,
        }
    }

    /// Returns the name, for people and scripts.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "0.6 without tokens",
            Self::Token => "0.6.5",
            Self::Ddnet => "DDNet",
            Self::Seven => "0.7",
            Self::DdnetSeven => "DDNet's 0.7",
            Self::Challenge => "0.6 with a challenge",
        }
    }

    /// Returns the release whose message rules the server follows, as far as joins differ.
    #[must_use]
    pub const fn server(self) -> Release {
        match self {
            Self::Plain | Self::Challenge => Release::Teeworlds064,
            Self::Token => Release::Teeworlds065,
            Self::Seven => Release::Teeworlds075,
            Self::Ddnet | Self::DdnetSeven => Release::Ddnet20,
        }
    }

    /// Returns the stage in which the server waits for the first message.
    #[must_use]
    pub const fn first_stage(self) -> Stage {
        if self.server().is_ddnet() {
            Stage::PreAuth
        } else {
            Stage::Auth
        }
    }

    /// Returns the steps in their order.
    pub fn steps(self) -> impl Iterator<Item = JoinStep> {
        let handshake = match self {
            Self::Plain => PLAIN,
            Self::Token => TOKEN,
            Self::Ddnet => DDNET,
            Self::Seven | Self::DdnetSeven => SEVEN,
            Self::Challenge => CHALLENGE,
        };
        let release = self.server();
        // After a challenge the server skips the first message.
        let skipped = usize::from(self == Self::Challenge);
        let first = needed(FIRST, Side::Client);
        let answers = std::iter::successors(Some(first), move |step| {
            let to = step.from.other();
            message(release, to, step.name)?
                .answer
                .map(|answer| needed(answer, to))
        });
        let snapshot = needed("snap", Side::Server);
        handshake
            .iter()
            .copied()
            .chain(answers.skip(skipped))
            .chain([snapshot])
    }
}

impl fmt::Display for JoinKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The reason why a server closes a join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rejection {
    /// The server accepts no more clients, or refuses this client.
    Refused(Refusal),
    /// The client has another version of the network code.
    WrongVersion,
    /// The password is wrong.
    WrongPassword,
}

impl Rejection {
    const ALL: [Self; 7] = [
        Self::Refused(Refusal::Banned),
        Self::Refused(Refusal::Full),
        Self::Refused(Refusal::PerAddress),
        Self::Refused(Refusal::TooFast),
        Self::Refused(Refusal::NoSeven),
        Self::WrongVersion,
        Self::WrongPassword,
    ];

    /// Returns the rejection that the reason of a CLOSE names; `None` for any other reason.
    #[must_use]
    pub fn from_reason(reason: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| fits(one.pattern(), reason))
    }

    /// Returns the reason text of the releases, with `N` and `...` for the variable parts.
    fn pattern(self) -> &'static str {
        let of_info = |start: &str| {
            let closes = messages()
                .filter(|row| row.name == FIRST)
                .flat_map(|row| row.closes);
            closes
                .copied()
                .find(|reason| reason.starts_with(start))
                .unwrap_or_default()
        };
        match self {
            Self::Refused(refusal) => refusal.reason(),
            Self::WrongVersion => of_info("Wrong version"),
            Self::WrongPassword => of_info("Wrong password"),
        }
    }

    /// Returns a description, such as `the server is full`.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Refused(Refusal::Banned) => "the address is banned",
            Self::Refused(Refusal::Full) => "the server is full",
            Self::Refused(Refusal::PerAddress) => "too many clients have this address",
            Self::Refused(Refusal::TooFast) => {
                "too many connections were made from this address in a short time"
            }
            Self::Refused(Refusal::NoSeven) => "the server accepts no clients of 0.7",
            Self::WrongVersion => "wrong version",
            Self::WrongPassword => "wrong password",
        }
    }
}

/// Returns true if the parts of a pattern occur in a text in the same order.
fn fits(pattern: &str, text: &str) -> bool {
    let mut rest = text;
    let mut parts = pattern.split("...").flat_map(|part| part.split(" N "));
    !pattern.is_empty()
        && parts.all(|part| match rest.split_once(part) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
}
