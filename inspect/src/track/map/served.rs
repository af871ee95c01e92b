//! The parts of a map that a server has sent.
//!
//! In 0.6 a part has a number, and the client accepts only the part that it waits for. It finishes with the part that is
//! marked as the last. In 0.7 the parts have no numbers, and the client finishes when it has as many bytes as announced
//! (`NETMSG_MAP_DATA` in `client.cpp` of Teeworlds 0.6.5 and 0.7.5, and of DDNet). Servers of Teeworlds 0.6.5 send the
//! requested part, servers of DDNet also parts after it (`sv_map_window`), in order (`NETMSG_REQUEST_MAP_DATA` in
//! `server.cpp`, DDNet: `CServer::SendMapData`). All parts except the last have the same size: 896 bytes, since DDNet of
//! 2026 895.
//!
//! Memory is bounded: no part is kept, at most [`UNACKED`] sequence numbers and [`LATER`] numbers of parts.

use std::collections::{BTreeSet, VecDeque};

use sha2::{Digest, Sha256};
use teetap_wire::Seq;

use super::{
    fact::MapFact,
    message::{Announced, Batch, Part, PartHead},
};

/// Maximum number of unacked parts. A sender has at most 512 unacked numbers.
const UNACKED: usize = 512;

/// Maximum number of parts kept that were sent before an earlier part.
const LATER: usize = 64;

/// The parts of one map.
#[derive(Debug)]
pub(super) struct Served {
    /// The announced crc32 and size.
    crc: u32,
    size: i64,
    batch: Option<Batch>,
    sha256: Option<[u8; 32]>,
    /// The checksums of all parts so far; `None` if the parts were sent in another order.
    sums: Option<Sums>,
    /// The next part in order, which is the number of parts so far.
    next: i64,
    /// Number of all parts sent so far.
    count: i64,
    /// Size of these parts in bytes.
    amount: i64,
    /// Size of the first part in bytes.
    part_len: Option<i64>,
    /// Parts after `next` that were sent because the client has requested them.
    later: BTreeSet<i64>,
    /// The part that is marked as the last.
    last: Option<i64>,
    /// Unacked parts: the sequence number, and the number of parts in order with this part.
    unacked: VecDeque<(Seq, i64)>,
    /// Number of parts in order that the client has acked.
    have: i64,
    /// True once a part was wrong, so that the client cannot complete the map.
    pub(super) is_wrong: bool,
    /// True if it is not known which parts were sent.
    pub(super) is_unclear: bool,
}

/// Checksums of bytes.
#[derive(Debug)]
struct Sums {
    crc: crc32fast::Hasher,
    /// `None` if no digest was announced.
    sha256: Option<Sha256>,
}

impl Served {
    /// Creates the state of an announced map; `None` if no client downloads a map of such a size.
    pub(super) fn new(map: &Announced<'_>) -> Option<Self> {
        let is_usable = |batch: Batch| batch.parts > 0 && batch.part_len > 0;
        if map.size < 1 || !map.batch.is_none_or(is_usable) {
            return None;
        }
        let sums = Sums {
            crc: crc32fast::Hasher::new(),
            sha256: map.sha256.map(|_| Sha256::new()),
        };
        Some(Self {
            crc: map.crc,
            size: map.size,
            batch: map.batch,
            sha256: map.sha256,
            sums: Some(sums),
            next: 0,
            count: 0,
            amount: 0,
            part_len: map.batch.map(|batch| batch.part_len),
            later: BTreeSet::new(),
            last: None,
            unacked: VecDeque::new(),
            have: 0,
            is_wrong: false,
            is_unclear: false,
        })
    }

    /// Returns the number of parts that the server has sent in order.
    pub(super) const fn next(&self) -> i64 {
        self.next
    }

    /// Returns the number of parts in order that the client has acked.
    pub(super) const fn have(&self) -> i64 {
        self.have
    }

    /// Returns the number of parts of the map. `usual` is the size of a part in bytes if no part was sent yet.
    pub(super) fn parts(&self, usual: i64) -> i64 {
        let len = self.part_len.unwrap_or(usual).max(1);
        self.size / len + i64::from(self.size % len != 0)
    }

    /// Returns true if the server has sent all parts.
    fn is_complete(&self) -> bool {
        match self.batch {
            Some(_) => self.amount >= self.size,
            None => self.last.is_some_and(|last| self.next > last),
        }
    }

    /// Returns true if the client has acked all parts.
    pub(super) fn is_received(&self) -> bool {
        self.is_complete() && self.unacked.is_empty()
    }

    /// Records an ack of the client.
    pub(super) fn on_ack(&mut self, ack: Seq) {
        while let Some((_, count)) = self.unacked.pop_front_if(|(seq, _)| seq.is_behind(ack)) {
            self.have = self.have.max(count);
        }
    }

    /// Records a part that was sent as `seq`. `is_asked` returns true if the client may have requested the part with
    /// this number. `waits_for` returns true if the client waits for the part of this number, after so many parts.
    pub(super) fn record(
        &mut self,
        part: &Part<'_>,
        seq: Seq,
        is_asked: impl Fn(i64) -> bool,
        waits_for: impl Fn(i64, i64) -> bool,
    ) -> Option<MapFact> {
        self.count = self.count.saturating_add(1);
        if self.is_wrong || self.is_complete() {
            // Servers of DDNet also answer a request for the part after the last, with no data.
            return None;
        }
        let fact = match (part.head, self.batch) {
            (Some(head), None)
                if (0..self.next).contains(&head.number) && waits_for(self.next, self.count) =>
            {
                Some(MapFact::PartAgain {
                    got: head.number,
                    expected: self.next,
                })
            }
            (Some(head), None) => self.numbered(head, part.data, is_asked),
            (None, Some(batch)) => self.counted(batch, part.data),
            // The fields are those of the other version.
            _ => {
                self.is_unclear = true;
                return None;
            }
        };
        self.is_wrong |= fact.is_some();
        if self.unacked.len() >= UNACKED {
            self.unacked.pop_front();
        }
        self.unacked.push_back((seq, self.next));
        fact.or_else(|| self.compare())
    }

    /// Records a part of 0.6.
    fn numbered(&mut self, head: PartHead, data: &[u8], is_asked: impl Fn(i64) -> bool) -> Option<MapFact> {
        let number = head.number;
        if data.is_empty() {
            // A server of DDNet makes clients prove their address with an empty part that they have not requested.
            return (number == self.next && is_asked(number)).then_some(MapFact::Empty { part: number });
        }
        if head.crc != self.crc {
            return Some(MapFact::OtherMap {
                got: head.crc,
                expected: self.crc,
            });
        }
        if number > self.next {
            if !is_asked(number) {
                return Some(MapFact::OtherPart {
                    got: number,
                    expected: self.next,
                });
            }
            self.is_unclear |= self.later.len() >= LATER;
            if !self.is_unclear {
                self.later.insert(number);
                self.last = self.last.or(head.is_last.then_some(number));
            }
            return None;
        }
        if number < self.next {
            return None;
        }
        self.last = self.last.or(head.is_last.then_some(number));
        self.add(data);
        if self.later.remove(&self.next) {
            self.sums = None;
            self.next += 1;
            while self.later.remove(&self.next) {
                self.next += 1;
            }
        }
        self.sums.as_ref()?;
        match (head.is_last, self.amount.cmp(&self.size)) {
            (_, std::cmp::Ordering::Greater) => Some(MapFact::TooLong {
                got: self.amount,
                expected: self.size,
            }),
            (true, std::cmp::Ordering::Less) => Some(MapFact::EarlyLast {
                part: number,
                got: self.amount,
                expected: self.size,
            }),
            (false, std::cmp::Ordering::Equal) => Some(MapFact::NotLast {
                part: number,
                map: self.size,
            }),
            _ => None,
        }
    }

    /// Records a part of 0.7.
    fn counted(&mut self, batch: Batch, data: &[u8]) -> Option<MapFact> {
        let expected = (self.size - self.amount).min(batch.part_len);
        let len = usize::try_from(expected).unwrap_or(usize::MAX);
        let fact = (data.len() != len).then_some(MapFact::Size {
            part: self.next,
            got: data.len(),
            expected,
            map: self.size,
        });
        if let Some(data) = data.get(..len) {
            self.add(data);
        }
        fact
    }

    /// Adds the data of the next part in order.
    fn add(&mut self, data: &[u8]) {
        let len = i64::try_from(data.len()).unwrap_or(i64::MAX);
        self.part_len.get_or_insert(len);
        self.amount = self.amount.saturating_add(len);
        self.next += 1;
        if let Some(sums) = &mut self.sums {
            sums.crc.update(data);
            if let Some(sha256) = &mut sums.sha256 {
                sha256.update(data);
            }
        }
    }

    /// Compares the checksums of a complete map with the announced ones.
    fn compare(&mut self) -> Option<MapFact> {
        if !self.is_complete() {
            return None;
        }
        let Sums { crc, sha256 } = self.sums.take()?;
        let crc = crc.finalize();
        let digest = sha256.map(|sha256| <[u8; 32]>::from(sha256.finalize()));
        if crc != self.crc {
            return Some(MapFact::Crc {
                got: crc,
                expected: self.crc,
                map: self.size,
                has_digest: digest.is_some() && digest == self.sha256,
            });
        }
        let (got, expected) = digest
            .zip(self.sha256)
            .filter(|(got, expected)| got != expected)?;
        Some(MapFact::Sha256 { got, expected })
    }
}
