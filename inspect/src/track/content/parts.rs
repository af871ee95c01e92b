//! Parts of snapshots that a server never sends.
//!
//! A server sends all parts of a snapshot one after the other (`DoSnapshot` in `server.cpp` of Teeworlds 0.6.5, 0.7.5 and
//! of DDNet). A client drops a snapshot with missing parts (`NETMSG_SNAP` in `client.cpp`). A network loses parts at
//! random, or the largest ones, or the last ones of many that are sent at once. Therefore only snapshots of few parts
//! count, and only parts that are not larger than a part that arrives.

use teetap_wire::Code;

use super::{ContentFact, message::Snap};

/// Minimum number of consecutive snapshots of several parts that lack the same part.
const MANY: u16 = 20;

/// Maximum number of parts of a snapshot that counts.
const MOST: i32 = 4;

/// The incomplete snapshots of a session.
#[derive(Debug, Default)]
pub(super) struct MissingParts {
    /// The newest snapshot of several parts.
    now: Option<Receiving>,
    /// One bit for each part that all snapshots of the series lack, the lowest for the last part.
    common: u8,
    count: u16,
    is_reported: bool,
}

/// A snapshot with the parts that were sent.
#[derive(Clone, Copy, Debug)]
struct Receiving {
    tick: i32,
    parts: i32,
    /// One bit for each part that was sent, the lowest for the last part.
    have: u8,
}

impl Receiving {
    /// Returns the parts that were not sent although another part of the same size or a larger one was.
    const fn missing(self) -> u8 {
        let all = (1u8 << self.parts) - 1;
        let missing = all & !self.have;
        // The last part may be smaller than the others.
        let has_full = self.have & !1 != 0;
        if has_full { missing } else { 0 }
    }
}

impl MissingParts {
    fn restart(&mut self) {
        *self = Self {
            is_reported: self.is_reported,
            ..Self::default()
        };
    }

    /// Records a part of a snapshot.
    pub(super) fn record(&mut self, snap: &Snap) -> Option<(Code, ContentFact)> {
        if snap.parts == 1 {
            return None;
        }
        if !(2..=MOST).contains(&snap.parts) || !(0..snap.parts).contains(&snap.part) {
            self.restart();
            return None;
        }
        let bit = 1u8 << (snap.parts - 1 - snap.part);
        let receiving = Receiving {
            tick: snap.tick,
            parts: snap.parts,
            have: bit,
        };
        let Some(now) = &mut self.now else {
            self.now = Some(receiving);
            return None;
        };
        if snap.tick == now.tick {
            now.have |= bit;
            return None;
        }
        if snap.tick < now.tick {
            // The part was late, and not missing.
            self.restart();
            return None;
        }
        let before = std::mem::replace(now, receiving);
        self.finish(before)
    }

    fn finish(&mut self, snapshot: Receiving) -> Option<(Code, ContentFact)> {
        let missing = snapshot.missing();
        self.common = if self.count == 0 {
            missing
        } else {
            self.common & missing
        };
        if self.common == 0 {
            self.count = 0;
            return None;
        }
        self.count = self.count.saturating_add(1);
        if self.count < MANY || std::mem::replace(&mut self.is_reported, true) {
            return None;
        }
        let from_last = i32::try_from(self.common.trailing_zeros()).unwrap_or_default();
        let fact = ContentFact::PartNever {
            part: snapshot.parts - from_last,
            parts: snapshot.parts,
            snapshots: self.count,
        };
        Some((Code::SnapPartNever, fact))
    }
}
