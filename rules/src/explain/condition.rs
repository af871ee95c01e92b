//! Explains expressions as clauses, in which `it` is the message.

use crate::check::noun;
use crate::syntax::{Call, Choice, Compare, Expr, Kind, Path};

/// Words of the language with their predicate, positive and negated.
const WORDS: [(&str, &str, &str); 15] = [
    ("c2s", "goes to the server", "does not go to the server"),
    ("s2c", "goes to the client", "does not go to the client"),
    ("ctrl", "is a control message", "is not a control message"),
    ("sys", "is a system message", "is not a system message"),
    ("game", "is a game message", "is not a game message"),
    ("connless", "belongs to no connection", "belongs to a connection"),
    ("any_snap", "is part of a snapshot", "is not part of a snapshot"),
    ("vital", "is vital", "is not vital"),
    ("resend", "is marked as resent", "is not marked as resent"),
    ("compressed", "was compressed", "was not compressed"),
    ("unknown", "has no definition", "has a definition"),
    ("malformed", "has a note of an error", "has no note of an error"),
    (
        "lint",
        "has a note of a warning or an error",
        "has no note of a warning or an error",
    ),
    ("mark", "has a mark", "has no mark"),
    ("touched", "was touched by teetap", "was not touched by teetap"),
];

/// Returns an expression as a clause. Its subject is the message, called `a message` or `it`.
pub(super) fn clause(expr: &Expr) -> String {
    let mut writer = Writer { is_named: false };
    writer.clause(expr)
}

/// Returns an expression as a noun.
pub(super) fn value(expr: &Expr) -> String {
    match &expr.kind {
        Kind::Text(_) | Kind::Number(_) => expr.to_string(),
        Kind::Call(call) => called(call),
        Kind::Path(path) => fact(path),
        _ => format!("`{expr}`"),
    }
}

/// Returns true if an expression restricts the direction: `c2s` or `s2c` is joined to the rest by `and`.
pub(super) fn names_direction(expr: &Expr) -> bool {
    match &expr.kind {
        Kind::All(parts) => parts.iter().any(names_direction),
        Kind::Path(path) => matches!(&*path.to_string(), "c2s" | "s2c"),
        _ => false,
    }
}

/// Converts an expression to clauses.
struct Writer {
    /// True if this clause has already named the message.
    is_named: bool,
}

impl Writer {
    fn clause(&mut self, expr: &Expr) -> String {
        match &expr.kind {
            Kind::All(parts) => self.joined(parts, " and "),
            Kind::Any(parts) => self.joined(parts, " or "),
            Kind::Not(inner) => self.negated(inner),
            Kind::Path(path) => self.predicate(path, true),
            Kind::Text(_) => format!("{} contains {expr} in a text", self.subject()),
            Kind::Regex(_) => format!("a text of {} matches `{expr}`", self.subject()),
            Kind::Call(call) => self.call(call, true),
            Kind::Compare(op, left, right) => {
                format!("{} {} {}", value(left), compared(*op, right), value(right))
            }
            Kind::In(left, choices) => format!("{} is {}", value(left), one_of(choices)),
            Kind::Arith(..) | Kind::Negate(_) | Kind::Number(_) | Kind::Variable(_) => {
                format!("{} is true", value(expr))
            }
        }
    }

    fn joined(&mut self, parts: &[Expr], word: &str) -> String {
        let parts: Vec<String> = parts
            .iter()
            .map(|part| match &part.kind {
                // Mixed `and` and `or` would be ambiguous.
                Kind::Any(_) | Kind::All(_) => format!("({})", self.clause(part)),
                _ => self.clause(part),
            })
            .collect();
        parts.join(word)
    }

    fn negated(&mut self, inner: &Expr) -> String {
        match &inner.kind {
            Kind::Path(path) => self.predicate(path, false),
            Kind::Call(call) => self.call(call, false),
            Kind::Text(_) => format!("{} contains {inner} in no text", self.subject()),
            _ => format!("it is not so that ({})", self.clause(inner)),
        }
    }

    /// Returns a path as a condition: a word of the language, a message, or a boolean fact.
    fn predicate(&mut self, path: &Path, holds: bool) -> String {
        let text = path.to_string();
        let word = WORDS.iter().find(|(word, ..)| text.eq_ignore_ascii_case(word));
        if let Some((_, yes, no)) = word {
            return format!("{} {}", self.subject(), if holds { yes } else { no });
        }
        if let Some(code) = text.strip_prefix("lint.") {
            let has = if holds { "has" } else { "does not have" };
            return format!("{} {has} the note `{code}`", self.subject());
        }
        if let Some(name) = text.strip_prefix("mark.") {
            let has = if holds { "has" } else { "does not have" };
            return format!("{} {has} the mark `{name}`", self.subject());
        }
        if text.eq_ignore_ascii_case("pkt.resend") {
            let does = if holds { "requests" } else { "does not request" };
            return format!("the datagram {does} a resend");
        }
        if text.eq_ignore_ascii_case("snap.crc_ok") {
            let is = if holds { "right" } else { "wrong" };
            return format!("the checksum of the snapshot is {is}");
        }
        let is = if holds { "is" } else { "is not" };
        if path.dot
            || path.starts("snap") && path.segments.len() > 1
            || path.starts("pkt")
            || path.starts("sess")
            || path.starts("link")
        {
            return format!("{} {is} true", fact(path));
        }
        format!("{} {is} `{text}`", self.subject())
    }

    fn call(&mut self, call: &Call, holds: bool) -> String {
        let argument = call.arguments.first().map_or(String::new(), ToString::to_string);
        match (&*call.name.text, holds) {
            ("seen", true) => format!("`{argument}` has been seen in the session"),
            ("seen", false) => format!("`{argument}` has not been seen in the session"),
            ("has", true) => format!("{} has the field `{argument}`", self.subject()),
            ("has", false) => format!("{} does not have the field `{argument}`", self.subject()),
            ("any", true) => format!("`{argument}` holds for an element of the list"),
            ("any", false) => format!("`{argument}` holds for no element of the list"),
            ("all", true) => format!("`{argument}` holds for all elements of the list"),
            ("all", false) => format!("`{argument}` does not hold for all elements of the list"),
            (_, true) => format!("{} is true", called(call)),
            (_, false) => format!("{} is not true", called(call)),
        }
    }

    fn subject(&mut self) -> &'static str {
        if std::mem::replace(&mut self.is_named, true) {
            "it"
        } else {
            "a message"
        }
    }
}

/// Returns a function of numbers as a noun.
fn called(call: &Call) -> String {
    let argument = call.arguments.first().map_or(String::new(), ToString::to_string);
    match &*call.name.text {
        "count" => format!("the number of `{argument}` so far"),
        "since" => format!("the time since the last `{argument}`"),
        "last" => {
            let rest: Vec<String> = call.rest.iter().map(ToString::to_string).collect();
            format!("`{}` of the last `{argument}`", rest.join("."))
        }
        "len" => format!("the length of `{argument}`"),
        _ => format!("`{call}`"),
    }
}

/// Returns a path as a noun.
fn fact(path: &Path) -> String {
    let text = path.to_string();
    match &*text {
        "n" => "the number of the match".to_owned(),
        "t" => "the age of the session".to_owned(),
        "leg" => "the leg".to_owned(),
        "action" => "the action on it".to_owned(),
        "rule" => "the name of a rule that acted on it".to_owned(),
        "origin" => "its origin".to_owned(),
        name => match noun(name) {
            Some(noun) => noun.to_owned(),
            None => format!("`{text}`"),
        },
    }
}

fn compared(op: Compare, right: &Expr) -> &'static str {
    let is_text = matches!(right.kind, Kind::Text(_));
    match op {
        Compare::Equal => "is",
        Compare::Unequal => "is not",
        Compare::Less if is_text => "comes before",
        Compare::Less => "is less than",
        Compare::LessEqual => "is at most",
        Compare::Greater if is_text => "comes after",
        Compare::Greater => "is more than",
        Compare::GreaterEqual => "is at least",
        Compare::Contains => "contains",
        Compare::Matches => "matches",
    }
}

fn one_of(choices: &[Choice]) -> String {
    let choices: Vec<String> = choices
        .iter()
        .map(|choice| match choice {
            Choice::One(one) => value(one),
            Choice::Range(from, to) => format!("from {} to {}", value(from), value(to)),
        })
        .collect();
    choices.join(" or ")
}
