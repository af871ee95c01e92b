//! JSON lines read back: the recording of `-w FILE.jsonl`, or what `--json -vv` printed.
//!
//! Law: an event is made again of the line of its datagram, which has all bytes; the lines of its messages are made of those
//! when it is shown. What a later version added is passed over; so is a line that cannot be read, which is then reported.

use std::io::BufRead;

use crate::recording::{Item, ReadError, Tally};
use teetap_proxy::session::{State, What};
use teetap_wire::Dir;

use super::{
    damage::Damage,
    decode::{self, Parent, Wrong},
    input::{Found, Input},
};

/// Lines in a row that may be of a datagram whose own line is missing: a datagram has at most 255 messages.
const MAX_WITHOUT: u32 = 256;

/// Bytes that some programs of Windows put before a text.
const BOM: &[u8] = b"\xef\xbb\xbf";

const NO_BYTES: ReadError =
    ReadError::Unknown("these lines hold no bytes: record with -w, or with --json -vv");

/// Reads a recording.
#[derive(Debug)]
pub struct Lines<R> {
    input: Input<R>,
    tally: Tally,
    sessions: std::collections::BTreeSet<u32>,
    /// A datagram with its bytes has come.
    has_bytes: bool,
    /// Lines before it that need such bytes.
    without: u32,
    /// Lines so far.
    number: u64,
    /// The messages that may follow now, where that is known.
    parent: Option<Parent>,
    /// True if the recording was made of one of another program: every datagram is one packet.
    is_of_others: bool,
    is_over: bool,
    failed: Option<ReadError>,
    damage: Damage,
    /// The item after a gap that was reported.
    next: Option<Item>,
}

impl<R: BufRead> Lines<R> {
    /// A reader at the beginning of a recording.
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

    /// Returns the counts so far.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Returns the next item; `None` at the end. Where lines cannot be read there is a gap.
    ///
    /// # Errors
    /// See [`ReadError`]; nothing follows then. Damaged lines are reported at the end.
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

    /// Reads one line; `None` when it holds nothing that is not elsewhere.
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

    /// Remembers what a line shows about those that follow.
    fn note(&mut self, item: Option<&Item>) {
        match item {
            Some(Item::Start { run, .. }) => self.is_of_others = run.is_none(),
            Some(item) => {
                if let Some(parent) = Parent::of(item) {
                    self.has_bytes = true;
                    self.parent = Some(parent);
                }
            }
            // Of a later version: it may be a datagram.
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
            What::Datagram(datagram) => {
                let received = datagram.received();
                (
                    datagram.dir,
                    received,
                    usize::from(received.is_some()) + datagram.sent().count(),
                )
            }
            What::Connless(connless) => {
                let packets = 1 + usize::from(connless.sent.is_some());
                (connless.dir, Some(&connless.bytes[..]), packets)
            }
            What::Session(change) => {
                let is_new = change.state == State::Online
                    && event
                        .session
                        .is_some_and(|session| self.sessions.insert(session.0));
                self.tally.sessions += u64::from(is_new);
                return;
            }
            What::Notice(_) | What::Answer(_) => return,
        };
        self.tally.packets += if self.is_of_others { 1 } else { packets as u64 };
        if let Some(received) = received {
            let traffic = match dir {
                Dir::C2s => &mut self.tally.c2s,
                Dir::S2c => &mut self.tally.s2c,
            };
            traffic.datagrams += 1;
            traffic.bytes += received.len() as u64;
        }
    }
}
