//! Explains actions as imperative clauses, in which `it` is the message.

use std::time::Duration;

use teetap_wire::{Dir, Side};

use crate::syntax::{Action, Made, Template, TemplatePart};

use super::condition::{clause, value};
use super::{counted, shown};

/// Returns an action as a clause. `has_message` is false for rules that act at certain times.
pub(super) fn sentence(action: &Action, has_message: bool) -> String {
    match action {
        Action::Pass => "let it pass".to_owned(),
        Action::Drop => "drop it, as if it had never been sent (its sender sees it acked)".to_owned(),
        Action::Lose { times } => format!(
            "suppress its first {}, so that its receiver requests a resend if it is vital",
            counted(*times, "transmission", "transmissions")
        ),
        Action::Delay { from, to, unordered } => {
            let range = if from == to {
                shown(*from)
            } else {
                format!("{} to {}, drawn at random", shown(*from), shown(*to))
            };
            format!("delay it by {range}; {}", order(*unordered))
        }
        Action::Hold {
            until,
            max,
            unordered,
        } => format!(
            "hold it until {}, at most {}; {}",
            clause(until),
            shown(*max),
            order(*unordered)
        ),
        Action::Pause { max, unordered } => format!(
            "hold it until a command releases or drops it, at most {}; {}",
            shown(*max),
            order(*unordered)
        ),
        Action::Stall(time) if has_message => {
            format!("let nothing flow in its direction for {}", shown(*time))
        }
        Action::Stall(time) => format!("let nothing flow in either direction for {}", shown(*time)),
        Action::Dup { copies, gap } => dup(*copies, *gap),
        Action::Reorder { after: 1 } => "let the next match overtake it (for 1 s at most)".to_owned(),
        Action::Reorder { after } => format!("let the next {after} matches overtake it (for 1 s at most)"),
        Action::Corrupt { count, bytes: false } => {
            format!(
                "flip {} of it, chosen at random",
                counted(*count, "one bit", "bits")
            )
        }
        Action::Corrupt { count, bytes: true } => {
            format!(
                "change {} of it, chosen at random",
                counted(*count, "one byte", "bytes")
            )
        }
        Action::Set(assigns) => {
            let set =
                |assign: &crate::syntax::Assign| format!("`{}` to {}", assign.target, value(&assign.value));
            format!("set {}", assigns.iter().map(set).collect::<Vec<_>>().join(", "))
        }
        Action::Replace(replace) => format!(
            "replace each part of `{}` that matches `/{}/` with \"{}\"",
            replace.target,
            replace.pattern,
            replace.with.escape_debug()
        ),
        Action::Make(made) => make(made, has_message),
        Action::Log(None) => "report it in the log".to_owned(),
        Action::Log(Some(template)) => format!("report the text {}", text(template)),
        Action::Mark(None) => "mark it with the rule".to_owned(),
        Action::Mark(Some(id)) => format!("mark it with `{}`", id.text),
        Action::Var { name, value: given } => {
            format!("set the variable `${}` to {}", name.text, value(given))
        }
        Action::Fail(why) => format!("end the run as failed, because \"{}\"", why.escape_debug()),
        Action::Expect { expected, within } => format!(
            "end the run as failed, unless within {} {}",
            shown(*within),
            clause(expected)
        ),
        Action::Exit(code) => format!("end the run with exit code {code}"),
        Action::Close { side, reason } => close(*side, reason),
    }
}

fn dup(copies: u32, gap: Duration) -> String {
    let copies = match copies {
        1 => "one more message".to_owned(),
        copies => format!("{copies} more messages"),
    };
    let gap = match gap.is_zero() {
        true => String::new(),
        false => format!(", each {} after the one before", shown(gap)),
    };
    format!("send {copies} with its bytes{gap}")
}

/// A close ends both legs; only the reason is sent to one peer.
fn close(side: Option<Side>, reason: &str) -> String {
    let whose = match side {
        None => "",
        Some(Side::Client) => " for the client",
        Some(Side::Server) => " for the server",
    };
    if reason.is_empty() {
        "close both legs".to_owned()
    } else {
        format!(
            "close both legs, with the reason \"{}\"{whose}",
            reason.escape_debug()
        )
    }
}

fn order(unordered: bool) -> &'static str {
    if unordered {
        "later messages overtake it"
    } else {
        "later vital messages wait for it"
    }
}

fn make(made: &Made, has_message: bool) -> String {
    let fields = made
        .fields
        .iter()
        .map(|(name, given)| format!("`{}` {}", name.text, value(given)));
    let fields: Vec<String> = fields.collect();
    let with = if fields.is_empty() {
        String::new()
    } else {
        format!(" with {}", fields.join(", "))
    };
    let to = match made.dir {
        None => "answer its sender with",
        Some(Dir::S2c) => "send the client",
        Some(Dir::C2s) => "send the server",
    };
    let place = match (made.dir, made.before) {
        (None, _) => "",
        _ if !has_message => "",
        (_, true) => ", ahead of it",
        (_, false) => ", after it",
    };
    let kind = if made.nonvital { ", without a number" } else { "" };
    format!("{to} `{}`{with}{place}{kind}", made.name)
}

fn text(template: &Template) -> String {
    let parts = template.0.iter().map(|part| match part {
        TemplatePart::Text(text) => text.escape_debug().to_string(),
        TemplatePart::Value(expr) => format!("{{{expr}}}"),
    });
    format!("\"{}\"", parts.collect::<String>())
}
