//! Tokens of sessions that have ended. A client that still sends such a token gets a CLOSE, so that it does
//! not have to wait for its timeout.
//!
//! Law: the number of tokens is bounded, and the oldest is forgotten first. Nothing is sent to an address
//! that does not contain the token.

use std::collections::{BTreeMap, VecDeque};

use teetap_wire::{Flags, Header, control, write};

use super::{Hub, crowd::Cost, sessions::Slot};
use crate::session::{ClientAddr, leg::EndedLeg, link::Link, outbox::Destination};

/// Maximum number of ended sessions that are remembered.
const MAX_ENDED: usize = 1024;

/// The sessions that have ended, by client address.
#[derive(Debug, Default)]
pub(super) struct Ended {
    legs: BTreeMap<(ClientAddr, u32), EndedLeg>,
    order: VecDeque<(ClientAddr, u32)>,
    next: u32,
}

impl Ended {
    pub(super) fn remember(&mut self, link: &Link) {
        let Some(leg) = link.ended_leg() else { return };
        if self.order.len() >= MAX_ENDED
            && let Some(oldest) = self.order.pop_front()
        {
            self.legs.remove(&oldest);
        }
        self.next = self.next.wrapping_add(1);
        let key = (link.client_addr(), self.next);
        self.legs.insert(key, leg);
        self.order.push_back(key);
    }

    /// Returns the ended sessions of an address.
    fn legs_at(&self, client: ClientAddr) -> impl Iterator<Item = EndedLeg> {
        let all = (client, 0)..=(client, u32::MAX);
        self.legs.range(all).map(|(_, leg)| *leg)
    }
}

impl Hub {
    /// Opens a session for a DDNet client that sends its ACCEPT long after the answer to its CONNECT, when
    /// the session that was answered is forgotten. Returns false if the datagram is not such an ACCEPT.
    pub(super) fn admit_late(&mut self, addr: ClientAddr, slot: Slot, bytes: &[u8]) -> bool {
        let scratch = &mut self.scratch;
        let leg = self
            .ended
            .legs_at(addr)
            .find(|leg| leg.is_accepted(bytes, scratch));
        let Some(leg) = leg.filter(|_| slot.current.is_none()) else {
            return false;
        };
        self.open_first(addr, None, (leg.proto, Some(leg.shows)), Cost::Proved, bytes);
        true
    }

    /// Answers a client that sends the token of an ended session. Returns false for any other client.
    pub(super) fn answer_ended(&mut self, addr: ClientAddr, bytes: &[u8]) -> bool {
        let scratch = &mut self.scratch;
        let leg = self.ended.legs_at(addr).find(|leg| leg.is_due(bytes, scratch));
        let Some(leg) = leg else { return false };
        self.counters.stats.refused += 1;
        let mut payload = Vec::new();
        control::close(b"", &mut payload);
        let header = Header {
            flags: Flags::CONTROL,
            ack: leg.ack,
            num_chunks: 0,
            token: leg.expects,
        };
        let mut close = Vec::new();
        write(leg.proto, &header, &payload, None, &mut close);
        let mark = self.env.out.mark();
        // An answer is never larger than its request.
        if close.len() <= bytes.len() {
            self.transmit(Destination::Client(addr), |out| out.extend_from_slice(&close));
        }
        self.report_exchange(addr, leg.proto, bytes, mark);
        true
    }
}
