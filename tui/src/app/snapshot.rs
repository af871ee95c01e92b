//! State of the view of the current snapshot.

use teetap_inspect::Snapshots;
use teetap_proxy::session::SessionId;
use teetap_wire::snap::Retained;

use super::cursor::Cursor;

/// The newest snapshot, or a frozen snapshot.
#[derive(Debug, Default)]
pub(crate) struct CurrentSnapshot {
    /// Newest snapshots, shared by the decoder.
    pub(crate) shared: Snapshots,
    /// Snapshot that is shown while the view is frozen.
    frozen: Option<(SessionId, Retained<'static>)>,
    /// True if the map is shown.
    pub(crate) has_map: bool,
    /// Cursor in the items.
    pub(crate) cursor: Cursor,
}

impl CurrentSnapshot {
    /// Returns the snapshot to show for a session.
    #[must_use]
    pub(crate) fn get(&self, session: SessionId) -> Option<Retained<'static>> {
        match &self.frozen {
            Some((of, snapshot)) if *of == session => Some(snapshot.clone()),
            _ => self.shared.get(session),
        }
    }

    /// Freezes the snapshot of a session, or shows the newest one again. Returns true if it is frozen now; `None` if
    /// there is no snapshot.
    pub(crate) fn toggle_frozen(&mut self, session: SessionId) -> Option<bool> {
        if self.frozen.take().is_some() {
            return Some(false);
        }
        self.frozen = Some((session, self.shared.get(session)?));
        Some(true)
    }

    /// Returns true if a snapshot is frozen.
    #[must_use]
    pub(crate) const fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }
}
