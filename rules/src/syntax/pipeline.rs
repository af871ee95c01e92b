//! The order in which the steps of a rule are carried out.
//!
//! Law: `fmt` prints modifiers in this order, `--explain` explains rules in it, the manual lists it, and the program
//! follows it for every message, retransmission and timer.

use strum::VariantArray as _;

/// A step of a rule. Each step sees only the messages that pass the previous steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::VariantArray)]
pub enum RuleStep {
    /// Checks that the window of the rule is open.
    Window,
    /// Checks the condition after `when`. A message that passes is a match.
    Condition,
    /// Skips the first matches.
    Skip,
    /// Selects every n-th match, or at most one match per interval.
    Every,
    /// Selects some of the remaining matches at random.
    Chance,
    /// Stops the rule after a number of actions.
    First,
    /// Limits the number of actions in a period.
    Max,
    /// Carries out all actions, in the order of the text.
    Actions,
    /// Ends the search, so that later rules are not tried.
    End,
}

impl RuleStep {
    /// All steps in order.
    pub const ALL: &'static [Self] = Self::VARIANTS;

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
