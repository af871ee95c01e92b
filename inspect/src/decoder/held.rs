//! The messages that the proxy holds, as they were received.
//!
//! Law: only messages whose holding was seen are kept, and at most [`MAX_HELD`] of them.

use std::collections::BTreeMap;

use teetap_proxy::session::{HeldId, SessionId};
use teetap_wire::Dir;

/// Maximum number of messages that are kept.
const MAX_HELD: usize = 4096;

/// The place of a held message: its session, its direction, and its number there.
type Place = (u32, bool, HeldId);

/// Held messages, as received.
#[derive(Default)]
pub(super) struct Held(BTreeMap<Place, Box<[u8]>>);

impl Held {
    /// Keeps a message that the proxy holds from now on. If there are too many, forgets the first one of the oldest
    /// session.
    pub(super) fn keep(&mut self, session: SessionId, dir: Dir, held: HeldId, data: &[u8]) {
        if self.0.len() >= MAX_HELD {
            self.0.pop_first();
        }
        self.0.insert(place(session, dir, held), data.into());
    }

    /// Returns a message that the proxy released, as received; `None` if unknown.
    pub(super) fn release(&mut self, session: SessionId, dir: Dir, held: HeldId) -> Option<Box<[u8]>> {
        self.0.remove(&place(session, dir, held))
    }

    /// Forgets the messages of a session.
    pub(super) fn forget(&mut self, session: SessionId) {
        self.0.retain(|place, _| place.0 != session.0);
    }

    /// Forgets all messages.
    pub(super) fn restart(&mut self) {
        self.0.clear();
    }
}

const fn place(session: SessionId, dir: Dir, held: HeldId) -> Place {
    (session.0, matches!(dir, Dir::S2c), held)
}
