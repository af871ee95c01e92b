//! The arguments of `teetap ctl`.

use std::{num::NonZeroU32, str::FromStr};

use clap::{Subcommand, ValueEnum};
use teetap_wire::Dir;

/// A command for a run.
#[derive(Debug, Subcommand)]
pub(crate) enum Ctl {
    /// List the sessions
    Sessions,
    /// Print the counts of the run
    Stats,
    /// Send one more message
    Inject {
        /// The message, such as 's2c sv_chat{client_id: -1, message: "hi"}'
        ///
        /// A missing field has its default. Or the bytes of id and fields: 's2c vital 0x06...', 's2c nonvital 0x...'.
        #[arg(value_name = "MESSAGE")]
        message: String,
    },
    /// Close a session
    Close {
        /// Close all sessions
        #[arg(long, conflicts_with = "session")]
        all: bool,
        /// Close only the leg towards this side
        #[arg(long, value_name = "SIDE", default_value = "both")]
        side: CtlSide,
        /// The reason that the peers show
        #[arg(value_name = "REASON", default_value = "")]
        reason: String,
    },
    /// Have the server send a complete snapshot
    Resync,
    /// List the messages that are held
    Held,
    /// Let a held message go on
    Release {
        /// The number of the message, or its place as in the list: 1/c2s/3
        #[arg(value_name = "ID")]
        id: HeldPlace,
    },
    /// Change a held message
    Edit {
        /// The number of the message, or its place as in the list: 1/c2s/3
        #[arg(value_name = "ID")]
        id: HeldPlace,
        /// The fields to change, such as 'cl_say{message: "hi"}'
        #[arg(value_name = "MESSAGE")]
        message: String,
    },
    /// Drop a held message, which never goes on
    Drop {
        /// The number of the message, or its place as in the list: 1/c2s/3
        #[arg(value_name = "ID")]
        id: HeldPlace,
    },
    /// List or change the rules and link lines
    Rules {
        #[command(subcommand)]
        command: Option<CtlRules>,
    },
    /// Print events as they happen
    Subscribe {
        /// Print only messages that match
        #[arg(value_name = "FILTER")]
        filter: Option<String>,
        /// Print a line per datagram; twice: its bytes too
        #[arg(short, long, action = clap::ArgAction::Count)]
        verbose: u8,
    },
}

/// The place of a held message: `3` or `1/c2s/3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeldPlace {
    pub(crate) session: Option<u32>,
    pub(crate) dir: Option<Dir>,
    pub(crate) held: NonZeroU32,
}

impl FromStr for HeldPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
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
                .map(|((session, dir), held)| (Some(session), Some(dir), held)),
            _ => None,
        };
        let (session, dir, held) =
            place.ok_or_else(|| "expected a number, or session/direction/number, like 1/c2s/3".to_owned())?;
        Ok(Self { session, dir, held })
    }
}

/// A command about rules.
#[derive(Debug, Subcommand)]
pub(crate) enum CtlRules {
    /// List the rules and link lines
    List,
    /// Add rules or link lines after all others
    Add {
        /// The text, such as 'drop when sv_chat'
        #[arg(value_name = "TEXT")]
        text: String,
    },
    /// Replace a rule that was not read from a file
    Replace {
        /// The name of the rule as in the list
        #[arg(value_name = "NAME")]
        name: String,
        /// The new text
        #[arg(value_name = "TEXT")]
        text: String,
    },
    /// Let two rules that were not read from a file change places
    Swap {
        /// The name of the rule as in the list
        #[arg(value_name = "NAME")]
        name: String,
        /// The name of the other one
        #[arg(value_name = "WITH")]
        with: String,
    },
    /// Remove a rule that was not read from a file
    Remove {
        /// The name of the rule as in the list
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Switch a rule on
    On {
        /// The name of the rule as in the list
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Switch a rule off
    Off {
        /// The name of the rule as in the list
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// The legs that are closed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CtlSide {
    /// The leg to the client
    Client,
    /// The leg to the server
    Server,
    /// Both legs
    Both,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_message_has_a_number_or_a_place() {
        let held = NonZeroU32::new(3).unwrap();
        let alone = HeldPlace {
            session: None,
            dir: None,
            held,
        };
        assert_eq!("3".parse(), Ok(alone));
        let place = HeldPlace {
            session: Some(1),
            dir: Some(Dir::S2c),
            held,
        };
        assert_eq!("1/s2c/3".parse(), Ok(place));
        for wrong in ["", "0", "x", "1/3", "1/x/3", "/c2s/3", "1/c2s/3/4"] {
            assert!(wrong.parse::<HeldPlace>().is_err(), "{wrong}");
        }
    }
}
