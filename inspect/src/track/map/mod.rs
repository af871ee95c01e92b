//! Checks the transfer of maps: the parts that the server sends, the parts that the client requests, and when the client
//! is ready.
//!
//! Law: a server is judged by the messages that it has sent, each once and in order, whether or not they arrive. A
//! client is judged by the parts that it has acked. Nothing is noted about a map if a message about it is missing from
//! the recording, or if the proxy has changed, dropped or inserted one. Requests for the map before may arrive after a
//! `map_change`, so the requests for a later map are not checked.
//!
//! Memory is bounded: one map for each session, whose parts are only counted and summed.
//!
//! | file | contents |
//! |---|---|
//! | `message.rs` | the messages of a map transfer |
//! | `served.rs` | the parts that the server sends |
//! | `asked.rs` | the parts that the client requests |
//! | `standard.rs` | the standard maps of 0.6 |
//! | `fact.rs` | the received and expected values |

mod asked;
mod fact;
mod message;
mod served;
mod standard;

use teetap_proxy::session::{Action, Origin};
use teetap_wire::{Dir, PerDir, Seq, def::Found};

use super::{
    Fact, NoteSink, Seen, Stream,
    chunk::{DecidedChunk, of_chunk},
};
use crate::Values;
pub use fact::{DetailsDiffer, MapFact};
pub(crate) use standard::REFUSED;

use asked::Asked;
use message::{Announced, Batch, Message};
use served::Served;

/// Size in bytes of a part in 0.6, if no part was sent.
const USUAL_PART: i64 = 896;

/// The maps of one session.
#[derive(Debug, Default)]
pub(super) struct Maps {
    /// The last sequence number of each direction.
    last: PerDir<Option<Seq>>,
    /// The number as which the message with that number was sent to its receiver.
    sent: PerDir<Option<Seq>>,
    /// The last `map_details`, until the next `map_change`.
    details: Option<Details>,
    /// The last announced map; `None` if there is none, or if a message about it is unknown.
    transfer: Option<Box<Transfer>>,
    /// How the last announced map differs from the standard map of its name; `None` if it does not.
    pub(super) other_file: Option<Values>,
    /// True once a map was announced, or if an earlier announcement may be missing.
    is_later: bool,
}

/// The contents of `map_details`.
#[derive(Debug)]
struct Details {
    name: Box<[u8]>,
    crc: u32,
    size: i64,
    sha256: Option<[u8; 32]>,
}

/// The transfer of one map.
#[derive(Debug)]
struct Transfer {
    batch: Option<Batch>,
    /// True unless the map is the first one of the session.
    is_later: bool,
    served: Served,
    asked: Asked,
    /// The requests for the map before, which the server may answer with parts of this map.
    before: Option<Asked>,
    /// True once the client has sent `ready`.
    is_ready: bool,
}

impl Stream {
    /// Records a message, and adds a note if it is a mistake in a map transfer. `is_first` is false for a
    /// retransmission, and `None` for a message that is not vital.
    pub(super) fn note_map_transfer(
        &mut self,
        seen: &Seen<'_>,
        piece: &DecidedChunk<'_>,
        is_first: Option<bool>,
        found: &mut NoteSink<'_>,
    ) {
        let is_from_start = self.ways.iter().all(|way| way.numbers.is_whole());
        if let Some(fact) = self.maps.record(seen, piece, is_first, is_from_start) {
            found.add(of_chunk(piece, fact.code()), Fact::Map(fact));
        }
    }
}

impl Maps {
    /// Forgets the current map, because a message about it is unknown.
    pub(super) fn forget(&mut self) {
        *self = Self {
            is_later: true,
            ..Self::default()
        };
    }

    /// Records a message that the proxy inserted.
    pub(super) fn on_made(&mut self, known: Option<Found<'static>>, dir: Dir) {
        if Message::is_checked(known, dir) {
            self.forget();
        }
    }

    fn record(
        &mut self,
        seen: &Seen<'_>,
        piece: &DecidedChunk<'_>,
        is_first: Option<bool>,
        is_from_start: bool,
    ) -> Option<MapFact> {
        let (dir, header) = (seen.datagram.dir, &piece.chunk.header);
        self.on_ack(dir, seen.packet.header.ack);
        let is_plain = seen.datagram.origin == Origin::Peer
            && matches!(piece.action, Some(Action::Pass | Action::Repeat));
        match (header.vital, is_first) {
            (Some(_), Some(false)) => return None,
            (Some(seq), Some(true)) => {
                let last = self.last[dir].replace(seq);
                if last.is_some_and(|last| last.next() != seq) {
                    self.forget();
                    self.last[dir] = Some(seq);
                }
                self.sent[dir] = piece.seq_out;
            }
            // Receivers differ in whether they read the message.
            _ => {
                self.on_made(piece.known, dir);
                return None;
            }
        }
        let message = Message::parse(piece.known, (seen.datagram.proto, dir), piece.chunk.data)?;
        let Some(sent_as) = piece.seq_out.filter(|_| is_plain) else {
            self.forget();
            return None;
        };
        match message {
            Message::Details(details) => {
                self.details = Some(Details {
                    name: details.name.into(),
                    crc: details.crc,
                    size: details.size,
                    sha256: details.sha256,
                });
                None
            }
            Message::Change(map) => {
                self.other_file = standard::other_file(seen.datagram.proto, &map);
                self.announced(map, is_from_start)
            }
            Message::Part(part) => {
                let transfer = self.transfer.as_mut()?;
                let (asked, before) = (&transfer.asked, &transfer.before);
                let may_have = |number| {
                    asked.may_have(number) || before.as_ref().is_some_and(|before| before.may_have(number))
                };
                let waits_for = |number, served| before.is_none() && asked.waits_for(number, served);
                transfer.served.record(&part, sent_as, may_have, waits_for)
            }
            Message::Request(number) => self.transfer.as_mut()?.requested(number, header.resend),
            Message::Ready => self.transfer.as_mut()?.ready(),
            Message::Unreadable => {
                self.forget();
                None
            }
        }
    }

    /// Records the ack of a datagram in direction `dir`. A peer that acks more than was recorded has received messages
    /// that are unknown.
    fn on_ack(&mut self, dir: Dir, ack: Seq) {
        let (_, sent) = self.sent.with_reverse_mut(dir);
        if sent.is_some_and(|sent| !ack.is_behind(sent)) {
            self.forget();
        }
        if let Some(transfer) = self.transfer.as_mut().filter(|_| dir == Dir::C2s) {
            transfer.served.on_ack(ack);
        }
    }

    fn announced(&mut self, mut map: Announced<'_>, is_from_start: bool) -> Option<MapFact> {
        let details = self.details.take();
        let differ = details.as_ref().and_then(|details| details.differ(&map));
        let details = details.filter(|_| differ.is_none());
        map.sha256 = map.sha256.or(details.and_then(|details| details.sha256));
        let is_later = std::mem::replace(&mut self.is_later, true) || !is_from_start;
        let before = match self.transfer.take() {
            Some(transfer) => Some(transfer.asked),
            None => is_later.then(Asked::unclear),
        };
        self.transfer = Served::new(&map).map(|served| {
            Box::new(Transfer {
                batch: map.batch,
                is_later,
                served,
                asked: Asked::default(),
                before,
                is_ready: false,
            })
        });
        differ.map(MapFact::Details)
    }
}

impl Details {
    /// Returns how a map differs. A client of DDNet then ignores the details (`NETMSG_MAP_CHANGE` in `client.cpp`).
    fn differ(&self, map: &Announced<'_>) -> Option<DetailsDiffer> {
        if self.crc != map.crc {
            Some(DetailsDiffer::Crc(self.crc, map.crc))
        } else if self.size != map.size {
            Some(DetailsDiffer::Size(self.size, map.size))
        } else {
            (*self.name != *map.name).then_some(DetailsDiffer::Name)
        }
    }
}

impl Transfer {
    fn requested(&mut self, number: Option<i64>, is_resent: bool) -> Option<MapFact> {
        let fact = self.asked.record(number, self.batch, &self.served, is_resent);
        fact.filter(|_| !self.is_later && !self.is_ready && !self.served.is_wrong && !self.served.is_unclear)
    }

    fn ready(&mut self) -> Option<MapFact> {
        if std::mem::replace(&mut self.is_ready, true) {
            return None;
        }
        // A request for the map before may have been sent before the client knew of this map.
        let has_asked = match self.is_later {
            true => self.asked.has_continued,
            false => self.asked.is_any(),
        };
        let served = &self.served;
        if !has_asked || served.is_wrong || served.is_unclear || served.is_received() {
            return None;
        }
        Some(MapFact::Ready {
            missing: served.have(),
            parts: served.parts(USUAL_PART),
        })
    }
}
