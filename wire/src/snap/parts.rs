//! Collects the parts of a snapshot until it is complete.
//!
//! Law: parts are handled as in clients: only one snapshot is collected at a time, each part is stored at the position
//! of its number, and a later copy of a part replaces an earlier copy.

use super::forms::Head;
use super::{MAX_PARTS, PART};
use crate::note::{Code, Note, Notes};

/// A snapshot with missing parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receiving {
    /// The tick.
    pub tick: i32,
    /// The number of parts.
    pub parts: u8,
    /// One bit for each part that was received, the lowest for part 0.
    pub have: u64,
}

/// The parts received so far.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    now: Option<Receiving>,
    base: i32,
    crc: Option<i32>,
    /// The length in bytes of each part that was received.
    lens: [u16; MAX_PARTS],
    data: Vec<u8>,
}

impl Default for Parts {
    fn default() -> Self {
        Self {
            now: None,
            base: 0,
            crc: None,
            lens: [0; MAX_PARTS],
            data: Vec::new(),
        }
    }
}

impl Parts {
    pub(super) const fn now(&self) -> Option<Receiving> {
        self.now
    }

    /// Discards the parts. Returns true if there were any.
    pub(super) fn give_up(&mut self) -> bool {
        self.now.take().is_some()
    }

    /// Returns the number of bytes of memory held.
    pub(super) fn memory(&self) -> usize {
        self.data.capacity()
    }

    /// Adds a part, one of `parts` (at most [`MAX_PARTS`]) according to `head`. Returns true if the snapshot is
    /// complete.
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
        // The values of the last message are used.
        (self.base, self.crc, now.parts) = (head.base, head.crc, parts);
        let (bit, start) = (1u64 << (part % 64), usize::from(part) * PART);
        if now.have & bit != 0 {
            note(Code::SnapPartAgain, places.parts);
        }
        if part + 1 < parts && bytes.len() < PART {
            note(Code::SnapPartShort, places.data);
        }
        if let (Some(slot), Ok(len)) = (self.lens.get_mut(usize::from(part)), u16::try_from(bytes.len())) {
            *slot = len;
        }
        if self.data.len() < usize::from(parts) * PART {
            self.data.resize(usize::from(parts) * PART, 0);
        }
        // After a short part clients keep old bytes; here they are zeros.
        let place = self.data.iter_mut().skip(start).take(PART);
        let zeros = std::iter::repeat(&0);
        place
            .zip(bytes.iter().chain(zeros))
            .for_each(|(place, byte)| *place = *byte);
        now.have |= bit;
        let whole = now.have == u64::MAX >> (MAX_PARTS - usize::from(parts));
        self.now = Some(now).filter(|_| !whole);
        if whole {
            let last = usize::from(parts - 1);
            let len = self.lens.get(last).copied().unwrap_or(0);
            self.data.truncate(last * PART + usize::from(len));
        }
        whole
    }

    /// Returns the joined data of all parts, once they are complete.
    pub(super) fn joined(&self) -> &[u8] {
        &self.data
    }
}
