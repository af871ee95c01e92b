//! The map download during a join: which side has to send the next message, and which messages have no effect.
//!
//! Law: a part counts if the client accepts it. In 0.6 a request contains the number of a part, and the client accepts
//! only the part that it waits for (`NETMSG_REQUEST_MAP_DATA` in server.cpp and `NETMSG_MAP_DATA` in client.cpp of
//! Teeworlds 0.6.5). DDNet servers also send parts before the client requests them (`sv_map_window`). In 0.7 the server
//! answers a request with the next few parts, which are not numbered.
//!
//! Memory is bounded: at most [`MOST`] out-of-order parts are tracked per kind.

use std::collections::BTreeSet;

use teetap_wire::{Seq, Side};

use super::{DOWNLOAD, REQUEST};
use crate::{ints::ints, joins::flaw::Flaw};

/// Usual size of each part in 0.6 except the last, in bytes: `1024 - 128` in server.cpp, 895 in the newest DDNet. The
/// size of the first part counts.
const PART: i64 = 896;

/// Maximum number of tracked parts that were requested out of order, and of parts that were sent out of order.
const MOST: usize = 64;

/// Progress of a map download.
#[derive(Clone, Debug)]
pub(super) struct Download {
    form: PartNumbering,
    /// Size of the map, in bytes.
    size: i64,
    /// Size of each part except the last, in bytes.
    part: i64,
    /// Number of parts.
    parts: i64,
    /// First part that the client lacks.
    next: i64,
    /// Parts after `next` that the client has already received.
    later: BTreeSet<i64>,
    /// One more than the last requested part; in 0.7 the number of requested parts.
    asked: i64,
    /// Numbered parts that were requested but not sent yet.
    open: BTreeSet<i64>,
    /// True once either side has sent a message of the download.
    is_wanted: bool,
    is_anew: bool,
    /// Sequence numbers of the last request and of the last `map_data`.
    seen: [Option<Seq>; 2],
}

/// Message format of the download.
#[derive(Clone, Copy, Debug)]
enum PartNumbering {
    /// 0.6: messages contain the number of the part. Parts also contain the checksum of the map.
    Numbered { crc: i64 },
    /// 0.7: the server answers each request with `per_request` parts.
    Counted { per_request: i64 },
}

impl Download {
    /// Creates the download that the message `map_change` announces; `None` if a field is missing or invalid.
    pub(super) fn from_map_change(is_seven: bool, map_change: &[u8]) -> Option<Self> {
        let ([_id], rest) = ints(map_change)?;
        let name = rest.iter().position(|byte| *byte == 0)?;
        let rest = rest.get(name + 1..)?;
        let (form, size, part) = if is_seven {
            let ([_crc, size, per_request, part], _) = ints(rest)?;
            (PartNumbering::Counted { per_request }, size, part)
        } else {
            let ([crc, size], _) = ints(rest)?;
            (PartNumbering::Numbered { crc }, size, PART)
        };
        let is_empty = size < 1 || part < 1 || matches!(form, PartNumbering::Counted { per_request: ..1 });
        (!is_empty).then(|| Self {
            form,
            size,
            part,
            parts: (size + part - 1) / part,
            next: 0,
            later: BTreeSet::new(),
            asked: 0,
            open: BTreeSet::new(),
            is_wanted: false,
            is_anew: false,
            seen: [None; 2],
        })
    }

    /// Records that a message of the download was sent, even if it was lost.
    pub(super) const fn want(&mut self) {
        self.is_wanted = true;
    }

    /// Returns true if the client has requested the first part again after a later part.
    pub(super) const fn is_anew(&self) -> bool {
        self.is_anew
    }

    /// Records the sequence number of a message. Returns true if this or a later number was recorded before.
    pub(super) fn is_repeat(&mut self, name: &str, seq: Option<Seq>) -> bool {
        let [request, part] = &mut self.seen;
        let last = if name == REQUEST { request } else { part };
        let is_repeat = seq.zip(*last).is_some_and(|(seq, last)| seq.is_behind(last));
        if !is_repeat {
            *last = seq.or(*last);
        }
        is_repeat
    }

    /// Returns the number of parts that the client has, and the number of all parts.
    pub(super) fn progress(&self) -> (i64, i64) {
        let later = i64::try_from(self.later.len()).unwrap_or(i64::MAX);
        (self.next.saturating_add(later), self.parts)
    }

    /// Returns the awaited message and its sender; `None` before the first message of the download, and after the last
    /// part.
    pub(super) fn awaits(&self) -> Option<(&'static str, Side)> {
        if !self.is_wanted || self.next >= self.parts {
            return None;
        }
        let is_due = match self.form {
            PartNumbering::Numbered { .. } => !self.open.is_empty(),
            PartNumbering::Counted { .. } => self.next < self.asked,
        };
        Some(match is_due {
            true => (DOWNLOAD, Side::Server),
            false => (REQUEST, Side::Client),
        })
    }

    /// Records a request of the client.
    pub(super) fn requested(&mut self, data: &[u8]) -> Result<(), Flaw> {
        self.is_wanted = true;
        match self.form {
            PartNumbering::Counted { per_request } => {
                self.asked = self.asked.saturating_add(per_request).min(self.parts);
                Ok(())
            }
            PartNumbering::Numbered { .. } => match ints(data) {
                Some(([_id, part], _)) => self.requested_part(part),
                None => self.requested_part(0),
            },
        }
    }

    fn requested_part(&mut self, part: i64) -> Result<(), Flaw> {
        if part < 0 || part >= self.parts {
            let parts = self.parts;
            return Err(Flaw::NoSuchPart { got: part, parts });
        }
        self.is_anew |= part == 0 && self.asked > 1;
        let is_again = part < self.asked;
        if is_again && part < self.next {
            // A client that requests a part again has discarded that part and all later parts.
            self.next = part;
            self.later.clear();
        }
        self.asked = part + 1;
        // No new copy is due if the server sent the part before the client requested it.
        let is_there = part < self.next || self.later.contains(&part);
        if (is_again || !is_there) && self.open.len() < MOST {
            self.open.insert(part);
        }
        Ok(())
    }

    /// Records a part sent by the server.
    pub(super) fn came(&mut self, data: &[u8]) -> Result<(), Flaw> {
        self.is_wanted = true;
        match self.form {
            PartNumbering::Counted { .. } => {
                let Some(([_id], data)) = ints(data) else {
                    return Ok(());
                };
                let got = i64::try_from(data.len()).unwrap_or(i64::MAX);
                let expected = (self.size - self.next * self.part).clamp(0, self.part);
                if got < expected {
                    return Err(Flaw::Short { got, expected });
                }
                self.next = (self.next + 1).min(self.parts);
                Ok(())
            }
            PartNumbering::Numbered { crc } => match ints(data) {
                Some(([_id, last, of, part, size], _)) => {
                    let is_of_map = of == crc;
                    match is_of_map {
                        true => self.came_part(part, size, last != 0),
                        false => Err(Flaw::OtherMap {
                            got: of & i64::from(u32::MAX),
                            expected: crc & i64::from(u32::MAX),
                        }),
                    }
                }
                None => Ok(()),
            },
        }
    }

    fn came_part(&mut self, got: i64, size: i64, is_last: bool) -> Result<(), Flaw> {
        let parts = self.parts;
        if self.next >= parts {
            return Ok(());
        }
        if got != self.next && !self.open.contains(&got) {
            let expected = self.open.first().copied().unwrap_or(self.next);
            return Err(Flaw::OtherPart { got, expected });
        }
        if size <= 0 {
            return Err(Flaw::Empty { got });
        }
        if got == 0 && !is_last && size < self.size {
            (self.part, self.parts) = (size, (self.size + size - 1) / size);
        }
        let parts = self.parts;
        match (is_last, got + 1 == parts) {
            (false, true) => return Err(Flaw::NotLast { got }),
            (true, false) => return Err(Flaw::EarlyLast { got, parts }),
            _ => {}
        }
        self.open.remove(&got);
        if got == self.next {
            self.next += 1;
        } else if got > self.next && self.later.len() < MOST {
            self.later.insert(got);
        }
        while self.later.remove(&self.next) {
            self.next += 1;
        }
        Ok(())
    }
}
