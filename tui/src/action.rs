//! Named actions: everything a key can do.

/// A change of the state, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ends the run.
    Quit,
    /// Selects the row below.
    Down,
    /// Selects the row above.
    Up,
    /// Moves the selection down by a page.
    PageDown,
    /// Moves the selection up by a page.
    PageUp,
    /// Selects the oldest row.
    First,
    /// Selects the newest row and follows it.
    Last,
}

impl Action {
    /// All actions.
    pub const ALL: [Self; 7] = [
        Self::Quit,
        Self::Down,
        Self::Up,
        Self::PageDown,
        Self::PageUp,
        Self::First,
        Self::Last,
    ];

    /// Returns the words of the key hints.
    #[must_use]
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Quit => "quit",
            Self::Down => "down",
            Self::Up => "up",
            Self::PageDown => "page down",
            Self::PageUp => "page up",
            Self::First => "first",
            Self::Last => "follow",
        }
    }
}
