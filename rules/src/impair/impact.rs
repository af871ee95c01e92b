//! The effect of one link line on one datagram, and counts of effects.

use std::collections::BTreeMap;

use teetap_wire::Dir;

/// Effect of one line on a datagram or on a copy of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impact {
    /// Index of the line in its program.
    pub line: u16,
    /// Index of the copy among the copies that reach the line.
    pub copy: u8,
    /// True for the duplicate of the copy that the line created.
    pub duplicate: bool,
    /// Cause of a loss; `None` if the copy was not lost.
    pub lost: Option<Lost>,
    /// Delay in nanoseconds.
    pub delay: u64,
    /// True if the copy overtakes earlier datagrams.
    pub overtakes: bool,
    /// Flipped bit, counted from the lowest bit of the first byte.
    pub flip: Option<u32>,
}

/// A datagram of a session that has passed a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassedDatagram {
    /// Direction of the datagram.
    pub dir: Dir,
    /// Number in its session and direction, from 1. Datagrams outside a connection are numbered separately.
    pub datagram: u64,
    /// True if the datagram is outside a connection.
    pub connless: bool,
}

/// Effects of a line in another run, by session and datagram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineFaults(BTreeMap<DatagramKey, Vec<Impact>>);

/// Session, direction, whether it is connless, and number of the datagram.
type DatagramKey = (u32, u8, bool, u64);

const fn place((session, passed): (u32, PassedDatagram)) -> DatagramKey {
    (session, passed.dir as u8, passed.connless, passed.datagram)
}

impl LineFaults {
    /// Adds an effect on a datagram of a session.
    pub(crate) fn insert(&mut self, of: (u32, PassedDatagram), impact: Impact) {
        self.0.entry(place(of)).or_default().push(impact);
    }

    /// Returns the effect on a copy of a datagram, or on its duplicate.
    pub(super) fn get(&self, of: (u32, PassedDatagram), (copy, duplicate): (usize, bool)) -> Option<&Impact> {
        let impacts = self.0.get(&place(of))?;
        impacts
            .iter()
            .find(|impact| (usize::from(impact.copy), impact.duplicate) == (copy, duplicate))
    }
}

impl Impact {
    /// Returns true if the line changed something.
    pub(super) const fn is_effect(&self) -> bool {
        self.duplicate || self.lost.is_some() || self.delay > 0 || self.overtakes || self.flip.is_some()
    }
}

/// Numbers of datagrams and duplicates, by the effect of a line on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of lost copies.
    pub lost: u64,
    /// Number of delayed copies.
    pub delayed: u64,
    /// Number of duplicates that the line created.
    pub duplicated: u64,
    /// Number of copies that overtook others.
    pub reordered: u64,
    /// Number of copies with a flipped bit.
    pub corrupted: u64,
}

impl Tally {
    pub(crate) fn count(&mut self, impact: &Impact) {
        self.lost += u64::from(impact.lost.is_some());
        self.delayed += u64::from(impact.delay > 0 && impact.lost.is_none());
        self.duplicated += u64::from(impact.duplicate);
        self.reordered += u64::from(impact.overtakes);
        self.corrupted += u64::from(impact.flip.is_some());
    }

    /// Returns each count with its word.
    #[must_use]
    pub const fn counts(&self) -> [(u64, &'static str); 5] {
        [
            (self.lost, "lost"),
            (self.delayed, "delayed"),
            (self.duplicated, "duplicated"),
            (self.reordered, "reordered"),
            (self.corrupted, "corrupted"),
        ]
    }
}

/// Cause of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Lost {
    /// `loss`
    Loss,
    /// `blackhole`
    Blackhole,
    /// The queue of a `rate` was full.
    Queue,
    /// The link queue of one direction is full.
    Full,
}
