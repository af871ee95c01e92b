//! The view of the current snapshot.

use teetap_inspect::Snapshots;
use teetap_proxy::session::SessionId;
use teetap_wire::snap::Retained;

use super::cursor::Cursor;

/// The current snapshot, or one that is kept back.
#[derive(Debug, Default)]
pub struct CurrentSnapshot {
    /// The newest snapshots, which the decoder shares.
    pub shared: Snapshots,
    /// The snapshot that is shown while the view is frozen.
    frozen: Option<(SessionId, Retained<'static>)>,
    /// The map is shown.
    pub has_map: bool,
    /// The cursor in the list of items.
    pub cursor: Cursor,
}

impl CurrentSnapshot {
    /// Returns the snapshot that is shown of a session.
    #[must_use]
    pub fn get(&self, session: SessionId) -> Option<Retained<'static>> {
        match &self.frozen {
            Some((of, snapshot)) if *of == session => Some(snapshot.clone()),
            _ => self.shared.get(session),
        }
    }

    /// Keeps the snapshot of a session, or shows the newest again. Returns true if it is kept; `None` if there is none.
    pub fn toggle_frozen(&mut self, session: SessionId) -> Option<bool> {
        if self.frozen.take().is_some() {
            return Some(false);
        }
        self.frozen = Some((session, self.shared.get(session)?));
        Some(true)
    }

    /// Returns true if a snapshot is kept.
    #[must_use]
    pub const fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }
}
