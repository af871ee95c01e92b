//! Errors about unexpected text.

use teetap_wire::def::suggest;

use super::lex::{Input, next_thing, rest};
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;

/// Words that are operators, which cannot be names if an operand is expected.
pub(crate) const OPERATORS: [&str; 6] = ["and", "or", "not", "contains", "matches", "in"];

/// Words that follow the condition of a rule, in the order of [`RuleStep`](super::RuleStep).
pub(crate) const MODIFIERS: [&str; 11] = [
    "from", "to", "after", "until", "skip", "every", "chance", "first", "once", "max", "per",
];

/// Returns the error for missing text at the current position.
pub(super) fn wanted(i: &Input<'_>, what: &str) -> Diagnostic {
    let (span, found) = next_thing(i);
    Diagnostic::new(Code::Expected, span, format!("expected {what}, found {found}"))
}

pub(super) fn chained(span: Span) -> Diagnostic {
    Diagnostic::new(Code::Chained, span, "comparisons cannot be chained")
        .help("join them with `and`: `a < b and b < c`")
}

/// Returns the error for text after a complete expression, which only an operator or `end` may follow.
pub(super) fn leftover(i: &Input<'_>, end: &str) -> Diagnostic {
    let (span, found) = next_thing(i);
    let text = rest(i);
    let two = Span::new(span.start, span.start + 2);
    let starts = |sign: &str| text.starts_with(sign);
    let word = found.trim_matches('`');
    if starts("==")
        || starts("!=")
        || starts("<")
        || starts(">")
        || matches!(word, "contains" | "matches" | "in")
    {
        return chained(span);
    }
    if starts("=~") {
        return Diagnostic::new(Code::Expected, two, "no operator `=~`").help("use `matches`");
    }
    if starts("=") {
        return Diagnostic::new(Code::Assignment, span, "`=` assigns; to compare use `==`");
    }
    if starts("&") || starts("|") {
        let twice = if starts("&") {
            "`and` or `&&`"
        } else {
            "`or` or `||`"
        };
        return Diagnostic::new(Code::Expected, span, format!("no operator {found}"))
            .help(format!("use {twice}"));
    }
    if matches!(word, ")" | "]" | "}") {
        return Diagnostic::new(Code::Expected, span, format!("unmatched {found}"));
    }
    let diagnostic = Diagnostic::new(
        Code::Expected,
        span,
        format!("expected an operator or {end}, found {found}"),
    );
    match suggest(word, OPERATORS.into_iter().filter(|word| *word != "not")) {
        Some(meant) => diagnostic.meant(Some(meant)),
        None if MODIFIERS.contains(&word) || word == "when" => {
            diagnostic.note(format!("`{word}` belongs to rules; this is an expression"))
        }
        None => diagnostic,
    }
}

/// Returns the error for text after the condition or a modifier of a rule.
pub(super) fn leftover_of_rule(i: &Input<'_>, is_condition: bool) -> Diagnostic {
    let diagnostic = if is_condition {
        leftover(i, "a modifier")
    } else {
        wanted(i, "a modifier")
    };
    let (_, found) = next_thing(i);
    match diagnostic.help {
        None => diagnostic.meant(suggest(found.trim_matches('`'), MODIFIERS)),
        Some(_) => diagnostic,
    }
}
