//! Literals that are compared with fields.
//!
//! Law: a value that the wire format cannot represent is an error. A value that the games merely never send is a
//! warning, because finding such values is the purpose of the program.

use std::net::SocketAddr;

use regex::bytes::{Regex, RegexBuilder};
use teetap_wire::def::{Field, Set, Type, suggest};
use uuid::Uuid;

use super::checker::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::eval::{IntTest, Test, TextTest};
use crate::span::Span;
use crate::syntax::{Choice, Compare, Expr, Kind, Number, Quantity, with_unit};

/// Memory limit in bytes of a compiled regex, and of its cache.
const REGEX_SIZE: usize = 1 << 20;
/// Memory limit in bytes of the first attempt to compile a regex.
const REGEX_LEAST: usize = 8 << 10;
/// Maximum memory in bytes of all compiled regexes of a text.
pub(crate) const MAX_REGEXES: usize = 16 << 20;
/// Maximum nesting of brackets in a regex.
const REGEX_NESTING: u32 = 64;

/// Maximum number of labels that an error lists.
const LISTED: usize = 24;

/// A number for a field. `usual` is true if the games send such a value.
pub(super) struct Fit {
    pub(super) value: i64,
    pub(super) usual: bool,
}

/// Returns the kind of a field as text, with its article.
pub(super) fn kind(field: &Field) -> String {
    match &field.ty {
        Type::Bool => "true or false".to_owned(),
        Type::Enum(set) => format!("a value of `{}`", set.name),
        Type::Flags(set) => format!("flags of `{}`", set.name),
        Type::Text(_) | Type::Packed(_) => "text".to_owned(),
        Type::Raw(..) | Type::Sha256 => "bytes".to_owned(),
        Type::Uuid => "a UUID".to_owned(),
        Type::Addr | Type::AddrLegacy => "an address".to_owned(),
        Type::Group { .. } => "a group of fields".to_owned(),
        _ => "a number".to_owned(),
    }
}

/// Returns true if the value is text or bytes.
pub(super) fn has_bytes(field: &Field) -> bool {
    !field.is_number() && !matches!(field.ty, Type::Group { .. })
}

pub(super) fn missing_unit(expr: &Expr, wanted: Quantity) -> Diagnostic {
    let what = format!("expected {}, found `{expr}`", wanted.name());
    let help = match &expr.kind {
        Kind::Number(number) => with_unit(number, wanted),
        _ => format!("write `{expr}{}`", wanted.usual()),
    };
    Diagnostic::new(Code::MissingUnit, expr.span, what).help(help)
}

pub(super) fn not_whole(number: &Number, span: Span) -> Diagnostic {
    match number.decimals {
        0 => Diagnostic::new(Code::Impossible, span, format!("`{number}` is too large")),
        _ => Diagnostic::new(Code::Mismatch, span, format!("`{number}` is not a whole number")),
    }
}

/// Returns the range of numbers that the wire format can represent.
fn room(ty: &Type) -> (i64, i64) {
    match ty {
        Type::U8 => (0, 0xff),
        Type::Be16 => (0, 0xffff),
        Type::Be32 => (0, 0xffff_ffff),
        Type::Decimal => (i64::MIN, i64::MAX),
        _ => (i32::MIN.into(), i32::MAX.into()),
    }
}

/// Converts a literal to a number of the field.
pub(super) fn fit(field: &Field, what: &str, literal: &Expr) -> Result<Fit, Diagnostic> {
    let span = literal.span;
    let value = match &literal.kind {
        Kind::Number(number) => match (number.quantity(), &field.ty) {
            (Quantity::Plain, Type::Tune) => number.scaled(100).ok_or_else(|| {
                Diagnostic::new(
                    Code::Impossible,
                    span,
                    format!("`{what}` has at most two digits after the point"),
                )
            })?,
            (Quantity::Plain, _) => number.value().ok_or_else(|| not_whole(number, span))?,
            (quantity, _) => {
                let what = format!("`{what}` is {}, not {}", kind(field), quantity.name());
                return Err(Diagnostic::new(Code::Mismatch, span, what));
            }
        },
        _ => match word(literal) {
            Some(word) => label(field, what, word, span)?,
            None => return Err(mismatch(field, what, literal)),
        },
    };
    let (least, most) = room(&field.ty);
    if value < least || value > most {
        let text = format!("`{what}` is never {literal}: it has room for {least} to {most}");
        return Err(Diagnostic::new(Code::Impossible, span, text));
    }
    let usual = match (&field.ty, field.set()) {
        (Type::Bool, _) => matches!(value, 0 | 1),
        (Type::Enum(_), Some(set)) => {
            set.label(value).is_some() || (field.bounds.min..=field.bounds.max).contains(&value)
        }
        _ => (field.bounds.min..=field.bounds.max).contains(&value),
    };
    Ok(Fit { value, usual })
}

/// Returns the word if an expression is a single word.
pub(super) fn word(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        Kind::Path(path) if !path.dot => match &*path.segments {
            [only] if only.index.is_none() => Some(&only.name.text),
            _ => None,
        },
        _ => None,
    }
}

fn label(field: &Field, what: &str, word: &str, span: Span) -> Result<i64, Diagnostic> {
    match (&field.ty, word) {
        (Type::Bool, "true" | "yes") => Ok(1),
        (Type::Bool, "false" | "no") => Ok(0),
        (Type::Enum(set) | Type::Flags(set), _) => set.value(word).ok_or_else(|| no_label(set, word, span)),
        _ => {
            let text = format!("`{what}` is {}, not `{word}`", kind(field));
            let diagnostic = Diagnostic::new(Code::Mismatch, span, text);
            let quoted = format!("write text in quotes: `\"{word}\"`");
            Err(if field.is_text() {
                diagnostic.help(quoted)
            } else {
                diagnostic
            })
        }
    }
}

fn no_label(set: &Set, word: &str, span: Span) -> Diagnostic {
    let names: Vec<&str> = set.labels.iter().map(|label| &*label.name).collect();
    let what = format!("`{}` has no value `{word}`", set.name);
    let shown = names.iter().take(LISTED).copied().collect::<Vec<_>>().join(", ");
    let more = if names.len() > LISTED { ", …" } else { "" };
    Diagnostic::new(Code::UnknownLabel, span, what)
        .meant(suggest(word, names.iter().copied()))
        .note(format!("values are {shown}{more}"))
}

fn mismatch(field: &Field, what: &str, literal: &Expr) -> Diagnostic {
    let found = match &literal.kind {
        Kind::Text(_) => "text",
        Kind::Regex(_) => "a regular expression",
        Kind::Number(number) => number.quantity().name(),
        _ => "this",
    };
    let diagnostic = Diagnostic::new(
        Code::Mismatch,
        literal.span,
        format!("`{what}` is {}, not {found}", kind(field)),
    );
    match (&literal.kind, field.set()) {
        (Kind::Text(text), Some(set)) if set.value(text).is_some() => {
            diagnostic.help(format!("write `{text}` without quotes"))
        }
        (Kind::Text(text), None) if field.is_number() => match (text.parse::<i64>(), &field.ty) {
            (Ok(number), _) => diagnostic.help(format!("write `{number}` without quotes")),
            (_, Type::Bool) => diagnostic.help("write `true` or `false`"),
            _ => diagnostic.help(format!("write a number, such as `{}`", field.bounds.min.max(0))),
        },
        (Kind::Text(_), Some(set)) => {
            let first = set.labels.first().map_or("", |label| &label.name);
            diagnostic.help(format!("write a name without quotes, such as `{first}`"))
        }
        (Kind::Number(number), _) if field.is_text() => {
            diagnostic.help(format!("write text in quotes: `\"{number}\"`"))
        }
        (Kind::Path(_), _) if field.is_text() => {
            diagnostic.help(format!("write text in quotes: `\"{literal}\"`"))
        }
        _ => diagnostic,
    }
}

/// Returns the bytes of a literal for a field that is not a number.
pub(super) fn bytes(field: &Field, what: &str, literal: &Expr) -> Result<Box<[u8]>, Diagnostic> {
    let Kind::Text(text) = &literal.kind else {
        return Err(match word(literal) {
            Some(word) => label(field, what, word, literal.span)
                .err()
                .unwrap_or_else(|| mismatch(field, what, literal)),
            None => mismatch(field, what, literal),
        });
    };
    let impossible = |wanted: &str| {
        let text = format!("`{what}` is never this: write {wanted}");
        Diagnostic::new(Code::Impossible, literal.span, text)
    };
    match &field.ty {
        Type::Text(_) | Type::Packed(_) if text.contains('\0') => Err(Diagnostic::new(
            Code::Impossible,
            literal.span,
            "text in a message never contains a NUL",
        )),
        Type::Uuid => match uuid_of(text) {
            Some(uuid) => Ok(uuid.into()),
            None => Err(impossible("32 hexadecimal digits")),
        },
        Type::Sha256 => match hex(text).filter(|bytes| bytes.len() == 32) {
            Some(bytes) => Ok(bytes.into()),
            None => Err(impossible("64 hexadecimal digits")),
        },
        Type::Addr | Type::AddrLegacy => {
            let address = text.parse().ok().and_then(|address| packed(&field.ty, address));
            address
                .map(Into::into)
                .ok_or_else(|| impossible("an address and port, such as 127.0.0.1:8303"))
        }
        _ => Ok(text.as_bytes().into()),
    }
}

/// Returns the UUID that a text represents, with or without dashes.
pub(super) fn uuid_of(text: &str) -> Option<[u8; 16]> {
    Uuid::try_parse(text).ok().map(Uuid::into_bytes)
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digit = |at: usize| {
        text.get(at..at + 2)
            .and_then(|pair| u8::from_str_radix(pair, 16).ok())
    };
    (0..text.len()).step_by(2).map(digit).collect()
}

/// Returns an address in the format of master server lists (Teeworlds mastersrv.h).
fn packed(ty: &Type, address: SocketAddr) -> Option<Vec<u8>> {
    let ip = match (ty, address) {
        (Type::Addr, SocketAddr::V6(v6)) => v6.ip().octets().to_vec(),
        (Type::Addr, SocketAddr::V4(v4)) => v4.ip().to_ipv6_mapped().octets().to_vec(),
        (_, SocketAddr::V4(v4)) => v4.ip().octets().to_vec(),
        (_, SocketAddr::V6(_)) => return None,
    };
    Some([&ip[..], &address.port().to_be_bytes()].concat())
}

fn build(pattern: &str, limit: usize) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern)
        .size_limit(limit)
        .dfa_size_limit(REGEX_SIZE)
        .nest_limit(REGEX_NESTING)
        .build()
}

/// Returns the error for regular expressions that need more than [`MAX_REGEXES`] together.
pub(crate) fn too_many_regexes(span: Span) -> Diagnostic {
    let what = "the regular expressions of this text take too much memory together";
    Diagnostic::new(Code::TooComplex, span, what)
}

impl Checker<'_> {
    /// Compiles a regular expression that runs in linear time and bounded memory.
    pub(super) fn regex(&mut self, pattern: &str, span: Span) -> Option<TextTest> {
        if self.program.regex_bytes > MAX_REGEXES {
            // Already reported for an earlier regex.
            return None;
        }
        // A compiled regex is at least half as large as the first limit that suffices.
        let mut limit = REGEX_LEAST;
        let built = loop {
            match build(pattern, limit) {
                Err(regex::Error::CompiledTooBig(_)) if limit < REGEX_SIZE => limit *= 2,
                built => break built,
            }
        };
        match built {
            Ok(regex) => {
                self.program.regex_bytes += limit;
                if self.program.regex_bytes > MAX_REGEXES {
                    self.report(too_many_regexes(span));
                    return None;
                }
                Some(TextTest::Matches(Box::new(regex)))
            }
            Err(regex::Error::CompiledTooBig(_)) => {
                self.report(Diagnostic::new(
                    Code::BadRegex,
                    span,
                    "this regular expression takes too much memory",
                ));
                None
            }
            Err(error) => {
                // The last line is the message; the lines before it draw the position.
                let text = error.to_string();
                let what = text
                    .lines()
                    .last()
                    .unwrap_or_default()
                    .trim_start_matches("error: ");
                self.report(Diagnostic::new(
                    Code::BadRegex,
                    span,
                    format!("not a regular expression: {what}"),
                ));
                None
            }
        }
    }

    /// Builds the test of a field against a literal.
    pub(super) fn test(
        &mut self,
        field: &Field,
        what: &str,
        op: Compare,
        literal: &Expr,
    ) -> Result<(Test, bool), Diagnostic> {
        let flags = matches!(field.ty, Type::Flags(_));
        if field.is_number() {
            let fit = fit(field, what, literal)?;
            let test = match op {
                Compare::Contains if flags => IntTest::Bits(fit.value),
                Compare::Contains | Compare::Matches => {
                    return Err(wrong_operator(field, what, op, literal.span));
                }
                _ => IntTest::Op(op, fit.value),
            };
            let usual = match op {
                Compare::Equal | Compare::Unequal => fit.usual,
                _ => usual_order(field, op, fit.value),
            };
            return Ok((Test::Int(test), usual));
        }
        let test = match (op, &literal.kind) {
            _ if matches!(field.ty, Type::Group { .. }) => return Err(mismatch(field, what, literal)),
            (Compare::Matches, Kind::Regex(pattern)) => {
                match RegexOnce::from_pattern(self, pattern, literal.span) {
                    Some(test) => test,
                    None => return Ok((Test::Never, true)),
                }
            }
            (Compare::Equal | Compare::Unequal, _) => {
                TextTest::Equal(bytes(field, what, literal)?, op == Compare::Equal)
            }
            (Compare::Contains, Kind::Text(text)) if field.is_text() || matches!(field.ty, Type::Raw(..)) => {
                TextTest::contains(text.as_bytes())
            }
            (Compare::Contains | Compare::Matches, Kind::Text(_) | Kind::Regex(_)) => {
                return Err(wrong_operator(field, what, op, literal.span));
            }
            (Compare::Contains | Compare::Matches, _) => return Err(mismatch(field, what, literal)),
            _ => return Err(wrong_operator(field, what, op, literal.span)),
        };
        Ok((Test::Text(test), true))
    }

    /// Builds the test of a field against a set.
    pub(super) fn set_test(
        &mut self,
        field: &Field,
        what: &str,
        choices: &[Choice],
    ) -> Result<(Test, bool), Diagnostic> {
        if !field.is_number() {
            let texts = choices.iter().map(|choice| match choice {
                Choice::One(literal) => bytes(field, what, literal),
                Choice::Range(from, to) => {
                    let text = format!("`{what}` is {}, which has no ranges", kind(field));
                    Err(Diagnostic::new(Code::Mismatch, from.span.to(to.span), text))
                }
            });
            return Ok((Test::Text(TextTest::In(texts.collect::<Result<_, _>>()?)), true));
        }
        let mut usual = true;
        let mut ranges = Vec::new();
        for choice in choices {
            let (from, to) = match choice {
                Choice::One(literal) => (literal, literal),
                Choice::Range(from, to) => (from, to),
            };
            let (low, high) = (fit(field, what, from)?, fit(field, what, to)?);
            if low.value > high.value {
                return Err(backwards(from, to));
            }
            usual &= high.value >= field.bounds.min && low.value <= field.bounds.max;
            ranges.push((low.value, high.value));
        }
        Ok((Test::Int(IntTest::In(ranges.into())), usual))
    }
}

/// A pattern that is compiled for each field that it is compared with. Only the first error is reported.
struct RegexOnce;

impl RegexOnce {
    fn from_pattern(checker: &mut Checker<'_>, pattern: &str, span: Span) -> Option<TextTest> {
        let reported = checker
            .diagnostics
            .iter()
            .any(|known| known.code == Code::BadRegex && known.span == span);
        if reported {
            None
        } else {
            checker.regex(pattern, span)
        }
    }
}

pub(super) fn backwards(from: &Expr, to: &Expr) -> Diagnostic {
    let what = format!("the range `{from}..{to}` ends before it starts");
    Diagnostic::new(Code::BadRange, from.span.to(to.span), what).help(format!("`{to}..{from}`"))
}

/// Returns true if an order comparison holds for some of the values that the games send, but not for all.
fn usual_order(field: &Field, op: Compare, value: i64) -> bool {
    match op {
        Compare::Less => value > field.bounds.min,
        Compare::LessEqual => value >= field.bounds.min,
        Compare::Greater => value < field.bounds.max,
        Compare::GreaterEqual => value <= field.bounds.max,
        _ => true,
    }
}

fn wrong_operator(field: &Field, what: &str, op: Compare, span: Span) -> Diagnostic {
    let text = format!(
        "`{}` does not apply to `{what}`, which is {}",
        op.sign(),
        kind(field)
    );
    Diagnostic::new(Code::WrongOperator, span, text)
}
