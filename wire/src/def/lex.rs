//! Parses words: names, numbers and texts in quotes.
//!
//! Law: a parser consumes its text, backtracks without an error, or fails with the error to report. A `#` at the start of
//! a word begins a comment. A `"` at the start of a word begins a quoted text that ends at the next `"` of the line and
//! counts as one word.

use std::ops::Range;

use winnow::ascii::digit1;
use winnow::combinator::{alt, delimited, eof, fill, not, opt, preceded, terminated};
use winnow::error::{EmptyError, ParserError};
use winnow::prelude::*;
use winnow::stream::{AsChar, LocatingSlice, Location, Stateful};
use winnow::token::{one_of, rest, take_till, take_until, take_while};

/// The maximum length of a name in bytes.
const MAX_NAME: usize = 64;

/// A line or a word. The state is its position.
pub(super) type Input<'t> = Stateful<LocatingSlice<&'t str>, usize>;

pub(super) type Parsed<T> = Result<T, Failure>;

/// Reason why a parser failed. `None` lets other parsers try.
#[derive(Debug)]
pub(super) struct Failure(pub(super) Option<Box<Wrong>>);

/// An error in the text.
#[derive(Debug)]
pub(super) struct Wrong {
    /// The wrong text, as positions.
    pub(super) span: Range<usize>,
    pub(super) message: String,
    /// The remedy.
    pub(super) help: Option<String>,
}

impl ParserError<Input<'_>> for Failure {
    type Inner = Self;

    fn from_input(_: &Input<'_>) -> Self {
        Self(None)
    }

    fn into_inner(self) -> Result<Self, Self> {
        Ok(self)
    }

    fn is_backtrack(&self) -> bool {
        self.0.is_none()
    }
}

/// Stops all alternatives with an error.
pub(super) fn fail<T>(place: Word<'_>, message: impl Into<String>, help: Option<String>) -> Parsed<T> {
    Err(Failure(Some(Box::new(Wrong {
        span: place.span(),
        message: message.into(),
        help,
    }))))
}

/// A word or a part of a word.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Word<'t> {
    pub(super) text: &'t str,
    /// The position in bytes, counted from the start of the first file.
    pub(super) at: usize,
}

impl<'t> Word<'t> {
    /// Returns the part that starts at the byte `start` of the word.
    pub(super) fn from(self, start: usize) -> Self {
        let text = self.text.get(start..).unwrap_or_default();
        Self {
            text,
            at: self.at + start,
        }
    }

    /// Returns the part with the bytes `start..start + len` of the word.
    pub(super) fn part(self, start: usize, len: usize) -> Self {
        let part = self.from(start);
        Self {
            text: part.text.get(..len).unwrap_or(part.text),
            ..part
        }
    }

    /// Returns the positions of the first byte and after the last byte.
    pub(super) const fn span(self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }

    pub(super) fn input(self) -> Input<'t> {
        Stateful {
            input: LocatingSlice::new(self.text),
            state: self.at,
        }
    }

    /// Applies a parser to the whole word. Backtracks if the parser leaves text over.
    pub(super) fn parse<T>(self, parser: impl Parser<Input<'t>, T, Failure>) -> Parsed<T> {
        terminated(parser, eof).parse_next(&mut self.input())
    }

    /// Returns the text as an error shows it.
    pub(super) fn shown(self) -> String {
        match self.text.char_indices().nth(MAX_NAME) {
            Some((at, _)) => format!("{}...", self.text.get(..at).unwrap_or_default()),
            None => self.text.to_owned(),
        }
    }
}

/// Returns a parser for a text that returns its position, too.
pub(super) fn placed<'t>(
    mut parser: impl Parser<Input<'t>, &'t str, Failure>,
) -> impl Parser<Input<'t>, Word<'t>, Failure> {
    move |i: &mut Input<'t>| {
        let at = i.state + i.current_token_start();
        parser.parse_next(i).map(|text| Word { text, at })
    }
}

/// Parses the rest of a word or line.
pub(super) fn remainder<'t>(i: &mut Input<'t>) -> Parsed<Word<'t>> {
    placed(rest).parse_next(i)
}

/// Parses a line. Returns it without the characters that end it. Backtracks at the end of the file.
pub(super) fn line<'t>(i: &mut Input<'t>) -> Parsed<Word<'t>> {
    let ended = terminated(placed(take_until(0.., '\n')), '\n').map(|line: Word<'t>| {
        match line.text.strip_suffix('\r') {
            Some(text) => Word { text, ..line },
            None => line,
        }
    });
    let last = placed(rest.verify(|text: &str| !text.is_empty()));
    alt((ended, last)).parse_next(i)
}

/// Skips blanks. Returns the next byte; `None` at the end.
fn blank(i: &mut Input<'_>) -> Parsed<Option<u8>> {
    // Most blanks are ASCII, and bytes are compared faster than characters.
    let len = prefix(i, |byte| matches!(byte, b' ' | b'\t'));
    i.next_slice(len);
    let next = i.peek_finish().bytes().next();
    if next.is_some_and(|next| !next.is_ascii_graphic()) {
        take_while(0.., char::is_whitespace).void().parse_next(i)?;
        return Ok(i.peek_finish().bytes().next());
    }
    Ok(next)
}

/// Parses a word without regard to quotes.
fn plain<'t>(i: &mut Input<'t>) -> Parsed<&'t str> {
    let len = prefix(i, |byte| byte.is_ascii_graphic());
    let is_whole = matches!(i.peek_finish().as_bytes().get(len), None | Some(b' '));
    if len > 0 && is_whole {
        return Ok(i.next_slice(len));
    }
    take_till(1.., char::is_whitespace).parse_next(i)
}

/// Returns the number of bytes before the first that is not `wanted`.
fn prefix(i: &Input<'_>, wanted: impl Fn(u8) -> bool) -> usize {
    let text = i.peek_finish();
    text.bytes().position(|byte| !wanted(byte)).unwrap_or(text.len())
}

/// Parses the next word of a line and the blanks before it. Backtracks at a comment and at the end of the line.
pub(super) fn word<'t>(i: &mut Input<'t>) -> Parsed<Word<'t>> {
    match blank(i)? {
        Some(b'#') => Err(Failure(None)),
        Some(b'"') => placed(alt((quoted.take(), plain))).parse_next(i),
        _ => placed(plain).parse_next(i),
    }
}

/// Parses exactly this number of words up to the end of the line or to a comment.
pub(super) fn words<'t, const N: usize>(i: &mut Input<'t>) -> Parsed<[Word<'t>; N]> {
    let mut words = [Word::default(); N];
    fill(word, &mut words).parse_next(i)?;
    not(word).parse_next(i)?;
    Ok(words)
}

/// Parses a comment and the blanks before it. Returns its text without the `#` and the blanks at both ends.
pub(super) fn comment<'t>(i: &mut Input<'t>) -> Parsed<&'t str> {
    preceded((blank, '#'), rest.map(str::trim)).parse_next(i)
}

/// Splits a word behind its first `=`, as `limit=3` into `limit=` and `3`.
pub(super) fn key_value<'t>(word: Word<'t>) -> Parsed<(&'t str, Word<'t>)> {
    let key = (take_till(0.., '='), opt('=')).take();
    (key, remainder).parse_next(&mut word.input())
}

/// Parses a text in quotes. Returns it without the quotes.
pub(super) fn quoted<'t>(i: &mut Input<'t>) -> Parsed<Word<'t>> {
    delimited('"', placed(take_until(0.., '"')), '"').parse_next(i)
}

/// Returns the word if it is a name in snake case.
pub(super) fn name<'t>(word: Word<'t>) -> Parsed<Word<'t>> {
    let snake = (
        one_of(b'a'..=b'z'),
        take_while(0.., (b'a'..=b'z', b'0'..=b'9', b'_')),
        eof::<_, EmptyError>,
    );
    if word.text.len() > MAX_NAME || snake.void().parse_next(&mut word.text.as_bytes()).is_err() {
        let help = "a name is lower case letters, digits and `_`".to_owned();
        return fail(word, format!("invalid name `{}`", word.shown()), Some(help));
    }
    Ok(word)
}

/// Parses a decimal or `0x` number.
fn number(i: &mut Input<'_>) -> Parsed<i64> {
    let hex = preceded("0x", take_while(1.., AsChar::is_hex_digit));
    let decimal = (opt('-'), digit1).take();
    alt((
        hex.verify_map(|digits| i64::from_str_radix(digits, 16).ok()),
        decimal.verify_map(|digits: &str| digits.parse().ok()),
    ))
    .parse_next(i)
}

/// Returns the value of a number of at most 64 bits. `None` if the text is not a number.
pub(super) fn plain_number(text: &str) -> Option<i64> {
    Word { text, at: 0 }.parse(number).ok()
}

/// Returns the value of a word that is a number from `min` to `max`.
pub(super) fn number_within(word: Word<'_>, min: i64, max: i64) -> Parsed<i64> {
    match plain_number(word.text) {
        None => fail(word, format!("expected a number, found `{}`", word.shown()), None),
        Some(value) if (min..=max).contains(&value) => Ok(value),
        Some(_) => fail(word, format!("expected {min} to {max}"), None),
    }
}

/// Returns the value of a word that is a number from 1 to `max`.
pub(super) fn count(word: Word<'_>, max: u16) -> Parsed<u16> {
    number_within(word, 1, max.into()).map(|value| u16::try_from(value).unwrap_or(max))
}
