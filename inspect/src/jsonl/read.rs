//! Reads JSON lines: a recording of `-w FILE.jsonl`, or the output of `--json -vv`.
//!
//! Law: an event is restored from the line of its datagram, which contains all bytes. The lines of its messages are
//! ignored, because they are recreated when the event is shown. Unknown fields and kinds, which later versions may add,
//! are skipped. An unreadable line is skipped and reported.

use std::io::BufRead;

use crate::recording::{Item, ReadError, Tally};
use teetap_proxy::session::{EventKind, State};

use super::{
    damage::Damage,
    decode::{self, Parent, Wrong},
    input::{Found, Input},
};

/// Maximum number of lines, before the first datagram line with bytes, that need such a line. A datagram has at most
/// 255 messages.
const MAX_WITHOUT: u32 = 256;

/// The byte order mark that some Windows programs write at the start of a text.
const BOM: &[u8] = b"\xef\xbb\xbf";

const NO_BYTES: ReadError =
    ReadError::Unknown("these lines hold no bytes: record with -w, or with --json -vv");

/// Reads a recording from JSON lines.
#[derive(Debug)]
pub struct Lines<R> {
    input: Input<R>,
    tally: Tally,
    sessions: std::collections::BTreeSet<u32>,
    /// True once a datagram line with bytes was read.
    has_bytes: bool,
    /// Number of lines before it that need such a datagram line.
    without: u32,
    /// Number of lines read so far.
    number: u64,
    /// The datagram whose messages may follow; `None` if unknown.
    parent: Option<Parent>,
    /// True if the lines were written from a capture by another program, in which each datagram is a single packet.
    is_of_others: bool,
    is_over: bool,
    failed: Option<ReadError>,
    damage: Damage,
    /// The item after a gap that was just returned.
    next: Option<Item>,
}

impl<R: BufRead> Lines<R> {
    /// Creates a reader at the start of a recording.
    pub fn new(input: R) -> Self {
        Self {
            input: Input::new(input),
            tally: Tally::default(),
            sessions: std::collections::BTreeSet::new(),
            has_bytes: false,
            without: 0,
            number: 0,
            parent: None,
            is_of_others: false,
            is_over: false,
            failed: None,
            damage: Damage::default(),
            next: None,
        }
    }

    /// Returns the totals so far.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Returns the next item; `None` at the end. Unreadable lines become a gap.
    ///
    /// # Errors
    /// See [`ReadError`]; an error is the last result. Damaged lines are reported at the end.
    pub fn read(&mut self) -> Result<Option<Item>, ReadError> {
        if let Some(item) = self.next.take() {
            return Ok(Some(self.counted(item)));
        }
        while !self.is_over {
            match self.step() {
                Ok(None) => {}
                Ok(Some(item)) => {
                    let Some(lost) = self.damage.unreported() else {
                        return Ok(Some(self.counted(item)));
                    };
                    let at = self.tally.until;
                    self.next = Some(item);
                    return Ok(Some(self.counted(Item::Gap { at, lost })));
                }
                Err(ReadError::Damaged { offset, text }) => {
                    self.damage.add(offset, text);
                    self.parent = None;
                }
                Err(error) => {
                    self.is_over = true;
                    self.failed = Some(error);
                }
            }
        }
        self.tally.lost += self.damage.unreported().unwrap_or_default();
        let failed = self.failed.take();
        self.damage.report(failed).map_or(Ok(None), Err)
    }

    fn counted(&mut self, item: Item) -> Item {
        self.count(&item);
        item
    }

    /// Reads one line. Returns `None` if the line only adds to another line.
    fn step(&mut self) -> Result<Option<Item>, ReadError> {
        let begin = self.input.offset;
        let found = self.input.next();
        let found = found.map_err(|error| ReadError::System { offset: begin, error })?;
        self.number += 1;
        let number = self.number;
        let damaged = |text: &str| ReadError::Damaged {
            offset: begin,
            text: format!("line {number}: {text}"),
        };
        let (line, is_whole) = match found {
            Some(Found::Line(line)) => (line, true),
            Some(Found::Last(line)) => (line, false),
            Some(Found::TooLong) => return Err(damaged("longer than any")),
            None => {
                self.is_over = true;
                let has_bytes = self.has_bytes || self.without == 0;
                return if has_bytes { Ok(None) } else { Err(NO_BYTES) };
            }
        };
        let line = line.strip_prefix(BOM).unwrap_or(line);
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        match decode::read(line) {
            Ok(item) => {
                self.note(item.as_ref());
                Ok(item)
            }
            Err(Wrong::NoBytes(parent)) => {
                self.without += u32::from(!self.has_bytes);
                if self.without > MAX_WITHOUT {
                    return Err(NO_BYTES);
                }
                let is_missing = self.parent.is_some() && parent.is_some() && self.parent != parent;
                if is_missing {
                    return Err(damaged("the datagram of this message is missing"));
                }
                Ok(None)
            }
            Err(Wrong::Damaged(_)) if !is_whole => Err(ReadError::Cut(begin)),
            Err(Wrong::Damaged(text)) => Err(damaged(&text)),
        }
    }

    /// Updates the state of the reader after an item, which affects how later lines are read.
    fn note(&mut self, item: Option<&Item>) {
        match item {
            Some(Item::Start { run, .. }) => self.is_of_others = run.is_none(),
            Some(item) => {
                if let Some(parent) = Parent::from_item(item) {
                    self.has_bytes = true;
                    self.parent = Some(parent);
                }
            }
            // The line is of a later version and may have been a datagram.
            None => self.parent = None,
        }
    }

    fn count(&mut self, item: &Item) {
        let event = match item {
            Item::Start { .. } => {
                self.sessions.clear();
                return;
            }
            Item::Gap { lost, .. } => {
                self.tally.lost += lost;
                return;
            }
            Item::Log { .. } => return,
            Item::Event(event) => event,
        };
        self.tally.until = self.tally.until.max(event.at);
        let (dir, received, packets) = match &event.what {
            EventKind::Datagram(datagram) => {
                let received = datagram.received();
                (
                    datagram.dir,
                    received,
                    usize::from(received.is_some()) + datagram.sent().count(),
                )
            }
            EventKind::Connless(connless) => {
                let received = connless.received();
                let packets = usize::from(received.is_some()) + usize::from(connless.sent.is_some());
                (connless.dir, received, packets)
            }
            EventKind::Session(change) => {
                let is_new = change.state == State::Online
                    && event
                        .session
                        .is_some_and(|session| self.sessions.insert(session.0));
                self.tally.sessions += u64::from(is_new);
                return;
            }
            EventKind::Notice(_) | EventKind::Answer(_) => return,
        };
        self.tally.packets += if self.is_of_others { 1 } else { packets as u64 };
        if let Some(received) = received {
            self.tally.traffic[dir].count(received.len());
        }
    }
}
