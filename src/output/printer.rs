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
    row::{Layout, Seconds},
};
use teetap_proxy::session::Time;

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
pub(super) struct Printer {
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
    pub(super) fn look_at_terminal(&mut self) {
        self.columns = look::columns(io::stdout()).filter(|_| !self.is_wide);
    }

    /// Appends a row.
    pub(super) fn row(&mut self, row: &Row, moment: Moment, out: &mut Vec<u8>) {
        let stamp = match row.layout.time {
            0 => String::new(),
            _ => self.stamp(moment),
        };
        self.last = Some(moment.at);
        let (padding, row) = self.aligned(row);
        let row = row.as_ref();
        let is_plain = self.stream == Stream::default() && self.columns.is_none();
        if is_plain {
            let Layout { time, column, .. } = row.layout;
            out.extend_from_slice(stamp.as_bytes());
            out.extend_from_slice(part(&row.text, time, column.max(time)).as_bytes());
            out.resize(out.len() + padding, b' ');
            out.extend_from_slice(part(&row.text, column.max(time), row.text.len()).as_bytes());
            out.push(b'\n');
            return;
        }
        let parts = parts(row, stamp, padding);
        let parts = parts.into_iter().map(|(ink, text)| {
            let text = match self.stream.text(&text) {
                Cow::Borrowed(_) => text,
                Cow::Owned(plain) => plain.into(),
            };
            (ink, text)
        });
        let parts: Vec<Span<'_>> = parts.collect();
        let mut shown = String::with_capacity(row.text.len() + 32);
        for line in self.fitted(parts, row.layout.indent) {
            for (ink, text) in &line {
                self.stream.paint(*ink, text, &mut shown);
            }
            shown.push('\n');
        }
        out.extend_from_slice(shown.as_bytes());
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

    /// Returns the spaces to add after the name of a row, so that long names have room, and the row. If the name is too
    /// long for its column, the row has fewer spaces after it.
    fn aligned<'r>(&self, row: &'r Row) -> (usize, Cow<'r, Row>) {
        let Layout {
            arrow,
            name,
            column,
            notes,
            ..
        } = row.layout;
        if name == 0 {
            return (0, Cow::Borrowed(row));
        }
        let is_narrow = self.columns.is_some_and(|columns| columns < ROOM);
        let width = BEFORE_NAME + if is_narrow { NARROW } else { ROOMY };
        let taken = part(&row.text, arrow, column).chars().count();
        let after = part(&row.text, column, row.text.len());
        let spaces = after.len() - after.trim_start_matches(' ').len();
        let surplus = taken.saturating_sub(width).min(spaces.saturating_sub(1));
        if surplus == 0 {
            return (width.saturating_sub(taken), Cow::Borrowed(row));
        }
        let mut row = row.clone();
        row.text.replace_range(column..column + surplus, "");
        row.layout.notes = notes.saturating_sub(surplus);
        (0, Cow::Owned(row))
    }

    /// Returns the lines of a row on this terminal.
    fn fitted<'t>(&self, parts: Vec<Span<'t>>, indent: usize) -> Vec<Vec<Span<'t>>> {
        let width: usize = parts.iter().map(|(_, text)| width(text)).sum();
        match self.columns {
            Some(columns) if width > columns && indent > 0 => wrapped(&parts, indent, columns),
            Some(columns) if width > columns => vec![cut(&parts, columns, self.stream.ascii)],
            _ => vec![parts],
        }
    }
}

/// Returns the parts of a row in their colours.
fn parts<'r>(row: &'r Row, stamp: String, padding: usize) -> Vec<Span<'r>> {
    let Layout {
        time,
        session,
        arrow,
        name,
        column,
        notes,
        ..
    } = row.layout;
    let of = |from, to| Cow::Borrowed(part(&row.text, from, to));
    let way = part(&row.text, session, arrow).trim();
    let way = if way.starts_with('c') || way.ends_with('s') {
        TextColor::ToServer
    } else {
        TextColor::ToClient
    };
    let end = row.text.len();
    let notes = if notes == 0 { end } else { notes };
    let body = column.max(arrow);
    let rest = part(&row.text, body, end).trim_start();
    let ink = match row.kind {
        _ if arrow > session => TextColor::Plain,
        _ if rest.starts_with('✗') => TextColor::Error,
        _ if rest.starts_with('·') => TextColor::Faint,
        kind => TextColor::from(kind),
    };
    let name = if name == 0 { arrow } else { name };
    let mut parts: Vec<Span<'r>> = vec![
        (TextColor::Faint, stamp.into()),
        (TextColor::Faint, of(time, session)),
        (way, of(session, arrow)),
        (TextColor::Plain, of(arrow, name)),
        (TextColor::Bold, of(name, body)),
        (TextColor::Plain, " ".repeat(padding).into()),
        (ink, of(body, notes)),
        (TextColor::Warning, of(notes, end)),
    ];
    parts.retain(|(_, text)| !text.is_empty());
    parts
}

fn part(text: &str, from: usize, to: usize) -> &str {
    text.get(from..to).unwrap_or_default()
}

#[cfg(test)]
#[path = "printer_tests.rs"]
mod tests;
