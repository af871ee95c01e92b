//! Attaches completed snapshots to their messages.

use teetap_rules::context::{Context, MessageView};
use teetap_wire::{Note, def::Registry, snap::Retained};

use super::Decoder;
use crate::{Snapshots, previous::Previous, reading::Message, snapshot};

/// Which parts of snapshots watchers show, and the snapshots kept for them.
pub(super) struct SnapshotViews {
    /// True if items are shown.
    items: bool,
    /// True if items are measured.
    measures: bool,
    /// The newest snapshot of each session, shared with other parts of the program.
    shared: Option<Snapshots>,
    /// The previous snapshot of each session; `None` if changes since it are not shown.
    previous: Option<Previous>,
}

impl SnapshotViews {
    /// Returns the snapshot that the last message completed; `None` if it completed none. Includes the items only if
    /// they are needed.
    pub(super) fn retained(&self, context: &Context) -> Option<Retained<'static>> {
        if self.need_items() {
            context.retained()
        } else {
            context.retained_counts()
        }
    }

    const fn need_items(&self) -> bool {
        self.items || self.measures || self.shared.is_some() || self.previous.is_some()
    }

    /// Attaches a snapshot to the message that completed it.
    pub(super) fn add_to(
        &mut self,
        message: &mut Message,
        snapshot: Retained<'static>,
        view: &MessageView<'_>,
        registry: &'static Registry,
    ) {
        if let (Some(shared), Some(session)) = (&self.shared, view.session) {
            shared.put(session, snapshot.clone());
        }
        if let (Some(previous), Some(session)) = (&mut self.previous, view.session)
            && let Some(since) = previous.compare(session, &snapshot)
        {
            message.completed.since = Some(Box::new(self.shown(since)));
        }
        if self.measures {
            message.completed.items = snapshot::measure(&snapshot.view(), registry, view.proto);
        }
        let snapshot = self.shown(snapshot);
        message.notes.extend(data_notes(&snapshot));
        message.completed.snapshot = Some(Box::new(snapshot));
    }

    /// Removes the items of a snapshot unless they are shown.
    fn shown(&self, snapshot: Retained<'static>) -> Retained<'static> {
        if self.items || !self.need_items() {
            snapshot
        } else {
            snapshot.without_items()
        }
    }

    /// Forgets the snapshots of a session that opens or ends.
    pub(super) fn forget(&mut self, session: u32) {
        if let Some(previous) = &mut self.previous {
            previous.forget(session);
        }
    }

    /// Forgets all sessions, because the next run of the recording begins.
    pub(super) fn restart(&mut self) {
        self.previous = self.previous.take().map(|_| Previous::default());
    }
}

impl Default for SnapshotViews {
    fn default() -> Self {
        Self {
            items: true,
            measures: false,
            shared: None,
            previous: None,
        }
    }
}

/// Returns the notes about the data of a snapshot, with ranges relative to the message.
fn data_notes(snapshot: &Retained<'static>) -> impl Iterator<Item = Note> {
    let completed = snapshot.view();
    // The data of a snapshot that was sent in several parts has no range in this message.
    let at = completed.data_at;
    completed.data_notes.iter().map(move |note| Note {
        at: at.map_or(0, |at| at + note.at),
        len: at.map_or(0, |_| note.len),
        ..note
    })
}

impl Decoder {
    /// Ignores the items of snapshots, so that only their counts are shown. Queued events then hold no items.
    pub fn ignore_items(&mut self) {
        self.snapshots.items = false;
    }

    /// Shares the newest snapshot of each session, with its items.
    pub fn share_snapshots(&mut self, snapshots: Snapshots) {
        self.snapshots.shared = Some(snapshots);
    }

    /// Enables the comparison of each snapshot with the previous snapshot.
    pub fn follow_changes(&mut self) {
        self.snapshots.previous = Some(Previous::default());
    }

    /// Enables the measurement of snapshot sizes by type of item.
    pub fn measure_items(&mut self) {
        self.snapshots.measures = true;
    }
}
