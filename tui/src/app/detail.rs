//! The detail panes: their contents, the selected line of the tree, and the selected byte.

use std::{ops::Range, sync::Arc};

use teetap_inspect::DecodedEvent;
use teetap_wire::def::Secrets;

use super::{
    contents::{Contents, LineKind},
    cursor::{Cursor, Moves},
    history::Row,
};

/// The detail panes.
#[derive(Debug, Default)]
pub(crate) struct Detail {
    /// Number of the row that is shown.
    row: Option<u64>,
    /// What the contents were made from.
    source: Option<Source>,
    /// Contents for the row.
    pub(crate) contents: Contents,
    /// Cursor in the tree.
    pub(crate) tree: Cursor,
    /// Cursor in the bytes.
    pub(crate) hex: HexCursor,
    /// Columns of the tree at the last drawing.
    pub(crate) width: u16,
}

/// What contents are made from: an event, its row, the columns of the tree, and whether secrets are hidden.
#[derive(Debug)]
pub(crate) struct Source {
    row: u64,
    event: Arc<DecodedEvent>,
    width: u16,
    secrets: Secrets,
}

impl Source {
    /// Returns the source for a row; `None` unless the row is a line of an event.
    pub(crate) fn new(number: Option<u64>, row: Option<&Row>, width: u16, secrets: Secrets) -> Option<Self> {
        Some(Self {
            row: number?,
            event: Arc::clone(row?.event()?),
            width,
            secrets,
        })
    }

    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.event, &other.event)
            && (self.row, self.width, self.secrets) == (other.row, other.width, other.secrets)
    }
}

/// Selected byte, and visible part of the bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HexCursor {
    /// Cursor in the lines of bytes.
    pub(crate) lines: Cursor,
    /// Column of the selected byte in its line.
    pub(crate) column: usize,
    /// Bytes per line at the last drawing.
    pub(crate) columns: usize,
}

impl Default for HexCursor {
    fn default() -> Self {
        Self {
            lines: Cursor::default(),
            column: 0,
            columns: 8,
        }
    }
}

impl HexCursor {
    /// Returns the offset of the selected byte.
    #[must_use]
    pub(crate) fn at(&self) -> usize {
        self.lines.selected().unwrap_or(0) * self.columns.max(1) + self.column
    }

    /// Selects a byte.
    pub(crate) fn select(&mut self, at: usize) {
        let columns = self.columns.max(1);
        self.lines.select(at / columns);
        self.column = at % columns;
    }

    /// Sets the number of bytes per line, and keeps the selected byte.
    pub(crate) fn columns(&mut self, columns: usize) {
        if columns != self.columns {
            let at = self.at();
            self.columns = columns.max(1);
            self.select(at);
        }
    }

    /// Selects the previous byte.
    pub(crate) fn left(&mut self) {
        self.select(self.at().saturating_sub(1));
    }

    /// Selects the next of `len` bytes.
    pub(crate) fn right(&mut self, len: usize) {
        self.select((self.at() + 1).min(len.saturating_sub(1)));
    }
}

impl Detail {
    /// Sets the row that is shown, and its contents. A new row starts at its first line.
    pub(crate) fn show(&mut self, row: Option<u64>, source: Option<Source>, contents: Contents) {
        if self.row != row {
            *self = Self {
                row,
                width: self.width,
                ..Self::default()
            };
        }
        self.source = source;
        self.tree.set_len(contents.lines.len());
        self.contents = contents;
    }

    /// Returns true if the contents were made from this source.
    #[must_use]
    pub(crate) fn is_from(&self, source: Option<&Source>) -> bool {
        self.source
            .as_ref()
            .zip(source)
            .is_some_and(|(one, other)| one.is_same(other))
    }

    /// Returns the byte range of the selected line.
    #[must_use]
    pub(crate) fn range(&self) -> Option<Range<usize>> {
        let line = self.tree.selected_of(self.contents.lines.len())?;
        self.contents.lines.get(line)?.range.clone()
    }

    /// Selects the first byte of the selected line.
    pub(crate) fn follow_tree(&mut self) {
        if let Some(range) = self.range() {
            self.hex.select(range.start);
        }
    }

    /// Selects the innermost field that contains the selected byte.
    pub(crate) fn follow_hex(&mut self) {
        let at = self.hex.at();
        let lines = self.contents.lines.iter().enumerate();
        let around = lines.filter(|(_, line)| {
            let is_field = matches!(line.weight, LineKind::Field | LineKind::Changed);
            is_field && line.range.as_ref().is_some_and(|range| range.contains(&at))
        });
        if let Some((line, _)) = around.min_by_key(|(_, line)| line.range.as_ref().map_or(0, Range::len)) {
            self.tree.select(line);
        }
    }
}

impl Moves for HexCursor {
    fn down(&mut self, by: usize) {
        self.lines.down(by);
    }

    fn up(&mut self, by: usize) {
        self.lines.up(by);
    }

    fn first(&mut self) {
        self.lines.first();
        self.column = 0;
    }

    fn last(&mut self) {
        self.lines.last();
        self.column = 0;
    }

    fn height(&self) -> usize {
        self.lines.height()
    }

    fn select_visible(&mut self, row: usize) {
        self.lines.select_visible(row);
    }
}
