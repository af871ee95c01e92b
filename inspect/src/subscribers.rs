//! Watchers that subscribe and unsubscribe during a run, each with its own filter.
//!
//! Law: filters are evaluated once per event, when the event is decoded. A subscription never receives an event that
//! was decoded before the subscription began, so the slot of a former subscription can be reused immediately.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use teetap_rules::Filter;

/// Maximum number of simultaneous subscriptions.
const MAX_SUBSCRIPTIONS: usize = 64;

/// The subscriptions of a run; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Subscribers(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Number of changes of `slots`.
    changes: AtomicU64,
    /// For each slot, the change counter at the start of the subscription and its filter; `None` for a free slot.
    slots: Mutex<Vec<Option<(u64, Wanted)>>>,
}

/// The filter of a subscriber; `None` if it wants all messages.
type Wanted = Option<Filter>;

/// A subscription, which ends when it is dropped.
#[derive(Debug)]
pub struct Subscription {
    shared: Arc<Shared>,
    slot: Slot,
}

/// Identifies a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    index: u8,
    /// The change counter at the start of the subscription.
    since: u64,
}

/// The subscriptions that want an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selected {
    /// Bitmask of slots.
    pub(crate) slots: u64,
    /// The change counter known to the decoder when it decoded the event.
    pub(crate) changes: u64,
}

impl Subscribers {
    /// Subscribes to the messages that pass a filter, or to all messages. Returns `None` if there are already
    /// 64 subscribers.
    #[must_use]
    pub fn subscribe(&self, filter: Option<Filter>) -> Option<Subscription> {
        let shared = &self.0;
        let mut slots = shared.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let free = slots.iter().position(Option::is_none).unwrap_or(slots.len());
        if free >= MAX_SUBSCRIPTIONS {
            return None;
        }
        if free == slots.len() {
            slots.push(None);
        }
        let since = shared.changes.fetch_add(1, Ordering::Release) + 1;
        *slots.get_mut(free)? = Some((since, filter));
        Some(Subscription {
            shared: Arc::clone(shared),
            slot: Slot {
                index: u8::try_from(free).ok()?,
                since,
            },
        })
    }

    /// Returns the change counter.
    pub(crate) fn changes(&self) -> u64 {
        self.0.changes.load(Ordering::Acquire)
    }

    /// Returns the subscriptions with their filters, and the change counter.
    pub(crate) fn filters(&self) -> (Vec<(Slot, Wanted)>, u64) {
        let slots = self.0.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let filters = (0..).zip(&*slots).filter_map(|(index, taken)| {
            let (since, wanted) = taken.clone()?;
            Some((Slot { index, since }, wanted))
        });
        (filters.collect(), self.changes())
    }
}

impl Subscription {
    /// Returns the slot of the subscription, for [`Viewer::Subscriber`](crate::Viewer::Subscriber).
    #[must_use]
    pub const fn slot(&self) -> Slot {
        self.slot
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut slots = self.shared.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.get_mut(usize::from(self.slot.index)) {
            *slot = None;
        }
        self.shared.changes.fetch_add(1, Ordering::Release);
    }
}

impl Selected {
    /// Returns true if the subscription wants the event or a message of it.
    #[must_use]
    pub(crate) const fn has(self, slot: Slot) -> bool {
        self.changes >= slot.since && slot.is_in(self.slots)
    }
}

impl Slot {
    /// Returns the bit of the slot.
    pub(crate) const fn bit(self) -> u64 {
        1 << self.index
    }

    /// Returns true if the bit of the slot is set.
    pub(crate) const fn is_in(self, slots: u64) -> bool {
        slots & self.bit() != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_used_again_and_old_events_do_not_count_for_it() {
        let subscribers = Subscribers::default();
        let first = subscribers.subscribe(None).unwrap();
        let (filters, changes) = subscribers.filters();
        assert_eq!((filters.len(), filters[0].0), (1, first.slot()));
        let old = Selected { slots: 1, changes };
        assert!(old.has(first.slot()));
        drop(first);
        let second = subscribers.subscribe(None).unwrap();
        assert_eq!(subscribers.filters().0.len(), 1);
        assert!(!old.has(second.slot()));
        let changes = subscribers.changes();
        assert!(Selected { slots: 1, changes }.has(second.slot()));
        assert!(!Selected { slots: 2, changes }.has(second.slot()));
    }

    #[test]
    fn there_is_a_limit() {
        let subscribers = Subscribers::default();
        let mut all: Vec<_> = (0..MAX_SUBSCRIPTIONS)
            .map(|_| subscribers.subscribe(None).unwrap())
            .collect();
        assert!(subscribers.subscribe(None).is_none());
        all.remove(17);
        assert_eq!(subscribers.subscribe(None).unwrap().slot().index, 17);
    }
}
