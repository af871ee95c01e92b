//! Rows: lines of text that consist of cells.
//!
//! Law: the cells of a row, joined, are its complete, plain text. A printer that truncates, colours or aligns a row
//! decides by the kinds of its cells, never by positions in the text or by its words.

use std::fmt::{self, Write as _};

use teetap_proxy::session::{Event, SessionId, Time};
use teetap_wire::{Dir, Severity, Side, counted, is_safe, printable};

use crate::Kind;

/// A line of text, as a list of cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The weight of the row, for colours.
    pub kind: Kind,
    /// Indent of continuation lines, in columns; `None` for a row that is cut instead.
    pub indent: Option<usize>,
    cells: Cells,
}

/// A part of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell<'r> {
    /// The content of the cell.
    pub kind: CellKind,
    /// The text, with the spaces before it and, in a column, the padding after it.
    pub text: &'r str,
}

/// The content of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// The time since the start of the run.
    Time,
    /// The session.
    Session,
    /// The direction.
    Arrow(Dir),
    /// The name of a message.
    Name,
    /// The spaces between the column of the name and the size, at least one. A long name may use the others.
    Space,
    /// Any other text.
    Text,
    /// A sentence about a note of this severity.
    Sentence(Severity),
    /// The notes.
    Notes,
}

/// The cells of a row in one buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Cells {
    text: String,
    /// Each cell with the end of its text.
    ends: Vec<(CellKind, usize)>,
}

impl Cells {
    /// Starts a cell of a kind, unless the last cell is of this kind.
    fn start(&mut self, kind: CellKind) {
        if self.ends.last().is_none_or(|(last, _)| *last != kind) {
            self.ends.push((kind, self.text.len()));
        }
    }

    /// Appends text to the last cell, made safe to print.
    fn push(&mut self, part: impl fmt::Display) {
        let start = self.text.len();
        let _never_fails = write!(self.text, "{part}");
        let pushed = self.text.get(start..).unwrap_or_default();
        // Names of rules and marks may be from an untrusted source.
        if !is_safe(pushed) {
            let safe = printable(pushed.as_bytes());
            self.text.truncate(start);
            self.text.push_str(&safe);
        }
        if let Some((_, end)) = self.ends.last_mut() {
            *end = self.text.len();
        }
    }

    fn iter(&self) -> impl Iterator<Item = Cell<'_>> {
        let mut start = 0;
        self.ends.iter().map(move |&(kind, end)| {
            let text = self.text.get(start..end).unwrap_or_default();
            start = end;
            Cell { kind, text }
        })
    }
}

impl Row {
    /// Creates a row of one cell.
    #[must_use]
    pub(crate) fn plain(kind: Kind, text: &str) -> Self {
        let mut cells = Cells::default();
        cells.start(CellKind::Text);
        cells.push(text);
        Self {
            kind,
            indent: None,
            cells,
        }
    }

    /// Returns the cells, in order.
    pub fn cells(&self) -> impl Iterator<Item = Cell<'_>> {
        self.cells.iter()
    }

    /// Returns the text of all cells, without a newline, in a form that is safe to print.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.cells.text
    }

    /// Returns the text of all cells.
    #[must_use]
    pub fn into_text(self) -> String {
        self.cells.text
    }

    /// Returns the text without time and session.
    #[must_use]
    pub fn body(&self) -> String {
        let cells = self.cells();
        let cells = cells.filter(|cell| !matches!(cell.kind, CellKind::Time | CellKind::Session));
        let text: String = cells.map(|cell| cell.text).collect();
        text.trim_start().to_owned()
    }
}

/// The time and session at the start of a row.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Time since the start of the run.
    pub at: Time,
    /// The session.
    pub session: Option<SessionId>,
}

impl Start {
    /// Returns the time and session of an event.
    #[must_use]
    pub(crate) const fn from_event(event: &Event) -> Self {
        Self {
            at: event.at,
            session: event.session,
        }
    }

    /// Starts a row.
    #[must_use]
    pub fn draft(self) -> Draft {
        let mut cells = Cells {
            text: String::with_capacity(128),
            ends: Vec::with_capacity(8),
        };
        cells.start(CellKind::Time);
        cells.push(Seconds(self.at));
        cells.start(CellKind::Session);
        match self.session {
            Some(session) if session.0 < 10 => cells.push(format_args!(" #{} ", session.0)),
            Some(session) => cells.push(format_args!(" #{}", session.0)),
            None => cells.push(" -  "),
        }
        Draft { cells, indent: None }
    }
}

/// Displays a time in seconds with three decimals, padded to its column.
#[derive(Clone, Copy, Debug)]
pub struct Seconds(pub Time);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.0 / 1000;
        write!(f, "{:>4}.{:03}", ms / 1000, ms % 1000)
    }
}

/// Width of the column of sizes, in digits.
const SIZE: usize = 5;

/// A row that is being written.
#[derive(Clone, Debug)]
pub struct Draft {
    cells: Cells,
    indent: Option<usize>,
}

impl Draft {
    /// Appends the direction as an arrow.
    #[must_use]
    pub fn arrow(self, dir: Dir, leg: Option<Side>) -> Self {
        self.cell(CellKind::Arrow(dir), format_args!(" {}", arrow(dir, leg)))
    }

    /// Appends text, made safe to print.
    #[must_use]
    pub fn push(self, part: impl fmt::Display) -> Self {
        self.cell(CellKind::Text, part)
    }

    /// Appends the name of a message, padded to `width`.
    #[must_use]
    pub fn name(self, name: &str, width: usize) -> Self {
        self.cell(CellKind::Name, format_args!("{name:<width$}"))
    }

    /// Appends a number of bytes, padded to its column.
    #[must_use]
    pub fn size(self, bytes: usize) -> Self {
        let digits = bytes.checked_ilog10().map_or(1, |log| log as usize + 1);
        let spaces = 1 + SIZE.saturating_sub(digits);
        let draft = self.cell(CellKind::Space, format_args!("{:spaces$}", ""));
        draft.push(format_args!("{}", counted(bytes, "byte")))
    }

    /// Appends a cell, made safe to print. Text of the kind of the last cell extends it.
    #[must_use]
    pub fn cell(mut self, kind: CellKind, part: impl fmt::Display) -> Self {
        self.cells.start(kind);
        self.cells.push(part);
        self
    }

    /// Wraps the row onto further lines if it is too long for one.
    #[must_use]
    pub fn wrapped(mut self) -> Self {
        // Continuation lines start below the text, after time and session.
        self.indent = Some(self.cells.text.chars().count() + 2);
        self
    }

    /// Finishes the row.
    #[must_use]
    pub fn row(self, kind: Kind) -> Row {
        let Self { cells, indent } = self;
        Row { kind, indent, cells }
    }
}

/// Returns the arrow from sender to receiver. `p` is the proxy, for a datagram on a single leg.
#[must_use]
pub const fn arrow(dir: Dir, leg: Option<Side>) -> &'static str {
    match (dir, leg) {
        (Dir::C2s, None) => "c→s",
        (Dir::S2c, None) => "s→c",
        (Dir::C2s, Some(Side::Client)) => "c→p",
        (Dir::C2s, Some(Side::Server)) => "p→s",
        (Dir::S2c, Some(Side::Client)) => "p→c",
        (Dir::S2c, Some(Side::Server)) => "s→p",
    }
}
