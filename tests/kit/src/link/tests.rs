//! Tests that hops follow their conditions, and behave in the same way each time.

use super::*;

#[test]
fn the_queue_gives_the_soonest_and_then_the_oldest() {
    let mut queue = Queue::default();
    for (time, item) in [(5, 'a'), (3, 'b'), (5, 'c'), (9, 'd'), (3, 'e')] {
        queue.push(time, item);
    }
    assert_eq!(queue.next_time(), Some(3));
    assert_eq!(queue.pop(2), None);
    let order: String = std::iter::from_fn(|| queue.pop(8)).collect();
    assert_eq!(order, "beac");
    assert_eq!(queue.len(), 1);
}

#[test]
fn a_good_hop_keeps_everything_in_order() {
    let mut hop = Hop::new(Conditions::GOOD, 1);
    for number in 0..100 {
        hop.send(number, number);
    }
    assert_eq!(hop.receive(10 * MS - 1), None);
    let arrived: Vec<u64> = std::iter::from_fn(|| hop.receive(10 * MS + 99)).collect();
    assert_eq!(arrived, (0..100).collect::<Vec<_>>());
}

#[test]
fn a_bad_hop_loses_doubles_and_reorders_and_repeats_itself_for_a_seed() {
    let run = |seed| {
        let mut hop = Hop::new(Conditions::bad(0.1), seed);
        for number in 0..10_000 {
            hop.send(number, number * 10 * MS);
        }
        let arrived: Vec<u64> = std::iter::from_fn(|| hop.receive(u64::MAX)).collect();
        (hop.lost, arrived)
    };
    let (lost, arrived) = run(7);
    assert!((850..1150).contains(&lost), "{lost}");
    let doubled = arrived.len() as u64 + lost - 10_000;
    assert!((200..350).contains(&doubled), "{doubled}");
    assert!(!arrived.is_sorted());
    assert_eq!(run(7), (lost, arrived));
    assert_ne!(run(8).1, run(7).1);
}

#[test]
fn random_numbers_spread() {
    let mut random = Random::new(3);
    let mut seen = [0; 6];
    for _ in 0..6000 {
        seen[usize::try_from(random.below(6)).unwrap()] += 1;
    }
    assert!(seen.iter().all(|count| (850..1150).contains(count)), "{seen:?}");
    assert_eq!(random.below(0), 0);
    assert!(!random.chance(0.0) && random.chance(1.0));
}
