//! Effects on the terminal, which the owner of the screen carries out.

/// Effects on the terminal that are due.
#[derive(Debug)]
pub(crate) struct Terminal {
    /// True if the state has changed since the last drawing.
    pub(crate) changed: bool,
    /// Text for the terminal's clipboard.
    pub(crate) clipboard: Option<String>,
    /// True if the terminal has to be cleared before the next drawing.
    pub(crate) redrawing: bool,
    /// True once the user has asked to suspend the program.
    pub(crate) suspending: bool,
    /// True once the user has asked to end the program.
    pub(crate) leaving: bool,
}

impl Default for Terminal {
    /// Returns the effects at the start: the first drawing.
    fn default() -> Self {
        Self {
            changed: true,
            clipboard: None,
            redrawing: false,
            suspending: false,
            leaving: false,
        }
    }
}
