//! Parses bytes written in code: strings with `\x` escapes, and numbers in braces or brackets.
//!
//! Law: only notation with the same meaning in every language is accepted. Numbers need the prefix `0x` unless they
//! have one digit.

use std::{iter::Peekable, vec};

use super::{InputError, MAX_FRAME, Shown, TextPosition};

/// Characters with their positions.
type Chars = Peekable<vec::IntoIter<(TextPosition, char)>>;

/// Returns the bytes of a string or a list; `None` if the text is neither.
pub(super) fn bytes(text: &str, comments: &mut Vec<String>) -> Result<Option<Vec<u8>>, InputError> {
    if text.contains("\\x") {
        let bytes = if text.contains(['"', '\'']) {
            comments.push("the bytes of a string".to_owned());
            strings(text, comments)?
        } else {
            bare(text)?
        };
        return Ok(Some(bytes));
    }
    list(text, comments)
}

fn chars(text: &str) -> Vec<(TextPosition, char)> {
    let lines = text.split('\n').zip(1..);
    lines
        .flat_map(|(text, line)| {
            let chars = text.chars().chain(['\n']).zip(1..);
            chars.map(move |(c, column)| (TextPosition { line, column }, c))
        })
        .collect()
}

/// Parses escapes without quotes.
fn bare(text: &str) -> Result<Vec<u8>, InputError> {
    let mut chars = chars(text).into_iter().peekable();
    let mut bytes = Vec::new();
    while let Some((place, c)) = chars.next() {
        match c {
            '\\' => bytes.push(escape(place, &mut chars)?),
            ' ' | '\n' | '\r' | '\t' | ',' | ';' | ':' => {}
            _ => return Err(InputError::Outside(place, Shown(c))),
        }
    }
    Ok(bytes)
}

/// Parses consecutive strings in quotes.
fn strings(text: &str, comments: &mut Vec<String>) -> Result<Vec<u8>, InputError> {
    let (before, _) = text.split_once(['"', '\'']).unwrap_or((text, ""));
    if !before.trim().trim_end_matches(['b', 'B']).is_empty() {
        comments.push("text before the string ignored".to_owned());
    }
    let mut chars = chars(text).into_iter().peekable();
    let mut bytes = Vec::new();
    let mut begun = false;
    while let Some((place, c)) = chars.next() {
        match c {
            '"' | '\'' => {
                begun = true;
                string(place, c, &mut chars, &mut bytes)?;
            }
            ';' if begun => break,
            '\\' if !begun => return Err(InputError::Outside(place, Shown(c))),
            _ if !begun => {}
            'b' | 'B' if chars.peek().is_some_and(|(_, next)| matches!(next, '"' | '\'')) => {}
            ' ' | '\n' | '\r' | '\t' | '\\' | '+' | ',' | ')' | ']' | '}' => {}
            _ => return Err(InputError::Outside(place, Shown(c))),
        }
        if bytes.len() > MAX_FRAME {
            return Err(InputError::TooLong);
        }
    }
    if chars.any(|(_, c)| !c.is_whitespace()) {
        comments.push("text after the string ignored".to_owned());
    }
    Ok(bytes)
}

/// Parses one string after its opening quote.
fn string(open: TextPosition, quote: char, chars: &mut Chars, bytes: &mut Vec<u8>) -> Result<(), InputError> {
    loop {
        match chars.next() {
            None | Some((_, '\n')) => return Err(InputError::Unclosed(open)),
            Some((_, c)) if c == quote => return Ok(()),
            Some((place, '\\')) => bytes.push(escape(place, chars)?),
            Some((place, c)) => bytes.push(ascii(place, c)?),
        }
    }
}

fn ascii(place: TextPosition, c: char) -> Result<u8, InputError> {
    let byte = u8::try_from(c).ok().filter(u8::is_ascii);
    byte.ok_or(InputError::Escape(place))
}

/// Parses the escape after a backslash at `place`.
fn escape(place: TextPosition, chars: &mut Chars) -> Result<u8, InputError> {
    let fail = InputError::Escape(place);
    match chars.next().map(|(_, c)| c) {
        Some('x') => {
            let mut byte = 0;
            for _ in 0..2 {
                let digit = chars.next().and_then(|(_, c)| c.to_digit(16));
                let digit = digit.and_then(|digit| u8::try_from(digit).ok());
                byte = byte << 4 | digit.ok_or(InputError::Odd(place))?;
            }
            Ok(byte)
        }
        // In some languages this is an octal escape.
        Some('0') if chars.peek().is_some_and(|(_, c)| c.is_ascii_digit()) => Err(fail),
        Some('0') => Ok(0),
        Some('n') => Ok(b'\n'),
        Some('r') => Ok(b'\r'),
        Some('t') => Ok(b'\t'),
        Some(c @ ('\\' | '"' | '\'')) => ascii(place, c),
        _ => Err(fail),
    }
}

/// Parses numbers in braces or brackets.
fn list(text: &str, comments: &mut Vec<String>) -> Result<Option<Vec<u8>>, InputError> {
    let text = chars(text);
    let find = |wanted: char, from: usize| {
        let rest = text.iter().enumerate().skip(from);
        rest.filter(|(_, (_, c))| *c == wanted).map(|(at, _)| at).next()
    };
    let ends = |from: usize| {
        [('{', '}'), ('[', ']')].into_iter().find_map(|(open, close)| {
            let open = find(open, from)?;
            Some((open, find(close, open)?))
        })
    };
    // The type of the variable may have brackets, too.
    let Some((open, close)) = find('=', 0).and_then(ends).or_else(|| ends(0)) else {
        return Ok(None);
    };
    comments.push("the numbers of a list".to_owned());
    let is_name = |(_, c): &(TextPosition, char)| c.is_alphanumeric();
    if text.iter().take(open).chain(text.iter().skip(close)).any(is_name) {
        comments.push("text around it ignored".to_owned());
    }
    numbers(text.get(open + 1..close).unwrap_or_default()).map(Some)
}

/// Parses numbers separated by commas or space.
fn numbers(text: &[(TextPosition, char)]) -> Result<Vec<u8>, InputError> {
    let mut bytes = Vec::new();
    let is_between = |(_, c): &(TextPosition, char)| c.is_whitespace() || *c == ',';
    for word in text.split(is_between) {
        let Some((place, _)) = word.first() else { continue };
        let number: String = word.iter().map(|(_, c)| *c).collect();
        let digits = ["0x", "0X"].iter().find_map(|prefix| number.strip_prefix(prefix));
        let is_alike = number.len() == 1 && number.bytes().all(|digit| digit.is_ascii_digit());
        let digits = match digits {
            Some("") => return Err(InputError::Odd(*place)),
            Some(digits) => digits,
            None if is_alike => &number,
            None => return Err(InputError::Base(*place)),
        };
        if let Some((place, c)) = word.iter().skip(2).find(|(_, c)| !c.is_ascii_hexdigit()) {
            return Err(InputError::NoHex {
                place: *place,
                found: Shown(*c),
            });
        }
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| InputError::Wide(*place))?);
        if bytes.len() > MAX_FRAME {
            return Err(InputError::TooLong);
        }
    }
    Ok(bytes)
}
