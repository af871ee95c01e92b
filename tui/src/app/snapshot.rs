//! State of the view of the current snapshot.

use teetap_inspect::Snapshots;
use teetap_proxy::session::SessionId;
use teetap_wire::snap::Retained;

use super::cursor::Cursor;

/// The newest snapshot, or a frozen snapshot.
#[derive(Debug, Default)]
pub struct CurrentSnapshot {
    /// Newest snapshots, shared by the decoder.
    pub shared: Snapshots,
    /// Snapshot that is shown while the view is frozen.
    frozen: Option<(SessionId, Retained<'static>)>,
    /// True if the map is shown.
    pub has_map: bool,
    /// Cursor in the items.
    pub cursor: Cursor,
}

impl CurrentSnapshot {
    /// Returns the snapshot to show for a session.
    #[must_use]
    pub fn get(&self, session: SessionId) -> Option<Retained<'static>> {
        match &self.frozen {
            Some((of, snapshot)) if *of == session => Some(snapshot.clone()),
            _ => self.shared.get(session),
        }
    }

    /// Freezes the snapshot of a session, or shows the newest one again. Returns true if it is frozen now; `None` if
    /// there is no snapshot.
    pub fn toggle_frozen(&mut self, session: SessionId) -> Option<bool> {
        if self.frozen.take().is_some() {
            return Some(false);
        }
        self.frozen = Some((session, self.shared.get(session)?));
        Some(true)
    }

    /// Returns true if a snapshot is frozen.
    #[must_use]
    pub const fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }
}
