//! Errors of commands.

use std::{borrow::Cow, fmt};

use serde_json::Value;
use teetap_proxy::{
    io::Busy,
    session::{HeldId, Listed, SessionId},
};
use teetap_rules::{Diagnostic, DraftError};
use teetap_wire::Dir;

use super::lines::lines;
use crate::rules::ChangeError;

/// Maximum number of sessions or places that an error lists.
const LISTED: usize = 8;

/// The reason why a command was not carried out.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// The proxy did not accept the command.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The command names no session that it can be about.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The command names no held message that it can be about.
    #[error(transparent)]
    Held(#[from] HeldError),
    /// The message of the command is invalid.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The rules cannot be changed in this way.
    #[error(transparent)]
    Rules(#[from] ChangeError),
    /// A `close` names a session and all sessions.
    #[error("invalid close: session and all exclude each other")]
    SessionAndAll,
    /// The session core refused the command.
    #[error("{0}")]
    Refused(Cow<'static, str>),
}

/// The reason why no session can be chosen.
#[derive(Clone, Debug)]
pub enum SessionError {
    /// There is no session with this number.
    Unknown {
        /// The wanted number.
        wanted: SessionId,
        /// The sessions that are online.
        online: Vec<Listed>,
    },
    /// The command names no session, and none is online.
    NoneOnline,
    /// The command names no session, and more than one is online.
    Several(Vec<Listed>),
}

impl std::error::Error for SessionError {}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown {
                wanted: SessionId(wanted),
                online,
            } => match online.as_slice() {
                [] => write!(f, "there is no session {wanted}, and none is online"),
                online => write!(f, "there is no session {wanted}; online: {}", names(online)),
            },
            Self::NoneOnline => f.write_str("no session is online"),
            Self::Several(online) => {
                let count = online.len();
                write!(f, "{count} sessions are online; name one of {}", names(online))
            }
        }
    }
}

/// Returns the sessions as text: number, protocol and client.
fn names(sessions: &[Listed]) -> String {
    let shown = sessions.iter().take(LISTED);
    let mut shown: Vec<String> = shown
        .map(|listed| format!("{} ({}, {})", listed.id.0, listed.proto, listed.client))
        .collect();
    if sessions.len() > LISTED {
        shown.push(format!("{} more", sessions.len() - LISTED));
    }
    shown.join(", ")
}

/// The reason why no held message can be chosen.
#[derive(Clone, Debug)]
pub enum HeldError {
    /// No message with this number is held.
    NotHeld(HeldId),
    /// Several messages with this number are held.
    Several {
        /// The number.
        held: HeldId,
        /// Their sessions and directions.
        places: Vec<(SessionId, Dir)>,
    },
}

impl std::error::Error for HeldError {}

impl fmt::Display for HeldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotHeld(held) => write!(f, "no message is held under {}", held.0),
            Self::Several { held, places } => {
                let (count, held) = (places.len(), held.0);
                let place = |(session, dir): &(SessionId, Dir)| format!("{}/{dir}", session.0);
                let places: Vec<String> = places.iter().take(LISTED).map(place).collect();
                let places = places.join(", ");
                write!(
                    f,
                    "{count} messages are held under {held}; name session and direction: {places}"
                )
            }
        }
    }
}

/// The reason why a message cannot be injected or edited.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The text of the message has errors.
    #[error("{}", lines(.0).join("; "))]
    Invalid(Vec<Diagnostic>),
    /// The message cannot be built for its session.
    #[error(transparent)]
    Draft(#[from] DraftError),
    /// The hex does not have two digits for each byte, or is empty.
    #[error("invalid hex: expected two digits for each byte of id and fields")]
    Hex,
    /// The bytes do not fit in a chunk.
    #[error("the message is longer than {max} bytes")]
    TooLong {
        /// Maximum size in bytes.
        max: usize,
    },
    /// The held message has no definition, so that its fields have no names.
    #[error("the message is unknown: replace its bytes with hex")]
    Unknown,
    /// An edit has none or several of its forms.
    #[error("invalid edit: expected one of message, fields and hex")]
    EditForm,
    /// An injection has none or several of its forms.
    #[error("invalid inject: expected message alone, or dir and name, or dir and hex")]
    InjectForm,
    /// The name has characters that no name of a message has.
    #[error("invalid name {}", Value::from(.0.as_str()))]
    Name(String),
    /// The name has characters that no name of a field has.
    #[error("invalid field {}", Value::from(.0.as_str()))]
    Field(String),
    /// The JSON value is neither a number, nor a string, nor true or false.
    #[error("invalid value of the field {0}: expected a number, a string, true or false")]
    Value(String),
}
