//! The joins of a run or a recording.

use std::sync::Arc;

use teetap_inspect::{
    joins::{Join, JoinOutcome},
    jsonl::JoinBody,
};

use super::FEW;

/// Maximum number of joins to keep, counted separately for joins that stopped and for all others.
const MAX_KEPT: usize = 100;

/// The joins of a run or a recording that have ended.
#[derive(Clone, Debug, Default)]
pub struct Joins {
    stopped: Vec<Arc<Join>>,
    entered: Vec<Arc<Join>>,
    left_out: u64,
}

impl Joins {
    /// Adds a join, unless `MAX_KEPT` joins of its kind are kept.
    pub fn add(&mut self, join: &Arc<Join>) {
        let joins = match join.outcome {
            JoinOutcome::Entered | JoinOutcome::Interrupted => &mut self.entered,
            JoinOutcome::NeverEntered | JoinOutcome::NeverOnline => &mut self.stopped,
        };
        if joins.len() < MAX_KEPT {
            joins.push(Arc::clone(join));
        } else {
            self.left_out += 1;
        }
    }

    /// Returns the number of joins that are not kept.
    #[must_use]
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Returns the joins as JSON, in the order in which they began.
    #[must_use]
    pub fn bodies(&self) -> Vec<JoinBody<'_>> {
        self.list(true).into_iter().map(JoinBody::new).collect()
    }

    /// Returns the sentences about the first joins that stopped.
    pub(super) fn sentences(&self) -> Vec<String> {
        self.stopped.iter().take(FEW).map(ToString::to_string).collect()
    }

    /// Returns the joins that stopped by themselves, and with `all` the others, too, in the order in which they began.
    #[must_use]
    pub fn list(&self, all: bool) -> Vec<&Join> {
        let entered = self.entered.iter().filter(|_| all);
        let mut joins: Vec<&Join> = self.stopped.iter().chain(entered).map(|join| &**join).collect();
        joins.sort_by_key(|join| (join.begin, join.session));
        joins
    }
}
