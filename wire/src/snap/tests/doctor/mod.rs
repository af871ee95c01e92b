//! Simulated worlds whose sender has one known fault, which the doctor has to name.

#![expect(
    clippy::cast_possible_truncation,
    reason = "the numbers are small, or are cut on purpose"
)]

mod alike;
mod fault;
mod sent;
mod single;
mod world;

use super::*;
pub(super) use fault::Fault;
use fault::Plan;
use sent::Sent;
use world::{Items, World};

/// The number of seeds tried for each fault.
const SEEDS: u64 = 60;
/// The numbers of right snapshots before the fault, and of wrong snapshots with it.
const RIGHT: usize = 8;
const WRONG: usize = 6;

/// Faults of bases, sums and items.
pub(super) const ITEMS: [Fault; 18] = [
    Fault::Twice,
    Fault::NotCounted,
    Fault::NotDeleted,
    Fault::StillCounted,
    Fault::SentTwice,
    Fault::RemovedNotThere,
    Fault::DeletedAndSent,
    Fault::Absolute,
    Fault::ItemOlder,
    Fault::ItemOtherBase,
    Fault::OtherBase,
    Fault::OnlyMessage,
    Fault::SumOfBase,
    Fault::Zero,
    Fault::Keys,
    Fault::Cut,
    Fault::Descriptors,
    Fault::TypeTwice,
];
/// Faults of values.
pub(super) const VALUES: [FieldFault; 9] = [
    FieldFault::Sign,
    FieldFault::DifferenceSign,
    FieldFault::Cut(8),
    FieldFault::Swapped,
    FieldFault::Twice,
    FieldFault::NotCounted,
    FieldFault::Absolute,
    FieldFault::Older,
    FieldFault::Jump(0),
];

/// Runs one world. Returns the diagnosis after each wrong snapshot, and the correct cause.
pub(super) fn diagnoses(fault: Fault, seed: u64) -> (Vec<Option<Diagnosis>>, Cause) {
    let mut world = World::new(seed);
    if fault == Fault::Descriptors && world.proto == Proto::V7 {
        world = World::new(seed + 1_000_001);
    }
    let mut session = Session::new(world.proto);
    let mut history: Vec<(i32, Items)> = vec![(-1, Items::new())];
    let send = |session: &mut Session, tick: i32, base: i32, sent: &Sent| {
        let data = sent.data(&sizes(session.proto));
        let fields = [
            ("tick", tick),
            ("delta_tick", tick - base),
            ("crc", sent.crc),
            ("part_size", data.len() as i32),
        ];
        let message = session.message("snap_single", &fields, &data);
        let fate = session.receive(Dir::S2c, &message).unwrap().fate;
        (fate, message)
    };
    let mut plan = None;
    for count in 0..RIGHT {
        // The sender deletes a shot that it has deleted before.
        if fault == Fault::RemovedNotThere && count + 2 == RIGHT {
            plan = Some(Plan::new(fault, &mut world));
        } else if let Some(Plan { key, .. }) = plan {
            world.items.remove(&key);
        }
        let (base_tick, base) = history.last().unwrap().clone();
        let (fate, _) = send(
            &mut session,
            world.tick,
            base_tick,
            &Sent::new(&base, &world.items),
        );
        assert_eq!(fate, Fate::Kept);
        history.push((world.tick, world.items.clone()));
        world.step();
    }
    let plan = plan.unwrap_or_else(|| Plan::new(fault, &mut world));
    plan.prepare(&mut world);
    let [.., (_, older), (tick, base)] = history.as_slice() else {
        unreachable!()
    };
    let mut doctor = ChecksumCauses::default();
    let mut found = Vec::new();
    for _ in 0..WRONG {
        let mut items = world.items.clone();
        if fault == Fault::NotDeleted {
            items.remove(&plan.key);
        }
        let sent = plan.send(&mut world.rng, older, base, &items);
        let (fate, message) = send(&mut session, world.tick, *tick, &sent);
        if fate == Fate::BadCrc {
            found.push(session.store.diagnose(&mut doctor, &message));
        }
        world.step();
    }
    (found, plan.cause(*tick))
}

/// Runs one world. Returns the likeliest cause after the first wrong snapshot, the likeliest cause after the last wrong
/// snapshot, and the correct cause.
fn run(fault: Fault, seed: u64) -> [Option<Cause>; 3] {
    let (found, right) = diagnoses(fault, seed);
    let first = found.iter().flatten().next();
    let cause = |diagnosis: Option<&Diagnosis>| Some(diagnosis?.causes.first()?.cause);
    [
        cause(first),
        cause(found.last().and_then(Option::as_ref)),
        Some(right),
    ]
}

/// Returns the percentage of seeds in which the first cause is the fault: after the first wrong snapshot, and after
/// all of them. Seeds in which the fault changes no sum are not counted.
fn named(fault: Fault) -> (u64, u64) {
    let (mut at_once, mut in_the_end, mut wrong) = (0, 0, 0);
    for seed in 0..SEEDS {
        let [first, last, right] = run(fault, seed);
        let is_right = |cause: Option<Cause>| {
            cause
                .zip(right)
                .is_some_and(|(cause, right)| cause.is_like(right))
        };
        wrong += u64::from(first.is_some());
        at_once += u64::from(is_right(first));
        in_the_end += u64::from(is_right(last));
    }
    assert!(wrong * 100 >= SEEDS * 60, "{fault:?}: {wrong} seeds");
    (at_once * 100 / wrong, in_the_end * 100 / wrong)
}

#[test]
fn faults_of_bases_sums_and_items_are_named_at_once() {
    let rates: Vec<_> = ITEMS.into_iter().map(|fault| (fault, named(fault))).collect();
    let low: Vec<_> = rates
        .iter()
        .filter(|(_, (at_once, last))| *at_once < 90 || *last < 95)
        .collect();
    assert!(low.is_empty(), "{low:?}");
}

#[test]
fn faults_of_values_are_named_after_a_few_snapshots() {
    let faults = VALUES.into_iter().map(Fault::Field);
    let rates: Vec<_> = faults.map(|fault| (fault, named(fault))).collect();
    let low: Vec<_> = rates.iter().filter(|(_, (_, last))| *last < 95).collect();
    assert!(low.is_empty(), "{low:?}");
}

#[test]
fn right_snapshots_have_no_diagnosis() {
    for seed in 0..20 {
        let mut world = World::new(seed);
        let mut session = Session::new(world.proto);
        let (mut base, mut doctor) = ((-1, Items::new()), ChecksumCauses::default());
        for _ in 0..50 {
            let sent = Sent::new(&base.1, &world.items);
            let data = sent.data(&sizes(session.proto));
            let fields = [
                ("tick", world.tick),
                ("delta_tick", world.tick - base.0),
                ("crc", sent.crc),
                ("part_size", data.len() as i32),
            ];
            let message = session.message("snap_single", &fields, &data);
            assert_eq!(session.receive(Dir::S2c, &message).unwrap().fate, Fate::Kept);
            assert_eq!(session.store.diagnose(&mut doctor, &message), None);
            base = (world.tick, world.items.clone());
            world.step();
        }
    }
}
