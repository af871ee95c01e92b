//! Keeps the newest snapshot of each session to compare the next snapshot with it.
//!
//! Law: memory is bounded by the number of sessions. Items are shared with the context of the session, not copied.

use std::collections::BTreeMap;

use teetap_wire::snap::{Fate, Retained};

/// Maximum number of sessions whose snapshot is kept. The oldest session is forgotten first.
const SESSIONS: usize = 64;

/// The newest snapshot of each session.
#[derive(Debug, Default)]
pub(crate) struct Previous(BTreeMap<u32, Retained<'static>>);

impl Previous {
    /// Compares a snapshot with the previous snapshot of its session. Returns `None` if it is the first snapshot, if
    /// clients do not keep it, or if it is not newer.
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
