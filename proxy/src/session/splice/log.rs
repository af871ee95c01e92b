//! The vital messages that the proxy has numbered for one receiver and that the receiver has not acked yet.

use std::collections::VecDeque;

use teetap_rules::RuleId;
use teetap_wire::Seq;

use crate::session::time::Time;

/// A numbered, unacked message.
#[derive(Debug)]
pub(crate) struct Record {
    /// The number that the receiver sees.
    pub(crate) d: Seq,
    /// The number that the sender gave, if the sender is still responsible for the message; `None` if it is
    /// in the proxy's custody.
    pub(crate) u: Option<Seq>,
    /// The bytes as first sent.
    pub(crate) data: Box<[u8]>,
    /// Time at which the message was numbered.
    pub(crate) first: Time,
    /// Time at which a copy was last sent, or suppressed by `lose`.
    pub(crate) last: Time,
    /// Number of further copies that a rule suppresses.
    pub(crate) lose: u32,
    /// The rules that acted on the message; empty if it is in the proxy's custody.
    pub(crate) rules: Box<[RuleId]>,
    /// True if a rule has flipped bits.
    pub(crate) is_corrupted: bool,
}

impl Record {
    /// Records one transmission. Returns false if a rule suppresses it.
    pub(crate) fn transmit(&mut self, now: Time) -> bool {
        self.last = now;
        if self.lose > 0 {
            self.lose -= 1;
            return false;
        }
        true
    }
}

/// Unacked records in the order of their numbers towards the receiver, which are consecutive.
///
/// Messages for which the sender is responsible are numbered as they arrive, so their records are in the
/// order of the sender's numbers too. `owed` lists both numbers of these records. Its first entry limits the
/// ack that the proxy may show to the sender.
#[derive(Debug, Default)]
pub(crate) struct Log {
    records: VecDeque<Record>,
    owed: VecDeque<(Seq, Seq)>,
}

impl Log {
    pub(crate) fn push(&mut self, record: Record) {
        if let Some(u) = record.u {
            self.owed.push_back((u, record.d));
        }
        self.records.push_back(record);
    }

    /// Removes the records that an ack of `ack` covers.
    pub(crate) fn acked(&mut self, ack: Seq) {
        while self.records.front().is_some_and(|record| record.d.is_behind(ack)) {
            if self.records.pop_front().is_some_and(|record| record.u.is_some()) {
                self.owed.pop_front();
            }
        }
    }

    /// Returns the sender's number of the oldest unacked record that the sender is responsible for.
    pub(crate) fn first_owed(&self) -> Option<Seq> {
        self.owed.front().map(|(u, _)| *u)
    }

    /// Returns the unacked record with the sender's number `u`.
    pub(crate) fn by_sender(&mut self, u: Seq) -> Option<&mut Record> {
        let (first_u, _) = *self.owed.front()?;
        let wanted = first_u.distance_to(u);
        let index = self
            .owed
            .binary_search_by_key(&wanted, |(u, _)| first_u.distance_to(*u))
            .ok()?;
        let (_, d) = *self.owed.get(index)?;
        let first_d = self.records.front()?.d;
        self.records.get_mut(usize::from(first_d.distance_to(d)))
    }

    pub(crate) fn front(&self) -> Option<&Record> {
        self.records.front()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Record> {
        self.records.iter_mut()
    }

    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns true if any unacked message is in custody of the proxy.
    pub(crate) fn has_custody(&self) -> bool {
        self.records.len() > self.owed.len()
    }
}
