//! Completed snapshots: as much of each as watchers show, with its message.

use teetap_rules::context::{Context, MessageView};
use teetap_wire::{Note, def::Registry, snap::Retained};

use super::Decoder;
use crate::{Snapshots, previous::Previous, reading::Message, snapshot};

/// The parts of snapshots that are shown, and the snapshots that are kept for it.
pub(super) struct SnapshotViews {
    /// Items are shown.
    items: bool,
    /// Items are measured.
    measures: bool,
    /// The place of the newest snapshots.
    shared: Option<Snapshots>,
    /// The snapshots that the next ones are compared with; `None` where changes since them are not shown.
    previous: Option<Previous>,
}

impl SnapshotViews {
    /// Returns the snapshot that the last message has completed, with its items if anything needs them.
    pub(super) fn of(&self, context: &Context) -> Option<Retained<'static>> {
        if self.need_items() {
            context.retained()
        } else {
            context.retained_counts()
        }
    }

    const fn need_items(&self) -> bool {
        self.items || self.measures || self.shared.is_some() || self.previous.is_some()
    }

    /// Adds the snapshot that a message has completed.
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
            message.since = Some(Box::new(self.shown(since)));
        }
        if self.measures {
            message.items = snapshot::measure(&snapshot.view(), registry, view.proto);
        }
        let snapshot = self.shown(snapshot);
        message.notes.extend(data_notes(&snapshot));
        message.snapshot = Some(Box::new(snapshot));
    }

    /// Returns a snapshot with its items if they are shown.
    fn shown(&self, snapshot: Retained<'static>) -> Retained<'static> {
        if self.items || !self.need_items() {
            snapshot
        } else {
            snapshot.without_items()
        }
    }

    /// Forgets a session that opens or ends.
    pub(super) fn forget(&mut self, session: u32) {
        if let Some(previous) = &mut self.previous {
            previous.forget(session);
        }
    }

    /// Another run begins, with sessions of its own.
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

/// Returns the notes about the data of a snapshot, with their ranges in the message.
fn data_notes(snapshot: &Retained<'static>) -> impl Iterator<Item = Note> {
    let completed = snapshot.view();
    // The data of one that came in parts has no range in this message.
    let at = completed.data_at;
    completed.data_notes.iter().map(move |note| Note {
        at: at.map_or(0, |at| at + note.at),
        len: at.map_or(0, |_| note.len),
        ..note
    })
}

impl Decoder {
    /// Ignores the items of snapshots: only their counts are shown. Events that wait for a watcher do not keep them then.
    pub fn ignore_items(&mut self) {
        self.snapshots.items = false;
    }

    /// Shares the newest snapshot of each session, with its items.
    pub fn share_snapshots(&mut self, snapshots: Snapshots) {
        self.snapshots.shared = Some(snapshots);
    }

    /// Compares each snapshot with the one before it, too.
    pub fn follow_changes(&mut self) {
        self.snapshots.previous = Some(Previous::default());
    }

    /// Measures the items of snapshots, by their types.
    pub fn measure_items(&mut self) {
        self.snapshots.measures = true;
    }
}
