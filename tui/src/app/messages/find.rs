//! Marks, and the search for items.

use super::{Item, Messages};

impl Messages {
    /// Marks the selected row, or removes its mark. Returns true if it is marked now; `None` without a row.
    pub fn toggle_mark(&mut self) -> Option<bool> {
        let item = self.item()?;
        let (rows, last) = (item.number()..=item.last(), item.last());
        let before = self.marks.len();
        self.marks.retain(|number| !rows.contains(number));
        let is_marked = self.marks.len() == before;
        if is_marked {
            self.marks.insert(last);
        }
        Some(is_marked)
    }

    /// Returns true if a row of an item is marked.
    #[must_use]
    pub fn is_marked(&self, item: &Item) -> bool {
        !self.marks.is_empty() && self.marks.range(item.number()..=item.last()).next().is_some()
    }

    /// Selects the next marked item, from the first one again after the last. Returns false if there is none.
    pub fn next_mark(&mut self) -> bool {
        let found = self.search(true, |item, list| list.is_marked(item));
        if let Some(place) = found {
            self.select(place);
        }
        found.is_some()
    }

    /// Returns the place of the next item with a property, or of the one before, all around.
    pub fn search(&self, forward: bool, has: impl Fn(&Item, &Self) -> bool) -> Option<usize> {
        let len = self.items.len();
        let selected = self.selected()?;
        let mut steps = (1..=len).map(|step| match forward {
            true => (selected + step) % len,
            false => (selected + len - step) % len,
        });
        steps.find(|place| self.items.get(*place).is_some_and(|item| has(item, self)))
    }
}
