//! Actions on a message.

use std::fmt;
use std::time::Duration;

use teetap_wire::def::suggest;
use winnow::combinator::opt;
use winnow::prelude::*;

use super::argument::{Shown, duration, opt_number, opt_times};
use super::error::wanted;
use super::lex::{Input, Parsed, blank, cut, keyword, word};
use crate::diagnostic::{Code, Diagnostic};

/// The maximum delay.
const MAX_DELAY: Duration = Duration::from_secs(3600);

/// An action on a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// `pass`
    Pass,
    /// `drop`
    Drop,
    /// `lose 2 times`
    Lose {
        /// The number of suppressed copies, from 1.
        times: u32,
    },
    /// `delay 80ms unordered`
    Delay {
        /// The delay.
        for_: Duration,
        /// True if later messages overtake it.
        unordered: bool,
    },
    /// `dup 2`
    Dup {
        /// The number of added messages, from 1.
        copies: u32,
    },
    /// `reorder 4`; `swap` is `reorder 1`.
    Reorder {
        /// The number of matches that overtake the message, from 1.
        after: u32,
    },
}

/// All actions.
const ACTIONS: [&str; 7] = ["pass", "drop", "lose", "delay", "dup", "reorder", "swap"];

pub(super) fn action(i: &mut Input<'_>) -> Parsed<Action> {
    blank(i)?;
    let Some((verb, span)) = opt(word).parse_next(i)? else {
        return cut(wanted(i, "an action"));
    };
    Ok(match verb {
        "pass" => Action::Pass,
        "drop" => Action::Drop,
        "swap" => Action::Reorder { after: 1 },
        "lose" => lose(i)?,
        "delay" => delay(i)?,
        "dup" => Action::Dup {
            copies: opt_times(i)?.unwrap_or(1),
        },
        "reorder" => match opt_times(i)? {
            Some(after) => Action::Reorder { after },
            None => return cut(wanted(i, "how many overtake, as in `reorder 4`")),
        },
        _ => {
            return cut(
                Diagnostic::new(Code::UnknownAction, span, format!("unknown action `{verb}`"))
                    .meant(suggest(verb, ACTIONS))
                    .note(format!("actions: {}", ACTIONS.join(" "))),
            );
        }
    })
}

fn lose(i: &mut Input<'_>) -> Parsed<Action> {
    let times = opt_times(i)?;
    if times.is_some() {
        blank(i)?;
        if opt(keyword("times")).parse_next(i)?.is_none() {
            return cut(wanted(i, "`times`"));
        }
    }
    Ok(Action::Lose {
        times: times.unwrap_or(1),
    })
}

fn delay(i: &mut Input<'_>) -> Parsed<Action> {
    let Some((value, span)) = opt_number(i)? else {
        return cut(wanted(i, "a duration, as in `delay 80ms`"));
    };
    let for_ = duration(value, span)?;
    if for_ > MAX_DELAY {
        let what = format!("a delay is at most {} s", MAX_DELAY.as_secs());
        return cut(Diagnostic::new(Code::Impossible, span, what));
    }
    blank(i)?;
    let unordered = opt(keyword("unordered")).parse_next(i)?.is_some();
    Ok(Action::Delay { for_, unordered })
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass => f.write_str("pass"),
            Self::Drop => f.write_str("drop"),
            Self::Lose { times: 1 } => f.write_str("lose"),
            Self::Lose { times } => write!(f, "lose {times} times"),
            Self::Delay { for_, unordered } => {
                write!(f, "delay {}", Shown(*for_))?;
                f.write_str(if *unordered { " unordered" } else { "" })
            }
            Self::Dup { copies: 1 } => f.write_str("dup"),
            Self::Dup { copies } => write!(f, "dup {copies}"),
            Self::Reorder { after: 1 } => f.write_str("swap"),
            Self::Reorder { after } => write!(f, "reorder {after}"),
        }
    }
}
