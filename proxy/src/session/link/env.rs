//! The environment that all sessions share.

use std::sync::Arc;

use teetap_rules::{Decide, Made, Opening, Program};
use teetap_wire::{Dir, Proto};

use crate::session::{
    compose::Composer, config::Config, datagram::Placed, ids::SessionId, outbox::Outbox, redirect::Listeners,
    time::Time,
};

/// The environment that the hub lends to a session while it handles an input.
pub(crate) struct Env {
    /// When the input happened.
    pub(crate) now: Time,
    pub(crate) config: Config,
    pub(crate) out: Outbox,
    pub(crate) work: Work,
    pub(crate) program: Option<Arc<Program>>,
    pub(crate) listeners: Listeners,
}

impl Env {
    /// Returns true if the program acts on messages of a direction.
    pub(crate) fn acts(&self, proto: Proto, dir: Dir) -> bool {
        self.program
            .as_ref()
            .is_some_and(|program| program.acts(proto, dir))
    }

    /// The state of the program for a session that opened at `at`; `before`: the one that it had so far.
    pub(crate) fn open_rules(
        &self,
        session: SessionId,
        at: Time,
        before: Option<Box<dyn Decide>>,
    ) -> Option<Box<dyn Decide>> {
        let opening = Opening {
            seed: self.config.seed,
            session: session.0,
            at: at.0,
        };
        let program = self.program.as_ref()?;
        Some(program.open(opening, before))
    }
}

/// Reused buffers.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub(crate) composer: Composer,
    pub(crate) placed: Vec<Placed>,
    pub(crate) crossing: Vec<Made>,
    /// Chunks that the last datagram announced and did not have.
    pub(crate) missing: u8,
}
