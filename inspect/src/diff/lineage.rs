//! Follows messages through the proxy: from the leg on which they were received to the leg on which they were sent.
//!
//! Law: messages of two legs of one run have equal [`MessageId`]s only if the proxy sent one for the other. Memory is
//! bounded: one entry for each sequence number, and for a limited number of held messages.

use std::{collections::BTreeMap, sync::Arc};

use teetap_proxy::session::{Datagram, HeldId, MadeAt};
use teetap_rules::RuleId;
use teetap_wire::{Dir, PerDir, Scratch, Seq};

use super::view::Part;
use crate::Message;

/// Maximum number of held messages that are followed.
const HELD: usize = 4096;

/// Number of sequence numbers.
const NUMBERS: usize = 1024;

/// A message of a peer in a recording: the event with its first copy, and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct MessageId {
    event: u64,
    index: usize,
}

/// The origin of a message on a leg, and the rules that acted on it.
#[derive(Clone, Debug, Default)]
pub(super) struct Lineage {
    /// The message of a peer; `None` if unknown, or if the proxy made the message.
    pub(super) id: Option<MessageId>,
    /// True if a rule or a user made the message.
    pub(super) is_made: bool,
    /// Names of the rules.
    pub(super) rules: Rules,
}

/// Names of rules.
pub(super) type Rules = Box<[Arc<str>]>;

impl Lineage {
    /// Returns true if the recording says which message this is, so that it is never aligned by its text.
    pub(super) const fn is_known(&self) -> bool {
        self.id.is_some() || self.is_made
    }

    fn add_rule(&mut self, rule: &str) {
        if self.rules.iter().all(|known| **known != *rule) {
            let mut rules = std::mem::take(&mut self.rules).into_vec();
            rules.push(rule.into());
            self.rules = rules.into();
        }
    }
}

/// The messages of a session by number, as received and as sent.
#[derive(Debug, Default)]
pub(super) struct Lineages {
    /// Number of datagrams so far.
    events: u64,
    received: PerDir<ByNumber>,
    sent: PerDir<ByNumber>,
    held: PerDir<BTreeMap<HeldId, Lineage>>,
}

/// The messages of one datagram.
#[derive(Debug, Default)]
pub(super) struct OfDatagram {
    received: Vec<Lineage>,
    made: Vec<Lineage>,
}

impl Lineages {
    /// Records the next datagram of the session. `names` returns the names of rules.
    pub(super) fn datagram(&mut self, datagram: &Datagram, names: impl Fn(&[RuleId]) -> Rules) -> OfDatagram {
        self.events += 1;
        let dir = datagram.dir;
        let mut scratch = Scratch::new();
        let numbers: Vec<Option<Seq>> = match datagram.packet(&mut scratch) {
            Some(Ok(packet)) if packet.control().is_none() => {
                packet.chunks().map(|chunk| chunk.header.vital).collect()
            }
            _ => Vec::new(),
        };
        let mut received = Vec::with_capacity(numbers.len());
        for (index, seq) in numbers.into_iter().enumerate() {
            let placed = datagram.placed.get(index);
            let own = Lineage {
                id: Some(MessageId {
                    event: self.events,
                    index,
                }),
                is_made: false,
                rules: placed.map_or_else(Rules::default, |placed| names(&placed.rules)),
            };
            let lineage = match seq {
                Some(seq) => self.received[dir].first(seq, own),
                None => own,
            };
            if let Some(held) = placed.and_then(|placed| placed.held) {
                self.hold(dir, held, &lineage);
            }
            if let Some(seq) = placed.and_then(|placed| placed.seq_out) {
                self.sent[dir].first(seq, lineage.clone());
            }
            received.push(lineage);
        }
        let made = datagram.made.iter().map(|made| self.made(dir, made)).collect();
        OfDatagram { received, made }
    }

    /// Returns the origin of a message that is read from a part of the datagram.
    pub(super) fn of(
        &mut self,
        datagram: &Datagram,
        found: &OfDatagram,
        (part, index): (Part, usize),
        message: &Message,
    ) -> Lineage {
        let Part::Sent(sent) = part else {
            return found.received.get(index).cloned().unwrap_or_default();
        };
        let is_here = |place: &teetap_proxy::session::SentAt| {
            usize::from(place.datagram) == sent && usize::from(place.at) == message.ranges.at
        };
        let placed = datagram
            .placed
            .iter()
            .position(|placed| placed.sent.as_ref().is_some_and(is_here));
        let made = datagram.made.iter().position(|made| is_here(&made.sent));
        let is_whole = datagram.leg.is_none() && datagram.placed.is_empty();
        let direct = placed
            .and_then(|at| found.received.get(at))
            .or_else(|| found.made.get(made?))
            .or_else(|| found.received.get(index).filter(|_| is_whole));
        let direct = direct.cloned().unwrap_or_default();
        match message.transport.seq {
            Some(seq) => self.sent[datagram.dir].first(seq, direct),
            None => direct,
        }
    }

    /// Forgets all sequence numbers, because a new connection starts with the first number.
    pub(super) fn restart(&mut self) {
        self.received = PerDir::default();
        self.sent = PerDir::default();
    }

    fn hold(&mut self, dir: Dir, held: HeldId, lineage: &Lineage) {
        let all = &mut self.held[dir];
        all.insert(held, lineage.clone());
        if all.len() > HELD {
            all.pop_first();
        }
    }

    /// Returns the origin of a message that the proxy sends by itself.
    fn made(&mut self, dir: Dir, made: &MadeAt) -> Lineage {
        let held = made.held.and_then(|held| self.held[dir].get(&held).cloned());
        let mut lineage = held.unwrap_or_else(|| Lineage {
            is_made: true,
            ..Lineage::default()
        });
        if let Some(rule) = &made.rule {
            lineage.add_rule(rule);
        }
        lineage
    }
}

/// The first messages with each of the last sequence numbers.
#[derive(Debug, Default)]
struct ByNumber {
    newest: Option<Seq>,
    list: Vec<Option<Lineage>>,
}

impl ByNumber {
    /// Returns the first message with this number, which is `own` unless the message is a retransmission.
    fn first(&mut self, seq: Seq, own: Lineage) -> Lineage {
        self.list.resize_with(NUMBERS, || None);
        let newest = self.newest.unwrap_or_else(|| seq.prev());
        if seq != newest && !seq.is_behind(newest) {
            // Messages that had these numbers before are no longer retransmitted.
            let mut passed = newest.next();
            while passed != seq {
                self.clear(passed);
                passed = passed.next();
            }
            self.clear(seq);
            self.newest = Some(seq);
        }
        match self.list.get_mut(usize::from(seq.get())) {
            Some(place) => place.get_or_insert(own).clone(),
            None => own,
        }
    }

    fn clear(&mut self, seq: Seq) {
        if let Some(place) = self.list.get_mut(usize::from(seq.get())) {
            *place = None;
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns an origin by number: 0 is unknown, 9 is made by a rule.
    pub(in super::super) fn made_lineage(origin: u64) -> Lineage {
        match origin {
            0 => Lineage::default(),
            9 => Lineage {
                is_made: true,
                ..Lineage::default()
            },
            event => lineage(event),
        }
    }

    fn lineage(event: u64) -> Lineage {
        Lineage {
            id: Some(MessageId { event, index: 0 }),
            ..Lineage::default()
        }
    }

    #[test]
    fn a_retransmission_is_its_first_copy_until_the_numbers_wrap() {
        let mut numbers = ByNumber::default();
        let mut event = |seq: u16, event| {
            let first = numbers.first(Seq::new(seq), lineage(event));
            first.id.map(|id| id.event)
        };
        assert_eq!(event(1, 1), Some(1));
        assert_eq!(event(3, 2), Some(2));
        assert_eq!(event(2, 3), Some(3));
        assert_eq!(event(3, 4), Some(2));
        for seq in (4..1024).chain([0]) {
            event(seq, 5);
        }
        assert_eq!(event(1, 6), Some(6));
        assert_eq!(event(3, 7), Some(7));
    }
}
