//! The bus from the data thread to whoever watches.
//!
//! Law: bounded, drop-oldest, with an exact count of what a watcher missed. Publishing never blocks and never wakes
//! anybody: a watcher drains on its own tick.

use std::sync::Arc;

use tokio::sync::broadcast::{self, error::TryRecvError};

use crate::session::Event;

/// Events kept for late watchers.
///
/// A watcher that looks every 20 ms misses nothing below 800 000 events per second. Each event owns its bytes, so
/// the ring is worth about 16 MiB when it is full of ordinary traffic.
const CAPACITY: usize = 16_384;

/// The sending half; cheap to clone.
#[derive(Clone, Debug)]
pub struct Bus {
    sender: broadcast::Sender<Arc<Event>>,
}

/// What a watcher sees.
#[derive(Clone, Debug)]
pub enum Seen {
    /// An event.
    Event(Arc<Event>),
    /// So many events were overwritten before this watcher came to them.
    Gap(u64),
}

/// The receiving half.
#[derive(Debug)]
pub struct Watcher {
    receiver: broadcast::Receiver<Arc<Event>>,
    lost: u64,
}

impl Bus {
    /// A bus with room for at least `capacity` events (rounded up to a power of two).
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            sender: broadcast::Sender::new(capacity.max(1)),
        }
    }

    /// Tells everybody who watches. Without watchers the event is gone, which is no error.
    pub fn publish(&self, event: Event) {
        let _nobody_watches = self.sender.send(Arc::new(event));
    }

    /// A watcher that sees everything published from now on.
    #[must_use]
    pub fn watch(&self) -> Watcher {
        Watcher {
            receiver: self.sender.subscribe(),
            lost: 0,
        }
    }
}

impl Default for Bus {
    fn default() -> Self {
        Self::new(CAPACITY)
    }
}

impl Watcher {
    /// The next thing seen; `None` when there is nothing more right now or ever. Never waits.
    pub fn poll(&mut self) -> Option<Seen> {
        match self.receiver.try_recv() {
            Ok(event) => Some(Seen::Event(event)),
            Err(TryRecvError::Lagged(lost)) => {
                self.lost += lost;
                Some(Seen::Gap(lost))
            }
            Err(TryRecvError::Empty | TryRecvError::Closed) => None,
        }
    }

    /// How many events this watcher has missed.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Remark, Time, What};

    fn event(number: u64) -> Event {
        Event {
            at: Time(number),
            session: None,
            what: What::Remark(Remark::Candidate),
        }
    }

    #[test]
    fn a_late_watcher_gets_the_newest_events_and_the_exact_count_of_the_rest() {
        let bus = Bus::new(4);
        let mut watcher = bus.watch();
        for number in 0..11 {
            bus.publish(event(number));
        }
        assert!(matches!(watcher.poll(), Some(Seen::Gap(7))));
        for expected in 7..11 {
            assert!(matches!(watcher.poll(), Some(Seen::Event(event)) if event.at == Time(expected)));
        }
        assert!(watcher.poll().is_none());
        assert_eq!(watcher.lost(), 7);
    }

    #[test]
    fn watchers_do_not_take_from_each_other_and_see_the_rest_after_the_end() {
        let bus = Bus::new(8);
        let (mut one, mut other) = (bus.watch(), bus.watch());
        bus.publish(event(1));
        drop(bus);
        for watcher in [&mut one, &mut other] {
            assert!(matches!(watcher.poll(), Some(Seen::Event(_))));
            assert!(watcher.poll().is_none());
        }
    }
}
