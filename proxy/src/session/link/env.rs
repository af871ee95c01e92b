//! What all sessions work with.

use teetap_rules::{Decide, Made};

use crate::session::{
    compose::Composer, config::Config, datagram::Placed, outbox::Outbox, redirect::Listeners, time::Time,
};

/// What the hub lends to a session while it handles an input.
pub(crate) struct Env {
    /// When the input happened.
    pub(crate) now: Time,
    pub(crate) config: Config,
    pub(crate) out: Outbox,
    pub(crate) work: Work,
    pub(crate) rules: Option<Box<dyn Decide>>,
    pub(crate) listeners: Listeners,
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
