//! Errors about unexpected text.

use teetap_wire::def::suggest;

use super::advice;
use super::ast::{Expr, Kind};
use super::lex::{Input, next_thing, rest};
use super::words::{MODIFIERS, OPERATORS};
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;
use crate::synonym::{self, Place};

/// Help about directions, which other programs write as arrows.
const DIRECTIONS: &str = "write `c2s` for messages to the server, or `s2c` for messages to the client";

/// Signs of other languages where an operator is expected, with help.
const SIGNS: [(&str, &str); 18] = [
    ("=~", "write `matches`, as in `.message matches /text/`"),
    ("=<", "write `<=`"),
    ("=>", "write `>=`"),
    ("<>", "write `!=`"),
    ("!~", "write `not … matches`, as in `not .message matches /text/`"),
    ("~=", "write `matches`, as in `.message matches /text/`"),
    (
        "~",
        "write `matches`, as in `.message matches /text/`, or `contains \"text\"`",
    ),
    ("->", DIRECTIONS),
    ("\u{2192}", DIRECTIONS),
    ("\u{2190}", DIRECTIONS),
    ("\u{2260}", "write `!=`"),
    ("\u{2264}", "write `<=`"),
    ("\u{2265}", "write `>=`"),
    (
        "?",
        "write the condition alone: `a ? b : c` is not part of the language",
    ),
    (
        ":",
        "write `==` to compare; the name of a rule comes first, as in `name: drop when sv_chat`",
    ),
    ("..", "write `in`, as in `t in 5s..10s`"),
    (
        ".",
        "write an address in quotes, as in `sess.client == \"127.0.0.1:52000\"`",
    ),
    ("//", "write `#` before a comment"),
];

/// Returns the error for a sign of another language at the position of an operator; `None` if there is none, or if the
/// text begins with an operator.
pub(super) fn foreign_sign(i: &Input<'_>) -> Option<Diagnostic> {
    let text = rest(i);
    let starts = |(sign, _): &(&str, &str)| text.starts_with(sign);
    let found = SIGNS
        .into_iter()
        .find(starts)
        .filter(|(sign, _)| matches!(*sign, "<>" | "->" | "//"));
    let three = ["===", "!=="].into_iter().find(|sign| text.starts_with(sign));
    let three = three.map(|sign| (sign, if sign == "===" { "write `==`" } else { "write `!=`" }));
    found.or(three).map(|(sign, help)| {
        let (span, _) = next_thing(i);
        let span = Span::new(span.start, span.start + sign.len());
        Diagnostic::new(Code::Expected, span, format!("no operator `{sign}`")).help(help)
    })
}

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
    if let Some((sign, help)) = SIGNS.into_iter().find(|(sign, _)| starts(sign)) {
        let span = Span::new(span.start, span.start + sign.len());
        return Diagnostic::new(Code::Expected, span, format!("no operator `{sign}`")).help(help);
    }
    if starts("=") {
        return Diagnostic::new(Code::Assignment, span, "`=` assigns; to compare use `==`")
            .help("write `==`");
    }
    if starts(";") {
        return Diagnostic::new(Code::Expected, span, "unexpected `;`")
            .help("remove `;`: a statement ends with its line");
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
        return Diagnostic::new(Code::Expected, span, format!("unmatched {found}"))
            .help(format!("remove {found}, or add the opening bracket"));
    }
    let diagnostic = Diagnostic::new(
        Code::Expected,
        span,
        format!("expected an operator or {end}, found {found}"),
    );
    let near = suggest(word, OPERATORS.into_iter().filter(|word| *word != "not"));
    match near.filter(|near| near.len() > 2 && synonym::typed(Place::Operator, word).is_none()) {
        Some(meant) => diagnostic.meant(Some(meant)),
        None if MODIFIERS.contains(&word) || word == "when" => {
            diagnostic.note(format!("`{word}` belongs to rules; this is an expression"))
        }
        None => diagnostic,
    }
}

/// Returns the error for missing text, or other text, at the position of a condition or a value.
pub(super) fn no_operand(i: &Input<'_>) -> Diagnostic {
    let error = wanted(i, "a condition or a value");
    let text = rest(i);
    let (word, _) = advice::split_word(text);
    let is_operator = OPERATORS.iter().any(|known| known.eq_ignore_ascii_case(word));
    let help = match text.chars().next() {
        None if i.state.comments.last().is_some() => {
            "`#` begins a comment; the session `#1` is `sess.id == 1`, and a mark is searched in the lines"
                .to_owned()
        }
        None => "a condition follows here, such as `sv_chat`; otherwise remove the last word".to_owned(),
        Some('*') => "leave the condition out, or write `c2s or s2c`, which matches every message".to_owned(),
        Some('~') => {
            "write the name of a message alone, such as `sv_chat`, or `\"text\"` to search all fields"
                .to_owned()
        }
        Some('=') => "write `==` once, between two values, as in `sv_chat.client_id == 0`".to_owned(),
        Some('<' | '>' | '&' | '|' | '+' | '/' | '%') => {
            "a value comes before an operator and after it, as in `sv_chat.client_id > 0 and c2s`".to_owned()
        }
        Some(')' | ']' | '}') => "a condition is missing before it, such as `sv_chat`".to_owned(),
        Some('[') => {
            "a set is in braces, as in `sv_chat.client_id in {1 2}`; brackets group conditions: `(a or b)`"
                .to_owned()
        }
        Some('{') => "write `sv_chat.client_id == 0`, or `in {1 2}` for several values".to_owned(),
        Some('\u{201c}' | '\u{201d}' | '\u{2018}' | '\u{2019}' | '`' | '\u{201e}' | '\u{ab}') => {
            "write text in straight quotes: `\"text\"`".to_owned()
        }
        Some('@') => "write `sess.name == \"nameless tee\"` for a player".to_owned(),
        Some('\u{2192}' | '\u{2190}') => DIRECTIONS.to_owned(),
        Some(_) if word.eq_ignore_ascii_case("contains") || word.eq_ignore_ascii_case("matches") => {
            "write `\"gg\"` or `/g+/` alone to search all fields, or `sv_chat.message contains \"gg\"`"
                .to_owned()
        }
        Some(_) if is_operator => format!("remove `{word}`, or write a condition before it"),
        Some(_) => {
            "write the name of a message, such as `sv_chat`, or a comparison, as in `sv_chat.client_id == 0`"
                .to_owned()
        }
    };
    error.help(help)
}

/// Returns the error for text after an expression, with a correction of both.
pub(super) fn leftover_of_expression(i: &Input<'_>, expr: &Expr) -> Diagnostic {
    let diagnostic = leftover(i, "the end");
    let help = match (&expr.kind, diagnostic.help.is_some()) {
        (_, true) => None,
        (Kind::Path(path), _) if path.segments.len() == 1 && !path.dot => {
            let both = format!("{expr} {}", advice::line(i));
            let dir =
                advice::direction(&both).and_then(|_| advice::first_expression(i, [advice::bare(&both)]));
            dir.or_else(|| synonym::condition_help(&expr.to_string(), false))
        }
        _ => None,
    };
    let first = |texts| advice::first_expression(i, texts);
    let help = help.or_else(|| advice::joined(i, &expr.to_string(), false, first));
    better(diagnostic, help)
}

/// Returns the diagnostic with this help, if there is one.
pub(super) fn better(diagnostic: Diagnostic, help: Option<String>) -> Diagnostic {
    match help {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}
