//! Parts of a snapshot, until all are there.
//!
//! Law: as clients do it: one snapshot at a time, every part at its place, of each the last one that came.

use super::forms::Head;
use super::{MAX_PARTS, PART};
use crate::note::{Code, Note, Notes};

/// A snapshot of which parts are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receiving {
    /// Its tick.
    pub tick: i32,
    /// Its parts.
    pub parts: u8,
    /// A bit for each part that is there, the lowest for part 0.
    pub have: u64,
}

/// What has come of it.
#[derive(Debug, Default, Clone)]
pub(super) struct Parts {
    now: Option<Receiving>,
    base: i32,
    crc: Option<i32>,
    /// Bytes of the last part.
    last: usize,
    data: Vec<u8>,
}

impl Receiving {
    /// Parts that are there.
    #[must_use]
    pub const fn there(&self) -> u32 {
        self.have.count_ones()
    }
}

impl Parts {
    pub(super) const fn now(&self) -> Option<Receiving> {
        self.now
    }

    /// Forgets what came; whether that was something.
    pub(super) fn give_up(&mut self) -> bool {
        self.now.take().is_some()
    }

    /// Adds a part, which `head` says is one of `parts`; at most [`MAX_PARTS`]. Whether all are there.
    pub(super) fn add(&mut self, head: &Head, part: u8, parts: u8, bytes: &[u8], notes: &mut Notes) -> bool {
        let mut note = |code, (at, len)| notes.push(Note { code, at, len });
        let places = &head.places;
        let begins = self.now.is_none();
        let mut now = self.now.unwrap_or(Receiving {
            tick: head.tick,
            parts,
            have: 0,
        });
        if begins {
            self.data.clear();
            self.last = 0;
        } else {
            if now.parts != parts {
                note(Code::SnapPartsDiffer, places.parts);
            }
            if self.base != head.base {
                note(Code::SnapPartsDiffer, places.base);
            }
            if self.crc != head.crc {
                note(Code::SnapPartsDiffer, places.crc);
            }
        }
        // What the last message says is what counts.
        (self.base, self.crc, now.parts) = (head.base, head.crc, parts);
        let (bit, start) = (1u64 << (part % 64), usize::from(part) * PART);
        if now.have & bit != 0 {
            note(Code::SnapPartAgain, places.parts);
        }
        if part + 1 == parts {
            self.last = bytes.len();
        } else if bytes.len() < PART {
            note(Code::SnapPartShort, places.data);
        }
        if self.data.len() < usize::from(parts) * PART {
            self.data.resize(usize::from(parts) * PART, 0);
        }
        if let Some(place) = self.data.get_mut(start..start + bytes.len()) {
            place.copy_from_slice(bytes);
        }
        now.have |= bit;
        let whole = now.have == u64::MAX >> (MAX_PARTS - usize::from(parts));
        self.now = Some(now).filter(|_| !whole);
        if whole {
            self.data.truncate((usize::from(parts) - 1) * PART + self.last);
        }
        whole
    }

    /// The data of the parts, when all are there.
    pub(super) fn joined(&self) -> &[u8] {
        &self.data
    }
}
