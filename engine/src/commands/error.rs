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
    /// The session of the command cannot be determined.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The held message of the command cannot be determined.
    #[error(transparent)]
    Held(#[from] HeldError),
    /// The message to inject, or the edit of a held message, is invalid.
    #[error(transparent)]
    Message(#[from] MessageError),
    /// The requested change of the rules is invalid.
    #[error(transparent)]
    Rules(#[from] ChangeError),
    /// A `close` command has both `session` and `all`.
    #[error("invalid close: session and all exclude each other")]
    SessionAndAll,
    /// The session core refused the command.
    #[error("{0}")]
    Refused(Cow<'static, str>),
}

/// The reason why the session of a command cannot be determined.
#[derive(Clone, Debug)]
pub enum SessionError {
    /// There is no session with this number.
    Unknown {
        /// The number in the command.
        wanted: SessionId,
        /// The sessions that are online.
        online: Vec<Listed>,
    },
    /// The command names no session, and no session is online.
    NoneOnline,
    /// The command names no session, and several sessions are online.
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

/// Formats up to [`LISTED`] sessions with number, protocol and client.
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

/// The reason why the held message of a command cannot be determined.
#[derive(Clone, Debug)]
pub enum HeldError {
    /// No message with this number is held.
    NotHeld(HeldId),
    /// Messages with this number are held in several sessions or directions.
    Several {
        /// The number.
        held: HeldId,
        /// Session and direction of each of these messages.
        places: Vec<(SessionId, Dir)>,
    },
}

impl std::error::Error for HeldError {}

impl fmt::Display for HeldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotHeld(held) => write!(f, "no held message {}", held.0),
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
    /// The hex text is empty, or does not have two digits for each byte.
    #[error("invalid hex: expected two digits for each byte of id and fields")]
    Hex,
    /// The bytes do not fit in a chunk.
    #[error("the message is longer than {max} bytes")]
    TooLong {
        /// Maximum size in bytes.
        max: usize,
    },
    /// The held message has no definition, so its fields cannot be edited by name.
    #[error("the message is unknown: replace its bytes with hex")]
    Unknown,
    /// An `edit` command does not have exactly one of `message`, `fields` and `hex`.
    #[error("invalid edit: expected one of message, fields and hex")]
    EditForm,
    /// An `inject` command has no message, or fields that exclude each other.
    #[error("invalid inject: expected message alone, or dir and name, or dir and hex")]
    InjectForm,
    /// The name contains characters that are not allowed in message names.
    #[error("invalid name {}", Value::from(.0.as_str()))]
    Name(String),
    /// The name contains characters that are not allowed in field names.
    #[error("invalid field {}", Value::from(.0.as_str()))]
    Field(String),
    /// The JSON value of this field is not a number, a string or a boolean.
    #[error("invalid value of the field {0}: expected a number, a string, true or false")]
    Value(String),
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use teetap_proxy::session::{State, Time};
    use teetap_wire::Proto;

    use super::*;

    fn sessions(count: u32) -> Vec<Listed> {
        let listed = |number| Listed {
            id: SessionId(number),
            state: State::Online,
            proto: Proto::V7,
            client: SocketAddr::from(([127, 0, 0, 1], 5000)),
            opened: Time(0),
        };
        (1..=count).map(listed).collect()
    }

    #[test]
    fn an_error_lists_eight_sessions_and_the_number_of_the_others() {
        for (count, listed, more) in [
            (2, 2, None),
            (8, 8, None),
            (9, 8, Some("1 more")),
            (20, 8, Some("12 more")),
        ] {
            let mut names: Vec<String> = (1..=listed)
                .map(|number| format!("{number} (0.7, 127.0.0.1:5000)"))
                .collect();
            names.extend(more.map(str::to_owned));
            let names = names.join(", ");
            assert_eq!(
                SessionError::Several(sessions(count)).to_string(),
                format!("{count} sessions are online; name one of {names}")
            );
            let unknown = SessionError::Unknown {
                wanted: SessionId(30),
                online: sessions(count),
            };
            assert_eq!(
                unknown.to_string(),
                format!("there is no session 30; online: {names}")
            );
        }
    }

    #[test]
    fn an_error_lists_eight_places_of_a_held_message() {
        let places = |count: u32| {
            (1..=count)
                .map(|session| (SessionId(session), Dir::S2c))
                .collect()
        };
        let several = |count| HeldError::Several {
            held: HeldId(std::num::NonZero::<u32>::MIN),
            places: places(count),
        };
        let listed = "1/s2c, 2/s2c, 3/s2c, 4/s2c, 5/s2c, 6/s2c, 7/s2c, 8/s2c";
        for count in [8, 9] {
            assert_eq!(
                several(count).to_string(),
                format!("{count} messages are held under 1; name session and direction: {listed}")
            );
        }
    }
}
