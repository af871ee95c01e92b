//! Follows the snapshots of a session, message by message.
//!
//! Law: a watcher that missed no message knows every snapshot from the beginning of a session. A watcher that missed
//! messages reports this, instead of showing wrong values, until a base is certain again.

use std::sync::Arc;

use teetap_wire::{
    Dir, Notes, PerDir, Proto, Seq,
    def::{Def, Registry},
    snap::{ChecksumCauses, Completed, Diagnosis, Retained, Store},
};

use super::MessageView;
use crate::eval::Lazy;

/// No oddities.
static NOTHING: Notes = Notes::new();

/// Empty stores, one per protocol, from which sessions start; cheap to clone.
#[derive(Clone, Debug)]
pub struct Stores(Arc<[Store<'static>]>);

/// The snapshots of one session.
#[derive(Clone, Debug, Default)]
pub(super) struct SnapshotTracker {
    /// The store; `None` until the first message that affects snapshots.
    store: Option<Box<Store<'static>>>,
    /// True if the session was observed from its beginning.
    begun: bool,
    /// True if the store has followed the last observed message.
    current: bool,
    /// Sequence number of the last followed vital message, per direction.
    last: PerDir<Option<Seq>>,
    /// Causes that fit the wrong snapshots.
    doctor: ChecksumCauses,
}

impl Stores {
    /// Creates stores that read snapshots through these definitions.
    #[must_use]
    pub fn new(registry: &'static Registry) -> Self {
        Self(Proto::ALL.map(|proto| Store::new(registry, proto)).into())
    }

    /// Creates stores that follow nothing.
    #[must_use]
    pub fn none() -> Self {
        Self(Arc::default())
    }

    /// Returns true if messages of a definition change snapshots or complete one.
    #[must_use]
    pub fn follows(&self, proto: Proto, dir: Dir, def: &Def) -> bool {
        self.store_of(proto).is_some_and(|store| store.follows(dir, def))
    }

    fn store_of(&self, proto: Proto) -> Option<&Store<'static>> {
        self.0.iter().find(|store| store.proto() == proto)
    }
}

impl SnapshotTracker {
    /// Creates the state of a session that opens.
    pub(super) fn from_the_beginning() -> Self {
        Self {
            begun: true,
            ..Self::default()
        }
    }

    /// Observes a message. Without stores, does not follow snapshots.
    pub(super) fn observe(&mut self, view: &MessageView<'_>, fields: &Lazy<'_>, stores: Option<&Stores>) {
        self.current = stores.is_some_and(|stores| self.follow(view, fields, stores).is_some());
    }

    /// Returns the snapshot that the last observed message completes.
    pub(super) fn completed(&self) -> Option<Completed<'_>> {
        self.followed()?.completed()
    }

    pub(super) fn retained(&self) -> Option<Retained<'static>> {
        self.followed()?.retained()
    }

    pub(super) fn retained_counts(&self) -> Option<Retained<'static>> {
        self.followed()?.retained_counts()
    }

    /// Returns the reasons why the snapshot that the last observed message (`message`) completes is wrong.
    pub(super) fn diagnose(&mut self, message: &[u8]) -> Option<Diagnosis> {
        let store = self.store.as_deref().filter(|_| self.current)?;
        store.diagnose(&mut self.doctor, message)
    }

    /// Returns the oddities of the last observed message.
    pub(super) fn notes(&self) -> &Notes {
        self.followed().map_or(&NOTHING, Store::notes)
    }

    pub(super) fn store(&self) -> Option<&Store<'static>> {
        self.store.as_deref()
    }

    /// Returns the number of bytes held, including buffers.
    pub(super) fn memory(&self) -> usize {
        self.store.as_ref().map_or(0, |store| store.memory())
    }

    /// Records that messages were missed.
    pub(super) fn gap(&mut self) {
        self.begun = false;
        self.last = PerDir::default();
        if let Some(store) = &mut self.store {
            store.gap();
        }
    }

    /// Drops all snapshots, as if the session were observed from its middle.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    fn followed(&self) -> Option<&Store<'static>> {
        self.store.as_deref().filter(|_| self.current)
    }

    /// Follows a message. Returns `None` if snapshots do not depend on it, or if it is a repeat, which receivers
    /// ignore.
    fn follow(&mut self, view: &MessageView<'_>, fields: &Lazy<'_>, stores: &Stores) -> Option<()> {
        let def = view.def.filter(|_| view.delivered)?;
        let empty = stores
            .store_of(view.proto)
            .filter(|store| store.follows(view.dir, def))?;
        if self.is_again(view) {
            return None;
        }
        let known = self.store.take().filter(|store| store.proto() == view.proto);
        let mut store = known.unwrap_or_else(|| {
            let mut store = Box::new(empty.clone());
            if !self.begun {
                store.gap();
            }
            store
        });
        if let Some(fields) = fields.fields() {
            store.observe(view.dir, def, fields.decoded, view.data);
        }
        self.store = Some(store);
        Some(())
    }

    /// Returns true for a vital message that was followed before. Otherwise records it as the last one.
    fn is_again(&mut self, view: &MessageView<'_>) -> bool {
        let Some(seq) = view.seq else {
            return false;
        };
        // Only equal sequence numbers show a repeat, since any number of other messages may lie between two followed
        // messages.
        let before = self.last[view.dir].replace(seq);
        view.resend && before == Some(seq)
    }
}
