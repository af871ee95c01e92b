//! The order in which a rule is carried out.
//!
//! Law: there is one order. `fmt` prints modifiers in it, `--explain` reads a rule out in it, the manual lists it, and
//! the program follows it for every message, repeat and timer.

/// A step of a rule. Each one sees only what the steps before it let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The time in which the rule acts.
    Window,
    /// The condition after `when`. What it lets through is a match.
    Condition,
    /// The first matches, which are skipped.
    Skip,
    /// The turns among the matches.
    Every,
    /// The random part of the turns.
    Chance,
    /// The first times that the rule acts.
    First,
    /// The number of times in a span of time.
    Max,
    /// All actions, in the order in which they are written.
    Actions,
    /// The end of the search: later rules are not tried.
    End,
}

impl Step {
    /// All steps in their order.
    pub const ALL: [Self; 9] = [
        Self::Window,
        Self::Condition,
        Self::Skip,
        Self::Every,
        Self::Chance,
        Self::First,
        Self::Max,
        Self::Actions,
        Self::End,
    ];

    /// Returns the keywords that configure this step. Empty for the actions and the end of the search, which have no keyword.
    #[must_use]
    pub const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Window => &["from", "to", "after", "until"],
            Self::Condition => &["when"],
            Self::Skip => &["skip"],
            Self::Every => &["every"],
            Self::Chance => &["chance"],
            Self::First => &["first", "once"],
            Self::Max => &["max"],
            Self::Actions | Self::End => &[],
        }
    }
}
