//! The time line of a recording: the part that is listed, and the place to go to.
//!
//! Places are bytes of the recording: its times are known where it was read.

use std::{collections::VecDeque, ops::Range};

use ratatui::layout::Rect;
use teetap_proxy::session::Time;

/// Steps of the time line: a key moves by one of them.
const STEPS: u64 = 20;

/// A place of the recording to go to, or another change of the reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seek {
    /// This byte.
    To(u64),
    /// The first event of this time.
    Time(Time),
    /// The last event.
    End,
    /// The filter has changed.
    Filter,
    /// Nothing more is read.
    Stop,
}

/// The state of the reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// Further rows come.
    #[default]
    On,
    /// The list has as many rows as it keeps; more come when the last ones are selected.
    Waiting,
    /// The user has stopped it.
    Stopped,
    /// The recording is read up to its end.
    Ended,
}

/// The time line.
#[derive(Debug)]
pub struct Timeline {
    /// Bytes of the recording.
    pub size: u64,
    /// Bytes that can be gone to.
    pub indexed: u64,
    /// The bytes from which rows are listed.
    pub listed: Range<u64>,
    /// The state of the reading.
    pub reading: Reading,
    /// The time of the last event, once it is known.
    pub until: Option<Time>,
    /// Esc stops the reading: it goes through the whole recording.
    pub is_long: bool,
    /// The place on the screen, for clicks.
    pub area: Rect,
    /// The numbers of rows, with the bytes that were read before them.
    marks: VecDeque<(u64, u64)>,
    wanted: Option<Seek>,
}

impl Timeline {
    /// The time line of a recording of this size.
    #[must_use]
    pub fn new(size: u64) -> Self {
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

    /// Begins to list from this byte.
    pub fn begin(&mut self, at: u64) {
        self.listed = at..at;
        self.reading = Reading::On;
        self.marks.clear();
    }

    /// Notes that the rows from this number on come from after so many bytes. `first` is the first row that is kept.
    pub fn mark(&mut self, row: u64, read: u64, first: u64) {
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
    pub fn is_part(&self) -> bool {
        self.listed.start > 0 || self.reading != Reading::Ended
    }

    /// Returns the bytes before a row.
    #[must_use]
    pub fn offset_of(&self, row: u64) -> u64 {
        let after = self.marks.partition_point(|(first, _)| *first <= row);
        let mark = after.checked_sub(1).and_then(|at| self.marks.get(at));
        mark.map_or(self.listed.start, |(_, offset)| *offset)
    }

    /// Goes to a place as soon as possible.
    pub fn seek(&mut self, seek: Seek) {
        self.wanted = Some(seek);
    }

    /// Goes by a step to an earlier or later place than this one.
    pub fn step(&mut self, from: u64, is_later: bool) {
        let step = (self.size / STEPS).max(1);
        let to = if is_later {
            from.saturating_add(step).min(self.size)
        } else {
            from.saturating_sub(step)
        };
        self.seek(if to >= self.size { Seek::End } else { Seek::To(to) });
    }

    /// Goes to the place of a column of the line.
    pub fn click(&mut self, column: u16) {
        let (column, width) = (u64::from(column - self.area.x), u64::from(self.area.width.max(1)));
        self.seek(Seek::To(self.size / width * column));
    }

    /// Stops the reading if it goes through the whole recording. Returns true if it does.
    pub fn stop(&mut self) -> bool {
        let stops = self.is_long && self.reading == Reading::On;
        if stops {
            self.seek(Seek::Stop);
        }
        stops
    }

    /// Takes the place to go to.
    pub fn take_wanted(&mut self) -> Option<Seek> {
        self.wanted.take()
    }

    /// Returns a part of the recording in percent.
    #[must_use]
    pub fn percent(&self, bytes: u64) -> u64 {
        let size = u128::from(self.size.max(1));
        u64::try_from(u128::from(bytes) * 100 / size).map_or(100, |percent| percent.min(100))
    }
}

/// Reads a place: a time such as `90s` or `90`, or a part such as `50%`.
///
/// # Errors
/// Returns the forms that are expected.
pub fn place(text: &str, size: u64) -> Result<Seek, String> {
    let wrong = || "write goto TIME or goto PERCENT, such as goto 90s, goto 5min or goto 50%".to_owned();
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| *number >= 0.0);
    if let Some(percent) = text.strip_suffix('%') {
        let percent = number(percent)
            .filter(|percent| *percent <= 100.0)
            .ok_or_else(wrong)?;
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
        .ok_or_else(wrong)?;
    let micros = number(value).ok_or_else(wrong)? * unit;
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
