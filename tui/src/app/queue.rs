//! The intercept queue: messages that the proxy holds.

use teetap_inspect::HeldMessage;
use teetap_proxy::session::Waiting;
use teetap_wire::def::{Registry, Secrets};

use super::cursor::Cursor;

/// The held messages.
#[derive(Debug, Default)]
pub struct Queue {
    /// In the order of sessions and numbers.
    pub list: Vec<HeldMessage>,
    /// The selected one.
    pub cursor: Cursor,
    /// The queue may be another one than is shown.
    pub is_stale: bool,
}

impl Queue {
    /// Takes the messages that are held now.
    pub fn set(&mut self, list: Vec<Waiting>, registry: &'static Registry, secrets: Secrets) {
        let selected = self.selected().map(|held| key(&held.waiting));
        let read = |waiting| HeldMessage::read(waiting, registry, secrets);
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

    /// Returns a message as it is held now; `None` if it is held no more.
    #[must_use]
    pub fn now(&self, waiting: &Waiting) -> Option<&HeldMessage> {
        self.list.iter().find(|held| key(&held.waiting) == key(waiting))
    }

    /// Returns the selected message.
    #[must_use]
    pub fn selected(&self) -> Option<&HeldMessage> {
        self.list.get(self.cursor.selected_of(self.list.len())?)
    }
}

fn key(waiting: &Waiting) -> (u32, u32, bool) {
    let is_c2s = waiting.dir == teetap_wire::Dir::C2s;
    (waiting.session.0, waiting.held.0.get(), is_c2s)
}
