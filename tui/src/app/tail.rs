//! Selected row and visible part of a list that grows at its end and loses rows at its start.

use std::ops::Range;

use super::cursor::Moves;

/// Cursor of a list whose rows have permanent numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tail {
    /// Rows at the last drawing.
    rows: Range<u64>,
    /// Selected row; `None` to follow the newest row.
    selected: Option<u64>,
    /// First visible row.
    top: u64,
    /// Number of rows that fitted on the screen at the last drawing.
    height: usize,
}

impl Tail {
    /// Scrolls so that the selected row is visible. Returns the visible rows.
    pub(crate) fn fit(&mut self, height: usize, rows: Range<u64>) -> Range<u64> {
        self.height = height;
        let last = rows.end.saturating_sub(1).max(rows.start);
        let selected = self.selected.map_or(last, |row| row.clamp(rows.start, last));
        if self.selected.is_some() {
            self.selected = Some(selected);
        }
        let height = height.max(1) as u64;
        let lowest = (selected + 1).saturating_sub(height).max(rows.start);
        let highest = rows.end.saturating_sub(height).max(rows.start);
        self.top = self
            .top
            .clamp(lowest, selected.max(lowest))
            .min(highest.max(lowest));
        self.rows = rows;
        self.top..(self.top + height).min(self.rows.end)
    }

    /// Returns the selected row; `None` if the newest row is followed.
    #[must_use]
    pub(crate) const fn selected(&self) -> Option<u64> {
        self.selected
    }

    /// Selects a row.
    pub(crate) const fn select(&mut self, row: u64) {
        self.selected = Some(row);
    }

    /// Returns the position as text: "following", or the place of the row and the number of rows.
    #[must_use]
    pub(crate) fn place(&self) -> String {
        match self.selected {
            None => "following".to_owned(),
            Some(row) => {
                let len = self.rows.end - self.rows.start;
                format!("{}/{len}", row.saturating_sub(self.rows.start) + 1)
            }
        }
    }

    fn newest(&self) -> u64 {
        self.rows.end.saturating_sub(1).max(self.rows.start)
    }
}

impl Moves for Tail {
    /// Moves the selection down. From the last row on, follows the newest row again.
    fn down(&mut self, by: usize) {
        if let Some(row) = self.selected {
            let row = row.saturating_add(by as u64);
            self.selected = (row < self.newest()).then_some(row);
        }
    }

    fn up(&mut self, by: usize) {
        let row = self.selected.unwrap_or_else(|| self.newest());
        self.selected = Some(row.saturating_sub(by as u64).max(self.rows.start));
    }

    fn first(&mut self) {
        self.selected = Some(self.rows.start);
    }

    fn last(&mut self) {
        self.selected = None;
    }

    fn height(&self) -> usize {
        self.height
    }

    fn select_visible(&mut self, row: usize) {
        let row = self.top + row as u64;
        if row < self.rows.end {
            self.selected = Some(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_row_is_followed_until_another_is_selected() {
        let mut tail = Tail::default();
        assert_eq!(tail.fit(3, 0..0), 0..0);
        assert_eq!(tail.fit(3, 0..5), 2..5);
        tail.up(1);
        assert_eq!((tail.selected(), tail.place()), (Some(3), "4/5".to_owned()));
        assert_eq!(tail.fit(3, 0..9), 2..5, "the rows stay where they were");
        tail.down(9);
        assert_eq!((tail.selected(), tail.fit(3, 0..9)), (None, 6..9));
        tail.first();
        assert_eq!(tail.fit(3, 4..12), 4..7, "dropped rows cannot be selected");
        assert_eq!(tail.selected(), Some(4));
        tail.select_visible(2);
        assert_eq!(tail.selected(), Some(6));
    }
}
