//! Completes a snapshot from its parts and its base, and judges it.

use std::sync::Arc;

use super::{Last, Outcome, Store};
use crate::note::Code;
use crate::snap::delta::Counts;
use crate::snap::forms::Head;
use crate::snap::ids::Reused;
use crate::snap::kept::REMEMBERED;
use crate::snap::view::{Completed, Crc, Fate};
use crate::snap::{FIRST_EXTENDED, MAX_ITEMS, MAX_PARTS, MAX_SIZE, PART};

/// Minimum number of items of an almost full snapshot.
const NEAR_ITEMS: usize = MAX_ITEMS - 24;
/// Minimum number of bytes of an almost full snapshot.
const NEAR_SIZE: usize = MAX_SIZE - (2 << 10);
/// Minimum number of parts of an almost full snapshot.
const NEAR_PARTS: i32 = 62;

impl Store<'_> {
    pub(super) fn snap(&mut self, head: Head, bytes: &[u8]) -> Option<Last> {
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
            // whose base could not be decoded because its own base is missing, nor for a base that the client has
            // acked: then the recording lacks it.
            let is_acked = self.acks.has_unseen(head.base);
            if self.trust.whole() && !self.trust.missed() && !is_acked && late.is_none() {
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

    pub(super) fn view(&self, head: &Head, parts: u8, outcome: Outcome) -> Completed<'_> {
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
}
