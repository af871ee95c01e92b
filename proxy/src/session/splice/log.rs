//! The vital messages on their way to one receiver: everything the proxy numbered that is not acked yet.

use std::collections::VecDeque;

use teetap_wire::Seq;

use crate::session::time::Time;

/// One numbered, unacked message.
#[derive(Debug)]
pub(crate) struct Record {
    /// The number the receiver knows it by.
    pub(crate) d: Seq,
    /// The number its sender gave it, when the sender still answers for it. `None` = the proxy does (custody).
    pub(crate) u: Option<Seq>,
    /// Exactly what was sent the first time.
    pub(crate) data: Box<[u8]>,
    /// When it was numbered.
    pub(crate) first: Time,
    /// When a copy last left, or would have left but for `lose`.
    pub(crate) last: Time,
    /// How many more copies a rule suppresses.
    pub(crate) lose: u32,
}

impl Record {
    /// Accounts for one transmission; false when a rule suppresses it.
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
/// Messages in the sender's responsibility are numbered as they arrive, so those records are in the order of the
/// sender's numbers too: `owed` lists them and its front decides what the sender may be shown as acked.
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

    /// Takes out everything that an ack of `ack` covers.
    pub(crate) fn acked(&mut self, ack: Seq) {
        while self.records.front().is_some_and(|record| record.d.is_behind(ack)) {
            if self.records.pop_front().is_some_and(|record| record.u.is_some()) {
                self.owed.pop_front();
            }
        }
    }

    /// The first number of the sender's that is not resolved.
    pub(crate) fn first_owed(&self) -> Option<Seq> {
        self.owed.front().map(|(u, _)| *u)
    }

    /// The unacked record of the sender's number `u`.
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

    /// Returns true if any of them is in custody of the proxy.
    pub(crate) fn has_custody(&self) -> bool {
        self.records.len() > self.owed.len()
    }
}
