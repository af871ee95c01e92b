//! Raw stdout and stderr.

use std::{
    borrow::Cow,
    io::{self, Write as _},
};

use teetap_wire::{is_deceptive, is_invisible};

use crate::exit::Failure;

/// Writes to stdout at once; false when stdout is closed.
pub(crate) fn write_out(bytes: &[u8]) -> Result<bool, Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::network(format!("cannot write to stdout: {error}"))),
    }
}

/// Prints one line on stderr. Names of files and hosts may hold control sequences: only colours pass.
pub(crate) fn say(line: &str) {
    // Where even stderr is closed nothing can be reported.
    let _unread = writeln!(io::stderr().lock(), "{}", without_controls(line));
}

fn without_controls(line: &str) -> Cow<'_, str> {
    let is_bad = |(at, c): (usize, char)| {
        let rest = line.get(at..).unwrap_or_default();
        (is_deceptive(c) || is_invisible(c)) && !matches!(c, '\n' | '\t') && !is_colour(rest)
    };
    if !line.char_indices().any(is_bad) {
        return line.into();
    }
    let mut clean = String::with_capacity(line.len());
    for (at, c) in line.char_indices() {
        if is_bad((at, c)) {
            clean.extend(c.escape_default());
        } else {
            clean.push(c);
        }
    }
    clean.into()
}

/// Returns true if the text begins with a sequence that only sets colours.
fn is_colour(text: &str) -> bool {
    let rest = text.strip_prefix("\x1b[").unwrap_or_default();
    rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';')
        .starts_with('m')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colours_reach_the_terminal() {
        for (line, shown) in [
            ("a\tb\nc \u{fc}", "a\tb\nc \u{fc}"),
            ("\x1b[1;31merror\x1b[0m", "\x1b[1;31merror\x1b[0m"),
            ("\x1b]0;title\x07", "\\u{1b}]0;title\\u{7}"),
            ("\x1b[2J\r\u{9b}x", "\\u{1b}[2J\\r\\u{9b}x"),
            ("a\u{202e}b\u{2028}\u{200b}", "a\\u{202e}b\\u{2028}\\u{200b}"),
            ("\u{2764}\u{fe0f}", "\u{2764}\u{fe0f}"),
        ] {
            assert_eq!(without_controls(line), shown);
        }
    }
}
