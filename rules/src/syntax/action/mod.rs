//! Actions on a message.

mod arguments;
mod end;
mod hold;

use std::fmt::{self, Write as _};
use std::time::Duration;

use teetap_wire::Side;

use super::argument::Shown;
use super::ast::{Expr, Name};
use super::change::{Assign, Replace};
use super::made::Made;
use super::print::quoted;
use super::template::{Template, TemplatePart};
pub(super) use arguments::action;

/// Default time after which a held message is released.
pub(super) const MAX_HOLD: Duration = Duration::from_secs(30);

/// An action on a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// `pass`
    Pass,
    /// `drop`
    Drop,
    /// `lose 2 times`
    Lose {
        /// Number of suppressed copies, from 1.
        times: u32,
    },
    /// `delay 80ms unordered`, `delay 80ms..120ms`
    Delay {
        /// Minimum delay.
        from: Duration,
        /// Maximum delay; equal to the minimum if the delay is not random.
        to: Duration,
        /// True if later messages overtake the delayed one.
        unordered: bool,
    },
    /// `dup 2 gap 15ms`
    Dup {
        /// Number of added messages, from 1.
        copies: u32,
        /// Interval between the added messages.
        gap: Duration,
    },
    /// `reorder 4`; `swap` is `reorder 1`.
    Reorder {
        /// Number of matches that overtake the message, from 1.
        after: u32,
    },
    /// `corrupt 3 bits`
    Corrupt {
        /// Number of changed bits or bytes, from 1.
        count: u32,
        /// True to change whole bytes, false to flip single bits.
        bytes: bool,
    },
    /// `set sv_chat.message = "text"`: at least one assignment.
    Set(Vec<Assign>),
    /// `replace cl_say.message /regex/ with "text"`
    Replace(Replace),
    /// `inject s2c sv_chat{message: "text"}`, `reply sv_chat`
    Make(Made),
    /// `hold until seen(enter_game) max 5s unordered`
    Hold {
        /// Condition on a message that releases the held one.
        until: Expr,
        /// Maximum time until the message is released.
        max: Duration,
        /// True if later messages overtake the held one.
        unordered: bool,
    },
    /// `pause max 5s unordered`
    Pause {
        /// Maximum time until the message is released.
        max: Duration,
        /// True if later messages overtake the held one.
        unordered: bool,
    },
    /// `stall 3s`
    Stall(Duration),
    /// `log "text {value}"`; without a text, reports the name of the message.
    Log(Option<Template>),
    /// `mark`, `mark id`: marks the message with the id, or with the name of the rule.
    Mark(Option<Name>),
    /// `var $joined = t`
    Var {
        /// Name, without `$`.
        name: Name,
        /// Value to assign.
        value: Expr,
    },
    /// `fail "text"`
    Fail(String),
    /// `expect sv_motd within 5s`
    Expect {
        /// Condition on a later message.
        expected: Expr,
        /// Time in which the message must be received.
        within: Duration,
    },
    /// `exit 10`
    Exit(u8),
    /// `close client "reason"`
    Close {
        /// Side that is sent a CLOSE with the reason; `None` for both.
        side: Option<Side>,
        /// Reason of the CLOSE.
        reason: String,
    },
}

/// Keywords of all actions.
pub(crate) const ACTIONS: [&str; 22] = [
    "pass", "drop", "lose", "delay", "dup", "reorder", "swap", "corrupt", "set", "replace", "inject",
    "reply", "hold", "pause", "stall", "log", "mark", "close", "var", "fail", "expect", "exit",
];

impl Action {
    /// Returns true if the action makes random decisions.
    #[must_use]
    pub fn draws(&self) -> bool {
        match self {
            Self::Delay { from, to, .. } => from != to,
            Self::Corrupt { .. } => true,
            _ => false,
        }
    }

    /// Calls `each` with every expression in the action.
    pub(crate) fn each_expr(&self, each: &mut dyn FnMut(&Expr)) {
        match self {
            Self::Set(assigns) => {
                for assign in assigns {
                    each(&assign.target);
                    each(&assign.value);
                }
            }
            Self::Replace(replace) => each(&replace.target),
            Self::Var { value, .. } => each(value),
            Self::Make(made) => made.fields.iter().for_each(|(_, value)| each(value)),
            Self::Log(Some(Template(parts))) => {
                for part in parts {
                    if let TemplatePart::Value(value) = part {
                        each(value);
                    }
                }
            }
            _ => {}
        }
    }

    /// Calls `each` with every expression in the action that may contain names: all except the fields that it changes.
    pub(crate) fn each_expr_mut(&mut self, each: &mut dyn FnMut(&mut Expr)) {
        match self {
            Self::Set(assigns) => assigns.iter_mut().for_each(|assign| each(&mut assign.value)),
            Self::Make(made) => made.fields.iter_mut().for_each(|(_, value)| each(value)),
            Self::Log(Some(Template(parts))) => {
                for part in parts {
                    if let TemplatePart::Value(value) = part {
                        each(value);
                    }
                }
            }
            Self::Var { value, .. } => each(value),
            Self::Hold { until, .. } => each(until),
            Self::Expect { expected, .. } => each(expected),
            _ => {}
        }
    }

    /// Returns true if the action ends the search, so that later rules are not tried.
    #[must_use]
    pub const fn ends(&self) -> bool {
        matches!(
            self,
            Self::Pass | Self::Drop | Self::Lose { .. } | Self::Pause { .. } | Self::Close { .. }
        )
    }

    /// Returns true if a journal records the action: it is a fault or a change of the traffic, or keeps later rules
    /// from acting.
    #[must_use]
    pub const fn is_fault(&self) -> bool {
        matches!(self, Self::Close { .. } | Self::Stall(_)) || !self.is_passive()
    }

    /// Returns true if the action changes no message and no sequence number.
    #[must_use]
    pub const fn is_passive(&self) -> bool {
        matches!(
            self,
            Self::Log(_)
                | Self::Stall(_)
                | Self::Mark(_)
                | Self::Close { .. }
                | Self::Var { .. }
                | Self::Fail(_)
                | Self::Expect { .. }
                | Self::Exit(_)
        )
    }

    /// Returns true if the action can apply to control messages.
    #[must_use]
    pub(crate) const fn fits_control(&self) -> bool {
        let ends_run = matches!(self, Self::Fail(_) | Self::Expect { .. } | Self::Exit(_));
        ends_run || !matches!(self, Self::Replace(_)) && self.fits_connless()
    }

    /// Returns true if the action can apply to messages outside a connection.
    #[must_use]
    pub(crate) const fn fits_connless(&self) -> bool {
        !matches!(
            self,
            Self::Reorder { .. }
                | Self::Make(_)
                | Self::Hold { .. }
                | Self::Pause { .. }
                | Self::Stall(_)
                | Self::Close { .. }
                | Self::Fail(_)
                | Self::Expect { .. }
                | Self::Exit(_)
        )
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass => f.write_str("pass"),
            Self::Drop => f.write_str("drop"),
            Self::Lose { times: 1 } => f.write_str("lose"),
            Self::Lose { times } => write!(f, "lose {times} times"),
            Self::Delay { from, to, unordered } => {
                write!(f, "delay {}", Shown(*from))?;
                if to != from {
                    write!(f, "..{}", Shown(*to))?;
                }
                f.write_str(if *unordered { " unordered" } else { "" })
            }
            Self::Dup { copies, gap } => {
                f.write_str("dup")?;
                if *copies > 1 {
                    write!(f, " {copies}")?;
                }
                if gap.is_zero() {
                    return Ok(());
                }
                write!(f, " gap {}", Shown(*gap))
            }
            Self::Set(assigns) => {
                f.write_str("set ")?;
                for (at, assign) in assigns.iter().enumerate() {
                    let comma = if at > 0 { ", " } else { "" };
                    write!(f, "{comma}{assign}")?;
                }
                Ok(())
            }
            Self::Replace(replace) => replace.fmt(f),
            Self::Hold {
                until,
                max,
                unordered,
            } => {
                write!(f, "hold until {until}")?;
                patience_of(*max, *unordered, f)
            }
            Self::Pause { max, unordered } => {
                f.write_str("pause")?;
                patience_of(*max, *unordered, f)
            }
            Self::Stall(time) => write!(f, "stall {}", Shown(*time)),
            Self::Log(None) => f.write_str("log"),
            Self::Log(Some(template)) => write!(f, "log {template}"),
            Self::Mark(None) => f.write_str("mark"),
            Self::Mark(Some(id)) => write!(f, "mark {}", id.text),
            Self::Var { name, value } => write!(f, "var ${} = {value}", name.text),
            Self::Fail(why) => {
                f.write_str("fail ")?;
                quoted(f, why)
            }
            Self::Expect { expected, within } => {
                write!(f, "expect {expected} within {}", Shown(*within))
            }
            Self::Exit(code) => write!(f, "exit {code}"),
            Self::Close { side, reason } => {
                f.write_str(match side {
                    Some(Side::Client) => "close client",
                    Some(Side::Server) => "close server",
                    None => "close both",
                })?;
                if reason.is_empty() {
                    return Ok(());
                }
                f.write_char(' ')?;
                quoted(f, reason)
            }
            Self::Make(made) => made.fmt(f),
            Self::Corrupt { count, bytes } => {
                write!(f, "corrupt {count} {}", if *bytes { "bytes" } else { "bits" })
            }
            Self::Reorder { after: 1 } => f.write_str("swap"),
            Self::Reorder { after } => write!(f, "reorder {after}"),
        }
    }
}

/// Formats the limits of a hold or a pause.
fn patience_of(max: Duration, unordered: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if max != MAX_HOLD {
        write!(f, " max {}", Shown(max))?;
    }
    f.write_str(if unordered { " unordered" } else { "" })
}
