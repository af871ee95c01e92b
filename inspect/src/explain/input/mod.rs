//! Extracts the datagram from pasted text: plain hex, a hex dump, a string or list in code, or raw bytes.
//!
//! Law: digits are never guessed. A character that is not hex is an error with its position. Text that may contain
//! several datagrams is an error that suggests another format. Ignored parts (offsets, text columns, network headers)
//! are reported.
//!
//! | module | part |
//! |---|---|
//! | `dump` | tcpdump -x, xxd, hexdump -C, tshark -x |
//! | `code` | strings with `\x` escapes, lists of numbers |
//! | `network` | headers before the datagram |

mod code;
mod dump;
mod network;

use std::fmt;

/// Maximum size of the text in bytes: four times the size of the largest datagram in any format.
pub const MAX_INPUT: usize = 1 << 20;
/// Maximum size of a UDP datagram, in bytes.
const MAX_DATAGRAM: usize = 65_507;
/// Maximum size of a datagram with network headers, in bytes.
const MAX_FRAME: usize = MAX_DATAGRAM + 128;

/// A datagram, with comments on its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedInput {
    /// The datagram.
    pub datagram: Vec<u8>,
    /// Comments on the form of the input and on omitted parts.
    pub comments: Vec<String>,
}

/// Why the text has no datagram. Lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The text is empty or only space.
    #[error("no bytes")]
    Empty,
    /// A character that is neither a hex digit nor a separator.
    #[error("{place}: {found} is not a hex digit; use xxd, hexdump -C or plain hex")]
    NoHex {
        /// Position of the character.
        place: TextPosition,
        /// The character.
        found: Shown,
    },
    /// A byte with only one digit.
    #[error("{0}: a byte has two digits, this one has one; use xxd, hexdump -C or plain hex")]
    Odd(TextPosition),
    /// A line of a dump whose offset does not continue the previous line.
    #[error("line {line}: its offset is {found:#x}, but {have:#x} bytes came before it")]
    Gap {
        /// Line number.
        line: usize,
        /// Offset at the start of the line.
        found: usize,
        /// Number of bytes before the line.
        have: usize,
    },
    /// Words whose bytes may be in a different order.
    #[error("line {0}: words whose bytes may be in another order; use xxd, hexdump -C or plain hex")]
    Words(usize),
    /// A dump whose text column shows different bytes.
    #[error("line {0}: the text beside the bytes shows other bytes; use xxd, hexdump -C or plain hex")]
    Beside(usize),
    /// A number in a list without `0x`.
    #[error("{0}: this number may be decimal; write 0x10, or use xxd, hexdump -C or plain hex")]
    Base(TextPosition),
    /// A number in a list that exceeds a byte.
    #[error("{0}: more than a byte")]
    Wide(TextPosition),
    /// A character other than an escape like `\x10`, outside quotes.
    #[error("{0}: {1} beside bytes like \\x10; put all of it in quotes, with a b before them")]
    Outside(TextPosition, Shown),
    /// An escape that languages read differently, or a character that is not a byte.
    #[error(
        "{0}: in a string explain reads ASCII, \\x00 and \\0 (no digit after it), \\n, \\r, \\t, \\\\, \\\" and \\'"
    )]
    Escape(TextPosition),
    /// A string without a closing quote.
    #[error("{0}: this string does not end in its line")]
    Unclosed(TextPosition),
    /// More bytes than a datagram can have.
    #[error("more than {MAX_DATAGRAM} bytes, the most of a UDP datagram")]
    TooLong,
    /// A buffer that Node.js printed only in part.
    #[error("Node.js left out the end of this buffer; print it with buffer.toString('hex')")]
    CutBuffer,
    /// A file with many packets.
    #[error("this is a capture of many packets; give the number of one, such as --frame 1")]
    Capture,
}

/// A position in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPosition {
    /// Line number, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl fmt::Display for TextPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// A character, escaped for output if it is not printable.
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

/// Returns the datagram in the contents of a file or pipe: text in one of the forms, or else the raw bytes.
///
/// # Errors
/// [`InputError`].
pub fn from_bytes(bytes: &[u8]) -> Result<ParsedInput, InputError> {
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

/// Returns the datagram in text.
///
/// # Errors
/// [`InputError`].
pub fn from_text(text: &str) -> Result<ParsedInput, InputError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut comments = Vec::new();
    let bytes = match dump::bytes(text, &mut comments)? {
        Some(bytes) => bytes,
        None => match code::bytes(text, &mut comments)? {
            Some(bytes) => bytes,
            None => plain(without_buffer(text)?)?,
        },
    };
    finish(bytes, comments)
}

/// Returns the digits of a buffer printed by Node.js, `<Buffer 10 00>`, or any other text unchanged.
fn without_buffer(text: &str) -> Result<&str, InputError> {
    let inner = text
        .trim()
        .strip_prefix("<Buffer")
        .and_then(|rest| rest.strip_suffix('>'));
    match inner {
        // Node prints the first 50 bytes of a longer buffer, then for example "... 13 more bytes".
        Some(inner) if inner.contains("...") => Err(InputError::CutBuffer),
        Some(inner) => Ok(inner),
        None => Ok(text),
    }
}

fn finish(bytes: Vec<u8>, mut comments: Vec<String>) -> Result<ParsedInput, InputError> {
    if bytes.is_empty() {
        return Err(InputError::Empty);
    }
    let datagram = match network::datagram(&bytes) {
        None => bytes,
        Some(found) => {
            comments.push(found.comment);
            bytes.get(found.range).unwrap_or_default().to_vec()
        }
    };
    if datagram.len() > MAX_DATAGRAM {
        return Err(InputError::TooLong);
    }
    Ok(ParsedInput { datagram, comments })
}

/// Parses hex digits with any usual separators.
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

/// Parses the bytes of one line, whose first character is in column `before + 1`. A byte has two digits, or one or two
/// digits after `0x`.
fn digits(line: &str, number: usize, before: usize) -> Result<Vec<u8>, InputError> {
    let mut bytes = Vec::new();
    // The first digit of a byte, and true if it directly follows `0x`.
    let mut half: Option<(u8, TextPosition, bool)> = None;
    // Position of a `0x` without digits so far.
    let mut prefix: Option<TextPosition> = None;
    let mut chars = line.chars().enumerate().peekable();
    while let Some((at, c)) = chars.next() {
        let place = TextPosition {
            line: number,
            column: before + at + 1,
        };
        let idle = half.is_none() && prefix.is_none();
        if idle && c == '0' && chars.next_if(|(_, next)| matches!(next, 'x' | 'X')).is_some() {
            prefix = Some(place);
            continue;
        }
        let between = c.is_whitespace() || matches!(c, ':' | '_' | ',' | ';' | '-' | '"' | '\'');
        let digit = c.to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        match (digit, half.take()) {
            (Some(digit), None) => half = Some((digit, place, prefix.take().is_some())),
            (Some(digit), Some((high, ..))) => bytes.push(high << 4 | digit),
            (None, Some((digit, _, true))) if between => bytes.push(digit),
            (None, Some((_, place, false))) if between => return Err(InputError::Odd(place)),
            (None, None) if between && prefix.is_none() => {}
            (None, _) => {
                return Err(InputError::NoHex {
                    place,
                    found: Shown(c),
                });
            }
        }
    }
    match (half, prefix) {
        (Some((digit, _, true)), _) => bytes.push(digit),
        (Some((_, place, false)), _) | (None, Some(place)) => return Err(InputError::Odd(place)),
        (None, None) => {}
    }
    Ok(bytes)
}

#[cfg(test)]
mod real;
#[cfg(test)]
mod tests;
