//! Raw stdout and stderr.

use std::{
    borrow::Cow,
    io::{self, Write as _},
};

use teetap_tui::has_hung_up;
use teetap_wire::{is_deceptive, is_invisible};

use super::fit;
use crate::{
    exit::{Exit, Failure},
    look::{self, Look, TextColor},
};

/// Writes to stdout at once. Returns false if stdout is closed or a terminal that has hung up.
pub(crate) fn write_out(bytes: &[u8]) -> Result<bool, Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe || has_hung_up(&stdout) => Ok(false),
        Err(error) => Err(Failure::network(format!("cannot write to stdout: {error}"))),
    }
}

/// Writes lines to stderr at once. Returns true, because the loss of stderr ends no run.
pub(super) fn write_err(bytes: &[u8]) -> bool {
    // If stderr is closed, nothing can be reported.
    let _unread = io::stderr().lock().write_all(bytes);
    true
}

/// Writes a text for people to stdout at once. Returns false if stdout is closed. Like [`print_status`], removes control
/// sequences other than colours.
pub(crate) fn print(text: &str) -> Result<bool, Failure> {
    let look = Look::get().out;
    write_out(look.text(&without_controls(text, look.colours)).as_bytes())
}

/// Prints a text that is the whole output of a command, as [`print()`] does. Returns the exit code; a closed pipe is
/// success, because its reader has read enough.
pub(crate) fn show(text: &str) -> Exit {
    match print(text) {
        Ok(_) => Exit::Ok,
        Err(failure) => {
            say_sentence(&format!("teetap: {failure}"));
            failure.exit
        }
    }
}

/// Prints one line on stderr. Removes control sequences, which names of files and hosts may contain, but keeps colours
/// if they are used.
pub(crate) fn print_status(line: &str) {
    let look = Look::get().err;
    let line = without_controls(line, look.colours);
    let line = look.text(&line);
    let mut shown = String::with_capacity(line.len());
    match line.split_once(WARNING) {
        Some((start, rest)) if start == NAME => {
            shown.push_str(start);
            look.paint(TextColor::Warning, WARNING, &mut shown);
            shown.push_str(rest);
        }
        _ => shown.push_str(&line),
    }
    // If stderr is closed, nothing can be reported.
    let _unread = writeln!(io::stderr().lock(), "{shown}");
}

/// Prints a sentence on stderr, as [`print_status`] does. Breaks it between words on a terminal.
pub(crate) fn say_sentence(text: &str) {
    print_status(&fit::sentence(text, look::columns(io::stderr())));
}

/// The start of lines about the program itself.
const NAME: &str = "teetap: ";

/// Word after [`NAME`] in warnings.
const WARNING: &str = "warning:";

fn without_controls(line: &str, colours: bool) -> Cow<'_, str> {
    let is_bad = |(at, c): (usize, char)| {
        let rest = line.get(at..).unwrap_or_default();
        let is_passed = matches!(c, '\n' | '\t') || colours && is_colour(rest);
        (is_deceptive(c) || is_invisible(c)) && !is_passed
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
            assert_eq!(without_controls(line, true), shown);
        }
        let coloured = "\x1b[31mx\x1b[0m";
        assert_eq!(without_controls(coloured, false), "\\u{1b}[31mx\\u{1b}[0m");
    }
}
