//! The log: lines of the program itself, notices, and changes of sessions.
//!
//! Law: bounded by the number of lines and their bytes; the oldest lines are dropped first.

use std::{collections::VecDeque, ops::Range};

use teetap_inspect::{DecodedEvent, Kind, Style, row};
use teetap_proxy::session::{EventKind, Level, Time};

use super::{clock::seconds, tail::Tail};

/// Maximum number of lines.
const LINES: usize = 10_000;

/// Maximum bytes of their text.
const BYTES: usize = 2 << 20;

/// A line of the log.
#[derive(Clone, Debug)]
pub(crate) struct LogLine {
    /// Kind of the line, which selects its style.
    pub(crate) kind: Kind,
    /// Text with time and session.
    pub(crate) text: String,
}

/// The lines.
#[derive(Debug, Default)]
pub(crate) struct Log {
    lines: VecDeque<LogLine>,
    /// Number of the first line.
    first: u64,
    bytes: usize,
    /// Selected line and visible part.
    pub(crate) tail: Tail,
}

impl Log {
    /// Adds an event. Returns true if it has a line here.
    pub(crate) fn event(&mut self, decoded: &DecodedEvent) -> bool {
        if !matches!(decoded.event.what, EventKind::Session(_) | EventKind::Notice(_)) {
            return false;
        }
        // Adds all lines, whatever the message list shows.
        let rows = row::rows(decoded, Style::default());
        for row in rows {
            self.push(LogLine {
                kind: row.kind,
                text: row.into_text(),
            });
        }
        true
    }

    /// Adds a line of the program itself.
    pub(crate) fn line(&mut self, at: Time, level: Level, text: &str) {
        let (kind, word) = match level {
            Level::Info => (Kind::Info, ""),
            Level::Warning => (Kind::Warning, "warning: "),
        };
        let at = seconds(at - Time::ZERO);
        self.push(LogLine {
            kind,
            text: format!("{at} -   teetap: {word}{text}"),
        });
    }

    /// Records that `lost` events were missed.
    pub(crate) fn gap(&mut self, lost: u64) {
        self.push(LogLine {
            kind: Kind::Warning,
            text: row::gap(lost).into_text(),
        });
    }

    fn push(&mut self, entry: LogLine) {
        self.bytes += entry.text.len();
        self.lines.push_back(entry);
        while self.lines.len() > LINES || self.bytes > BYTES {
            let Some(oldest) = self.lines.pop_front() else {
                break;
            };
            self.bytes -= oldest.text.len();
            self.first += 1;
        }
    }

    /// Returns the range of line numbers.
    #[must_use]
    pub(crate) fn numbers(&self) -> Range<u64> {
        self.first..self.first + self.lines.len() as u64
    }

    /// Returns the line with this number; `None` if it is not kept.
    #[must_use]
    pub(crate) fn get(&self, number: u64) -> Option<&LogLine> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.lines.get(index)
    }
}
