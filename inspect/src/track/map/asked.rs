//! The parts of a map that a client has requested.
//!
//! A client requests part 0, then each part after it has received the one before. In 0.7 it requests the first parts, and
//! more after it has received as many as `map_change` says. After the last part it loads the map and sends `ready`
//! (`NETMSG_MAP_CHANGE` and `NETMSG_MAP_DATA` in `client.cpp` of Teeworlds 0.6.5 and 0.7.5, and of DDNet). A client that
//! has the map requests nothing, nor does a client of DDNet that fetches the map by HTTP; if that fails, it requests
//! the parts (`CClient::FinishMapDownload` in `client.cpp` of DDNet).
//!
//! Memory is bounded: at most [`ODD`] numbers of parts.

use std::collections::BTreeSet;

use super::{fact::MapFact, message::Batch, served::Served};

/// Maximum number of requested parts kept that skip a part.
const ODD: usize = 64;

/// Size in bytes of a part in the newest release of DDNet, the smallest of all releases.
const PART: i64 = 895;

/// Minimum number of requests for a part after its ack. A client that begins again requests each part once more.
const AGAIN: u16 = 3;

/// The requests for one map.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// Number of requests.
    count: i64,
    /// One more than the last part that was requested in order.
    top: i64,
    /// Other requested parts.
    odd: BTreeSet<i64>,
    /// True if any part may have been requested.
    is_unclear: bool,
    /// The last requested part, and the number of later requests for it although the client has acked it.
    again: (i64, u16),
    /// True once the client has requested a part after it had acked another part of this map.
    pub(super) has_continued: bool,
    /// True once a mistake was reported.
    is_reported: bool,
}

impl Asked {
    /// Creates the requests of a client whose earlier requests are unknown.
    pub(super) fn unclear() -> Self {
        Self {
            is_unclear: true,
            ..Self::default()
        }
    }

    /// Returns true if the client has requested any part.
    pub(super) const fn is_any(&self) -> bool {
        self.count > 0
    }

    /// Returns true if the client may have requested a part.
    pub(super) fn may_have(&self, number: i64) -> bool {
        self.is_unclear || (0..self.top).contains(&number) || self.odd.contains(&number)
    }

    /// Returns true if the client waits for the part `number`: it is the last request, and the server has sent as many
    /// parts as the client has requested.
    pub(super) const fn waits_for(&self, number: i64, served: i64) -> bool {
        !self.is_unclear && self.count > 0 && self.again.0 == number && served >= self.count
    }

    /// Records a request. `number` is the part in 0.6. Returns how the request is wrong, once.
    pub(super) fn record(
        &mut self,
        number: Option<i64>,
        batch: Option<Batch>,
        served: &Served,
        is_resent: bool,
    ) -> Option<MapFact> {
        self.count = self.count.saturating_add(1);
        self.has_continued |= served.have() > 0 && !is_resent;
        let fact = match (number, batch) {
            (Some(number), None) => self.numbered(number, served),
            (None, Some(batch)) => self.counted(batch, served),
            _ => None,
        };
        let fact = fact.filter(|_| !self.is_reported)?;
        self.is_reported = true;
        Some(fact)
    }

    fn numbered(&mut self, number: i64, served: &Served) -> Option<MapFact> {
        let expected = self.top.max(served.next());
        let parts = served.parts(PART);
        let (last, times) = self.again;
        let is_again = number == last && number < served.have();
        self.again = (number, if is_again { times.saturating_add(1) } else { 0 });
        if (0..=expected).contains(&number) {
            self.top = expected.max(number + 1);
        } else if self.odd.len() < ODD {
            self.odd.insert(number);
        } else {
            self.is_unclear = true;
        }
        if !(0..parts).contains(&number) {
            return Some(MapFact::NoSuchPart { got: number, parts });
        }
        if number > expected && !self.is_unclear {
            return Some(MapFact::Skipped {
                got: number,
                expected,
            });
        }
        (self.again.1 >= AGAIN).then_some(MapFact::AskedAgain {
            got: number,
            times: self.again.1,
            expected: served.have(),
        })
    }

    fn counted(&self, batch: Batch, served: &Served) -> Option<MapFact> {
        let (request, parts) = (self.count, served.parts(batch.part_len));
        let before = batch.parts.saturating_mul(request - 1);
        if before >= parts {
            return Some(MapFact::AskedBeyond { request, parts });
        }
        (served.have() < before).then_some(MapFact::AskedEarly {
            request,
            got: served.have(),
            expected: before,
        })
    }
}
