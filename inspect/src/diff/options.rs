//! The part of a recording that is compared.

use std::fmt;

use teetap_rules::Filter;
use teetap_wire::def::Secrets;

use super::{ignore::Ignore, view::View};

/// Selects the messages of a recording to compare.
#[derive(Clone, Default)]
pub struct Options {
    /// Number of the session; `None` for the first session that is online.
    pub session: Option<u32>,
    /// The leg to compare.
    pub view: View,
    /// Only messages that match are compared.
    pub filter: Option<Filter>,
    /// The comparison ends after the first message that matches.
    pub until: Option<Filter>,
    /// Messages and fields that are not compared.
    pub ignore: Ignore,
    /// Whether secrets are shown or hidden.
    pub secrets: Secrets,
    /// True to compare only messages up to the client's `enter_game`. Later messages count only in the statistics.
    pub join_only: bool,
}

/// The reason why a recording has no side to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoSide {
    /// The recording has no session at all.
    Empty,
    /// The recording lacks the wanted session. Has the numbers of some of its sessions, and true if there are more.
    NotThere(Vec<u32>, bool),
    /// The recording was made by another program, so it has only one leg.
    OneLeg,
}

impl fmt::Display for NoSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it has no session of the game"),
            Self::NotThere(others, more) => {
                let others: Vec<String> = others.iter().map(u32::to_string).collect();
                let more = if *more { " and more" } else { "" };
                write!(f, "no such session; it has {}{more}", others.join(", "))
            }
            Self::OneLeg => f.write_str("only recordings of teetap have two legs; name two recordings"),
        }
    }
}

impl std::error::Error for NoSide {}
