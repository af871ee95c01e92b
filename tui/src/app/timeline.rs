//! The time line of a recording: the listed part of it, and the position to move to.
//!
//! Positions are byte offsets, since times are known only for the parts that were read.

use std::{collections::VecDeque, ops::Range};

use ratatui::layout::Rect;
use teetap_proxy::session::Time;

/// Number of steps in the time line; a key moves by one step.
const STEPS: u64 = 20;

/// Bytes before the end of a recording at which reading starts to show its end: about as much as the history keeps.
const TAIL: u64 = 4 << 20;

/// A position in the recording to move to, or another change of the reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seek {
    /// This byte offset.
    To(u64),
    /// The first event at this time or later.
    Time(Time),
    /// The last event.
    End,
    /// The matches of a changed filter.
    Filter,
    /// The end of the reading.
    Stop,
}

/// State of the reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// Further rows are being read.
    #[default]
    On,
    /// The list is full. Reading continues when the last rows are selected.
    Waiting,
    /// The user stopped the reading.
    Stopped,
    /// The recording was read to its end.
    Ended,
}

/// The time line of a recording.
#[derive(Debug)]
pub(crate) struct Timeline {
    /// Size of the recording in bytes.
    pub(crate) size: u64,
    /// Number of bytes that the index covers.
    pub(crate) indexed: u64,
    /// Byte range of the listed rows.
    pub(crate) listed: Range<u64>,
    /// State of the reading.
    pub(crate) reading: Reading,
    /// Time of the last event; `None` until it is known.
    pub(crate) until: Option<Time>,
    /// True if the reading covers the whole recording, so that Esc stops it.
    pub(crate) is_long: bool,
    /// Position on the screen, for clicks.
    pub(crate) area: Rect,
    /// Row numbers, each with the byte offset from which the row was read.
    marks: VecDeque<(u64, u64)>,
    wanted: Option<Seek>,
}

impl Timeline {
    /// Returns the time line of a recording with this size in bytes.
    #[must_use]
    pub(crate) fn new(size: u64) -> Self {
        Self {
            size,
            indexed: 0,
            listed: 0..0,
            reading: Reading::On,
            until: None,
            is_long: false,
            area: Rect::default(),
            marks: VecDeque::new(),
            wanted: None,
        }
    }

    /// Starts to list rows from this byte offset.
    pub(crate) fn begin(&mut self, at: u64) {
        self.listed = at..at;
        self.reading = Reading::On;
        self.marks.clear();
    }

    /// Records that rows from `row` on were read after byte `read`. `first` is the first row that is kept.
    pub(crate) fn mark(&mut self, row: u64, read: u64, first: u64) {
        self.marks.push_back((row, read));
        while self.marks.get(1).is_some_and(|(next, _)| *next <= first) {
            self.marks.pop_front();
        }
        if let Some((_, begin)) = self.marks.front() {
            self.listed.start = *begin;
        }
    }

    /// Returns true unless the rows of the whole recording are listed.
    #[must_use]
    pub(crate) fn is_part(&self) -> bool {
        self.listed.start > 0 || self.reading != Reading::Ended
    }

    /// Returns the byte offset of a row.
    #[must_use]
    pub(crate) fn offset_of(&self, row: u64) -> u64 {
        let after = self.marks.partition_point(|(first, _)| *first <= row);
        let mark = after.checked_sub(1).and_then(|at| self.marks.get(at));
        mark.map_or(self.listed.start, |(_, offset)| *offset)
    }

    /// Requests a move to a position.
    pub(crate) fn seek(&mut self, seek: Seek) {
        self.wanted = Some(seek);
    }

    /// Requests a move by one step, from byte offset `from`.
    pub(crate) fn step(&mut self, from: u64, is_later: bool) {
        let step = (self.size / STEPS).max(1);
        let to = if is_later {
            from.saturating_add(step).min(self.size)
        } else {
            from.saturating_sub(step)
        };
        self.seek(if to >= self.size { Seek::End } else { Seek::To(to) });
    }

    /// Requests a move to the position at a screen column.
    pub(crate) fn click(&mut self, column: u16) {
        let (column, width) = (u64::from(column - self.area.x), u64::from(self.area.width.max(1)));
        self.seek(Seek::To(self.size / width * column));
    }

    /// Stops the reading if it covers the whole recording. Returns true if it was stopped.
    pub(crate) fn stop(&mut self) -> bool {
        let stops = self.is_long && self.reading == Reading::On;
        if stops {
            self.seek(Seek::Stop);
        }
        stops
    }

    /// Returns the requested position and clears it.
    pub(crate) fn take_wanted(&mut self) -> Option<Seek> {
        self.wanted.take()
    }

    /// Returns the byte offset at which reading starts to show the end.
    #[must_use]
    pub(crate) fn tail(&self) -> u64 {
        self.size.saturating_sub(TAIL)
    }

    /// Returns true if the index must grow before the screen can move to `seek`.
    #[must_use]
    pub(crate) fn is_beyond(&self, seek: Seek) -> bool {
        self.indexed < self.size
            && match seek {
                Seek::To(offset) => offset > self.indexed,
                Seek::End => self.tail() > self.indexed,
                Seek::Time(_) => true,
                Seek::Filter | Seek::Stop => false,
            }
    }

    /// Converts a number of bytes to percent of the recording.
    #[must_use]
    pub(crate) fn percent(&self, bytes: u64) -> u64 {
        let size = u128::from(self.size.max(1));
        u64::try_from(u128::from(bytes) * 100 / size).map_or(100, |percent| percent.min(100))
    }
}

/// A text is not a position in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write goto TIME or goto PERCENT, such as goto 90s, goto 5min or goto 50%")]
pub(crate) struct UnknownPlace;

/// Parses a position: a time such as `90s` or `90`, or a percentage such as `50%`.
///
/// # Errors
/// The text is neither.
pub(crate) fn place(text: &str, size: u64) -> Result<Seek, UnknownPlace> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| *number >= 0.0);
    if let Some(percent) = text.strip_suffix('%') {
        let percent = number(percent)
            .filter(|percent| *percent <= 100.0)
            .ok_or(UnknownPlace)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most the size, and not negative"
        )]
        let offset = (size as f64 * percent / 100.0) as u64;
        return Ok(if offset >= size {
            Seek::End
        } else {
            Seek::To(offset)
        });
    }
    let (value, unit) = [("min", 60e6), ("ms", 1e3), ("s", 1e6), ("h", 3600e6), ("", 1e6)]
        .into_iter()
        .find_map(|(unit, micros)| Some((text.strip_suffix(unit)?, micros)))
        .ok_or(UnknownPlace)?;
    let micros = number(value).ok_or(UnknownPlace)? * unit;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and far below the limit of the type"
    )]
    Ok(Seek::Time(Time(micros.min(1e18) as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_times_or_percent() {
        for (text, seek) in [
            ("90s", Seek::Time(Time(90_000_000))),
            ("1.5", Seek::Time(Time(1_500_000))),
            ("250ms", Seek::Time(Time(250_000))),
            ("2min", Seek::Time(Time(120_000_000))),
            ("1h", Seek::Time(Time(3_600_000_000))),
            ("0%", Seek::To(0)),
            ("50%", Seek::To(500)),
            ("100%", Seek::End),
        ] {
            assert_eq!(place(text, 1000), Ok(seek), "{text}");
        }
        for wrong in ["", "x", "-1s", "101%", "5 parsecs", "s"] {
            assert!(place(wrong, 1000).is_err(), "{wrong}");
        }
    }

    #[test]
    fn rows_know_the_bytes_before_them() {
        let mut timeline = Timeline::new(1000);
        timeline.begin(100);
        for (row, read) in [(0, 100), (10, 150), (20, 200)] {
            timeline.mark(row, read, 0);
        }
        assert_eq!(
            [0, 9, 10, 25].map(|row| timeline.offset_of(row)),
            [100, 100, 150, 200]
        );
        timeline.mark(30, 250, 12);
        assert_eq!((timeline.listed.start, timeline.offset_of(12)), (150, 150));
        timeline.step(200, true);
        assert_eq!(timeline.take_wanted(), Some(Seek::To(250)));
        timeline.step(30, false);
        assert_eq!(timeline.take_wanted(), Some(Seek::To(0)));
        timeline.step(990, true);
        assert_eq!(timeline.take_wanted(), Some(Seek::End));
        assert_eq!((timeline.percent(345), timeline.percent(5000)), (34, 100));
        assert!(!timeline.stop());
        timeline.is_long = true;
        assert!(timeline.stop());
        assert_eq!(timeline.take_wanted(), Some(Seek::Stop));
    }
}
