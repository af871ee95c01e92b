//! Names of values in recordings, and the values of those names.

use std::fmt::Display;

use teetap_proxy::session::{Action, Level, Origin, State};
use teetap_wire::{Code, Dir, Note, Notes, Side};

/// Notes by the names of their codes; those that are not known here are left out.
pub fn read_notes<'a>(notes: impl IntoIterator<Item = (&'a str, usize, usize)>) -> Notes {
    let mut read = Notes::new();
    for (name, at, len) in notes {
        if let Some(code) = Code::ALL.iter().find(|code| code.name() == name) {
            read.push(Note { code: *code, at, len });
        }
    }
    read
}

/// All values that have names in recordings.
pub const STATES: [State; 4] = [State::Opening, State::Online, State::Closing, State::Closed];
/// As [`STATES`].
pub const SIDES: [Side; 2] = [Side::Client, Side::Server];
/// As [`STATES`].
pub const DIRS: [Dir; 2] = [Dir::C2s, Dir::S2c];
/// As [`STATES`].
pub const ORIGINS: [Origin; 4] = [Origin::Peer, Origin::Rule, Origin::User, Origin::Proxy];
/// As [`STATES`].
pub const ACTIONS: [Action; 9] = [
    Action::Pass,
    Action::Edit,
    Action::Repeat,
    Action::Known,
    Action::Gap,
    Action::Drop,
    Action::Lose,
    Action::Hold,
    Action::Refuse,
];

/// The value of this name.
pub fn named<T: Display, const N: usize>(values: [T; N], name: &str) -> Option<T> {
    values.into_iter().find(|value| value.to_string() == name)
}

/// The outer `None` = a name that is not known here.
pub fn maybe<T: Display, const N: usize>(values: [T; N], name: Option<&str>) -> Option<Option<T>> {
    match name {
        None => Some(None),
        Some(name) => named(values, name).map(Some),
    }
}

/// A level's name in recordings.
#[must_use]
pub fn level_name(level: Level) -> &'static str {
    match level {
        Level::Info => "info",
        Level::Warning => "warning",
    }
}

/// The level of this name.
#[must_use]
pub fn level_of(name: &str) -> Option<Level> {
    [Level::Info, Level::Warning]
        .into_iter()
        .find(|level| level_name(*level) == name)
}
