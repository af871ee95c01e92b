//! The intercept queue: messages that the proxy holds.

use teetap_inspect::DecodedHeld;
use teetap_proxy::session::HeldMessage;
use teetap_wire::def::{Registry, Secrets};

use super::cursor::Cursor;

/// The messages that the proxy holds.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// Messages, sorted by session and number.
    pub(crate) list: Vec<DecodedHeld>,
    /// Cursor in the messages.
    pub(crate) cursor: Cursor,
    /// True if the queue may have changed since it was requested.
    pub(crate) is_stale: bool,
}

impl Queue {
    /// Sets the messages that are held now. Keeps the selection.
    pub(crate) fn set(&mut self, list: Vec<HeldMessage>, registry: &'static Registry, secrets: Secrets) {
        let selected = self.selected().map(|held| key(&held.message));
        let read = |held| DecodedHeld::read(held, registry, secrets);
        self.list = list.into_iter().map(read).collect();
        self.cursor.set_len(self.list.len());
        let place = self
            .list
            .iter()
            .position(|held| Some(key(&held.message)) == selected);
        if let Some(place) = place {
            self.cursor.select(place);
        }
    }

    /// Returns the current state of a held message; `None` if it is no longer held.
    #[must_use]
    pub(crate) fn now(&self, message: &HeldMessage) -> Option<&DecodedHeld> {
        self.list.iter().find(|held| key(&held.message) == key(message))
    }

    /// Returns the selected message.
    #[must_use]
    pub(crate) fn selected(&self) -> Option<&DecodedHeld> {
        self.list.get(self.cursor.selected_of(self.list.len())?)
    }
}

fn key(held: &HeldMessage) -> (u32, u32, bool) {
    let is_c2s = held.dir == teetap_wire::Dir::C2s;
    (held.session.0, held.held.0.get(), is_c2s)
}
