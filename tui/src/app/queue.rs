//! The intercept queue: messages that the proxy holds.

use teetap_inspect::DecodedHeld;
use teetap_proxy::session::HeldMessage;
use teetap_wire::def::{Registry, Secrets};

use super::cursor::Cursor;

/// The messages that the proxy holds.
#[derive(Debug, Default)]
pub struct Queue {
    /// Messages, sorted by session and number.
    pub list: Vec<DecodedHeld>,
    /// Cursor in the messages.
    pub cursor: Cursor,
    /// True if the queue may have changed since it was requested.
    pub is_stale: bool,
}

impl Queue {
    /// Sets the messages that are held now. Keeps the selection.
    pub fn set(&mut self, list: Vec<HeldMessage>, registry: &'static Registry, secrets: Secrets) {
        let selected = self.selected().map(|held| key(&held.waiting));
        let read = |waiting| DecodedHeld::read(waiting, registry, secrets);
        self.list = list.into_iter().map(read).collect();
        self.cursor.set_len(self.list.len());
        let place = self
            .list
            .iter()
            .position(|held| Some(key(&held.waiting)) == selected);
        if let Some(place) = place {
            self.cursor.select(place);
        }
    }

    /// Returns the current state of a held message; `None` if it is no longer held.
    #[must_use]
    pub fn now(&self, waiting: &HeldMessage) -> Option<&DecodedHeld> {
        self.list.iter().find(|held| key(&held.waiting) == key(waiting))
    }

    /// Returns the selected message.
    #[must_use]
    pub fn selected(&self) -> Option<&DecodedHeld> {
        self.list.get(self.cursor.selected_of(self.list.len())?)
    }
}

fn key(waiting: &HeldMessage) -> (u32, u32, bool) {
    let is_c2s = waiting.dir == teetap_wire::Dir::C2s;
    (waiting.session.0, waiting.held.0.get(), is_c2s)
}
