//! Keeps the snapshots of one session that may be the base of a later snapshot.
//!
//! Law: the store decodes every snapshot that the client can decode, regardless of losses and reordering between the
//! proxy and the client. A snapshot that is received after a newer snapshot may also be a base, because the client may
//! not have received the newer snapshot. When a client decodes a snapshot, it drops all snapshots older than its base;
//! the store drops them when the client acks the snapshot. The memory of a session is bounded. At the limit, the oldest
//! snapshots are dropped first, but never the last base or the last acked snapshot.

mod acks;
mod collector;
mod complete;
mod diagnosis;
mod trust;

use std::sync::Arc;

use self::acks::ClientAcks;
use self::collector::Collector;
use self::trust::Trust;

use super::delta::{Counts, Delta};
use super::forms::{Ack, Forms, Head, Meaning};
use super::ids::{Ids, Reused};
use super::kept::Bases;
use super::parts::Receiving;
use super::snapshot::{Sizes, Snapshot};
use super::view::{Completed, Crc, Fate, Retained};
use crate::def::{Decoded, Def, Registry};
use crate::note::{Code, Note, Notes};
use crate::{Dir, Proto};

/// The snapshots of a session.
#[derive(Debug, Clone)]
pub struct Store<'r> {
    registry: &'r Registry,
    proto: Proto,
    sizes: Sizes,
    forms: Forms,
    bases: Bases,
    ids: Ids,
    /// The last snapshot, if it is not in `bases`.
    fresh: Arc<Snapshot>,
    /// The snapshot without items, shared by all clones.
    nothing: Arc<Snapshot>,
    delta: Delta,
    collector: Collector,
    notes: Notes,
    acks: ClientAcks,
    trust: Trust,
    /// True if the client has entered the game of this map.
    entered: bool,
    /// The snapshot that the last message completed.
    last: Option<Last>,
}

/// A snapshot that was completed.
#[derive(Debug, Clone, Copy)]
struct Last {
    head: Head,
    parts: u8,
    outcome: Outcome,
}

/// The findings about a snapshot.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    fate: Fate,
    counts: Counts,
    crc: Option<Crc>,
    reused: Option<Reused>,
}

impl<'r> Store<'r> {
    /// Creates a store for a new session. See [`Store::gap`] for a session that is joined in the middle.
    #[must_use]
    pub fn new(registry: &'r Registry, proto: Proto) -> Self {
        Self {
            registry,
            proto,
            sizes: Sizes::new(registry, proto),
            forms: Forms::new(registry, proto),
            bases: Bases::default(),
            ids: Ids::new(registry, proto),
            fresh: Arc::default(),
            nothing: Arc::default(),
            delta: Delta::new(),
            collector: Collector::default(),
            notes: Notes::new(),
            acks: ClientAcks::default(),
            trust: Trust::default(),
            entered: false,
            last: None,
        }
    }

    /// Sets the limit for the memory of kept snapshots, in bytes (default: 2 MiB). The last snapshot, its base and the
    /// last acked snapshot are always kept.
    #[must_use]
    pub fn with_limit(mut self, bytes: usize) -> Self {
        self.bases.set_limit(bytes);
        self
    }

    /// Returns the variant of the messages.
    #[must_use]
    pub const fn proto(&self) -> Proto {
        self.proto
    }

    /// Returns true if the store follows messages of a definition; others need not be passed in.
    #[must_use]
    pub fn follows(&self, dir: Dir, def: &Def) -> bool {
        self.forms.follow(dir, def)
    }

    /// Follows a message and returns the snapshot that it completes. `decoded` is the message that was read from
    /// `data` as a `def`.
    ///
    /// Do not pass repeats of a vital message, which receivers ignore.
    pub fn on_message(
        &mut self,
        dir: Dir,
        def: &Def,
        decoded: &Decoded,
        data: &[u8],
    ) -> Option<Completed<'_>> {
        self.observe(dir, def, decoded, data);
        self.completed()
    }

    /// Follows a message as [`Self::on_message`] does, without returning the snapshot.
    pub fn observe(&mut self, dir: Dir, def: &Def, decoded: &Decoded, data: &[u8]) {
        self.notes = Notes::new();
        self.last = None;
        let Some(meaning) = self.forms.meaning(dir, def, decoded, data) else {
            return;
        };
        match meaning {
            Meaning::Snap(head, bytes) => self.last = self.snap(head, bytes),
            Meaning::Ack(ack) => self.ack(ack),
            Meaning::Timing(left) => self.acks.on_timing(left),
            Meaning::MapChange => {
                self.forget();
                self.entered = false;
            }
            // Only once: snapshots of the handshake against spoofed addresses precede it, with any ticks.
            Meaning::EnterGame if !self.entered => {
                self.forget();
                self.entered = true;
            }
            Meaning::EnterGame => {}
        }
    }

    /// Returns the snapshot that the last message completed.
    #[must_use]
    pub fn completed(&self) -> Option<Completed<'_>> {
        let Last { head, parts, outcome } = self.last?;
        Some(self.view(&head, parts, outcome))
    }

    /// Returns the snapshot that the last message completed, to keep it beyond the next message. Copies no items.
    #[must_use]
    pub fn retained(&self) -> Option<Retained<'r>> {
        Some(Retained::new(&self.completed()?, self.registry))
    }

    /// Returns the snapshot that the last message completed, with its counts but without its items.
    #[must_use]
    pub fn retained_counts(&self) -> Option<Retained<'r>> {
        let completed = Completed {
            snapshot: &self.nothing,
            before: None,
            ..self.completed()?
        };
        Some(Retained::new(&completed, self.registry))
    }

    /// Records that messages of the session were lost before they were decoded. Afterwards, missing bases are not
    /// noted, since the kept snapshots may belong to an earlier map.
    pub fn gap(&mut self) {
        self.collector.clear();
        self.ids.forget();
        self.acks.gap();
        self.trust.gap();
    }

    /// Returns true if the last snapshot was readable. After a gap, returns false until a snapshot with a valid checksum
    /// was read.
    #[must_use]
    pub const fn whole(&self) -> bool {
        self.trust.whole()
    }

    /// Returns the oddities of the last message, if the store follows it. Ranges count in the message.
    #[must_use]
    pub const fn notes(&self) -> &Notes {
        &self.notes
    }

    /// Returns the snapshot with missing parts.
    #[must_use]
    pub const fn receiving(&self) -> Option<Receiving> {
        self.collector.receiving()
    }

    /// Returns the tick that the client acked last. `None` if it has acked none.
    #[must_use]
    pub const fn acked(&self) -> Option<i32> {
        self.acks.acked
    }

    /// Returns the newest snapshot and its tick.
    #[must_use]
    pub fn newest(&self) -> Option<(i32, &Snapshot)> {
        let newest = self.bases.iter().next_back();
        newest.map(|kept| (kept.tick, &*kept.snapshot))
    }

    /// Returns the snapshot of a tick.
    #[must_use]
    pub fn at(&self, tick: i32) -> Option<&Snapshot> {
        self.bases.at(tick).map(|snapshot| &**snapshot)
    }

    /// Returns the number of snapshots kept, at most 256.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bases.len()
    }

    /// Returns true if no snapshot is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bases.len() == 0
    }

    /// Returns the number of bytes of the snapshots kept.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.bases.held()
    }

    /// Returns the number of bytes of memory in total: the snapshots kept, and the buffers for incoming data.
    #[must_use]
    pub fn memory(&self) -> usize {
        let followed = self.ids.memory() + self.acks.memory() + self.collector.memory();
        self.bases.memory() + self.fresh.held() + self.delta.memory() + followed
    }

    fn note(&mut self, code: Code, (at, len): (usize, usize)) {
        self.notes.push(Note { code, at, len });
    }

    /// Handles an ack: drops the snapshots that the client dropped, and notes proven faults of its acks and inputs.
    fn ack(&mut self, ack: Ack) {
        let tick = ack.tick.0;
        if self.bases.at(tick).is_none() {
            self.acks.not_seen(tick);
        }
        self.bases.on_ack(tick);
        self.acks.on_ack(ack, &mut self.notes);
    }

    /// Drops all snapshots.
    fn forget(&mut self) {
        self.bases.clear();
        self.ids.forget();
        self.collector.forget();
        self.acks.forget(self.trust.missed());
        self.trust.forget();
    }
}
