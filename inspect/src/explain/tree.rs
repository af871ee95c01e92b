//! Builds the rows of an explanation.

use std::{fmt::Write as _, ops::Range};

use teetap_wire::{
    Note,
    def::{Def, Record, Secrets},
};

use super::{ExplainRow, Kind, Space, Span};

/// The text shown in place of a secret byte.
pub(super) const HIDDEN: &str = "••";

/// The rows, and the ranges of secret bytes.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) rows: Vec<ExplainRow>,
    pub(super) secrets: Vec<Span>,
}

impl Span {
    pub(super) const fn new(space: Space, at: usize, len: usize) -> Self {
        Self { space, at, len }
    }

    pub(super) const fn end(self) -> usize {
        self.at + self.len
    }

    const fn range(self) -> Range<usize> {
        self.at..self.end()
    }
}

impl Tree {
    /// Adds a row. Returns its index.
    fn push(
        &mut self,
        depth: u8,
        span: Span,
        kind: Kind,
        label: impl Into<String>,
        value: impl Into<String>,
    ) -> usize {
        self.rows.push(ExplainRow {
            depth,
            span,
            kind,
            label: label.into(),
            value: value.into(),
            hex: String::new(),
            notes: Vec::new(),
        });
        self.rows.len() - 1
    }

    pub(super) fn group(
        &mut self,
        depth: u8,
        span: Span,
        label: impl Into<String>,
        value: impl Into<String>,
    ) -> usize {
        self.push(depth, span, Kind::Group, label, value)
    }

    pub(super) fn bytes(
        &mut self,
        depth: u8,
        span: Span,
        label: impl Into<String>,
        value: impl Into<String>,
    ) -> usize {
        self.push(depth, span, Kind::Bytes, label, value)
    }

    /// Adds a row for some bits of the single byte in `span`.
    pub(super) fn bits(
        &mut self,
        depth: u8,
        span: Span,
        mask: u8,
        label: impl Into<String>,
        value: impl Into<String>,
    ) {
        self.push(depth, span, Kind::Bits(mask), label, value);
    }

    pub(super) fn set_value(&mut self, row: usize, value: impl Into<String>) {
        if let Some(row) = self.rows.get_mut(row) {
            row.value = value.into();
        }
    }

    /// Adds a note to one row.
    pub(super) fn note(&mut self, row: usize, note: Note) {
        if let Some(row) = self.rows.get_mut(row) {
            row.notes.push(note);
        }
    }

    /// Adds a note to the smallest row, from index `first` on, that contains its bytes. The range of the note refers to
    /// `space`.
    pub(super) fn attach(&mut self, first: usize, space: Space, note: Note) {
        let (at, end) = (note.at, note.at + note.len);
        let bytes = |row: &ExplainRow| row.kind == Kind::Bytes && holds(row.span, space, at, end);
        let group = |row: &ExplainRow| row.kind == Kind::Group && holds_whole(row.span, space, at, end);
        let find = |wanted: &dyn Fn(&ExplainRow) -> bool| {
            let rows = self.rows.iter().enumerate().skip(first);
            let found = rows.filter(|(_, row)| wanted(row));
            found
                .min_by_key(|(place, row)| (row.span.len, usize::MAX - place))
                .map(|(place, _)| place)
        };
        let place = find(&bytes).or_else(|| find(&group)).unwrap_or(first);
        self.note(place, note);
    }

    /// Marks bytes as secret.
    pub(super) fn hide(&mut self, span: Span) {
        self.secrets.push(span);
    }

    /// Formats bytes in hex, with secrets hidden.
    pub(super) fn hex(&self, span: Span, source: &[u8], secrets: Secrets) -> String {
        let bytes = source.get(span.range()).unwrap_or_default();
        let secret = |at: usize| {
            secrets == Secrets::Hide
                && self
                    .secrets
                    .iter()
                    .any(|secret| secret.space == span.space && secret.range().contains(&at))
        };
        let mut text = String::with_capacity(bytes.len() * 2);
        for (at, byte) in bytes.iter().enumerate() {
            if secret(span.at + at) {
                text.push_str(HIDDEN);
            } else {
                let _never_fails = write!(text, "{byte:02x}");
            }
        }
        text
    }

    /// Sets the hex of all rows except groups.
    pub(super) fn fill(&mut self, datagram: &[u8], clear: &[u8], secrets: Secrets) {
        let mut rows = std::mem::take(&mut self.rows);
        for row in rows.iter_mut().filter(|row| row.kind != Kind::Group) {
            let source = match row.span.space {
                Space::Datagram => datagram,
                Space::Clear => clear,
            };
            row.hex = self.hex(row.span, source, secrets);
        }
        self.rows = rows;
    }
}

/// Returns true if `span` contains all bytes from `at` to `end`. An empty range has to be at its start or inside.
fn holds(span: Span, space: Space, at: usize, end: usize) -> bool {
    let starts = at >= span.at && (at < span.end() || span.len == 0 && at == span.at);
    span.space == space && starts && end <= span.end()
}

/// Returns true if `span` contains all bytes from `at` to `end`. An empty range may also be at its end.
fn holds_whole(span: Span, space: Space, at: usize, end: usize) -> bool {
    span.space == space && at >= span.at && end <= span.end()
}

/// Returns the name of a field, with its index in a list.
pub(super) fn label(def: &Def, record: &Record) -> String {
    let name = def.field(record.field).map_or("", |field| &*field.name);
    match record.index {
        Some(index) => format!("{name}[{index}]"),
        None => name.to_owned(),
    }
}
