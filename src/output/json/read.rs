//! JSON lines read back: the recording of `-w FILE.jsonl`, or what `--json -vv` printed.
//!
//! Law: an event is made again of the line of its datagram, which has all bytes; the lines of its messages are made of those
//! when it is shown. What a later version added is passed over; so is a line that cannot be read, which is then told.

use std::io::{self, BufRead};

use teetap_proxy::{
    io::capture::{Item, ReadError, Tally},
    session::{State, What},
};
use teetap_wire::Dir;

use super::{
    damage::Damage,
    line::{Line, Wrong},
};

/// Bytes of the longest line that is read: more than any event has.
const LONGEST: u64 = 16 << 20;

/// Lines in a row that may be of a datagram whose own line is missing: a datagram has at most 255 messages.
const MAX_WITHOUT: u32 = 256;

/// Bytes that some programs of Windows put before a text.
const BOM: &[u8] = b"\xef\xbb\xbf";

const NO_BYTES: ReadError =
    ReadError::Unknown("these lines hold no bytes: record with -w, or with --json -vv");

/// Reads a recording.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: R,
    offset: u64,
    line: Vec<u8>,
    tally: Tally,
    sessions: std::collections::BTreeSet<u32>,
    /// A datagram with its bytes has come.
    has_bytes: bool,
    /// Lines before it that need such bytes.
    without: u32,
    /// Lines so far.
    number: u64,
    is_over: bool,
    damage: Damage,
    /// What follows a gap that was told.
    next: Option<Item>,
}

impl<R: BufRead> Lines<R> {
    /// From the beginning.
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            offset: 0,
            line: Vec::new(),
            tally: Tally::default(),
            sessions: std::collections::BTreeSet::new(),
            has_bytes: false,
            without: 0,
            number: 0,
            is_over: false,
            damage: Damage::default(),
            next: None,
        }
    }

    /// What was read so far.
    pub(crate) fn tally(&self) -> Tally {
        self.tally
    }

    /// The next thing; `None` at the end. Where lines cannot be read there is a gap.
    ///
    /// # Errors
    /// See [`ReadError`]; nothing follows then. That lines were damaged is told at the end.
    pub(crate) fn read(&mut self) -> Result<Option<Item>, ReadError> {
        if let Some(item) = self.next.take() {
            return Ok(Some(self.counted(item)));
        }
        while !self.is_over {
            match self.step() {
                Ok(None) => {}
                Ok(Some(item)) => {
                    let Some(lost) = self.damage.untold() else {
                        return Ok(Some(self.counted(item)));
                    };
                    let at = self.tally.until;
                    self.next = Some(item);
                    return Ok(Some(self.counted(Item::Gap { at, lost })));
                }
                Err(ReadError::Damaged { offset, text }) => self.damage.add(offset, text),
                Err(error) => {
                    self.is_over = true;
                    return Err(error);
                }
            }
        }
        self.damage.told_at_the_end().map_or(Ok(None), Err)
    }

    fn counted(&mut self, item: Item) -> Item {
        self.count(&item);
        item
    }

    /// One line; `None` when it holds nothing that is not elsewhere.
    fn step(&mut self) -> Result<Option<Item>, ReadError> {
        let begin = self.offset;
        self.line.clear();
        let read = io::Read::take(&mut self.input, LONGEST).read_until(b'\n', &mut self.line);
        let read = read.map_err(|error| ReadError::System { offset: begin, error })?;
        self.offset += read as u64;
        self.number += 1;
        if read == 0 {
            self.is_over = true;
            let has_bytes = self.has_bytes || self.without == 0;
            return if has_bytes { Ok(None) } else { Err(NO_BYTES) };
        }
        if self.line.last() != Some(&b'\n') {
            return Err(ReadError::Cut(begin));
        }
        let line = self.line.strip_prefix(BOM).unwrap_or(&self.line);
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let number = self.number;
        match Line::read(line) {
            Ok(item) => {
                let event = item.as_ref().and_then(|item| match item {
                    Item::Event(event) => Some(&event.what),
                    _ => None,
                });
                self.has_bytes |= matches!(event, Some(What::Datagram(_)));
                Ok(item)
            }
            Err(Wrong::NoBytes) => {
                self.without += u32::from(!self.has_bytes);
                if self.without > MAX_WITHOUT {
                    return Err(NO_BYTES);
                }
                Ok(None)
            }
            Err(Wrong::Damaged(text)) => Err(ReadError::Damaged {
                offset: begin,
                text: format!("line {number}: {text}"),
            }),
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
            What::Remark(_) => return,
        };
        self.tally.packets += packets as u64;
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
