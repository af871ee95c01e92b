//! Bytes as they stand in code: strings with escapes, and lists of numbers in braces or brackets.
//!
//! Law: taken is what every language reads the same way, and for numbers only hex. The rest is an error.

use std::{iter::Peekable, vec};

use super::{InputError, MAX_FRAME, Place, Shown};

/// Characters with their places.
type Chars = Peekable<vec::IntoIter<(Place, char)>>;

/// The bytes of a string or a list; `None` if the text is neither.
pub(super) fn bytes(text: &str, said: &mut Vec<String>) -> Result<Option<Vec<u8>>, InputError> {
    let start = text.trim_start();
    let is_literal = ["b\"", "b'", "B\"", "B'"]
        .iter()
        .any(|open| start.starts_with(open));
    if is_literal || text.contains("\\x") {
        let bytes = if text.contains(['"', '\'']) {
            said.push("the bytes of a string".to_owned());
            strings(text, said)?
        } else {
            bare(text)?
        };
        return Ok(Some(bytes));
    }
    if let Some(bytes) = list(text, said)? {
        return Ok(Some(bytes));
    }
    let words = words(chars(text).into_iter());
    match words.first() {
        Some((place, _)) if words.len() > 1 && is_decimal(&words) => Err(InputError::Decimal(*place)),
        _ => Ok(None),
    }
}

fn chars(text: &str) -> Vec<(Place, char)> {
    let lines = text.split('\n').zip(1..);
    lines
        .flat_map(|(text, line)| {
            let chars = text.chars().chain(['\n']).zip(1..);
            chars.map(move |(c, column)| (Place { line, column }, c))
        })
        .collect()
}

/// Escapes without quotes. A shell may have taken those of `b'...'`.
fn bare(text: &str) -> Result<Vec<u8>, InputError> {
    let text = text.trim_end();
    let mut chars = chars(text);
    chars.pop();
    let mut chars = chars.into_iter().peekable();
    while chars.next_if(|(_, c)| c.is_whitespace()).is_some() {}
    let whole = text.trim_start().starts_with("b\\");
    if whole {
        chars.next();
    }
    let mut bytes = Vec::new();
    while let Some((place, c)) = chars.next() {
        match c {
            '\\' if whole || chars.peek().is_some_and(|(_, next)| *next == 'x') => {
                bytes.push(escape(place, &mut chars)?);
            }
            _ if whole => bytes.push(ascii(place, c)?),
            ' ' | '\n' | '\r' | '\t' | ',' | ';' | ':' => {}
            _ => return Err(InputError::Beside(place, Shown(c))),
        }
    }
    Ok(bytes)
}

/// Strings in quotes, one behind the other.
fn strings(text: &str, said: &mut Vec<String>) -> Result<Vec<u8>, InputError> {
    let (before, _) = text.split_once(['"', '\'']).unwrap_or((text, ""));
    let names = before.trim().trim_end_matches(['b', 'B']);
    if !names.is_empty() {
        said.push("what stands before the string left out".to_owned());
    }
    let mut chars = chars(text).into_iter().peekable();
    let mut bytes = Vec::new();
    let mut escaped = names.contains('\\');
    let mut begun = None;
    while let Some((place, c)) = chars.next() {
        match c {
            '"' | '\'' => {
                begun = begun.or(Some(place));
                escaped |= string(place, c, &mut chars, &mut bytes)?;
            }
            ';' if begun.is_some() => break,
            '\\' if begun.is_none() => return Err(InputError::Beside(place, Shown(c))),
            _ if begun.is_none() => {}
            'b' | 'B' if chars.peek().is_some_and(|(_, next)| matches!(next, '"' | '\'')) => {}
            ' ' | '\n' | '\r' | '\t' | '\\' | '+' | ',' | ')' | ']' | '}' => {}
            _ => return Err(InputError::Beside(place, Shown(c))),
        }
        if bytes.len() > MAX_FRAME {
            return Err(InputError::TooLong);
        }
    }
    if chars.any(|(_, c)| !c.is_whitespace()) {
        said.push("what stands behind the string left out".to_owned());
    }
    // Python shows the hex that it made like this.
    if let Some(open) = begun.filter(|_| !escaped && bytes.iter().all(u8::is_ascii_hexdigit)) {
        said.push("as hex".to_owned());
        return super::digits(&String::from_utf8_lossy(&bytes), open.line, open.column);
    }
    Ok(bytes)
}

/// One string, whose first quote was read; whether it has escapes.
fn string(open: Place, quote: char, chars: &mut Chars, bytes: &mut Vec<u8>) -> Result<bool, InputError> {
    let mut escaped = false;
    loop {
        match chars.next() {
            None | Some((_, '\n')) => return Err(InputError::Unclosed(open)),
            Some((_, c)) if c == quote => return Ok(escaped),
            Some((place, '\\')) => {
                escaped = true;
                bytes.push(escape(place, chars)?);
            }
            Some((place, c)) => bytes.push(ascii(place, c)?),
        }
    }
}

fn ascii(place: Place, c: char) -> Result<u8, InputError> {
    let byte = u8::try_from(c).ok().filter(u8::is_ascii);
    byte.ok_or(InputError::Escape(place))
}

/// What a backslash at `place` stands for.
fn escape(place: Place, chars: &mut Chars) -> Result<u8, InputError> {
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
        // Octal in some languages.
        Some('0') if chars.peek().is_some_and(|(_, c)| c.is_ascii_digit()) => Err(fail),
        Some('0') => Ok(0),
        Some('n') => Ok(b'\n'),
        Some('r') => Ok(b'\r'),
        Some('t') => Ok(b'\t'),
        Some(c @ ('\\' | '"' | '\'')) => ascii(place, c),
        _ => Err(fail),
    }
}

/// Numbers in braces or brackets.
fn list(text: &str, said: &mut Vec<String>) -> Result<Option<Vec<u8>>, InputError> {
    if !text.contains(['{', '[']) {
        return Ok(None);
    }
    let text = without_comments(&chars(text));
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
    // The type of what is set may have brackets of its own.
    let Some((open, close)) = find('=', 0).and_then(ends).or_else(|| ends(0)) else {
        return Ok(None);
    };
    let inside = text.get(open + 1..close).unwrap_or_default();
    let bytes = numbers(&words(inside.iter().copied()))?;
    said.push("the numbers of a list".to_owned());
    let is_name = |(_, c): &(Place, char)| c.is_alphanumeric();
    if text.iter().take(open).chain(text.iter().skip(close)).any(is_name) {
        said.push("what stands around it left out".to_owned());
    }
    Ok(Some(bytes))
}

/// Comments as spaces, so that places stay.
fn without_comments(text: &[(Place, char)]) -> Vec<(Place, char)> {
    let mut out = Vec::with_capacity(text.len());
    let mut end: Option<&[char]> = None;
    let mut before = '\0';
    for &(place, c) in text {
        let inside = end.is_some();
        let (now, next) = match (end, before, c) {
            (None, '/', '*') => (Some(&['*', '/'][..]), '\0'),
            (None, '/', '/') => (Some(&['\n'][..]), '\0'),
            (Some(wanted), ..) if [before, c].ends_with(wanted) => (None, '\0'),
            _ => (end, c),
        };
        (end, before) = (now, next);
        if !inside && end.is_some() {
            // The slash before it.
            out.pop();
        }
        let c = if inside || end.is_some() { ' ' } else { c };
        out.push((place, c));
    }
    out
}

/// What stands between commas and space.
fn words(text: impl Iterator<Item = (Place, char)>) -> Vec<(Place, String)> {
    let mut words: Vec<(Place, String)> = Vec::new();
    let mut fresh = true;
    for (place, c) in text {
        if c.is_whitespace() || c == ',' {
            fresh = true;
            continue;
        }
        match words.last_mut() {
            Some((_, word)) if !fresh => word.push(c),
            _ => words.push((place, c.to_string())),
        }
        fresh = false;
    }
    words
}

/// Numbers from -128 to 255 that cannot all be pairs of hex digits.
fn is_decimal(words: &[(Place, String)]) -> bool {
    let plain = |word: &str| {
        let digits = word.strip_prefix('-').unwrap_or(word);
        let zeros = digits.len() > 1 && digits.starts_with('0');
        !zeros
            && word
                .parse::<i16>()
                .is_ok_and(|number| (-128..=255).contains(&number))
    };
    words.iter().all(|(_, word)| plain(word)) && words.iter().any(|(_, word)| word.len() != 2)
}

/// The bytes of a list of hex numbers.
fn numbers(words: &[(Place, String)]) -> Result<Vec<u8>, InputError> {
    let hex = |word: &str| {
        ["0x", "0X"]
            .iter()
            .find_map(|prefix| word.strip_prefix(prefix).map(str::to_owned))
    };
    let any_prefix = words.iter().any(|(_, word)| hex(word).is_some());
    // No decimal number is written like these.
    let is_hex = |word: &str| {
        word.len() == 2 && word.starts_with('0')
            || word.len() <= 2 && word.contains(|c: char| c.is_ascii_alphabetic())
    };
    let any_hex = words.iter().any(|(_, word)| is_hex(word));
    let mut bytes = Vec::new();
    for (place, word) in words {
        let digits = hex(word);
        let alike = word.len() == 1 && word.bytes().all(|digit| digit.is_ascii_digit());
        let sure = digits.is_some() || alike && any_prefix || is_hex(word) || any_hex && !any_prefix;
        let digits = digits.unwrap_or_else(|| word.clone());
        if let Some(c) = digits.chars().find(|c| !c.is_ascii_hexdigit() && *c != '-') {
            return Err(InputError::NoHex {
                place: *place,
                found: Shown(c),
            });
        }
        if !sure || digits.contains('-') {
            return Err(InputError::Decimal(*place));
        }
        match u8::from_str_radix(&digits, 16) {
            Ok(byte) if digits.len() <= 2 => bytes.push(byte),
            _ if digits.is_empty() => return Err(InputError::Odd(*place)),
            _ => return Err(InputError::Wide(*place)),
        }
        if bytes.len() > MAX_FRAME {
            return Err(InputError::TooLong);
        }
    }
    Ok(bytes)
}
