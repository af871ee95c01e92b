//! The datagram in what people paste: plain hex, the dumps of xxd, hexdump and tcpdump, or the bytes themselves.
//!
//! Law: never guesses at a digit. What is no hex is an error with its place; what was left out (offsets, ASCII, headers of
//! the network) is said.

mod network;

use std::fmt;

/// Most bytes of text that are read: four times what the largest datagram takes in any of the forms.
pub const MAX_INPUT: usize = 1 << 20;
/// Most bytes of a UDP datagram.
const MAX_DATAGRAM: usize = 65_507;
/// Network headers may come on top of it.
const MAX_FRAME: usize = MAX_DATAGRAM + 128;

/// A datagram, and how it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its bytes.
    pub datagram: Vec<u8>,
    /// What was left out, for people.
    pub said: Vec<String>,
}

/// Why there is no datagram. Lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// Nothing but space.
    #[error("no bytes")]
    Empty,
    /// Neither hex nor what stands between hex.
    #[error("{place}: {found} is no hex digit")]
    NoHex {
        /// Where.
        place: Place,
        /// What is there.
        found: Shown,
    },
    /// Half a byte.
    #[error("{0}: a byte has two digits, this one has one")]
    Odd(Place),
    /// A line of a dump that does not follow the one before.
    #[error("line {line}: its offset is {found:#x}, but {have:#x} bytes came before it")]
    Gap {
        /// Its number.
        line: usize,
        /// Its offset.
        found: usize,
        /// Bytes before it.
        have: usize,
    },
    /// More than a datagram can be.
    #[error("more than {MAX_DATAGRAM} bytes, the most of a UDP datagram")]
    TooLong,
    /// A file of many packets.
    #[error("this is a capture file; explain takes one packet, as hex or as its bytes")]
    Capture,
}

/// A place in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A character, as it may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown(pub char);

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_ascii_graphic() || self.0.is_alphanumeric() {
            write!(f, "'{}'", self.0)
        } else {
            write!(f, "U+{:04X}", u32::from(self.0))
        }
    }
}

/// Finds the datagram in the contents of a file or a pipe: text in one of the forms, else the bytes themselves.
///
/// # Errors
/// [`InputError`].
pub fn from_bytes(bytes: &[u8]) -> Result<Found, InputError> {
    const CAPTURES: [[u8; 4]; 5] = [
        [0xd4, 0xc3, 0xb2, 0xa1],
        [0xa1, 0xb2, 0xc3, 0xd4],
        [0x4d, 0x3c, 0xb2, 0xa1],
        [0xa1, 0xb2, 0x3c, 0x4d],
        [0x0a, 0x0d, 0x0d, 0x0a],
    ];
    if CAPTURES.iter().any(|magic| bytes.starts_with(magic)) && bytes.len() >= 24 {
        return Err(InputError::Capture);
    }
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains(control) => from_text(text),
        _ => finish(bytes.to_vec(), Vec::new()),
    }
}

/// Finds the datagram in text.
///
/// # Errors
/// [`InputError`].
pub fn from_text(text: &str) -> Result<Found, InputError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let form = text.lines().find_map(Form::of);
    let mut said = Vec::new();
    let bytes = match form {
        None => plain(text)?,
        Some(form) => {
            said.push(format!("the text of {}", form.name()));
            dump(text, form, &mut said)?
        }
    };
    finish(bytes, said)
}

fn finish(bytes: Vec<u8>, mut said: Vec<String>) -> Result<Found, InputError> {
    if bytes.is_empty() {
        return Err(InputError::Empty);
    }
    let datagram = match network::datagram(&bytes) {
        None => bytes,
        Some(found) => {
            said.push(found.said);
            bytes.get(found.range).unwrap_or_default().to_vec()
        }
    };
    if datagram.len() > MAX_DATAGRAM {
        return Err(InputError::TooLong);
    }
    Ok(Found { datagram, said })
}

/// Which program made a dump.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Tcpdump,
    Xxd,
    Hexdump,
}

impl Form {
    const fn name(self) -> &'static str {
        match self {
            Self::Tcpdump => "tcpdump",
            Self::Xxd => "xxd",
            Self::Hexdump => "hexdump -C",
        }
    }

    /// The form of a line, if it is the first one of a dump.
    fn of(line: &str) -> Option<Self> {
        [Self::Tcpdump, Self::Xxd, Self::Hexdump]
            .into_iter()
            .find(|form| {
                form.split(line)
                    .is_some_and(|(offset, start)| offset == 0 && start < line.trim_end().len())
            })
    }

    /// Offset and byte column where the hex starts.
    fn split(self, line: &str) -> Option<(usize, usize)> {
        let trimmed = line.trim_start();
        let start = line.len() - trimmed.len();
        let (prefix, rest) = match self {
            Self::Tcpdump => (2, trimmed.strip_prefix("0x")?),
            _ => (0, trimmed),
        };
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits > 16 {
            return None;
        }
        let end = start + prefix + digits;
        let offset = usize::from_str_radix(rest.get(..digits)?, 16).ok()?;
        let after = line.get(end..)?;
        let (fits, skip) = match self {
            Self::Tcpdump => (digits >= 4 && after.starts_with(':'), 1),
            Self::Xxd => (digits >= 7 && after.starts_with(": "), 1),
            Self::Hexdump => (
                digits >= 7
                    && (after.trim_end().is_empty() || after.starts_with("  ") && after.ends_with('|')),
                0,
            ),
        };
        fits.then_some((offset, end + skip))
    }

    /// The hex of a line, from byte column `start` on.
    fn hex(self, line: &str, start: usize) -> &str {
        let rest = line.get(start..).unwrap_or_default();
        match self {
            Self::Hexdump => rest.split('|').next().unwrap_or_default(),
            _ => {
                let trimmed = rest.trim_start();
                let space = rest.len() - trimmed.len();
                let end = trimmed.find("  ").unwrap_or(trimmed.len());
                rest.get(..space + end).unwrap_or_default()
            }
        }
    }
}

/// The first packet of a dump.
fn dump(text: &str, form: Form, said: &mut Vec<String>) -> Result<Vec<u8>, InputError> {
    let mut bytes = Vec::new();
    let mut last = Vec::new();
    let mut repeat = false;
    let mut left_out = 0;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_end();
        let Some((offset, start)) = form.split(line) else {
            repeat |= line == "*";
            left_out += usize::from(!line.trim().is_empty() && line != "*");
            continue;
        };
        if offset == 0 && !bytes.is_empty() {
            said.push("only the first packet of the text".to_owned());
            break;
        }
        while repeat && bytes.len() < offset && !last.is_empty() && bytes.len() <= MAX_FRAME {
            bytes.extend_from_slice(&last);
        }
        repeat = false;
        let hex = form.hex(line, start);
        if offset != bytes.len() {
            return Err(InputError::Gap {
                line: number + 1,
                found: offset,
                have: bytes.len(),
            });
        }
        let before = line.get(..start).unwrap_or_default().chars().count();
        last = digits(hex, number + 1, before)?;
        bytes.extend_from_slice(&last);
        if bytes.len() > MAX_FRAME {
            return Err(InputError::TooLong);
        }
    }
    if left_out > 0 {
        said.push(format!("{left_out} lines without bytes left out"));
    }
    Ok(bytes)
}

/// Hex digits with anything usual between the bytes.
fn plain(text: &str) -> Result<Vec<u8>, InputError> {
    let mut bytes = Vec::new();
    for (number, line) in text.lines().enumerate() {
        bytes.extend(digits(line, number + 1, 0)?);
        if bytes.len() > MAX_FRAME {
            return Err(InputError::TooLong);
        }
    }
    Ok(bytes)
}

/// The bytes of one line, whose first character is in column `before + 1`.
fn digits(line: &str, number: usize, before: usize) -> Result<Vec<u8>, InputError> {
    let mut bytes = Vec::new();
    let mut half: Option<(u32, Place)> = None;
    let mut chars = line.chars().enumerate().peekable();
    while let Some((at, c)) = chars.next() {
        let place = Place {
            line: number,
            column: before + at + 1,
        };
        let between = c.is_whitespace() || matches!(c, ':' | '_' | ',' | ';' | '-' | '"' | '\'');
        let next = chars.peek().map(|(_, next)| *next);
        let prefix =
            half.is_none() && (c == '0' && matches!(next, Some('x' | 'X')) || c == '\\' && next == Some('x'));
        if prefix {
            chars.next();
            continue;
        }
        match (c.to_digit(16), half) {
            (Some(digit), None) => half = Some((digit, place)),
            (Some(digit), Some((high, _))) => {
                bytes.extend(u8::try_from(high << 4 | digit));
                half = None;
            }
            (None, Some((_, place))) if between => return Err(InputError::Odd(place)),
            (None, _) if between => {}
            (None, _) => {
                return Err(InputError::NoHex {
                    place,
                    found: Shown(c),
                });
            }
        }
    }
    match half {
        Some((_, place)) => Err(InputError::Odd(place)),
        None => Ok(bytes),
    }
}

#[cfg(test)]
mod tests;
