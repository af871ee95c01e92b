//! Parses hex dumps, whose lines have an offset, bytes in hex, and optionally the same bytes as text.
//!
//! Law: a dump is refused if the offset of a line does not continue the previous line. The text column is not parsed,
//! but compared with the bytes to detect dumps of words in swapped byte order.

use super::{InputError, MAX_FRAME, digits};
use teetap_wire::counted;

/// The program that wrote a dump.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Program {
    Tcpdump,
    Xxd,
    Hexdump,
    Tshark,
}

/// The parts of a line.
struct DumpLine<'a> {
    offset: &'a str,
    /// Index of the byte at which the hex starts.
    start: usize,
    /// Hex digits; empty for a line that only has the final offset.
    hex: &'a str,
    /// The text column.
    text: &'a str,
}

/// Returns the first packet of a dump; `None` if the text is not a dump.
pub(super) fn bytes(text: &str, comments: &mut Vec<String>) -> Result<Option<Vec<u8>>, InputError> {
    let Some(program) = text.lines().find_map(Program::from_line) else {
        return words(text).map_or(Ok(None), |line| Err(InputError::Words(line)));
    };
    comments.push(format!("the text of {}", program.name()));
    let mut out: Vec<u8> = Vec::new();
    let mut last: Vec<u8> = Vec::new();
    let (mut begun, mut repeat, mut left_out) = (false, false, 0);
    for (number, line) in (1..).zip(text.lines().map(str::trim_end)) {
        let Some(cut) = program.cut(line) else {
            let is_star = line.trim() == "*";
            repeat |= is_star;
            left_out += usize::from(!is_star && !line.trim().is_empty());
            continue;
        };
        if begun && cut.offset.bytes().all(|digit| digit == b'0') {
            comments.push("only the first packet of the text".to_owned());
            break;
        }
        begun = true;
        let before = line.get(..cut.start).unwrap_or_default().chars().count();
        let bytes = digits(cut.hex, number, before)?;
        // `xxd -e` aligns a short word to the right.
        if program == Program::Xxd && cut.hex.starts_with("  ") {
            return Err(InputError::Words(number));
        }
        compare(number, &bytes, &cut)?;
        let offset = usize::from_str_radix(cut.offset, 16).unwrap_or(usize::MAX);
        // `*` repeats the previous line.
        while repeat && out.len() < offset && !last.is_empty() && out.len() <= MAX_FRAME {
            out.extend_from_slice(&last);
        }
        repeat = false;
        if offset != out.len() {
            return Err(InputError::Gap {
                line: number,
                found: offset,
                have: out.len(),
            });
        }
        out.extend_from_slice(&bytes);
        last = bytes;
        if out.len() > MAX_FRAME {
            return Err(InputError::TooLong);
        }
    }
    if left_out > 0 {
        comments.push(format!("{} without bytes ignored", counted(left_out, "line")));
    }
    Ok(Some(out))
}

impl Program {
    const fn name(self) -> &'static str {
        match self {
            Self::Tcpdump => "tcpdump",
            Self::Xxd => "xxd",
            Self::Hexdump => "hexdump -C",
            Self::Tshark => "tshark -x",
        }
    }

    /// Returns the program whose dump starts with this line.
    fn from_line(line: &str) -> Option<Self> {
        let is_first = |program: &Self| {
            let cut = program.cut(line.trim_end());
            cut.is_some_and(|cut| cut.offset.bytes().all(|digit| digit == b'0') && !cut.hex.trim().is_empty())
        };
        [Self::Tcpdump, Self::Xxd, Self::Hexdump, Self::Tshark]
            .into_iter()
            .find(is_first)
    }

    /// Splits a line of the dump into its parts.
    fn cut(self, line: &str) -> Option<DumpLine<'_>> {
        let trimmed = line.trim_start();
        let rest = match self {
            Self::Tcpdump => trimmed.strip_prefix("0x")?,
            Self::Xxd | Self::Hexdump | Self::Tshark => trimmed,
        };
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        let (offset, after) = rest.split_at_checked(digits)?;
        let gap = after.len() - after.trim_start().len();
        let (fits, skip) = match self {
            Self::Tcpdump => (digits >= 4 && after.starts_with(':'), 1),
            Self::Xxd => (digits >= 8 && after.starts_with(": "), 1),
            Self::Hexdump => (digits >= 8 && (after.is_empty() || gap == 2), 0),
            Self::Tshark => (matches!(digits, 4..=7) && gap == 2, 0),
        };
        let rest = after.get(skip..)?;
        let hex_len = match self {
            Self::Tcpdump | Self::Xxd => {
                let trimmed = rest.trim_start();
                rest.len() - trimmed.len() + trimmed.find("  ").unwrap_or(trimmed.len())
            }
            Self::Hexdump | Self::Tshark => pairs_len(rest),
        };
        let (hex, text) = rest.split_at_checked(hex_len)?;
        (fits && digits <= 16).then_some(DumpLine {
            offset,
            start: line.len() - rest.len(),
            hex,
            text,
        })
    }
}

/// Returns the length of the digit pairs, which end at a bar or at more than one space. Two spaces may separate the
/// halves of 16 pairs.
fn pairs_len(rest: &str) -> usize {
    let mut end = rest.len() - rest.trim_start().len();
    for count in 1.. {
        let after = rest.get(end..).unwrap_or_default();
        let word = after.find(' ').unwrap_or(after.len());
        if word == 0 || after.starts_with('|') {
            break;
        }
        end += word;
        let after = rest.get(end..).unwrap_or_default();
        let next = after.trim_start();
        let gap = after.len() - next.len();
        let is_pair = next.find(' ').unwrap_or(next.len()) == 2;
        match gap {
            1 => end += 1,
            2 if count == 8 && is_pair => end += 2,
            _ => break,
        }
    }
    end
}

/// Refuses bytes that differ from the text column, and words that may be in swapped byte order (`xxd -e`).
fn compare(line: usize, bytes: &[u8], cut: &DumpLine<'_>) -> Result<(), InputError> {
    if !agree(bytes, cut.text) {
        return Err(InputError::Beside(line));
    }
    let word = cut.hex.split_whitespace().map(|word| word.len() / 2).max();
    let turned: Vec<u8> = bytes
        .chunks(word.unwrap_or_default().max(1))
        .flat_map(|word| word.iter().rev().copied())
        .collect();
    // Swapped words have 4 or 8 bytes by default; xxd without `-e` has words of 2 bytes.
    if matches!(word, Some(4 | 8)) && turned != bytes && agree(&turned, cut.text) {
        return Err(InputError::Words(line));
    }
    Ok(())
}

/// Returns true if `text` can be the text column for `bytes`: printable bytes as characters, other bytes as dots.
fn agree(bytes: &[u8], text: &str) -> bool {
    let text = text.trim_matches(' ');
    let text = text
        .strip_prefix('|')
        .and_then(|text| text.strip_suffix('|'))
        .unwrap_or(text);
    // Programs show bytes outside ASCII in many ways.
    if text.is_empty() || !text.is_ascii() {
        return true;
    }
    let alike = |bytes: &[u8], text: &str| {
        bytes.len() == text.len()
            && bytes.iter().zip(text.bytes()).all(|(byte, shown)| {
                if byte.is_ascii_graphic() {
                    shown == *byte
                } else {
                    matches!(shown, b'.' | b' ')
                }
            })
    };
    // Leading and trailing spaces look like the space around the text.
    let is_space = |byte: &u8| *byte == b' ';
    let start = bytes.iter().take_while(|byte| is_space(byte)).count();
    let end = bytes.iter().rev().take_while(|byte| is_space(byte)).count();
    let inner = bytes.get(start..bytes.len() - end).unwrap_or_default();
    alike(bytes, text) || alike(inner, text.trim_matches(' '))
}

/// Returns the first line of a dump of words by hexdump or od: increasing offsets of 6 to 8 digits, ending with an
/// offset alone; or offsets of 7 digits, which cannot be bytes in hex.
fn words(text: &str) -> Option<usize> {
    let mut lines = text.lines().enumerate().map(|(at, line)| {
        let line = line.trim();
        let (offset, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        (at + 1, offset, rest)
    });
    let is_first = |offset: &str| matches!(offset.len(), 6..=8) && offset.bytes().all(|digit| digit == b'0');
    let (number, first, _) = lines.find(|(_, offset, rest)| is_first(offset) && !rest.is_empty())?;
    let mut before = first;
    let mut alone = false;
    for (_, offset, rest) in lines.filter(|(_, offset, _)| !matches!(*offset, "*" | "")) {
        if offset.len() != first.len() || offset <= before || alone {
            alone = false;
            break;
        }
        alone = rest.is_empty();
        before = offset;
    }
    (alone || first.len() == 7).then_some(number)
}
