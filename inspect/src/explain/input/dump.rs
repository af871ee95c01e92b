//! The dumps of programs: an offset, hex, and perhaps the same bytes as text.
//!
//! Law: a line belongs to a dump when its offset follows what came before, or the text is refused; the text column is never
//! read, only compared. What is in words whose order nobody can know is refused by the name of what makes it.

use super::{InputError, MAX_FRAME, beside::Beside, digits};

/// Which program made a dump.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Program {
    Tcpdump,
    Xxd,
    Hexdump,
    /// Of bytes, not of words.
    Od,
    /// And tshark.
    Wireshark,
}

/// How the lines of a dump look.
#[derive(Clone, Copy)]
struct Form {
    program: Program,
    /// Digits of the first offset.
    digits: usize,
    /// Spaces behind it.
    gap: usize,
}

/// A line, taken apart.
struct Cut<'a> {
    offset: &'a str,
    /// Byte column where the hex starts.
    start: usize,
    /// Empty where only the end is told.
    hex: &'a str,
    /// What stands behind it.
    text: &'a str,
}

/// What a packet is put together from.
enum Part<'a> {
    /// `*`: lines like the one before.
    Repeat,
    Line {
        number: usize,
        offset: &'a str,
        bytes: Vec<u8>,
    },
}

/// The first packet of a dump; `None` if the text is none.
pub(super) fn bytes(text: &str, said: &mut Vec<String>) -> Result<Option<Vec<u8>>, InputError> {
    let mut lines = text.lines();
    let form = std::iter::from_fn(|| lines.next().map(|line| Form::of(line, lines.clone().next())));
    let Some(form) = form.flatten().next() else {
        return words(text).map_or(Ok(None), |line| Err(InputError::Words(line)));
    };
    said.push(format!("the text of {}", form.name()));
    let parts = parts(text, form, said)?;
    let mut found: Vec<Vec<u8>> = Vec::new();
    let mut failed = None;
    for radix in form.radixes() {
        match assemble(&parts, *radix) {
            Ok(bytes) if found.contains(&bytes) => {}
            Ok(bytes) => found.push(bytes),
            // The offsets of the last radix read as they are written.
            Err(error) => failed = Some(error),
        }
    }
    match (found.len(), found.pop(), failed) {
        (1, Some(bytes), _) => Ok(Some(bytes)),
        (0, _, Some(error)) => Err(error),
        _ => Err(InputError::Radix),
    }
}

impl Form {
    const fn name(self) -> &'static str {
        match self.program {
            Program::Tcpdump => "tcpdump",
            Program::Xxd => "xxd",
            Program::Hexdump => "hexdump -C",
            Program::Od => "od -t x1",
            Program::Wireshark => "Wireshark or tshark -x",
        }
    }

    /// How the offsets may count: od counts in octal where nothing else is asked for, with one digit more than in hex.
    const fn radixes(self) -> &'static [u32] {
        match self.program {
            Program::Od if self.digits > 6 => &[8, 10, 16],
            _ => &[16],
        }
    }

    /// The form of a line that `next` follows, if it is the first one of a dump.
    fn of(line: &str, next: Option<&str>) -> Option<Self> {
        let line = line.trim_end();
        let trimmed = line.trim_start();
        let (prefixed, rest) = match trimmed.strip_prefix("0x") {
            Some(rest) => (true, rest),
            None => (false, trimmed),
        };
        let digits = rest.bytes().take_while(|byte| *byte == b'0').count();
        let after = rest.get(digits..)?;
        let gap = after.len() - after.trim_start().len();
        let program = match (prefixed, digits) {
            (true, 4..) if after.starts_with(':') => Program::Tcpdump,
            (false, 7..) if after.starts_with(": ") => Program::Xxd,
            (true, _) => return None,
            (false, 7..) if after.ends_with('|') && gap >= 2 => Program::Hexdump,
            (false, 8..=16) if gap >= 2 => Program::Hexdump,
            (false, 6 | 7) if gap >= 1 => Program::Od,
            (false, 4 | 5) if gap >= 1 => Program::Wireshark,
            (false, _) => return None,
        };
        let form = Self { program, digits, gap };
        let first = form.cut(line).filter(|cut| !cut.hex.trim().is_empty())?;
        if matches!(program, Program::Tcpdump | Program::Xxd) {
            return Some(form);
        }
        let mut bytes = 0;
        for word in first.hex.split_whitespace() {
            if word.len() != 2 || !word.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return None;
            }
            bytes += 1;
        }
        // What may as well be two bytes, and others, is an offset when another one follows it.
        let follows = |line: &str| {
            let cut = form.cut(line);
            cut.is_some_and(|cut| usize::from_str_radix(cut.offset, 16) == Ok(bytes))
        };
        (gap > 1 || digits > 5 || next.is_some_and(follows)).then_some(form)
    }

    /// Takes a line apart that looks like those of the dump.
    fn cut(self, line: &str) -> Option<Cut<'_>> {
        let line = line.trim_end();
        let trimmed = line.trim_start();
        let prefix = if self.program == Program::Tcpdump { 2 } else { 0 };
        let rest = trimmed.get(prefix..)?;
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        let (offset, after) = rest.split_at_checked(digits)?;
        let gap = after.len() - after.trim_start().len();
        let fits = match self.program {
            Program::Tcpdump => trimmed.starts_with("0x") && digits >= 4 && after.starts_with(':'),
            Program::Xxd => digits >= 7 && after.starts_with(": "),
            Program::Hexdump | Program::Od => digits >= self.digits && (after.is_empty() || gap == self.gap),
            Program::Wireshark => digits >= self.digits && gap == self.gap,
        };
        let skip = usize::from(matches!(self.program, Program::Tcpdump | Program::Xxd));
        let rest = after.get(skip..)?;
        let (hex, text) = rest.split_at_checked(self.hex_len(rest))?;
        (fits && digits <= 16).then_some(Cut {
            offset,
            start: line.len() - rest.len(),
            hex,
            text,
        })
    }

    /// Where the hex ends.
    fn hex_len(self, rest: &str) -> usize {
        match self.program {
            Program::Tcpdump | Program::Xxd => {
                let trimmed = rest.trim_start();
                rest.len() - trimmed.len() + trimmed.find("  ").unwrap_or(trimmed.len())
            }
            Program::Od => rest.find('>').unwrap_or(rest.len()),
            Program::Hexdump | Program::Wireshark => pairs_len(rest),
        }
    }
}

/// Where pairs of digits end: at a bar, or at more than a space. Two spaces may be in the middle of 16 pairs.
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

/// The lines of the first packet.
fn parts<'a>(text: &'a str, form: Form, said: &mut Vec<String>) -> Result<Vec<Part<'a>>, InputError> {
    let mut parts = Vec::new();
    let mut beside = Beside::default();
    let mut begun = false;
    let mut left_out = 0;
    for (at, line) in text.lines().enumerate() {
        let (number, line) = (at + 1, line.trim_end());
        let Some(cut) = form.cut(line) else {
            if line.trim() == "*" {
                parts.push(Part::Repeat);
            } else {
                left_out += usize::from(!line.trim().is_empty());
            }
            continue;
        };
        if begun && cut.offset.bytes().all(|digit| digit == b'0') {
            said.push("only the first packet of the text".to_owned());
            break;
        }
        begun = true;
        if form.program == Program::Xxd {
            beside.words(number, cut.hex, cut.text)?;
        }
        let before = line.get(..cut.start).unwrap_or_default().chars().count();
        let bytes = digits(cut.hex, number, before)?;
        let word = cut.hex.split_whitespace().next().map_or(0, |word| word.len() / 2);
        beside.compare(number, &bytes, word, cut.text);
        parts.push(Part::Line {
            number,
            offset: cut.offset,
            bytes,
        });
    }
    said.extend(beside.told()?);
    if left_out > 0 {
        said.push(format!("{left_out} lines without bytes left out"));
    }
    Ok(parts)
}

/// The bytes of the lines, whose offsets count with `radix`.
fn assemble(parts: &[Part<'_>], radix: u32) -> Result<Vec<u8>, InputError> {
    let mut out = Vec::new();
    let mut last: &[u8] = &[];
    let mut repeat = false;
    for part in parts {
        let Part::Line {
            number,
            offset,
            bytes,
        } = part
        else {
            repeat = true;
            continue;
        };
        let offset = usize::from_str_radix(offset, radix).unwrap_or(usize::MAX);
        while repeat && out.len() < offset && !last.is_empty() && out.len() <= MAX_FRAME {
            out.extend_from_slice(last);
        }
        repeat = false;
        if offset != out.len() {
            return Err(InputError::Gap {
                line: *number,
                found: offset,
                have: out.len(),
            });
        }
        last = bytes;
        out.extend_from_slice(bytes);
        if out.len() > MAX_FRAME {
            return Err(InputError::TooLong);
        }
    }
    Ok(out)
}

/// The first line of what hexdump and od make of words: offsets of 6 to 8 digits that grow, at last one alone; or one of 7
/// digits, which is no hex.
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
