//! Clauses that explain actions, in which `it` is the message.

use std::time::Duration;

use teetap_wire::{Dir, Side};

use crate::syntax::ast::Expr;
use crate::syntax::change::Replace;
use crate::syntax::made::Made;
use crate::syntax::template::{Template, TemplatePart};
use crate::units::{counted, shown};

pub(super) fn delay(from: Duration, to: Duration, unordered: bool) -> String {
    let range = if from == to {
        shown(from)
    } else {
        format!("{} to {}, drawn at random", shown(from), shown(to))
    };
    format!("delay it by {range}; {}", order(unordered))
}

pub(super) fn corrupt(count: u32, bytes: bool) -> String {
    let change = match bytes {
        false => format!("flip {}", counted(count, "one bit", "bits")),
        true => format!("change {}", counted(count, "one byte", "bytes")),
    };
    format!("{change} of it, chosen at random")
}

pub(super) fn replace(replace: &Replace) -> String {
    format!(
        "replace each part of `{}` that matches `/{}/` with \"{}\"",
        replace.target,
        replace.pattern,
        replace.with.escape_debug()
    )
}

pub(super) fn dup(copies: u32, gap: Duration) -> String {
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
pub(super) fn close(side: Option<Side>, reason: &str) -> String {
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

pub(super) fn order(unordered: bool) -> &'static str {
    if unordered {
        "later messages overtake it"
    } else {
        "later vital messages wait for it"
    }
}

pub(super) fn make(made: &Made, has_message: bool, value: fn(&Expr) -> String) -> String {
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

pub(super) fn text(template: &Template) -> String {
    let parts = template.0.iter().map(|part| match part {
        TemplatePart::Text(text) => text.escape_debug().to_string(),
        TemplatePart::Value(expr) => format!("{{{expr}}}"),
    });
    format!("\"{}\"", parts.collect::<String>())
}
