//! Arguments that name a held message or a leg.

use std::str::FromStr;

use clap::{Arg, ArgMatches, Args, FromArgMatches, ValueEnum, error::ErrorKind, value_parser};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use teetap_proxy::session::{HeldId, HeldMessage, SessionId};
use teetap_wire::{Dir, Side};

/// Name of the argument that identifies a held message.
const ID: &str = "id";

/// Name of the argument with the new contents of a held message.
const MESSAGE: &str = "message";

/// Identifies a held message. Session and direction are needed only if several held messages have the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldPlace {
    /// Number of the held message in its session and direction.
    pub held: HeldId,
    /// The session; `None` for any.
    pub session: Option<SessionId>,
    /// The direction; `None` for any.
    pub dir: Option<Dir>,
}

impl HeldPlace {
    /// Returns the identity of a held message.
    #[must_use]
    pub const fn from_held(message: &HeldMessage) -> Self {
        Self {
            held: message.held,
            session: Some(message.session),
            dir: Some(message.dir),
        }
    }

    /// Returns true if the message has this number, and the session and direction if they are given.
    #[must_use]
    pub fn is_of(&self, message: &HeldMessage) -> bool {
        message.held == self.held
            && self.session.is_none_or(|session| message.session == session)
            && self.dir.is_none_or(|dir| message.dir == dir)
    }
}

impl FromStr for HeldPlace {
    type Err = &'static str;

    /// Parses `3` or `1/c2s/3`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.split('/').collect();
        let dir = |dir| match dir {
            "c2s" => Some(Dir::C2s),
            "s2c" => Some(Dir::S2c),
            _ => None,
        };
        let place = match parts.as_slice() {
            [held] => held.parse().ok().map(|held| (None, None, held)),
            [session, way, held] => session
                .parse()
                .ok()
                .zip(dir(way))
                .zip(held.parse().ok())
                .map(|((session, dir), held)| (Some(SessionId(session)), Some(dir), held)),
            _ => None,
        };
        let (session, dir, held) =
            place.ok_or("expected a number, or session/direction/number, like 1/c2s/3")?;
        let held = HeldId(held);
        Ok(Self { held, session, dir })
    }
}

/// New contents for a held message, in one of three forms: text, fields, or bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// See [`HeldPlace`].
    pub held: HeldId,
    /// See [`HeldPlace`].
    pub session: Option<SessionId>,
    /// See [`HeldPlace`].
    pub dir: Option<Dir>,
    /// Changes as text, `cl_say{message: "text"}`; other fields keep their values.
    pub message: Option<String>,
    /// The changed fields by name; other fields keep their values.
    pub fields: Option<Map<String, Value>>,
    /// The id and fields in hex.
    pub hex: Option<String>,
}

impl Edit {
    /// Returns a change of fields written as `cl_say{message: "text"}`.
    #[must_use]
    pub fn text(HeldPlace { held, session, dir }: HeldPlace, text: &str) -> Self {
        Self {
            held,
            session,
            dir,
            message: Some(text.to_owned()),
            fields: None,
            hex: None,
        }
    }

    /// Returns the identity of the held message.
    #[must_use]
    pub const fn place(&self) -> HeldPlace {
        let Self {
            held, session, dir, ..
        } = *self;
        HeldPlace { held, session, dir }
    }
}

/// The legs that are closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Sides {
    /// The leg to the client
    Client,
    /// The leg to the server
    Server,
    /// Both legs
    #[default]
    Both,
}

impl Sides {
    /// Returns the side of a single leg; `None` for both legs.
    #[must_use]
    pub const fn single(self) -> Option<Side> {
        match self {
            Self::Client => Some(Side::Client),
            Self::Server => Some(Side::Server),
            Self::Both => None,
        }
    }
}

// Implemented by hand, because one argument, such as `1/c2s/3`, sets several fields.

impl FromArgMatches for HeldPlace {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let place = matches.get_one(ID).copied();
        place.ok_or_else(|| clap::Error::new(ErrorKind::MissingRequiredArgument))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for HeldPlace {
    fn augment_args(command: clap::Command) -> clap::Command {
        let id = Arg::new(ID)
            .value_name("ID")
            .value_parser(value_parser!(Self))
            .required(true)
            .help("The number of the message, or its place as in the list: 1/c2s/3");
        command.arg(id)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Edit {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let text = matches.get_one::<String>(MESSAGE);
        let text = text.ok_or_else(|| clap::Error::new(ErrorKind::MissingRequiredArgument))?;
        Ok(Self::text(HeldPlace::from_arg_matches(matches)?, text))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Edit {
    fn augment_args(command: clap::Command) -> clap::Command {
        let message = Arg::new(MESSAGE)
            .value_name("MESSAGE")
            .required(true)
            .help("The fields to change, such as 'cl_say{message: \"hi\"}'");
        HeldPlace::augment_args(command).arg(message)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_message_has_a_number_or_a_place() {
        let held = HeldId(3.try_into().unwrap());
        let alone = HeldPlace {
            held,
            session: None,
            dir: None,
        };
        assert_eq!("3".parse(), Ok(alone));
        let place = HeldPlace {
            held,
            session: Some(SessionId(1)),
            dir: Some(Dir::S2c),
        };
        assert_eq!("1/s2c/3".parse(), Ok(place));
        for wrong in ["", "0", "x", "1/3", "1/x/3", "/c2s/3", "1/c2s/3/4"] {
            assert!(wrong.parse::<HeldPlace>().is_err(), "{wrong}");
        }
    }
}
