//! Stores flows by address pair and by id.
//!
//! Law: at most [`MAX_FLOWS`](super::MAX_FLOWS) flows are open at once, and closed flows are kept until their waiting
//! datagrams are emitted. A lookup takes constant time if a few pairs send most of the datagrams, and otherwise
//! logarithmic time.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
};

use super::flow::Flow;
use teetap_proxy::session::Time;

/// Id of a flow. Ids of removed flows are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FlowId(usize);

/// Two addresses, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AddressPair {
    pub(super) low: SocketAddr,
    pub(super) high: SocketAddr,
}

/// Number of slots in the cache of recently used flows.
const RECENT: usize = 64;

/// All flows.
#[derive(Debug, Default)]
pub(super) struct Flows {
    /// Flows by id.
    slots: Vec<Option<(AddressPair, Flow)>>,
    free: Vec<FlowId>,
    /// Open flows by address pair.
    open: BTreeMap<AddressPair, FlowId>,
    /// Cache of recently used open flows, indexed by a value computed from their ports.
    recent: Box<[Option<(AddressPair, FlowId)>]>,
    /// Open flows sorted by the time of a datagram, which may be older than the flow's last datagram.
    queue: BTreeSet<(Time, FlowId)>,
    /// Time of each flow in the queue, by id.
    queued: Vec<Time>,
}

impl Flows {
    /// Returns the number of open flows.
    pub(super) fn open(&self) -> usize {
        self.open.len()
    }

    /// Returns the number of open and closed flows.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    pub(super) fn get(&self, id: FlowId) -> Option<&(AddressPair, Flow)> {
        self.slots.get(id.0)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, id: FlowId) -> Option<&mut (AddressPair, Flow)> {
        self.slots.get_mut(id.0)?.as_mut()
    }

    /// Returns the open flow between two addresses; `None` if there is none.
    pub(super) fn between(&mut self, pair: &AddressPair) -> Option<FlowId> {
        if let Some(Some((known, id))) = self.recent.get(pair.place())
            && known == pair
        {
            return Some(*id);
        }
        let id = *self.open.get(pair)?;
        self.remember(pair, Some(id));
        Some(id)
    }

    /// Adds an open flow.
    pub(super) fn add(&mut self, pair: AddressPair, flow: Flow) -> FlowId {
        let id = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.queued.push(Time::ZERO);
            FlowId(self.slots.len() - 1)
        });
        self.enqueue(id, flow.last);
        if let Some(slot) = self.slots.get_mut(id.0) {
            *slot = Some((pair, flow));
        }
        self.open.insert(pair, id);
        self.remember(&pair, Some(id));
        id
    }

    /// Closes the open flow of a pair, so that later datagrams begin a new flow.
    pub(super) fn close(&mut self, pair: &AddressPair) {
        self.remember(pair, None);
        if let Some(id) = self.open.remove(pair) {
            self.dequeue(id);
        }
    }

    /// Removes a closed flow and frees its id.
    pub(super) fn remove(&mut self, id: FlowId) {
        if self.slots.get_mut(id.0).and_then(Option::take).is_some() {
            self.free.push(id);
        }
    }

    /// Returns the open flow that has been silent for the longest time; `None` if no flow is open.
    pub(super) fn idlest(&mut self) -> Option<FlowId> {
        loop {
            let (time, id) = *self.queue.first()?;
            let last = self.get(id).map_or(time, |(_, flow)| flow.last);
            if last == time {
                return Some(id);
            }
            self.dequeue(id);
            self.enqueue(id, last);
        }
    }

    fn enqueue(&mut self, id: FlowId, time: Time) {
        self.queue.insert((time, id));
        if let Some(place) = self.queued.get_mut(id.0) {
            *place = time;
        }
    }

    fn dequeue(&mut self, id: FlowId) {
        if let Some(time) = self.queued.get(id.0) {
            self.queue.remove(&(*time, id));
        }
    }

    /// Returns the ids of the open flows for which `is_wanted` returns true.
    pub(super) fn open_if(&self, is_wanted: impl Fn(&Flow) -> bool) -> Vec<FlowId> {
        self.open
            .values()
            .copied()
            .filter(|id| self.get(*id).is_some_and(|(_, flow)| is_wanted(flow)))
            .collect()
    }

    fn remember(&mut self, pair: &AddressPair, id: Option<FlowId>) {
        if self.recent.is_empty() {
            self.recent = vec![None; RECENT].into();
        }
        if let Some(place) = self.recent.get_mut(pair.place()) {
            *place = id.map(|id| (*pair, id));
        }
    }
}

impl AddressPair {
    /// Creates a pair. Also returns true if `from` is the lower address.
    pub(super) fn from_addresses(from: SocketAddr, to: SocketAddr) -> (Self, bool) {
        if from <= to {
            (Self { low: from, high: to }, true)
        } else {
            (Self { low: to, high: from }, false)
        }
    }

    /// Returns both addresses, starting with the lower address if `low_first` is true.
    pub(super) fn ends(&self, low_first: bool) -> (SocketAddr, SocketAddr) {
        if low_first {
            (self.low, self.high)
        } else {
            (self.high, self.low)
        }
    }

    fn place(&self) -> usize {
        usize::from(self.low.port() ^ self.high.port()) % RECENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(port: u16) -> AddressPair {
        AddressPair::from_addresses(([10, 0, 0, 1], port).into(), ([10, 0, 0, 2], 8303).into()).0
    }

    #[test]
    fn the_idlest_is_found_whoever_spoke_in_between() {
        let mut flows = Flows::default();
        // All pairs share a slot of the cache.
        let ids = [1, 2, 3].map(|number| flows.add(pair(number * 64), Flow::new(Time(number.into()))));
        assert_eq!(flows.idlest(), Some(ids[0]));
        flows.get_mut(ids[0]).unwrap().1.last = Time(9);
        flows.get_mut(ids[1]).unwrap().1.last = Time(7);
        assert_eq!((flows.idlest(), flows.idlest()), (Some(ids[2]), Some(ids[2])));
        flows.close(&pair(3 * 64));
        assert_eq!((flows.idlest(), flows.open(), flows.len()), (Some(ids[1]), 2, 3));
        flows.close(&pair(2 * 64));
        flows.close(&pair(64));
        assert_eq!((flows.idlest(), flows.queue.len()), (None, 0));
    }

    #[test]
    fn a_number_given_anew_is_the_new_ones() {
        let mut flows = Flows::default();
        let first = flows.add(pair(1), Flow::new(Time(1)));
        assert_eq!(flows.between(&pair(1)), Some(first));
        flows.close(&pair(1));
        assert_eq!(
            (flows.between(&pair(1)), flows.get(first).is_some()),
            (None, true)
        );
        // While datagrams of the first flow wait, the pair has a second flow.
        let second = flows.add(pair(1), Flow::new(Time(2)));
        assert_ne!(first, second);
        flows.remove(first);
        let third = flows.add(pair(65), Flow::new(Time(3)));
        assert_eq!(third, first);
        assert_eq!(
            [pair(1), pair(65), pair(1), pair(2)].map(|pair| flows.between(&pair)),
            [Some(second), Some(third), Some(second), None]
        );
    }
}
