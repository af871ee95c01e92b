//! The effect of one link line on one datagram, and counts of them.

use std::collections::BTreeMap;
use std::fmt;

use teetap_wire::Dir;

/// The effect of one line on a datagram, or on a copy of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Impact {
    /// The index of the line in its program.
    pub line: u16,
    /// The number of the copy among those that reach the line, from 0.
    pub copy: u8,
    /// True for the duplicate that the line made of the copy.
    pub duplicate: bool,
    /// The cause of a loss; `None` if it passed.
    pub lost: Option<Lost>,
    /// The delay in nanoseconds.
    pub delay: u64,
    /// True if it overtakes those before it.
    pub overtakes: bool,
    /// The bit that was flipped, counted from the lowest bit of the first byte.
    pub flip: Option<u32>,
}

/// A datagram of a session that has passed a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// The direction.
    pub dir: Dir,
    /// The number in its session and direction, from 1. Those outside a connection have numbers of their own.
    pub datagram: u64,
    /// True if it is outside a connection.
    pub connless: bool,
}

/// The effects of a line in another run, by session and datagram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LineFaults(BTreeMap<Place, Vec<Impact>>);

/// Session, direction, connless or not, number of the datagram.
type Place = (u32, u8, bool, u64);

const fn place((session, passed): (u32, Passed)) -> Place {
    (session, passed.dir as u8, passed.connless, passed.datagram)
}

impl LineFaults {
    /// Adds an effect on a datagram of a session.
    pub(crate) fn insert(&mut self, of: (u32, Passed), impact: Impact) {
        self.0.entry(place(of)).or_default().push(impact);
    }

    /// Returns the effect on a copy of a datagram, or on the duplicate of it.
    pub(super) fn get(&self, of: (u32, Passed), (copy, duplicate): (usize, bool)) -> Option<&Impact> {
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

/// Numbers of datagrams and duplicates by the effect that a line had on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Lost.
    pub lost: u64,
    /// Delayed.
    pub delayed: u64,
    /// Duplicates that the line made.
    pub duplicated: u64,
    /// Let overtake others.
    pub reordered: u64,
    /// With a flipped bit.
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

    /// Returns each number with its word.
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

/// The cause of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// `loss`
    Loss,
    /// `blackhole`
    Blackhole,
    /// The queue of a `rate` was full.
    Queue,
    /// Too many bytes of the session were waiting in the proxy.
    Full,
}

impl Lost {
    /// All causes.
    pub const ALL: [Self; 4] = [Self::Loss, Self::Blackhole, Self::Queue, Self::Full];
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loss => "loss",
            Self::Blackhole => "blackhole",
            Self::Queue => "queue",
            Self::Full => "full",
        })
    }
}
