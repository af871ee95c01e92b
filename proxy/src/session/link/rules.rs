//! The state of the rules in one session.

use teetap_rules::{Decide, impair::LineSet};
use teetap_wire::Seq;

use super::{Env, Opened, ruled::DelayQueue};
use crate::session::{Time, snapshots::Snapshots};

#[derive(Default)]
pub(super) struct SessionRules {
    /// The state of the program; `None` if there is no program, or its rules have ended.
    pub(super) program: Option<Box<dyn Decide>>,
    /// Snapshots, for rules that change them.
    pub(super) snapshots: Snapshots,
    /// Control messages that rules delay.
    pub(super) delayed: DelayQueue,
}

impl SessionRules {
    /// Opens the rules of the current program, or closes them if there is none. `is_new` is true if the program sees all
    /// messages of the session.
    pub(super) fn open(&mut self, opened: &Opened, is_new: bool, env: &Env) {
        self.program = env.open_rules(opened, is_new, self.program.take());
    }

    /// Reports the end of the session to the rules.
    pub(super) fn on_end(&mut self) {
        if let Some(program) = &mut self.program {
            program.on_end();
        }
    }

    /// Records an ack of the client.
    pub(super) fn on_ack(&mut self, now: Time, ack: Seq) {
        if let Some(program) = &mut self.program {
            program.on_ack(now.0, ack);
        }
    }

    /// Returns the time at which the program has to act without a datagram.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.program.as_ref()?.deadline().map(Time)
    }

    /// Returns the link lines whose windows are open.
    pub(super) fn open_lines(&self) -> LineSet {
        let program = self.program.as_ref();
        program.map_or(LineSet::ALL, |program| program.open_lines())
    }
}
