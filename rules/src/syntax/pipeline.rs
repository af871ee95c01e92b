//! The order in which the steps of a rule are carried out.
//!
//! Law: there is one order. `fmt` prints modifiers in it, `--explain` explains a rule in it, the manual lists it, and
//! the program follows it for every message, retransmission and timer.

/// A step of a rule. Each step sees only what passes the previous ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The time in which the rule acts.
    Window,
    /// The condition after `when`. A message that passes it is a match.
    Condition,
    /// The first matches, which are skipped.
    Skip,
    /// The turns among the matches.
    Every,
    /// The random selection among the turns.
    Chance,
    /// The first times at which the rule acts.
    First,
    /// The maximum number of times in a period.
    Max,
    /// All actions, in the order in which they are written.
    Actions,
    /// The end of the search: later rules are not tried.
    End,
}

impl Step {
    /// All steps in order.
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

    /// Returns the keywords that configure this step; empty for the actions and the end of the search.
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
