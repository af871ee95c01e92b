//! Renders explanations as text, in lines of a given width.
//!
//! Law: the text depends only on the explanations and the width, not on the terminal.

use std::fmt::Write as _;

use teetap_rules::wrap::at_spaces;
use teetap_wire::{Dir, Note, OpensNothing};

use super::{ExplainRow, Explanation, Kind, Space, guard::pairs, shown};

/// Width of a line in columns if the width of the output is unknown.
pub const WIDTH: usize = 100;
/// Minimum width of a line, in columns.
pub(super) const MIN_WIDTH: usize = 60;
/// Width below which a line shows fewer bytes, in columns.
const WIDE: usize = 80;
/// Minimum width for the label and value of a row at any depth, in columns.
const ROOM: usize = 24;

/// The layout of a page.
#[derive(Clone, Copy)]
struct Page {
    /// Width of a line, in columns.
    width: usize,
    /// Number of bytes in the hex of a row.
    row: usize,
    /// Number of bytes in a line of a dump.
    dump: usize,
}

impl Page {
    fn new(width: usize) -> Self {
        let (row, dump) = if width < WIDE { (4, 8) } else { (8, 16) };
        let width = width.max(MIN_WIDTH);
        Self { width, row, dump }
    }

    /// Returns the width before the label of a row, in columns: range, and hex or bits.
    const fn left(self) -> usize {
        2 + 9 + 2 + 3 * self.row + 2
    }
}

/// Renders the mistake of a first datagram, if there is one, the list of variants, and the rows of the variants that
/// fit, or of the best variant. Lines have at most `width` columns, or 60 if `width` is less.
#[must_use]
pub fn text(first: Option<OpensNothing>, readings: &[Explanation], width: usize) -> String {
    let page = Page::new(width);
    let mut out = String::new();
    if let Some(what) = first {
        wrap(page, "as the first datagram of a client: ", what.text(), &mut out);
        out.push('\n');
    }
    out.push_str("as       dir     verdict   why\n");
    for reading in readings {
        let mut why = reading.reasons.join("; ");
        if let Some(other) = reading.same_as {
            why = format!("the same as {other}: {why}");
        }
        let dir = if reading.either {
            "either"
        } else {
            dir_name(reading.dir)
        };
        let head = format!("{:<8} {dir:<7} {:<9} ", reading.proto, reading.verdict);
        wrap(page, &head, &why, &mut out);
    }
    for reading in shown(readings) {
        whole(page, reading, &mut out);
    }
    out
}

const fn dir_name(dir: Dir) -> &'static str {
    match dir {
        Dir::C2s => "c2s",
        Dir::S2c => "s2c",
    }
}

fn whole(page: Page, reading: &Explanation, out: &mut String) {
    let way = match (reading.either, reading.dir) {
        (true, _) => "the same in both directions",
        (false, Dir::C2s) => "client to server",
        (false, Dir::S2c) => "server to client",
    };
    let _never_fails = writeln!(out, "\n{}, {way}", reading.proto);
    let mut space = Space::Datagram;
    for row in &reading.rows {
        if row.span.space != space {
            space = row.span.space;
            out.push_str("clear payload\n");
        }
        line(page, row, out);
    }
    match &reading.clear {
        Some(clear) => {
            out.push_str("bytes of the clear payload\n");
            dump(page, clear, out);
        }
        None => {
            out.push_str("bytes\n");
            dump(page, &reading.datagram, out);
        }
    }
}

fn line(page: Page, row: &ExplainRow, out: &mut String) {
    let span = row.span;
    let place = match (row.kind, span.len) {
        (Kind::Bits(_), _) => String::new(),
        (_, 0 | 1) => span.at.to_string(),
        (_, len) => format!("{}-{}", span.at, span.at + len - 1),
    };
    let middle = match row.kind {
        Kind::Group => String::new(),
        Kind::Bytes => short_hex(page, &row.hex),
        Kind::Bits(mask) => format!("  {}", pattern(mask, &row.hex)),
    };
    let depth = usize::from(row.depth.min(12));
    let head = format!(
        "  {place:<9}  {middle:<width$}{:indent$}",
        "",
        width = page.left() - 13,
        indent = 2 * depth
    );
    let text = if row.value.is_empty() {
        row.label.clone()
    } else {
        format!("{}  {}", row.label, row.value)
    };
    wrap_at(page, &head, &text, page.left() + 2 * depth + 4, out);
    for note in &row.notes {
        let text = note_text(note);
        let head = format!("{:indent$}! ", "", indent = page.left() + 2 * depth + 2);
        wrap(page, &head, &text, out);
    }
}

fn note_text(note: &Note) -> String {
    let place = match note.len {
        0 => format!("at {}", note.at),
        1 => format!("byte {}", note.at),
        len => format!("bytes {}-{}", note.at, note.at + len - 1),
    };
    format!("{} ({place}): {}", note.code.name(), note.code.text())
}

/// Formats the bits selected by the mask, with dots for the others.
fn pattern(mask: u8, hex: &str) -> String {
    let byte = u8::from_str_radix(hex, 16).ok();
    let bit = |bit: u8| match byte {
        _ if mask >> bit & 1 == 0 => '.',
        Some(byte) if byte >> bit & 1 == 1 => '1',
        Some(_) => '0',
        None => 'x',
    };
    (0..8).rev().map(bit).collect()
}

/// Formats the first bytes of a row, which has `hex`.
fn short_hex(page: Page, hex: &str) -> String {
    let bytes: Vec<String> = pairs(hex).collect();
    let mut text = bytes.iter().take(page.row).cloned().collect::<Vec<_>>().join(" ");
    if bytes.len() > page.row {
        text.push('…');
    }
    text
}

/// Appends a hex dump; repeated lines are replaced by one `*`.
fn dump(page: Page, hex: &str, out: &mut String) {
    let bytes: Vec<String> = pairs(hex).collect();
    let mut before: Option<&[String]> = None;
    let mut starred = false;
    for (number, line) in bytes.chunks(page.dump).enumerate() {
        let last = (number + 1) * page.dump >= bytes.len();
        if before == Some(line) && !last {
            if !starred {
                out.push_str("  *\n");
            }
            starred = true;
            continue;
        }
        (before, starred) = (Some(line), false);
        let ascii: String = line.iter().map(|pair| ascii(pair)).collect();
        let offset = number * page.dump;
        let text = format!(
            "  {offset:04x}  {:<width$}  {ascii}",
            line.join(" "),
            width = 3 * page.dump - 1
        );
        let _never_fails = writeln!(out, "{}", text.trim_end());
    }
}

fn ascii(pair: &str) -> char {
    let byte = u8::from_str_radix(pair, 16).unwrap_or(0);
    if byte.is_ascii_graphic() || byte == b' ' {
        char::from(byte)
    } else {
        '.'
    }
}

/// Appends `head` and `text`; continuation lines are aligned with `text`.
fn wrap(page: Page, head: &str, text: &str, out: &mut String) {
    wrap_at(page, head, text, head.chars().count(), out);
}

/// Appends `head` and `text`; continuation lines start at column `indent`. A word longer than a line is split.
fn wrap_at(page: Page, head: &str, text: &str, indent: usize, out: &mut String) {
    let indent = " ".repeat(indent.min(page.width - ROOM));
    let options = at_spaces(page.width)
        .break_words(true)
        .initial_indent(head)
        .subsequent_indent(&indent);
    for line in textwrap::wrap(text, options) {
        let _never_fails = writeln!(out, "{}", line.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_rows_have_room_and_stay_within_the_width() {
        let head = " ".repeat(50);
        let mut out = String::new();
        wrap_at(Page::new(60), &head, &"abcdefghi ".repeat(9), 58, &mut out);
        let lines: Vec<&str> = out.lines().collect();
        assert!(lines.iter().all(|line| line.len() <= 60), "{out}");
        assert_eq!(
            (lines[0].trim(), lines[1].trim()),
            ("abcdefghi", "abcdefghi abcdefghi")
        );
    }

    /// The first line and the last line are always there, so that the length can be seen.
    #[test]
    fn repeated_lines_of_a_dump_are_one_star_except_the_last() {
        for width in [60, 100] {
            let page = Page::new(width);
            for len in 1..=6 * page.dump {
                let mut out = String::new();
                dump(page, &"41".repeat(len), &mut out);
                let line = |number: usize| {
                    let count = page.dump.min(len - number * page.dump);
                    let hex = vec!["41"; count].join(" ");
                    let (offset, width) = (number * page.dump, 3 * page.dump - 1);
                    format!("  {offset:04x}  {hex:<width$}  {}\n", "A".repeat(count))
                };
                let expected = match len.div_ceil(page.dump) {
                    1 => line(0),
                    2 => line(0) + &line(1),
                    lines => line(0) + "  *\n" + &line(lines - 1),
                };
                assert_eq!(out, expected, "{len} bytes");
            }
        }
    }
}
