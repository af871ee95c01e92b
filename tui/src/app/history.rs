//! The history of rows: messages, sessions, notices, gaps and lines of the program.
//!
//! Law: bounded by bytes. Each row has a number that never changes; the oldest rows are dropped first. Rare rows have a
//! limit of their own: the newest of each type stay when they are dropped, such as those of a handshake.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Range,
    sync::Arc,
};

use teetap_inspect::{
    DecodedEvent, Kind, Message, Reading,
    lines::{About, Line},
};
use teetap_proxy::session::{EventKind, Level, SessionId, Time};
use teetap_wire::{Dir, def::Frequency};

/// Default limit of the history, in bytes.
pub(crate) const HISTORY: usize = 64 << 20;

/// Maximum rare rows of a type that stay.
const RARE: usize = 32;

/// Part of the limit that rare rows may use.
const RARE_PART: usize = 8;

/// Bytes below the limit from which a history counts as full.
const MARGIN: usize = 1 << 20;

/// A row of the list.
#[derive(Clone, Debug)]
pub(crate) enum Row {
    /// A line of an event.
    Line(Arc<DecodedEvent>, Line),
    /// A gap: this many events are missing.
    Gap(u64),
    /// A line of the program itself.
    Log(Time, Level, Box<str>),
}

/// A row of the history.
#[derive(Debug)]
struct Kept {
    row: Row,
    /// Bytes that the row keeps alive.
    bytes: usize,
    /// True if the row passes the filter.
    passes: bool,
}

/// Rows with their numbers.
#[derive(Debug)]
pub(crate) struct History {
    rows: VecDeque<Kept>,
    /// Number of the first row.
    first: u64,
    bytes: usize,
    /// Maximum bytes that the rows keep alive.
    pub(crate) limit: usize,
    /// Rare rows that are older than the first row.
    rare: BTreeMap<u64, Kept>,
    /// Numbers of the rare rows by type.
    types: BTreeMap<(&'static str, bool), VecDeque<u64>>,
    rare_bytes: usize,
    /// True to keep rare rows.
    pub(crate) keeps_rare: bool,
    /// Numbers of rows that were dropped since they were last taken.
    gone: Vec<u64>,
}

impl Default for History {
    fn default() -> Self {
        Self {
            rows: VecDeque::new(),
            first: 0,
            bytes: 0,
            limit: HISTORY,
            rare: BTreeMap::new(),
            types: BTreeMap::new(),
            rare_bytes: 0,
            keeps_rare: true,
            gone: Vec::new(),
        }
    }
}

impl History {
    /// Forgets all rows.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        (self.first, self.bytes) = (0, 0);
        self.rare.clear();
        self.types.clear();
        self.rare_bytes = 0;
        self.gone.clear();
    }

    /// Returns true if another row may displace the oldest one.
    #[must_use]
    pub(crate) const fn is_full(&self) -> bool {
        self.bytes + MARGIN >= self.limit
    }

    /// Adds a row that keeps `bytes` bytes alive. Drops the oldest rows if the limit is exceeded.
    pub(crate) fn push(&mut self, row: Row, bytes: usize) {
        let bytes = bytes + size_of::<Kept>();
        self.bytes += bytes;
        self.rows.push_back(Kept {
            row,
            bytes,
            passes: true,
        });
        while self.bytes > self.limit && self.rows.len() > 1 {
            if let Some(oldest) = self.rows.pop_front() {
                self.bytes = self.bytes.saturating_sub(oldest.bytes);
                self.first += 1;
                self.retire(self.first - 1, oldest);
            }
        }
    }

    /// Keeps a dropped row if it is rare, instead of an older one of its type if there are many.
    fn retire(&mut self, number: u64, mut kept: Kept) {
        let kind = kept.row.rare_type().filter(|_| self.keeps_rare);
        let Some(kind) = kind else {
            self.gone.push(number);
            return;
        };
        // Other rows of the event may have counted for its memory.
        let event = kept.row.event().map_or(0, |decoded| cost(decoded));
        kept.bytes = size_of::<Kept>() + event;
        self.rare_bytes += kept.bytes;
        self.rare.insert(number, kept);
        self.types.entry(kind).or_default().push_back(number);
        let is_many = |numbers: &VecDeque<u64>| numbers.len() > RARE;
        while self.types.get(&kind).is_some_and(is_many) {
            self.forget(kind);
        }
        while self.rare_bytes > self.limit / RARE_PART {
            let most = self.types.iter().max_by_key(|(_, numbers)| numbers.len());
            let Some(kind) = most.map(|(kind, _)| *kind) else {
                return;
            };
            self.forget(kind);
        }
    }

    /// Drops the oldest rare row of a type.
    fn forget(&mut self, kind: (&'static str, bool)) {
        let Some(numbers) = self.types.get_mut(&kind) else {
            return;
        };
        let number = numbers.pop_front();
        if numbers.is_empty() {
            self.types.remove(&kind);
        }
        if let Some(kept) = number.and_then(|number| self.rare.remove(&number)) {
            self.rare_bytes = self.rare_bytes.saturating_sub(kept.bytes);
        }
        self.gone.extend(number);
    }

    /// Returns the numbers of the rows that were dropped since the last call.
    pub(crate) fn take_gone(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.gone)
    }

    /// Returns the number of rare rows that are older than the first row.
    #[must_use]
    pub(crate) fn rare_len(&self) -> usize {
        self.rare.len()
    }

    /// Returns the number of the first kept row, which may be a rare one.
    #[must_use]
    pub(crate) fn start(&self) -> u64 {
        let first = self.rare.first_key_value();
        first.map_or(self.first, |(number, _)| *number)
    }

    /// Returns the numbers of all kept rows from this one on.
    pub(crate) fn numbers_from(&self, number: u64) -> impl Iterator<Item = u64> {
        let rare = self.rare.range(number..).map(|(number, _)| *number);
        rare.chain(number.max(self.first)..self.numbers().end)
    }

    fn kept(&self, number: u64) -> Option<&Kept> {
        match number < self.first {
            true => self.rare.get(&number),
            false => self.rows.get(self.index(number)?),
        }
    }

    /// Returns the row with this number; `None` if it is not kept.
    #[must_use]
    pub(crate) fn get(&self, number: u64) -> Option<&Row> {
        self.kept(number).map(|kept| &kept.row)
    }

    /// Returns true if the row with this number passes the filter or is not kept.
    #[must_use]
    pub(crate) fn passes(&self, number: u64) -> bool {
        self.kept(number).is_none_or(|kept| kept.passes)
    }

    /// Sets whether a row passes the filter.
    pub(crate) fn set_passes(&mut self, number: u64, passes: bool) {
        let kept = match self.index(number) {
            None => self.rare.get_mut(&number),
            Some(index) => self.rows.get_mut(index),
        };
        if let Some(kept) = kept {
            kept.passes = passes;
        }
    }

    fn index(&self, number: u64) -> Option<usize> {
        usize::try_from(number.checked_sub(self.first)?).ok()
    }

    /// Returns the numbers of all rows, without older rare ones.
    #[must_use]
    pub(crate) fn numbers(&self) -> Range<u64> {
        self.first..self.first + self.rows.len() as u64
    }
}

impl Row {
    /// Returns the type of a row that stays in a small number when it is dropped, and whether it goes to the server;
    /// `None` for messages that are sent many times a second, gaps and lines of the program.
    fn rare_type(&self) -> Option<(&'static str, bool)> {
        let decoded = self.event()?;
        let is_c2s = match &decoded.event.what {
            EventKind::Datagram(datagram) => datagram.dir == Dir::C2s,
            EventKind::Connless(connless) => connless.dir == Dir::C2s,
            EventKind::Session(_) => return Some(("session", false)),
            _ => return None,
        };
        let (_, message) = self.message()?;
        let is_continuous = message
            .def
            .is_some_and(|def| def.frequency == Frequency::Continuous);
        let name = message
            .name
            .filter(|_| !is_continuous || self.kind() == Kind::Warning)?;
        Some((name, is_c2s))
    }

    /// Returns the kind of the row, which selects its style.
    #[must_use]
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Line(_, line) => line.kind,
            Self::Gap(_) | Self::Log(_, Level::Warning, _) => Kind::Warning,
            Self::Log(..) => Kind::Info,
        }
    }

    /// Returns the time; `None` for a gap.
    #[must_use]
    pub(crate) fn at(&self) -> Option<Time> {
        match self {
            Self::Line(decoded, _) => Some(decoded.event.at),
            Self::Gap(_) => None,
            Self::Log(at, ..) => Some(*at),
        }
    }

    /// Returns the session; `None` if the row belongs to none.
    #[must_use]
    pub(crate) fn session(&self) -> Option<SessionId> {
        match self {
            Self::Line(decoded, _) => decoded.event.session,
            _ => None,
        }
    }

    /// Returns the event; `None` if the row is not a line of an event.
    #[must_use]
    pub(crate) fn event(&self) -> Option<&Arc<DecodedEvent>> {
        match self {
            Self::Line(decoded, _) => Some(decoded),
            _ => None,
        }
    }

    /// Returns the message of the row and its datagram, including connless messages; `None` for other rows.
    #[must_use]
    pub(crate) fn message(&self) -> Option<(&Reading, &Message)> {
        let Self::Line(decoded, line) = self else {
            return None;
        };
        let index = match line.about {
            About::Message { index, .. } => index,
            About::Connless => 0,
            _ => return None,
        };
        let reading = decoded.reading.as_ref()?;
        Some((reading, reading.messages.get(index)?))
    }

    /// Returns true if the row of a message includes the notes on its datagram.
    #[must_use]
    pub(crate) const fn with_datagram(&self) -> bool {
        matches!(
            self,
            Self::Line(
                _,
                Line {
                    about: About::Message {
                        with_datagram: true,
                        ..
                    },
                    ..
                }
            )
        )
    }

    /// Returns true for the line of a datagram without messages.
    #[must_use]
    pub(crate) fn is_bare(&self) -> bool {
        match self {
            Self::Line(decoded, line) => {
                let reading = decoded.reading.as_ref();
                line.about == About::Datagram && reading.is_some_and(Reading::is_bare)
            }
            _ => false,
        }
    }

    /// Returns the index of the message in its reading.
    #[must_use]
    pub(crate) fn index(&self) -> Option<usize> {
        match self {
            Self::Line(_, line) => match line.about {
                About::Message { index, .. } => Some(index),
                About::Connless => Some(0),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Returns an estimate of the memory of an event, in bytes: its datagram, and about four times as much for the fields.
#[must_use]
pub(crate) fn cost(decoded: &DecodedEvent) -> usize {
    let bytes = match &decoded.event.what {
        EventKind::Datagram(datagram) => datagram.received().map_or(0, <[u8]>::len),
        EventKind::Connless(connless) => connless.bytes.len(),
        _ => 0,
    };
    size_of::<DecodedEvent>() + 5 * bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_rows_are_dropped_and_numbers_stay() {
        let cost = 1000 + size_of::<Kept>();
        let mut history = History::default();
        assert_eq!(
            (history.limit, history.rows.is_empty(), history.numbers()),
            (HISTORY, true, 0..0)
        );
        history.limit = 3 * cost;
        let add = |history: &mut History, count| history.push(Row::Gap(count), 1000);
        (0..3).for_each(|count| add(&mut history, count));
        assert_eq!(
            (history.numbers(), history.rows.len()),
            (0..3, 3),
            "exactly the limit"
        );
        history.set_passes(1, false);
        history.set_passes(7, false);
        add(&mut history, 3);
        assert_eq!((history.numbers(), history.rows.len()), (1..4, 3));
        let gaps: Vec<Option<u64>> = (0..5)
            .map(|number| match history.get(number) {
                Some(Row::Gap(count)) => Some(*count),
                _ => None,
            })
            .collect();
        assert_eq!(gaps, [None, Some(1), Some(2), Some(3), None]);
        let passes: Vec<bool> = (0..5).map(|number| history.passes(number)).collect();
        assert_eq!(
            passes,
            [true, false, true, true, true],
            "row 1 does not pass the filter"
        );
        // A row above the limit stays alone.
        history.push(Row::Gap(4), 10 * cost);
        assert_eq!((history.numbers(), history.rows.is_empty()), (4..5, false));
        add(&mut history, 5);
        assert_eq!(history.numbers(), 5..6);
        history.clear();
        assert_eq!((history.numbers(), history.limit), (0..0, 3 * cost));
        (0..4).for_each(|count| add(&mut history, count));
        assert_eq!(history.numbers(), 1..4, "the cleared rows do not count");
    }

    #[test]
    fn a_history_is_full_from_a_margin_below_its_limit() {
        let mut history = History {
            limit: MARGIN + 2000 + size_of::<Kept>(),
            ..History::default()
        };
        history.push(Row::Gap(1), 1999);
        assert!(!history.is_full());
        history.clear();
        history.push(Row::Gap(1), 2000);
        assert!(history.is_full());
    }
}
