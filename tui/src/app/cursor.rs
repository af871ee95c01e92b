//! A selected row in a list, and the part of the list that is visible.

/// Movements in a pane.
pub trait Moves {
    /// Moves down by this many rows.
    fn down(&mut self, by: usize);
    /// Moves up by this many rows.
    fn up(&mut self, by: usize);
    /// Moves to the first row.
    fn first(&mut self);
    /// Moves to the last row.
    fn last(&mut self);
    /// Returns the rows that fit on the screen.
    fn height(&self) -> usize;
    /// Returns the rows of a page: one less, so that a row stays in sight.
    fn page(&self) -> usize {
        self.height().saturating_sub(1).max(1)
    }
    /// Selects the visible row of this number, counted from the top.
    fn select_visible(&mut self, row: usize);
}

/// The cursor of a list whose rows do not move by themselves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cursor {
    /// The selected row.
    selected: usize,
    /// The first visible row.
    top: usize,
    /// Rows that fit on the screen when it was drawn last.
    height: usize,
    /// Rows of the list when it was drawn last.
    len: usize,
}

impl Cursor {
    /// Returns the selected row; `None` in an empty list.
    #[must_use]
    pub fn selected(&self) -> Option<usize> {
        self.selected_of(self.len)
    }

    /// Returns the selected row of so many, where the list may be another one than was drawn.
    #[must_use]
    pub fn selected_of(&self, len: usize) -> Option<usize> {
        let last = len.checked_sub(1)?;
        Some(self.selected.min(last))
    }

    /// Notes the number of rows, before they are drawn.
    pub fn set_len(&mut self, len: usize) {
        self.len = len;
    }

    /// Selects a row.
    pub fn select(&mut self, row: usize) {
        self.selected = row;
        self.len = self.len.max(row + 1);
    }

    /// Fits the visible part to this height and length. Returns the first visible row.
    pub fn fit(&mut self, height: usize, len: usize) -> usize {
        (self.height, self.len) = (height, len);
        let selected = self.selected().unwrap_or(0);
        self.selected = selected;
        let lowest = (selected + 1).saturating_sub(height.max(1));
        let highest = len.saturating_sub(height);
        self.top = self.top.clamp(lowest, selected).min(highest.max(lowest));
        self.top
    }
}

impl Moves for Cursor {
    fn down(&mut self, by: usize) {
        let last = self.len.saturating_sub(1);
        self.selected = self.selected.saturating_add(by).min(last);
    }

    fn up(&mut self, by: usize) {
        self.selected = self.selected.saturating_sub(by);
    }

    fn first(&mut self) {
        self.selected = 0;
    }

    fn last(&mut self) {
        self.selected = self.len.saturating_sub(1);
    }

    fn height(&self) -> usize {
        self.height
    }

    fn select_visible(&mut self, row: usize) {
        self.selected = (self.top + row).min(self.len.saturating_sub(1));
    }
}
