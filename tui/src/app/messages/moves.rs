//! Movements in the list.

use super::Messages;
use crate::app::cursor::Moves;

impl Moves for Messages {
    /// Moves the selection down. From the last row on, follows the newest row again.
    fn down(&mut self, by: usize) {
        if self.selected.is_none() {
            return;
        }
        let place = self.selected().unwrap_or(0).saturating_add(by);
        if place + 1 < self.items.len() {
            self.select(place);
        } else {
            self.last();
        }
    }

    fn up(&mut self, by: usize) {
        if let Some(selected) = self.selected() {
            self.select(selected.saturating_sub(by));
        }
    }

    fn first(&mut self) {
        self.select(0);
    }

    fn last(&mut self) {
        self.selected = None;
        if self.is_frozen() {
            self.stay();
        }
    }

    fn height(&self) -> usize {
        self.height
    }

    fn select_visible(&mut self, row: usize) {
        if self.top + row < self.items.len() {
            self.select(self.top + row);
        }
    }
}
