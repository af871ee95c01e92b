//! Tests of the bus: exact gaps, and snapshots that are known again.

use std::time::Duration;

use super::*;
use crate::session::{Notice, Time, What};

fn bus(capacity: usize) -> Bus {
    Bus::with_capacity(capacity, Registry::builtin())
}

fn event(number: u64) -> Event {
    Event {
        at: Time(number),
        session: None,
        what: What::Notice(Notice::Candidate),
    }
}

fn number(seen: Option<Seen>) -> u64 {
    match seen {
        Some(Seen::Event(event)) => event.at.0,
        other => panic!("{other:?} is no event"),
    }
}

#[test]
fn a_late_watcher_gets_the_newest_events_and_the_exact_count_of_the_rest() {
    let bus = bus(4);
    let mut watcher = bus.watch();
    let (mut publisher, mut follower) = bus.open(Events::All);
    for at in 0..11 {
        publisher.publish(event(at));
    }
    assert!(follower.turn(Time::ZERO));
    assert!(matches!(watcher.poll(), Some(Seen::Gap(7))));
    for expected in 7..11 {
        assert_eq!(number(watcher.poll()), expected);
    }
    assert!(watcher.poll().is_none());
    assert_eq!(watcher.lost(), 7);
}

#[test]
fn watchers_do_not_take_from_each_other_and_see_the_rest_after_the_end() {
    let bus = bus(8);
    let (mut one, mut other) = (bus.watch(), bus.watch());
    let (mut publisher, mut follower) = bus.open(Events::All);
    publisher.publish(event(1));
    drop((bus, publisher));
    assert!(!follower.turn(Time::ZERO));
    drop(follower);
    for watcher in [&mut one, &mut other] {
        assert_eq!(number(watcher.poll()), 1);
        assert!(watcher.poll().is_none());
    }
}

#[test]
fn what_has_no_room_is_missed_by_all_and_counted_also_at_the_end() {
    let bus = bus(8);
    let mut watcher = bus.watch();
    let (mut publisher, mut follower) = bus.open(Events::All);
    let room = publisher::QUEUE.div_ceil(size_of::<Event>()) as u64;
    for at in 1..=room + 5 {
        publisher.publish(event(at));
    }
    follower.turn(Time::ZERO);
    assert_eq!(bus.shared.queued.load(Ordering::Relaxed), 0);
    assert!(matches!(watcher.poll(), Some(Seen::Gap(lost)) if lost == room - 8));
    assert_eq!((0..8).map(|_| number(watcher.poll())).last(), Some(room));
    publisher.publish(event(1_000_000_000));
    follower.turn(Time::ZERO);
    assert!(matches!(watcher.poll(), Some(Seen::Gap(5))));
    assert!(matches!(
        watcher.poll(),
        Some(Seen::Snapshots(_)) | Some(Seen::Event(_))
    ));
    bus.shared.queued.store(publisher::QUEUE, Ordering::Relaxed);
    publisher.publish(event(1));
    drop(publisher);
    assert!(!follower.turn(Time::ZERO));
    let rest: Vec<Seen> = std::iter::from_fn(|| watcher.poll()).collect();
    assert!(matches!(rest.last(), Some(Seen::Gap(1))), "{rest:?}");
    assert_eq!(watcher.lost(), room - 8 + 5 + 1);
}

/// The copy comes with the first event behind the gap that the follower sees, once, and only to a watcher that lags.
#[test]
fn whoever_missed_something_is_told_the_snapshots() {
    let bus = bus(4);
    let (mut slow, mut quick) = (bus.watch(), bus.watch());
    let (mut publisher, mut follower) = bus.open(Events::All);
    for at in 0..6 {
        publisher.publish(event(at));
        follower.turn(Time::ZERO);
        assert_eq!(number(quick.poll()), at);
    }
    assert!(matches!(slow.poll(), Some(Seen::Gap(2))));
    assert_eq!(number(slow.poll()), 2);
    publisher.publish(event(6));
    follower.turn(Time::ZERO);
    for at in 3..6 {
        assert_eq!(number(slow.poll()), at);
    }
    assert!(matches!(slow.poll(), Some(Seen::Snapshots(_))));
    assert_eq!((number(slow.poll()), number(quick.poll())), (6, 6));
    assert!(bus.shared.slot().is_none());
    // Not again so soon.
    for at in 10..16 {
        publisher.publish(event(at));
    }
    follower.turn(Time::ZERO);
    assert!(matches!(slow.poll(), Some(Seen::Gap(2))));
    let mut tell = |after: Duration| {
        publisher.publish(event(16));
        follower.turn(Time::ZERO + after);
        let seen: Vec<Seen> = std::iter::from_fn(|| slow.poll()).collect();
        seen.iter().any(|seen| matches!(seen, Seen::Snapshots(_)))
    };
    assert!(!tell(Duration::from_millis(1)));
    assert!(tell(2 * follower::BETWEEN));
    assert!(!tell(4 * follower::BETWEEN));
    // Gone while it lagged: the copy is not needed any more.
    for at in 20..30 {
        publisher.publish(event(at));
    }
    follower.turn(Time::ZERO + 6 * follower::BETWEEN);
    while slow.poll().is_some() {}
    drop((slow, quick));
    assert!(bus.shared.slot().is_none());
}

#[test]
fn nobody_watches() {
    let bus = bus(4);
    let (mut publisher, mut follower) = bus.open(Events::All);
    publisher.publish(event(1));
    let mut watcher = bus.watch();
    publisher.publish(event(2));
    follower.turn(Time::ZERO);
    // One that comes later knows that it does not know the snapshots.
    assert!(matches!(watcher.poll(), Some(Seen::Snapshots(_))));
    assert_eq!((number(watcher.poll()), watcher.lost()), (2, 0));
    drop(watcher);
    let mut late = bus.watch();
    publisher.publish(event(3));
    follower.turn(Time::ZERO + 2 * follower::BETWEEN);
    assert!(matches!(late.poll(), Some(Seen::Snapshots(_))));
    assert_eq!((number(late.poll()), late.lost()), (3, 0));
}

/// The snapshots of a run that emits only odd events cannot be known.
#[test]
fn without_all_events_there_are_no_snapshots() {
    let bus = bus(4);
    let mut watcher = bus.watch();
    let (mut publisher, mut follower) = bus.open(Events::Odd);
    for at in 0..10 {
        publisher.publish(event(at));
    }
    follower.turn(Time::ZERO);
    assert!(matches!(watcher.poll(), Some(Seen::Gap(6))));
    publisher.publish(event(10));
    follower.turn(Time::ZERO);
    let seen: Vec<Seen> = std::iter::from_fn(|| watcher.poll()).collect();
    assert!(seen.iter().all(|seen| matches!(seen, Seen::Event(_))), "{seen:?}");
}
