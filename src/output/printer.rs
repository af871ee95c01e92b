//! Rows as lines of a terminal, a pipe or a file.
//!
//! Law: in a pipe or a file a line is whole. On a terminal no line is wider than the terminal; widths are counted in
//! columns, and no escape sequence is cut.

use std::{
    borrow::Cow,
    io,
    time::{Duration, SystemTime},
};

use teetap_inspect::{
    Row,
    fold::Moment,
    jsonl::rfc3339,
    row::{Cell, CellKind, Seconds},
};
use teetap_proxy::session::Time;
use teetap_wire::{Dir, Severity};

use super::fit::{Span, cut, width, wrapped};
use crate::{
    cli::lines::{Clock, LineOptions},
    look::{self, Look, Stream, TextColor},
};

/// Columns for the name in a row.
const NARROW: usize = 15;
/// Columns for the name on a terminal with room for long names.
const ROOMY: usize = 24;
/// Minimum columns of a terminal with room for long names.
const ROOM: usize = 100;
/// Columns from the direction to the name in a row with a short sequence number.
const BEFORE_NAME: usize = 8;
/// Prints rows.
#[derive(Debug)]
pub(crate) struct Printer {
    clock: Clock,
    /// The time of day at the start of the run.
    wall: SystemTime,
    /// The time of the last line.
    last: Option<Time>,
    is_wide: bool,
    stream: Stream,
    /// The columns of the terminal; `None` for whole lines.
    columns: Option<usize>,
}

impl Default for Printer {
    fn default() -> Self {
        Self {
            clock: Clock::default(),
            wall: SystemTime::UNIX_EPOCH,
            last: None,
            is_wide: false,
            stream: Look::get().out,
            columns: None,
        }
    }
}

/// Returns `count` spaces.
fn spaces(count: usize) -> Cow<'static, str> {
    const SPACES: &str = "                                ";
    match SPACES.get(..count) {
        Some(spaces) => spaces.into(),
        None => " ".repeat(count).into(),
    }
}

impl Printer {
    /// Returns a printer with these options.
    pub(super) fn new(options: LineOptions) -> Self {
        let mut printer = Self {
            clock: options.time,
            is_wide: options.wide,
            ..Self::default()
        };
        printer.look_at_terminal();
        printer
    }

    /// Starts a run that begins at this time of day.
    pub(super) fn begin(&mut self, wall: SystemTime) {
        self.wall = wall;
        self.last = None;
    }

    /// Reads the size of the terminal.
    pub(crate) fn look_at_terminal(&mut self) {
        self.columns = look::columns(io::stdout()).filter(|_| !self.is_wide);
    }

    /// Appends a row.
    pub(crate) fn row(&mut self, row: &Row, moment: Moment, out: &mut Vec<u8>) {
        let is_plain = self.stream == Stream::default() && self.columns.is_none();
        if is_plain {
            for (_, text) in self.cells(row, moment) {
                out.extend_from_slice(text.as_bytes());
            }
            out.push(b'\n');
        } else {
            let mut shown = String::with_capacity(row.text().len() + 32);
            for line in self.fitted(self.spans(row, moment), row.indent) {
                for (ink, text) in &line {
                    self.stream.paint(*ink, text, &mut shown);
                }
                shown.push('\n');
            }
            out.extend_from_slice(shown.as_bytes());
        }
        self.last = Some(moment.at);
    }

    /// Returns the cells to print for a row: the time in the format of the printer, and the name padded so that the sizes
    /// of all rows align.
    fn cells<'r>(&self, row: &'r Row, moment: Moment) -> impl Iterator<Item = (CellKind, Cow<'r, str>)> {
        let is_narrow = self.columns.is_some_and(|columns| columns < ROOM);
        let width = BEFORE_NAME + if is_narrow { NARROW } else { ROOMY };
        // Characters from the direction to the end of the name.
        let mut used = 0;
        row.cells().map(move |Cell { kind, text }| {
            let text: Cow<'r, str> = match kind {
                CellKind::Time => self.stamp(moment).into(),
                CellKind::Space => spaces((width + text.len()).saturating_sub(used).max(1)),
                _ => text.into(),
            };
            if matches!(kind, CellKind::Text | CellKind::Name) {
                used += text.chars().count();
            }
            (kind, text)
        })
    }

    /// Returns the time at the start of a line.
    fn stamp(&self, moment: Moment) -> String {
        match self.clock {
            Clock::Session => Seconds(moment.in_session()).to_string(),
            Clock::Run => Seconds(moment.at).to_string(),
            Clock::Delta => {
                let (last, at) = (self.last.unwrap_or(moment.at), moment.at);
                let sign = if at < last { '-' } else { '+' };
                let ms = last.0.abs_diff(at.0) / 1000;
                format!("{:>8}", format!("{sign}{}.{:03}", ms / 1000, ms % 1000))
            }
            Clock::Wall => {
                let at = self.wall + Duration::from_micros(moment.at.0);
                // The date is printed at the start of the output.
                let time = rfc3339(at);
                time.get(11..23).unwrap_or(&time).to_owned()
            }
        }
    }

    /// Returns the cells of a row in their colours.
    fn spans<'r>(&self, row: &'r Row, moment: Moment) -> Vec<Span<'r>> {
        let mut has_arrow = false;
        let spans = self.cells(row, moment).map(|(kind, text)| {
            let ink = match kind {
                CellKind::Time | CellKind::Session => TextColor::Faint,
                CellKind::Arrow(Dir::C2s) => TextColor::ToServer,
                CellKind::Arrow(Dir::S2c) => TextColor::ToClient,
                CellKind::Name => TextColor::Bold,
                CellKind::Notes | CellKind::Sentence(Severity::Warning) => TextColor::Warning,
                CellKind::Sentence(Severity::Error) => TextColor::Error,
                CellKind::Sentence(Severity::Info) => TextColor::Faint,
                CellKind::Space => TextColor::Plain,
                // The columns of a row with a direction have their own colours.
                CellKind::Text if has_arrow => TextColor::Plain,
                CellKind::Text => TextColor::from(row.kind),
            };
            has_arrow |= matches!(kind, CellKind::Arrow(_));
            let text = match self.stream.text(&text) {
                Cow::Borrowed(_) => text,
                Cow::Owned(plain) => plain.into(),
            };
            (ink, text)
        });
        spans.filter(|(_, text)| !text.is_empty()).collect()
    }

    /// Returns the lines of a row on this terminal.
    fn fitted<'t>(&self, parts: Vec<Span<'t>>, indent: Option<usize>) -> Vec<Vec<Span<'t>>> {
        let width: usize = parts.iter().map(|(_, text)| width(text)).sum();
        match (self.columns.filter(|columns| width > *columns), indent) {
            (Some(columns), Some(indent)) => wrapped(&parts, indent, columns),
            (Some(columns), None) => vec![cut(&parts, columns, self.stream.ascii)],
            (None, _) => vec![parts],
        }
    }
}

#[cfg(test)]
#[path = "printer_tests.rs"]
mod tests;
