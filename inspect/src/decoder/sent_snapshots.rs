//! Follows the snapshots of a session as their receiver gets them, once a rule, a person or the link has changed a
//! message of the session.
//!
//! Law: sessions whose messages are not changed cost nothing. The client has decoded the snapshots before the first
//! change as they were received, so the store of received snapshots is copied then; copies share their items.

use std::collections::BTreeMap;

use teetap_rules::context::Contexts;
use teetap_wire::{
    Code, Dir, Severity,
    def::{Decoded, Found},
    snap::{Fate, Store},
};

use super::Decoder;

/// Maximum number of sessions that are followed.
const SESSIONS: usize = 64;

/// The snapshots of sessions as sent.
#[derive(Default)]
pub(super) struct SentSnapshots {
    stores: BTreeMap<u32, Box<Store<'static>>>,
    decoded: Decoded,
}

impl SentSnapshots {
    /// Starts to follow a session, unless it is followed or has no snapshots.
    fn start(&mut self, session: u32, contexts: &Contexts) {
        if self.stores.contains_key(&session) || self.stores.len() >= SESSIONS {
            return;
        }
        let store = contexts.get(session).and_then(|context| context.store());
        if let Some(store) = store {
            self.stores.insert(session, Box::new(store.clone()));
        }
    }

    /// Returns true if the session is followed.
    fn follows(&self, session: u32) -> bool {
        self.stores.contains_key(&session)
    }

    /// Follows a message as sent. Returns the error of the snapshot that it completes; `None` if it completes none, or
    /// its snapshot is valid or cannot be checked.
    fn observe(&mut self, session: u32, dir: Dir, (found, data): (Found<'static>, &[u8])) -> Option<Code> {
        let store = self.stores.get_mut(&session)?;
        if !store.follows(dir, found.def) {
            return None;
        }
        self.decoded.read(found.def, data, found.body);
        let completed = store.on_message(dir, found.def, &self.decoded, data)?;
        let is_error = |code: &Code| code.severity() == Severity::Error;
        let mut errors = completed.data_notes.iter().map(|note| note.code).filter(is_error);
        match (completed.fate, completed.crc_ok()) {
            (Fate::Broken, _) => errors.next(),
            (_, Some(false)) => Some(Code::SnapBadCrc),
            _ => None,
        }
    }

    /// Forgets a session that opens or ends.
    pub(super) fn forget(&mut self, session: u32) {
        self.stores.remove(&session);
    }

    /// Forgets all sessions.
    pub(super) fn restart(&mut self) {
        self.stores.clear();
    }
}

impl Decoder {
    /// Follows the snapshots of a session as sent from here on, because a message of it is changed.
    pub(super) fn follow_sent(&mut self, session: u32) {
        self.sent_snapshots.start(session, &self.contexts);
    }

    /// Returns true if the snapshots of a session are followed as sent.
    pub(super) fn follows_sent(&self, session: u32) -> bool {
        self.sent_snapshots.follows(session)
    }

    /// Follows a message as sent. Returns the error of the snapshot that it completes.
    pub(super) fn observe_sent(
        &mut self,
        session: u32,
        dir: Dir,
        message: (Found<'static>, &[u8]),
    ) -> Option<Code> {
        self.sent_snapshots.observe(session, dir, message)
    }
}
