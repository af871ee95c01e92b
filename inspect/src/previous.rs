//! The newest snapshot of each session, with which the next one is compared.
//!
//! Law: bounded by sessions. The items are those of the context of the session, so they are not copied.

use std::collections::BTreeMap;

use teetap_wire::snap::{Fate, Retained};

/// Sessions whose snapshot is kept; the oldest one is forgotten first.
const SESSIONS: usize = 64;

/// The newest snapshot of each session.
#[derive(Debug, Default)]
pub(crate) struct Previous(BTreeMap<u32, Retained<'static>>);

impl Previous {
    /// Returns a snapshot compared with the one before it in its session. `None` for the first one, and for one that clients do
    /// not take.
    pub(crate) fn compare(
        &mut self,
        session: u32,
        snapshot: &Retained<'static>,
    ) -> Option<Retained<'static>> {
        if snapshot.fate() != Fate::Kept {
            return None;
        }
        if self.0.len() >= SESSIONS && !self.0.contains_key(&session) {
            self.0.pop_first();
        }
        let before = self.0.insert(session, snapshot.clone())?;
        (before.tick() < snapshot.tick()).then(|| snapshot.compared_with(&before))
    }

    /// Forgets a session that opens or ends.
    pub(crate) fn forget(&mut self, session: u32) {
        self.0.remove(&session);
    }
}
