//! The modifiers of a rule.

use std::time::Duration;

use crate::syntax::{Every, Max};
use crate::units::Share;

/// Modifiers that count, draw and check the time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) chance: Option<Share>,
    pub(super) every: Option<Every>,
    pub(super) skip: u32,
    pub(super) first: Option<u32>,
    pub(super) max: Option<Max>,
    pub(super) from: Option<Duration>,
    pub(super) to: Option<Duration>,
}

impl Limits {
    /// Returns true if the modifiers let the rule act on every match.
    pub(super) const fn is_unlimited(&self) -> bool {
        matches!(
            self,
            Self {
                chance: None,
                every: None,
                skip: 0,
                first: None,
                max: None,
                from: None,
                to: None,
            }
        )
    }
}
