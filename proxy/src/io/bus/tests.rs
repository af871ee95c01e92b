//! Tests of the bus: gaps are exact, for the stage and for each watcher.

use std::sync::atomic::Ordering;

use super::*;
use crate::session::{Event, EventKind, Notice, Time};

/// A stage that counts its events and gaps.
#[derive(Default)]
struct Counter {
    events: u64,
    gaps: u64,
}

/// An event with the counts of the stage before it.
#[derive(Debug)]
struct Counted {
    event: Event,
    before: u64,
    gaps: u64,
}

impl Stage for Counter {
    type Made = Counted;

    fn event(&mut self, event: Event) -> Counted {
        self.events += 1;
        Counted {
            event,
            before: self.events - 1,
            gaps: self.gaps,
        }
    }

    fn gap(&mut self) {
        self.gaps += 1;
    }
}

fn counting(capacity: usize) -> (Bus<Counted>, Publisher, Worker<Counter>) {
    let bus = Bus::with_capacity(capacity);
    let (publisher, worker) = bus.open(Counter::default());
    (bus, publisher, worker)
}

fn event(number: u64) -> Event {
    Event {
        at: Time(number),
        session: None,
        what: EventKind::Notice(Notice::Candidate),
    }
}

fn number(seen: Option<Seen<Counted>>) -> u64 {
    match seen {
        Some(Seen::Event(made)) => made.event.at.0,
        other => panic!("{other:?} is no event"),
    }
}

#[test]
fn a_late_watcher_gets_the_newest_events_and_the_exact_count_of_the_rest() {
    let (bus, mut publisher, mut worker) = counting(4);
    let mut watcher = bus.watch();
    for at in 0..11 {
        publisher.publish(event(at));
    }
    assert!(worker.turn());
    assert!(matches!(watcher.poll(), Some(Seen::Gap(7))));
    for expected in 7..11 {
        assert_eq!(number(watcher.poll()), expected);
    }
    assert!(watcher.poll().is_none());
    assert_eq!(watcher.lost(), 7);
}

#[test]
fn datagrams_are_numbered_and_nothing_else() {
    use teetap_wire::{Dir, Proto};

    use crate::session::{Datagram, Origin};

    let (bus, mut publisher, mut worker) = counting(8);
    let mut watcher = bus.watch();
    for at in 0..6 {
        let datagram = Datagram::new(Dir::C2s, Proto::V7, Origin::Peer, b"x", std::iter::empty());
        publisher.publish(match at % 2 {
            0 => event(at),
            _ => Event {
                what: EventKind::Datagram(datagram),
                ..event(at)
            },
        });
    }
    worker.turn();
    let numbers = std::iter::from_fn(|| match watcher.poll()? {
        Seen::Event(made) => Some(made.event.clone().ends_mut().and_then(|ends| ends.frame)),
        Seen::Gap(_) => None,
    });
    let numbers: Vec<_> = numbers.collect();
    assert_eq!(numbers, [None, Some(1), None, Some(2), None, Some(3)]);
}

#[test]
fn watchers_do_not_take_from_each_other_and_see_the_rest_after_the_end() {
    let (bus, mut publisher, mut worker) = counting(8);
    let (mut one, mut other) = (bus.watch(), bus.watch());
    publisher.publish(event(1));
    drop((bus, publisher));
    assert!(!worker.turn());
    drop(worker);
    for watcher in [&mut one, &mut other] {
        assert_eq!(number(watcher.poll()), 1);
        assert!(watcher.poll().is_none());
    }
}

#[test]
fn what_has_no_room_is_missed_by_all_and_counted_also_at_the_end() {
    let (bus, mut publisher, mut worker) = counting(8);
    let mut watcher = bus.watch();
    let room = publisher::QUEUE.div_ceil(size_of::<Event>()) as u64;
    for at in 1..=room + 5 {
        publisher.publish(event(at));
    }
    worker.turn();
    assert_eq!(bus.0.counts.queued.load(Ordering::Relaxed), 0);
    assert!(matches!(watcher.poll(), Some(Seen::Gap(lost)) if lost == room - 8));
    assert_eq!((0..8).map(|_| number(watcher.poll())).last(), Some(room));
    publisher.publish(event(1_000_000_000));
    worker.turn();
    assert!(matches!(watcher.poll(), Some(Seen::Gap(5))));
    // The stage was told of the gap once, before this event.
    assert!(matches!(watcher.poll(), Some(Seen::Event(made)) if (made.before, made.gaps) == (room, 1)));
    bus.0.counts.queued.store(publisher::QUEUE, Ordering::Relaxed);
    publisher.publish(event(1));
    drop(publisher);
    assert!(!worker.turn());
    let rest: Vec<_> = std::iter::from_fn(|| watcher.poll()).collect();
    assert!(matches!(rest.last(), Some(Seen::Gap(1))), "{rest:?}");
    assert_eq!(watcher.lost(), room - 8 + 5 + 1);
}

/// A gap of a single event is reported: by the ring, by a queue, and to the stage.
#[test]
fn a_single_missing_event_is_a_gap() {
    let (bus, mut publisher, mut worker) = counting(2);
    let mut ringed = bus.watch();
    let mut keeper = bus.watch_all(2 * size_of::<Event>());
    let seen = |watcher: &mut Watcher<Counted>| {
        let seen = std::iter::from_fn(|| watcher.poll());
        let seen = seen.map(|seen| match seen {
            Seen::Event(made) => format!("event {} after {} gaps", made.event.at.0, made.gaps),
            Seen::Gap(lost) => format!("gap {lost}"),
        });
        seen.collect::<Vec<_>>()
    };
    (1..=3).for_each(|at| publisher.publish(event(at)));
    assert!(worker.turn(), "the publisher is there");
    assert_eq!(
        seen(&mut ringed),
        ["gap 1", "event 2 after 0 gaps", "event 3 after 0 gaps"]
    );
    assert_eq!(
        seen(&mut keeper),
        ["event 1 after 0 gaps", "event 2 after 0 gaps"]
    );
    // An event for which the queue to the worker had no room.
    bus.0.counts.queued.store(publisher::QUEUE, Ordering::Relaxed);
    publisher.publish(event(4));
    bus.0.counts.queued.store(0, Ordering::Relaxed);
    publisher.publish(event(5));
    bus.0.counts.queued.store(size_of::<Event>(), Ordering::Relaxed);
    assert!(worker.turn(), "the publisher is there");
    assert_eq!(seen(&mut ringed), ["gap 1", "event 5 after 1 gaps"]);
    assert_eq!(seen(&mut keeper), ["gap 2", "event 5 after 1 gaps"]);
    assert_eq!((ringed.lost(), keeper.lost()), (2, 2));
}

/// Events that end the run are passed on even if a flood has filled the queue for all others.
#[test]
fn events_that_end_the_run_have_room_under_a_flood() {
    let (bus, mut publisher, mut worker) = counting(8);
    let mut watcher = bus.watch();
    let ends = || {
        let failed = Notice::AssertionFailed {
            rule: "r".into(),
            expected: false,
            why: "because".into(),
            dir: None,
            message: None,
        };
        [
            failed,
            Notice::ExitRequested {
                rule: "r".into(),
                exit: 12,
                dir: None,
                message: None,
            },
        ]
    };
    let publish = |publisher: &mut Publisher, what: Notice| {
        publisher.publish(Event {
            what: EventKind::Notice(what),
            ..event(1)
        });
    };
    let mut passed_on = |publisher: &mut Publisher, queued: usize| {
        bus.0.counts.queued.store(queued, Ordering::Relaxed);
        publish(publisher, Notice::Candidate);
        ends().into_iter().for_each(|what| publish(publisher, what));
        publish(publisher, Notice::Candidate);
        worker.turn();
        let seen = std::iter::from_fn(|| watcher.poll()).filter_map(|seen| match seen {
            Seen::Event(made) => Some(format!("{:?}", made.event.what)),
            Seen::Gap(_) => None,
        });
        seen.collect::<Vec<_>>()
    };
    let expected: Vec<_> = ends().map(|what| format!("{:?}", EventKind::Notice(what))).into();
    // From a full queue up to twice its size, including the events themselves.
    let most = 2 * publisher::QUEUE - 2 * size_of::<Event>();
    for queued in [publisher::QUEUE, most] {
        assert_eq!(
            passed_on(&mut publisher, queued),
            expected,
            "{queued} bytes queued"
        );
    }
    let none: [&str; 0] = [];
    assert_eq!(
        passed_on(&mut publisher, 2 * publisher::QUEUE),
        none,
        "no room at all"
    );
}

/// The stage works once per event, no matter how many watchers stall, and a watcher that keeps up misses
/// nothing.
#[test]
fn stalled_watchers_cost_the_others_nothing() {
    let (bus, mut publisher, mut worker) = counting(16);
    let mut stalled: Vec<_> = (0..64).map(|_| bus.watch()).collect();
    let mut quick = bus.watch();
    for at in 0..1_000 {
        publisher.publish(event(at));
        assert!(worker.turn());
        let Some(Seen::Event(made)) = quick.poll() else {
            panic!("event {at} is missing");
        };
        assert_eq!((made.event.at.0, made.before, made.gaps), (at, at, 0));
    }
    assert_eq!(quick.lost(), 0);
    for watcher in &mut stalled {
        assert!(matches!(watcher.poll(), Some(Seen::Gap(984))));
        let rest: Vec<u64> = (0..16).map(|_| number(watcher.poll())).collect();
        assert_eq!(rest, (984..1_000).collect::<Vec<_>>());
        assert!(watcher.poll().is_none());
        assert_eq!(watcher.lost(), 984);
    }
}

/// Events published without watchers are not decoded. They are a gap for the stage, since a session may have
/// begun in it.
#[test]
fn without_watchers_the_stage_has_nothing_to_do() {
    let (bus, mut publisher, mut worker) = counting(4);
    publisher.publish(event(1));
    let mut watcher = bus.watch();
    publisher.publish(event(2));
    assert!(worker.turn());
    let Some(Seen::Event(made)) = watcher.poll() else {
        panic!("no event");
    };
    assert_eq!((made.event.at.0, made.before, made.gaps), (2, 0, 1));
    assert_eq!(watcher.lost(), 0);
    drop(watcher);
    publisher.publish(event(3));
    let mut late = bus.watch();
    publisher.publish(event(4));
    assert!(worker.turn());
    let Some(Seen::Event(made)) = late.poll() else {
        panic!("no event");
    };
    assert_eq!((made.event.at.0, made.before, made.gaps), (4, 1, 2));
}

/// A watcher with its own queue misses nothing for which the queue has room, no matter how small the ring is.
#[test]
fn a_queue_of_its_own_is_bounded_by_bytes() {
    let (bus, mut publisher, mut worker) = counting(4);
    let room = 100;
    let mut keeper = bus.watch_all(room * size_of::<Event>());
    let mut ringed = bus.watch();
    for at in 1..=100 {
        publisher.publish(event(at));
    }
    worker.turn();
    assert_eq!(
        (1..=100).map(|_| number(keeper.poll())).collect::<Vec<_>>(),
        (1..=100).collect::<Vec<_>>()
    );
    assert!(keeper.poll().is_none());
    assert!(matches!(ringed.poll(), Some(Seen::Gap(96))));
    // If there are more events, the newest are missing. There is room again for the events that it has read.
    for at in 101..=250 {
        publisher.publish(event(at));
    }
    worker.turn();
    assert_eq!((101..=200).map(|_| number(keeper.poll())).last(), Some(200));
    assert!(keeper.poll().is_none());
    publisher.publish(event(251));
    worker.turn();
    assert!(matches!(keeper.poll(), Some(Seen::Gap(50))));
    assert_eq!(number(keeper.poll()), 251);
    assert_eq!(keeper.lost(), 50);
    // Events that are missing at the end are counted, too.
    for at in 252..=400 {
        publisher.publish(event(at));
    }
    drop(publisher);
    worker.turn();
    let rest: Vec<_> = std::iter::from_fn(|| keeper.poll()).collect();
    assert_eq!(rest.len(), 101);
    assert!(matches!(rest.last(), Some(Seen::Gap(49))));
    // The queue of a dropped watcher is removed.
    drop(keeper);
    let (publisher, mut worker) = bus.open(Counter::default());
    drop(publisher);
    worker.turn();
    bus.0.send(&super::ring::Item {
        is_made: false,
        ordinal: 401,
        made: Arc::new(Counted {
            event: event(401),
            before: 0,
            gaps: 0,
        }),
        size: 1,
    });
    assert!(bus.0.queues.lock().unwrap().is_empty());
}

/// A stage that creates an event of its own at each of these times.
struct Clocked(Vec<u64>);

impl Stage for Clocked {
    type Made = Event;

    fn event(&mut self, event: Event) -> Event {
        event
    }

    fn gap(&mut self) {}

    fn due(&mut self, before: Time) -> Option<Event> {
        let at = self.0.first().copied().filter(|at| *at < before.0)?;
        self.0.remove(0);
        Some(event(at))
    }
}

#[test]
fn what_the_stage_makes_comes_in_order_and_is_no_gap() {
    let bus = Bus::with_capacity(4);
    let (mut publisher, mut worker) = bus.open(Clocked(vec![5, 15, 16, 25]));
    let mut watcher = bus.watch();
    let at = |seen: Option<Seen<Event>>| match seen {
        Some(Seen::Event(made)) => made.at.0,
        other => panic!("{other:?} is no event"),
    };
    for published in [10, 20] {
        publisher.publish(event(published));
    }
    worker.turn();
    // The ring holds four events. The first one, which the stage created, was overwritten, but it was not
    // published.
    let times: Vec<_> = (0..4).map(|_| at(watcher.poll())).collect();
    assert_eq!((times, watcher.lost()), (vec![10, 15, 16, 20], 0));
    // Passed on without a published event, once its time is over.
    worker.pass_on_due(Time(25));
    assert!(watcher.poll().is_none());
    worker.pass_on_due(Time(26));
    assert_eq!(at(watcher.poll()), 25);
    // A watcher counts only the published events that it has missed.
    let mut late = bus.watch();
    (30..36).for_each(|published| publisher.publish(event(published)));
    worker.turn();
    assert!(matches!(late.poll(), Some(Seen::Gap(2))));
    let rest: Vec<_> = (0..4).map(|_| at(late.poll())).collect();
    assert_eq!(rest, [32, 33, 34, 35]);
}

/// A message that is held until a watcher answers is passed on immediately, at any pace of worker and
/// watchers.
#[test]
fn a_held_message_rings_at_once_and_nothing_else_does() {
    use std::{num::NonZeroU32, time::Duration};

    let (bus, mut publisher, worker) = counting(8);
    let mut watcher = bus.watch();
    let (rung, rings) = mpsc::channel();
    let bell: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
        let _test_is_over = rung.send(());
    });
    bus.ring_at_once(&bell);
    // A pace at which no event would be passed on within the test.
    let hour = Duration::from_secs(3600);
    let running = std::thread::spawn(move || worker.run_each(hour, crate::io::Clock::start()));
    let held = |held| Event {
        what: EventKind::Notice(Notice::Held {
            dir: teetap_wire::Dir::C2s,
            held: NonZeroU32::new(held).unwrap(),
            rule: "pause".into(),
            max: hour,
        }),
        ..event(u64::from(held))
    };
    while bus.0.counts.worker.get().is_none() {
        std::thread::yield_now();
    }
    publisher.publish(event(1));
    publisher.publish(held(2));
    rings.recv_timeout(Duration::from_secs(20)).unwrap();
    assert_eq!([1, 2], [(); 2].map(|()| number(watcher.poll())));
    publisher.publish(event(3));
    assert!(rings.recv_timeout(Duration::from_millis(20)).is_err());
    drop(bell);
    publisher.publish(held(4));
    // The worker notices the end the next time it polls.
    drop(publisher);
    running.thread().unpark();
    running.join().unwrap();
    assert_eq!([3, 4], [(); 2].map(|()| number(watcher.poll())));
    assert!(rings.try_recv().is_err());
}
