//! A selected row in a list, and the part of the list that is visible.

/// Movements of a selection in a pane.
pub(crate) trait Moves {
    /// Moves down by `by` rows.
    fn down(&mut self, by: usize);
    /// Moves up by `by` rows.
    fn up(&mut self, by: usize);
    /// Moves to the first row.
    fn first(&mut self);
    /// Moves to the last row.
    fn last(&mut self);
    /// Returns the number of rows that fit on the screen.
    fn height(&self) -> usize;
    /// Returns the rows of a page: one less than fit, so that a row stays visible.
    fn page(&self) -> usize {
        self.height().saturating_sub(1).max(1)
    }
    /// Selects a visible row, counted from the top.
    fn select_visible(&mut self, row: usize);
}

/// Cursor of a list whose rows do not move by themselves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cursor {
    /// Selected row.
    selected: usize,
    /// First visible row.
    top: usize,
    /// Number of rows that fitted on the screen at the last drawing.
    height: usize,
    /// Number of rows of the list at the last drawing.
    len: usize,
}

impl Cursor {
    /// Returns the selected row; `None` in an empty list.
    #[must_use]
    pub(crate) fn selected(&self) -> Option<usize> {
        self.selected_of(self.len)
    }

    /// Returns the selected row of a list of `len` rows, which may differ from the list that was drawn; `None` if it is
    /// empty.
    #[must_use]
    pub(crate) fn selected_of(&self, len: usize) -> Option<usize> {
        let last = len.checked_sub(1)?;
        Some(self.selected.min(last))
    }

    /// Sets the number of rows before they are drawn.
    pub(crate) fn set_len(&mut self, len: usize) {
        self.len = len;
    }

    /// Selects a row.
    pub(crate) fn select(&mut self, row: usize) {
        self.selected = row;
        self.len = self.len.max(row + 1);
    }

    /// Scrolls so that the selected row is visible in `height` of `len` rows. Returns the first visible row.
    pub(crate) fn fit(&mut self, height: usize, len: usize) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

    type Move = fn(&mut Cursor);

    #[test]
    fn the_selected_row_is_visible_and_moves_stay_in_the_list() {
        let mut cursor = Cursor::default();
        assert_eq!((cursor.fit(4, 0), cursor.selected(), cursor.page()), (0, None, 3));
        cursor.down(1);
        cursor.last();
        assert_eq!(cursor.selected(), None);
        // Each move in a list of 10 rows, of which 4 are visible: the first visible and the selected row after it.
        let moves: [(Move, usize, usize); 13] = [
            (Cursor::first, 0, 0),
            (|cursor| cursor.down(3), 0, 3),
            (|cursor| cursor.down(1), 1, 4),
            (|cursor| cursor.up(3), 1, 1),
            (|cursor| cursor.up(1), 0, 0),
            (|cursor| cursor.up(1), 0, 0),
            (|cursor| cursor.down(8), 5, 8),
            (|cursor| cursor.down(usize::MAX), 6, 9),
            (|cursor| cursor.select_visible(1), 6, 7),
            (|cursor| cursor.select_visible(9), 6, 9),
            (|cursor| cursor.select(2), 2, 2),
            (Cursor::last, 6, 9),
            (Cursor::first, 0, 0),
        ];
        cursor.fit(4, 10);
        for (at, (apply, top, selected)) in moves.into_iter().enumerate() {
            apply(&mut cursor);
            let found = (cursor.fit(4, 10), cursor.selected());
            assert_eq!(found, (top, Some(selected)), "move {at}");
        }
    }

    #[test]
    fn a_list_that_becomes_shorter_keeps_its_end_visible() {
        let mut cursor = Cursor::default();
        cursor.fit(4, 10);
        cursor.last();
        assert_eq!(
            (cursor.fit(4, 10), cursor.fit(4, 7), cursor.selected()),
            (6, 3, Some(6))
        );
        // More room shows more rows above.
        assert_eq!((cursor.fit(6, 7), cursor.fit(20, 7)), (1, 0));
        assert_eq!((cursor.fit(0, 7), cursor.height(), cursor.page()), (6, 0, 1));
    }

    #[test]
    fn a_row_is_selected_before_it_is_drawn() {
        let mut cursor = Cursor::default();
        cursor.select(5);
        assert_eq!(
            (cursor.selected(), cursor.selected_of(4), cursor.selected_of(0)),
            (Some(5), Some(3), None)
        );
        cursor.set_len(3);
        assert_eq!(cursor.selected(), Some(2));
        cursor.set_len(0);
        assert_eq!(cursor.selected(), None);
    }
}
