//! Expectations: messages that must be received in time.
//!
//! Law: a message meets all open expectations of an action, except for the expectation that it opens itself. At most
//! [`MAX_OPEN`] expectations are open per action. Further expectations are not opened, since the same message would
//! meet them.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use teetap_wire::Dir;

use crate::eval::{Facts, Memory};
use crate::filter::Filter;
use crate::verdict::{Effect, End, RuleId};

use crate::units::micros;

/// Maximum number of open expectations per action.
const MAX_OPEN: usize = 64;

/// `expect sv_motd within 5s`: an action of a rule.
pub(super) struct Expected {
    pub(super) filter: Filter,
    pub(super) within: Duration,
}

/// State of an expectation in one session.
#[derive(Debug, Default)]
pub(super) struct Expecting {
    memory: Memory,
    /// Open expectations, the oldest first.
    open: VecDeque<OpenExpectation>,
}

/// A message that opened an expectation.
#[derive(Debug)]
struct OpenExpectation {
    /// Deadline in microseconds since the start of the run.
    until: u64,
    /// Direction and name of the message; `None` for a rule without a condition.
    message: Option<(Dir, Box<str>)>,
}

/// Failure of an expectation.
pub(super) struct Unmet {
    why: Box<str>,
    message: Option<(Dir, Box<str>)>,
}

impl Unmet {
    /// Returns the effect of the rule that expected the message.
    pub(super) fn effect(self, rule: RuleId) -> Effect {
        Effect::End {
            rule,
            end: End::Unmet(self.why),
            message: self.message,
        }
    }
}

impl Expecting {
    pub(super) fn new(expected: &Expected) -> Self {
        Self {
            memory: expected.filter.memory(),
            open: VecDeque::new(),
        }
    }

    /// Opens an expectation at this time.
    pub(super) fn begin(&mut self, expected: &Expected, at: u64, message: Option<(Dir, Box<str>)>) {
        if self.open.len() < MAX_OPEN {
            let until = at.saturating_add(micros(expected.within));
            self.open.push_back(OpenExpectation { until, message });
        }
    }

    /// Observes a message.
    pub(super) fn observe(&mut self, expected: &Expected, facts: &impl Facts) {
        if expected.filter.matches(facts, &mut self.memory) == Some(true) {
            self.open.clear();
        }
    }

    /// Observes another copy of a message.
    pub(super) fn observe_copy(&mut self, expected: &Expected, facts: &impl Facts) {
        if !self.open.is_empty() && expected.filter.holds(facts, &self.memory) {
            self.open.clear();
        }
    }

    /// Returns the deadline of the oldest open expectation.
    pub(super) fn deadline(&self) -> Option<u64> {
        self.open.front().map(|open| open.until)
    }

    /// Removes an expectation that has failed at this time.
    pub(super) fn late(&mut self, expected: &Expected, at: u64) -> Option<Unmet> {
        let open = self.open.pop_front_if(|open| open.until <= at)?;
        Some(Unmet {
            why: format!("{expected}: it was not received").into(),
            message: open.message,
        })
    }

    /// Removes all expectations at the end of the session. Returns the failure of the oldest one.
    pub(super) fn ended(&mut self, expected: &Expected) -> Option<Unmet> {
        let open = self.open.drain(..).next()?;
        Some(Unmet {
            why: format!("{expected}: the session ended first").into(),
            message: open.message,
        })
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { filter, within } = self;
        write!(f, "expected `{filter}` within {} s", within.as_secs_f64())
    }
}
