//! Actions on a message: their words, their canonical text and their explanation.
//!
//! | module | part |
//! |---|---|
//! | `arguments`, `end`, `hold` | parse the arguments of actions |
//! | `canonical` | longer canonical texts |
//! | `phrases` | longer clauses of explanations |

mod arguments;
mod canonical;
mod end;
mod hold;
mod phrases;

use std::fmt;
use std::time::Duration;

use teetap_wire::Side;
use teetap_wire::def::suggest;
use winnow::combinator::opt;
use winnow::prelude::*;

use super::advice::action::no_action;
use super::advice::line;
use super::argument::Shown;
use super::ast::{Expr, Kind, Name};
use super::change::{self, Assign, Replace};
use super::error::wanted;
use super::lex::{Input, Parsed, blank, cut, rest, word};
use super::made::{self, Made};
use super::template::{Template, TemplatePart, opt_template, parse_template};
use super::words::ACTIONS;
use crate::diagnostic::{Code, Diagnostic};
use crate::units::{counted, shown};

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
    Fail(Template),
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

/// Parses the arguments of an action.
type Arguments = fn(&mut Input<'_>) -> Parsed<Action>;

/// The words of [`ACTIONS`], with the parsers of the arguments.
const PARSERS: [(&str, Arguments); ACTIONS.len()] = [
    ("pass", |_| Ok(Action::Pass)),
    ("drop", |_| Ok(Action::Drop)),
    ("lose", arguments::lose),
    ("delay", arguments::delay),
    ("dup", arguments::dup),
    ("reorder", arguments::reorder),
    ("swap", |_| Ok(Action::Reorder { after: 1 })),
    ("corrupt", arguments::corrupt),
    ("set", |i| change::assigns(i).map(Action::Set)),
    ("replace", |i| change::replace(i).map(Action::Replace)),
    ("inject", |i| made::inject(i).map(Action::Make)),
    ("reply", |i| made::message(i).map(Action::Make)),
    ("hold", hold::hold),
    ("pause", hold::pause),
    ("stall", arguments::stall),
    ("log", |i| opt_template(i).map(Action::Log)),
    ("mark", |i| arguments::mark(i).map(Action::Mark)),
    ("close", arguments::close),
    ("var", arguments::var),
    ("fail", end::fail),
    ("expect", end::expect),
    ("exit", end::exit),
];

pub(super) fn action(i: &mut Input<'_>) -> Parsed<Action> {
    blank(i)?;
    let Some((verb, span)) = opt(word).parse_next(i)? else {
        let error = wanted(i, "an action");
        return cut(error.help(no_action(i, "", &line(i)).unwrap_or_else(first_comes)));
    };
    match PARSERS.iter().find(|(word, _)| *word == verb) {
        Some((_, arguments)) => arguments(i),
        None => {
            let error = Diagnostic::new(Code::UnknownAction, span, format!("unknown action `{verb}`"));
            let blank = rest(i).len() - rest(i).trim_start().len();
            let tail = format!("{}{}", " ".repeat(blank.min(1)), line(i));
            cut(match no_action(i, verb, &tail) {
                Some(help) => error.help(help),
                None => match suggest(verb, ACTIONS) {
                    None => error.help(first_comes()),
                    meant => error.meant(meant),
                },
            }
            .note(format!("actions: {}", ACTIONS.join(" "))))
        }
    }
}

/// Returns help for text that is no action.
fn first_comes() -> String {
    "a rule begins with an action, as in `drop when sv_chat`".to_owned()
}

/// Functions that express the expressions of an action in English.
#[derive(Clone, Copy)]
pub(crate) struct English {
    /// Returns an expression as a clause.
    pub(crate) clause: fn(&Expr) -> String,
    /// Returns an expression as a noun.
    pub(crate) value: fn(&Expr) -> String,
}

/// Calls `each` with the value of a field; for a text, with the values in its braces.
fn each_value(value: &Expr, each: &mut dyn FnMut(&Expr)) {
    match &value.kind {
        Kind::Text(text) if text.contains('{') => {
            // The check reports an error in the text.
            let parts = parse_template(text)
                .map(|template| template.0)
                .unwrap_or_default();
            for part in &parts {
                if let TemplatePart::Value(value) = part {
                    each(value);
                }
            }
        }
        _ => each(value),
    }
}

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
                    each_value(&assign.value, each);
                }
            }
            Self::Replace(replace) => each(&replace.target),
            Self::Var { value, .. } => each(value),
            Self::Make(made) => made.fields.iter().for_each(|(_, value)| each_value(value, each)),
            Self::Log(Some(Template(parts))) | Self::Fail(Template(parts)) => {
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
            Self::Log(Some(Template(parts))) | Self::Fail(Template(parts)) => {
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

    /// Calls `each` with the value of every field that the action writes.
    pub(crate) fn each_field_mut(&mut self, each: &mut dyn FnMut(&mut Expr)) {
        match self {
            Self::Set(assigns) => assigns.iter_mut().for_each(|assign| each(&mut assign.value)),
            Self::Make(made) => made.fields.iter_mut().for_each(|(_, value)| each(value)),
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

    /// Explains the action as an imperative clause, in which `it` is the message. `has_message` is false for rules that
    /// act at certain times.
    pub(crate) fn sentence(&self, english: English, has_message: bool) -> String {
        match self {
            Self::Pass => "let it pass".to_owned(),
            Self::Drop => "drop it, as if it had never been sent (its sender sees it acked)".to_owned(),
            Self::Lose { times } => format!(
                "suppress its first {}, so that its receiver requests a resend if it is vital",
                counted(*times, "transmission", "transmissions")
            ),
            Self::Delay { from, to, unordered } => phrases::delay(*from, *to, *unordered),
            Self::Hold {
                until,
                max,
                unordered,
            } => format!(
                "hold it until {}, at most {}; {}",
                (english.clause)(until),
                shown(*max),
                phrases::order(*unordered)
            ),
            Self::Pause { max, unordered } => format!(
                "hold it until a command releases or drops it, at most {}; {}",
                shown(*max),
                phrases::order(*unordered)
            ),
            Self::Stall(time) if has_message => {
                format!("let nothing flow in its direction for {}", shown(*time))
            }
            Self::Stall(time) => format!("let nothing flow in either direction for {}", shown(*time)),
            Self::Dup { copies, gap } => phrases::dup(*copies, *gap),
            Self::Reorder { after: 1 } => "let the next match overtake it (for 1 s at most)".to_owned(),
            Self::Reorder { after } => format!("let the next {after} matches overtake it (for 1 s at most)"),
            Self::Corrupt { count, bytes } => phrases::corrupt(*count, *bytes),
            Self::Set(assigns) => {
                let set =
                    |assign: &Assign| format!("`{}` to {}", assign.target, (english.value)(&assign.value));
                format!("set {}", assigns.iter().map(set).collect::<Vec<_>>().join(", "))
            }
            Self::Replace(replace) => phrases::replace(replace),
            Self::Make(made) => phrases::make(made, has_message, english.value),
            Self::Log(None) => "report it in the log".to_owned(),
            Self::Log(Some(template)) => format!("report the text {}", phrases::text(template)),
            Self::Mark(None) => "mark it with the rule".to_owned(),
            Self::Mark(Some(id)) => format!("mark it with `{}`", id.text),
            Self::Var { name, value: given } => {
                format!("set the variable `${}` to {}", name.text, (english.value)(given))
            }
            Self::Fail(why) => format!("end the run as failed, because {}", phrases::text(why)),
            Self::Expect { expected, within } => format!(
                "end the run as failed, unless within {} {}",
                shown(*within),
                (english.clause)(expected)
            ),
            Self::Exit(code) => format!("end the run with exit code {code}"),
            Self::Close { side, reason } => phrases::close(*side, reason),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pass => f.write_str("pass"),
            Self::Drop => f.write_str("drop"),
            Self::Lose { times: 1 } => f.write_str("lose"),
            Self::Lose { times } => write!(f, "lose {times} times"),
            Self::Delay { from, to, unordered } => canonical::delay(*from, *to, *unordered, f),
            Self::Dup { copies, gap } => canonical::dup(*copies, *gap, f),
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
                canonical::patience(*max, *unordered, f)
            }
            Self::Pause { max, unordered } => {
                f.write_str("pause")?;
                canonical::patience(*max, *unordered, f)
            }
            Self::Stall(time) => write!(f, "stall {}", Shown(*time)),
            Self::Log(None) => f.write_str("log"),
            Self::Log(Some(template)) => write!(f, "log {template}"),
            Self::Mark(None) => f.write_str("mark"),
            Self::Mark(Some(id)) => write!(f, "mark {}", id.text),
            Self::Var { name, value } => write!(f, "var ${} = {value}", name.text),
            Self::Fail(why) => write!(f, "fail {why}"),
            Self::Expect { expected, within } => {
                write!(f, "expect {expected} within {}", Shown(*within))
            }
            Self::Exit(code) => write!(f, "exit {code}"),
            Self::Close { side, reason } => canonical::close(*side, reason, f),
            Self::Make(made) => made.fmt(f),
            Self::Corrupt { count, bytes } => {
                write!(f, "corrupt {count} {}", if *bytes { "bytes" } else { "bits" })
            }
            Self::Reorder { after: 1 } => f.write_str("swap"),
            Self::Reorder { after } => write!(f, "reorder {after}"),
        }
    }
}
