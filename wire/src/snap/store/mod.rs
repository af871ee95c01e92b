//! Keeps the snapshots of one session that may be the base of a later snapshot.
//!
//! Law: the store decodes every snapshot that the client can decode, regardless of losses and reordering between the
//! proxy and the client. A snapshot that is received after a newer snapshot may also be a base, because the client may
//! not have received the newer snapshot. When a client decodes a snapshot, it drops all snapshots older than its base;
//! the store drops them when the client acks the snapshot. The memory of a session is bounded. At the limit, the oldest
//! snapshots are dropped first, but never the last base or the last acked snapshot.

mod acks;
mod collector;
mod diagnosis;
mod trust;

use std::sync::Arc;

use self::acks::ClientAcks;
use self::collector::Collector;
use self::trust::Trust;

use super::delta::{Counts, Delta};
use super::forms::{Ack, Forms, Head, Meaning};
use super::ids::{Ids, Reused};
use super::kept::{Bases, REMEMBERED};
use super::parts::Receiving;
use super::snapshot::{Sizes, Snapshot};
use super::view::{Completed, Crc, Fate, Retained};
use super::{FIRST_EXTENDED, MAX_ITEMS, MAX_PARTS, MAX_SIZE, PART};
use crate::def::{Decoded, Def, Registry};
use crate::note::{Code, Note, Notes};
use crate::{Dir, Proto};

/// Minimum number of items of an almost full snapshot.
const NEAR_ITEMS: usize = MAX_ITEMS - 24;
/// Minimum number of bytes of an almost full snapshot.
const NEAR_SIZE: usize = MAX_SIZE - (2 << 10);
/// Minimum number of parts of an almost full snapshot.
const NEAR_PARTS: i32 = 62;

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

    /// Returns true if the last snapshot could be read; after a gap, if a snapshot with the right sum was read since.
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

    fn snap(&mut self, head: Head, bytes: &[u8]) -> Option<Last> {
        self.acks.sent(head.tick);
        let (parts, part) = (u8::try_from(head.parts).ok(), u8::try_from(head.part).ok());
        let right = |parts: u8, part: u8| part < parts && usize::from(parts) <= MAX_PARTS;
        let Some((parts, part)) = parts.zip(part).filter(|(parts, part)| right(*parts, *part)) else {
            self.note(Code::SnapIgnored, head.places.parts);
            return None;
        };
        if usize::try_from(head.size) != Ok(bytes.len()) || bytes.len() > PART {
            self.note(Code::SnapIgnored, head.places.data);
            return None;
        }
        let late = self.lateness(&head);
        if parts == 1 {
            // This snapshot is complete, so the client gives up an older, incomplete snapshot.
            if late.is_none() && self.collector.give_up() {
                self.note(Code::SnapPartsMissing, head.places.tick);
            }
            let outcome = self.complete(&head, bytes, late);
            return Some(Last { head, parts, outcome });
        }
        let mut collected = match late {
            None => self.collector.take_newest(),
            Some(Fate::Late) => self.collector.take_earlier(head.tick),
            Some(_) => return None,
        };
        let is_whole = collected.add(&head, part, parts, bytes, &mut self.notes);
        let outcome = is_whole.then(|| self.complete(&head, collected.joined(), late));
        match late {
            None => self.collector.put_newest(collected),
            Some(_) if is_whole => {}
            Some(_) => self.collector.put_earlier(collected),
        }
        outcome.map(|outcome| Last { head, parts, outcome })
    }

    /// Handles an ack: drops the snapshots that the client dropped, and notes proven faults of its acks and inputs.
    fn ack(&mut self, ack: Ack) {
        self.bases.on_ack(ack.tick.0);
        self.acks.on_ack(ack, &mut self.notes);
    }

    /// Returns a fate if the snapshot is not newer than the newest snapshot; otherwise, records it as the newest.
    fn lateness(&mut self, head: &Head) -> Option<Fate> {
        if self.trust.missed() && head.tick < self.collector.newest().saturating_sub(REMEMBERED) {
            // The ticks belong to another map whose change was missed.
            self.forget();
        }
        if self.at(head.tick).is_some() {
            self.note(Code::SnapAgain, head.places.tick);
            return Some(Fate::Again);
        }
        if head.tick < self.collector.newest() {
            self.note(Code::SnapLate, head.places.tick);
            return Some(Fate::Late);
        }
        if self.collector.advance(head.tick) {
            self.note(Code::SnapPartsMissing, head.places.tick);
        }
        None
    }

    fn complete(&mut self, head: &Head, joined: &[u8], late: Option<Fate>) -> Outcome {
        let broken = self.delta.read(&self.sizes, joined).is_err();
        self.clear_fresh();
        let Some(base) = self.bases.base(head.base) else {
            // A missing base is not noted for a late snapshot, whose base clients have dropped, nor for a snapshot
            // whose base could not be decoded because its own base is missing.
            if self.trust.whole() && !self.trust.missed() && late.is_none() {
                self.note(Code::SnapNoBase, head.places.base);
            }
            return self.no_base(late);
        };
        let mut counts = Counts::default();
        let applied = self
            .delta
            .apply(base, Arc::make_mut(&mut self.fresh), &mut counts);
        let (fresh, registry, proto) = (&self.fresh, self.registry, self.proto);
        self.delta
            .note_types(|kind| match fresh.def(registry, proto, kind) {
                Some(_) => None,
                None if kind >= FIRST_EXTENDED && fresh.uuid(kind).is_none() => Some(Code::SnapUndeclared),
                None => Some(Code::UnknownObject),
            });
        if self.fresh.len() >= NEAR_ITEMS || self.fresh.size() >= NEAR_SIZE || head.parts >= NEAR_PARTS {
            self.note(Code::SnapNearLimit, head.places.data);
        }
        let actual = self.fresh.crc();
        let crc = head.crc.map(|stated| Crc { stated, actual });
        let fate = if broken || applied.is_err() {
            Fate::Broken
        } else if crc.is_some_and(|crc| !crc.ok()) {
            if self.trust.missed() && head.base >= 0 {
                // The server means another snapshot by that tick.
                self.forget();
                self.clear_fresh();
                return self.no_base(late);
            }
            self.note(Code::SnapBadCrc, head.places.crc);
            Fate::BadCrc
        } else {
            late.unwrap_or(Fate::Kept)
        };
        let mut reused = None;
        if fate == Fate::Kept {
            self.acks.readable(head, head.base < 0 && self.notes.is_empty());
            self.trust.correct(head.base < 0 || crc.is_some());
            reused = self.follow_ids(head.tick);
            self.keep(head);
        } else if fate == Fate::Late && !self.trust.missed() && head.tick >= 0 {
            // A negative tick as a base means none.
            self.keep(head);
        } else if late.is_none() {
            let off = crc.map_or(0, |crc| crc.stated.wrapping_sub(crc.actual));
            self.trust.wrong(head.tick, off);
        }
        Outcome {
            fate,
            counts,
            crc,
            reused,
        }
    }

    /// Adds notes about items of the newest snapshot whose ids other items had shortly before. Returns the first such
    /// item.
    fn follow_ids(&mut self, tick: i32) -> Option<Reused> {
        let (delta, mut first) = (&mut self.delta, None);
        self.ids
            .follow(tick, &self.fresh, (self.registry, self.proto), |reused| {
                delta.note_item(reused.key, Code::SnapIdReused);
                first.get_or_insert(reused);
            });
        first
    }

    fn no_base(&mut self, late: Option<Fate>) -> Outcome {
        if late.is_none() {
            self.trust.unreadable();
        }
        let counts = Counts {
            changed: self.delta.updates().len(),
            deleted: self.delta.deleted().len(),
            ..Counts::default()
        };
        Outcome {
            fate: Fate::NoBase,
            counts,
            crc: None,
            reused: None,
        }
    }

    fn view(&self, head: &Head, parts: u8, outcome: Outcome) -> Completed<'_> {
        let Outcome {
            fate,
            counts,
            crc,
            reused,
        } = outcome;
        let may_be_kept = matches!(fate, Fate::Kept | Fate::Late);
        let kept = self.bases.at(head.tick).filter(|_| may_be_kept);
        let before = self.bases.at(head.base).filter(|_| fate != Fate::NoBase);
        Completed {
            tick: head.tick,
            base: Some(head.base).filter(|base| *base >= 0),
            parts,
            crc,
            fate,
            counts,
            notes: &self.notes,
            data_notes: self.delta.notes(),
            data_at: (parts == 1).then_some(head.places.data.0),
            since: None,
            reused,
            snapshot: kept.unwrap_or(&self.fresh),
            before,
            registry: self.registry,
            proto: self.proto,
        }
    }

    /// Keeps the snapshot in `fresh`.
    fn keep(&mut self, head: &Head) {
        Arc::make_mut(&mut self.fresh).shrink();
        self.bases
            .keep(head.tick, head.base, &mut self.fresh, self.acks.acked);
    }

    /// Clears `fresh`, or replaces it if it is still shared.
    fn clear_fresh(&mut self) {
        match Arc::get_mut(&mut self.fresh) {
            Some(fresh) => fresh.clear(),
            None => self.fresh = Arc::default(),
        }
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
