//! Marks, and the search for rows.

use super::Messages;

impl Messages {
    /// Marks the selected row or removes its mark. Returns true if the row is marked now; `None` if no row is selected.
    pub(crate) fn toggle_mark(&mut self) -> Option<bool> {
        let number = self.number()?;
        let is_marked = self.marks.insert(number);
        if !is_marked {
            self.marks.remove(&number);
        }
        Some(is_marked)
    }

    /// Returns true if a row is marked.
    #[must_use]
    pub(crate) fn is_marked(&self, number: u64) -> bool {
        self.marks.contains(&number)
    }

    /// Selects the next marked row. After the last one, continues at the first. Returns false if no row is marked.
    pub(crate) fn next_mark(&mut self) -> bool {
        let found = self.search(true, |number, list| list.is_marked(number));
        if let Some(place) = found {
            self.select(place);
        }
        found.is_some()
    }

    /// Returns the place of the next or previous row for which `has` returns true. Wraps around at the end.
    pub(crate) fn search(&self, forward: bool, has: impl Fn(u64, &Self) -> bool) -> Option<usize> {
        let len = self.items.len();
        let selected = self.selected()?;
        let mut steps = (1..=len).map(|step| match forward {
            true => (selected + step) % len,
            false => (selected + len - step) % len,
        });
        steps.find(|place| self.items.get(*place).is_some_and(|number| has(*number, self)))
    }
}
