//! Parses blanks, words, numbers, strings and regular expressions.
//!
//! Law: each function here consumes its text, backtracks without an error, or cuts with the exact error. There is no
//! separate list of tokens, because only the context decides whether `/` divides or starts a regex, and whether `-`
//! subtracts or is part of `lint.overlong-int`.

use teetap_wire::def::suggest;
use winnow::combinator::opt;
use winnow::error::{ErrMode, ParserError};
use winnow::prelude::*;
use winnow::stream::{LocatingSlice, Location, Stateful, Stream};
use winnow::token::{literal, one_of, take_while};

use super::number::{Number, Unit};
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;
use crate::synonym::{self, Place};

/// The text, the current position, and the state.
pub(super) type Input<'i> = Stateful<LocatingSlice<&'i str>, Counts>;

/// Counters that limit the complexity of an expression, and errors.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    /// Number of brackets and prefixes around the current position.
    pub(super) nesting: usize,
    /// Number of arithmetic operators so far.
    pub(super) arithmetic: usize,
    /// Positions of the prefixes whose operand is being parsed.
    pub(super) prefixes: Vec<usize>,
    /// Functions that try a correction of the text.
    pub(super) trials: Trials,
    /// Errors after which parsing continued.
    pub(super) errors: Vec<Diagnostic>,
    /// Positions of the comments, some of them more than once.
    pub(super) comments: Vec<Span>,
}

/// Functions that return true if a text parses. `None` while a correction is parsed, which is not corrected itself.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Trials {
    /// Tries a text as a statement.
    pub(super) statement: Option<fn(&str) -> bool>,
    /// Tries a text as an expression.
    pub(super) expression: Option<fn(&str) -> bool>,
}

/// Returns the input for a text without corrections.
pub(super) fn plain(text: &str) -> Input<'_> {
    Stateful {
        input: LocatingSlice::new(text),
        state: Counts::default(),
    }
}

/// Reason why a parser failed.
#[derive(Debug)]
pub(super) struct Failure(pub(super) Option<Box<Diagnostic>>);

impl ParserError<Input<'_>> for Failure {
    type Inner = Self;

    fn from_input(_: &Input<'_>) -> Self {
        Self(None)
    }

    fn into_inner(self) -> Result<Self, Self> {
        Ok(self)
    }
}

pub(super) type Parsed<T> = Result<T, ErrMode<Failure>>;

/// Stops all alternatives with this error.
pub(super) fn cut<T>(diagnostic: Diagnostic) -> Parsed<T> {
    Err(ErrMode::Cut(Failure(Some(Box::new(diagnostic)))))
}

/// Fails so that the parser tries the next alternative.
pub(super) fn backtrack<T>() -> Parsed<T> {
    Err(ErrMode::Backtrack(Failure(None)))
}

/// Returns the current position.
pub(super) fn here(i: &Input<'_>) -> usize {
    i.current_token_start()
}

/// Returns the rest of the input.
pub(super) fn rest<'i>(i: &Input<'i>) -> &'i str {
    i.input.peek_finish()
}

/// Returns the position and a description of the next token, for errors.
pub(super) fn next_thing(i: &Input<'_>) -> (Span, String) {
    let (start, rest) = (here(i), rest(i));
    let word = rest.len() - rest.trim_start_matches(word_char).len();
    match rest.chars().next() {
        None => (Span::new(start, start), "the end".to_owned()),
        Some('"' | '\'') => (Span::new(start, start + 1), "a string".to_owned()),
        Some(_) if word > 0 => {
            let shown: String = rest.chars().take(word.min(32)).collect();
            (Span::new(start, start + word), format!("`{shown}`"))
        }
        Some(c) => (
            Span::new(start, start + c.len_utf8()),
            format!("`{}`", c.escape_debug()),
        ),
    }
}

/// Returns true if a text in quotes begins here.
pub(super) fn at_text(i: &Input<'_>) -> bool {
    rest(i).starts_with(['"', '\''])
}

pub(super) const fn word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Skips blanks, line ends and comments.
pub(super) fn blank(i: &mut Input<'_>) -> Parsed<()> {
    loop {
        let blanks: &str = take_while(0.., (' ', '\t', '\r', '\n')).parse_next(i)?;
        let start = here(i);
        let comment = opt(('#', take_while(0.., |c| c != '\n'))).parse_next(i)?;
        if comment.is_some() {
            let place = Span::new(start, here(i));
            i.state.comments.push(place);
        }
        if blanks.is_empty() && comment.is_none() {
            return Ok(());
        }
    }
}

/// Parses a word: a letter or `_`, then letters, digits and `_`.
pub(super) fn word<'i>(i: &mut Input<'i>) -> Parsed<(&'i str, Span)> {
    let first = one_of(|c: char| c.is_ascii_alphabetic() || c == '_');
    (first, take_while(0.., word_char))
        .take()
        .with_span()
        .map(|(word, span)| (word, span.into()))
        .parse_next(i)
}

/// Parses exactly this word.
pub(super) fn keyword(wanted: &'static str) -> impl FnMut(&mut Input<'_>) -> Parsed<Span> {
    move |i| match word(i) {
        Ok((found, span)) if found == wanted => Ok(span),
        _ => backtrack(),
    }
}

/// Parses exactly this operator, in any case.
pub(super) fn operator(wanted: &'static str) -> impl FnMut(&mut Input<'_>) -> Parsed<Span> {
    move |i| match word(i) {
        Ok((found, span)) if found.eq_ignore_ascii_case(wanted) => Ok(span),
        _ => backtrack(),
    }
}

/// Parses a number with its unit, without a sign. Blanks may precede the unit.
pub(super) fn number(i: &mut Input<'_>) -> Parsed<(Number, Span)> {
    let (number, span) = joined_number(i)?;
    if number.unit.is_some() || number.hex {
        return Ok((number, span));
    }
    let text = rest(i).trim_start_matches([' ', '\t']);
    let word = text.len() - text.trim_start_matches(word_char).len();
    match text.get(..word).and_then(Unit::named) {
        Some(unit) => {
            blank(i)?;
            take_while(word..=word, word_char).void().parse_next(i)?;
            checked(
                Number {
                    unit: Some(unit),
                    ..number
                },
                Span::new(span.start, here(i)),
            )
        }
        None => Ok((number, span)),
    }
}

/// Parses a number directly followed by its unit, without a sign.
pub(super) fn joined_number(i: &mut Input<'_>) -> Parsed<(Number, Span)> {
    let start = here(i);
    let digits: &str = take_while(1.., |c: char| c.is_ascii_digit()).parse_next(i)?;
    if digits == "0" && rest(i).starts_with(['x', 'X']) {
        return hex(i, start);
    }
    if digits.len() > 1 && digits.starts_with('0') {
        let span = Span::new(start, here(i));
        let bare = digits.trim_start_matches('0');
        let bare = if bare.is_empty() { "0" } else { bare };
        return cut(
            Diagnostic::new(Code::LeadingZero, span, format!("`{digits}` starts with a zero"))
                .help(format!("write `{bare}`, or `0x…` for a hexadecimal number")),
        );
    }
    let behind: Option<&str> = match rest(i).strip_prefix('.') {
        Some(more) if more.starts_with(|c: char| c.is_ascii_digit()) => {
            let (_, behind) = ('.', take_while(1.., |c: char| c.is_ascii_digit())).parse_next(i)?;
            Some(behind)
        }
        _ => None,
    };
    let behind = behind.unwrap_or_default();
    let span = Span::new(start, here(i));
    let fits = behind.len() <= usize::from(Number::MAX_DECIMALS);
    let value = format!("{digits}{behind}").parse().ok().filter(|_| fits);
    let Some(value) = value else {
        return cut(Diagnostic::new(
            Code::BadNumber,
            span,
            "a number with too many digits",
        ));
    };
    let unit = unit(i, start)?;
    let number = Number {
        negative: false,
        digits: value,
        decimals: u8::try_from(behind.len()).unwrap_or(0),
        hex: false,
        unit,
    };
    checked(number, Span::new(start, here(i)))
}

/// Checks the value of a number with a unit.
fn checked(number: Number, span: Span) -> Parsed<(Number, Span)> {
    if number.unit.is_some() && number.value().is_none() {
        return cut(Diagnostic::new(
            Code::BadNumber,
            span,
            "too large, or a fraction of the smallest unit",
        ));
    }
    Ok((number, span))
}

fn hex(i: &mut Input<'_>, start: usize) -> Parsed<(Number, Span)> {
    let word: &str = take_while(1.., word_char).parse_next(i)?;
    let span = Span::new(start, here(i));
    match word
        .get(1..)
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
    {
        Some(digits) => {
            let hex = Number {
                hex: true,
                ..Number::plain(digits)
            };
            Ok((hex, span))
        }
        None => cut(Diagnostic::new(
            Code::BadNumber,
            span,
            format!("`0{word}` is not a hexadecimal number of at most 64 bits"),
        )),
    }
}

/// Parses the unit directly after a number. A `%` directly followed by an operand is the remainder operator.
fn unit(i: &mut Input<'_>, start: usize) -> Parsed<Option<Unit>> {
    if let Some(more) = rest(i).strip_prefix('%') {
        let operand = more.starts_with(|c: char| word_char(c) || matches!(c, '(' | '$' | '.'))
            && !more.starts_with("..");
        if operand {
            return Ok(None);
        }
        '%'.void().parse_next(i)?;
        return Ok(Some(Unit::Percent));
    }
    let at = here(i);
    let word: &str = take_while(0.., word_char).parse_next(i)?;
    if word.is_empty() {
        return Ok(None);
    }
    if let Some(unit) = Unit::named(word) {
        return Ok(Some(unit));
    }
    let names: Vec<&str> = Unit::ALL.iter().map(|unit| unit.name()).collect();
    if !word.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return cut(Diagnostic::new(
            Code::BadNumber,
            Span::new(start, here(i)),
            "not a number",
        ));
    }
    cut(Diagnostic::new(
        Code::UnknownUnit,
        Span::new(at, here(i)),
        format!("unknown unit `{word}`"),
    )
    .meant(suggest(word, names.iter().copied()))
    .or_help(synonym::help(Place::Unit, word))
    .note(format!("units: {}", names.join(" "))))
}

/// Parses text in double or single quotes.
pub(super) fn text(i: &mut Input<'_>) -> Parsed<(String, Span)> {
    let start = here(i);
    let quote = one_of(['"', '\'']).parse_next(i)?;
    let mut text = String::new();
    loop {
        let plain: &str = take_while(0.., |c| c != quote && !matches!(c, '\\' | '\n')).parse_next(i)?;
        text.push_str(plain);
        let at = here(i);
        match i.next_token() {
            Some(found) if found == quote => return Ok((text, Span::new(start, here(i)))),
            Some('\\') => text.push(escape(i, at)?),
            _ => {
                let span = Span::new(start, start + 1);
                return cut(unclosed_text(span, quote));
            }
        }
    }
}

/// Returns the error for a text that has no end.
pub(super) fn unclosed_text(span: Span, quote: char) -> Diagnostic {
    Diagnostic::new(
        Code::Unclosed,
        span,
        format!("a string without its closing `{quote}`"),
    )
    .help(format!(
        "add `{quote}` behind the text; a `{quote}` in it is written `\\{quote}`"
    ))
}

pub(super) fn escape(i: &mut Input<'_>, at: usize) -> Parsed<char> {
    let c = match i.next_token() {
        Some(c @ ('"' | '\'' | '\\')) => return Ok(c),
        Some('n') => return Ok('\n'),
        Some('r') => return Ok('\r'),
        Some('t') => return Ok('\t'),
        Some('u') => {
            let digits = opt(('{', take_while(1..=6, |c: char| c.is_ascii_hexdigit()), '}')).parse_next(i)?;
            let code = digits.and_then(|(_, digits, _)| u32::from_str_radix(digits, 16).ok());
            match code.and_then(char::from_u32) {
                Some(c) => return Ok(c),
                None => 'u',
            }
        }
        Some(c) => c,
        None => '\\',
    };
    let shown = format!("unknown escape `\\{}`", c.escape_debug());
    cut(Diagnostic::new(Code::BadEscape, Span::new(at, here(i)), shown)
        .help("escapes are \\\" \\\\ \\n \\r \\t \\u{1f600}; for other bytes use a regex: /(?-u)\\xff/"))
}

/// Parses a regular expression between slashes; `\/` is a slash.
pub(super) fn regex(i: &mut Input<'_>) -> Parsed<(String, Span)> {
    let start = here(i);
    literal("/").void().parse_next(i)?;
    let mut pattern = String::new();
    loop {
        let plain: &str = take_while(0.., |c| !matches!(c, '/' | '\\' | '\n')).parse_next(i)?;
        pattern.push_str(plain);
        match (i.next_token(), rest(i).chars().next()) {
            (Some('/'), _) => break,
            (Some('\\'), Some('/')) => {
                pattern.push('/');
                i.next_token();
            }
            (Some('\\'), Some(c)) if c != '\n' => {
                pattern.extend(['\\', c]);
                i.next_token();
            }
            _ => {
                let span = Span::new(start, start + 1);
                return cut(Diagnostic::new(
                    Code::Unclosed,
                    span,
                    "a regular expression without its closing `/`",
                )
                .help("add `/`; a slash in it is written `\\/`"));
            }
        }
    }
    let span = Span::new(start, here(i));
    if rest(i).starts_with(word_char) {
        let (at, flags) = next_thing(i);
        let known: String = flags.chars().filter(|c| "imsxU".contains(*c)).collect();
        let known = if known.is_empty() { "i".to_owned() } else { known };
        return cut(Diagnostic::new(
            Code::Expected,
            at,
            format!("{flags} directly after a regular expression"),
        )
        .help(format!("write `/(?{known}){pattern}/`: flags go into it")));
    }
    Ok((pattern, span))
}
