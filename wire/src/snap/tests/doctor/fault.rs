//! Simulated faults of a sender, their effects on its messages, and the causes that the doctor has to name.

use super::{
    sent::{difference, sum, total},
    world::Rng,
    *,
};

/// A fault of the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::snap::tests) enum Fault {
    Twice,
    NotCounted,
    NotDeleted,
    StillCounted,
    SentTwice,
    RemovedNotThere,
    DeletedAndSent,
    Absolute,
    ItemOlder,
    ItemOtherBase,
    OtherBase,
    OnlyMessage,
    SumOfBase,
    Zero,
    Keys,
    Cut,
    Descriptors,
    TypeTwice,
    Field(FieldFault),
}

/// The affected item or value, and the cause that the doctor has to name.
pub(super) struct Plan {
    fault: Fault,
    pub(super) key: ItemKey,
    at: usize,
}

impl Plan {
    pub(super) fn new(fault: Fault, world: &mut World) -> Self {
        let kinds = &world.kinds;
        let (character, pickup) = (kinds.character, kinds.pickup);
        let key = match fault {
            Fault::NotDeleted | Fault::StillCounted => world.pick(pickup),
            Fault::Twice if world.rng.range(0, 1) == 0 => world.pick(pickup),
            Fault::RemovedNotThere => {
                world.shoot();
                world.shots_there()[0]
            }
            _ => world.pick(character),
        };
        // Values that a game changes often: the positions of the tee and of its hook. The tick changes for all moving
        // tees.
        let at = match fault {
            // If a value was truncated, the sum shows only its higher bits, and these change for a velocity.
            Fault::Field(FieldFault::Cut(_)) => 3,
            _ => [1, 2, 11, 12][usize::try_from(world.rng.next() % 4).unwrap()],
        };
        Self { fault, key, at }
    }

    /// Changes the world before the first wrong snapshot.
    pub(super) fn prepare(&self, world: &mut World) {
        if matches!(self.fault, Fault::NotDeleted | Fault::StillCounted) {
            world.items.remove(&self.key);
        }
    }

    pub(super) fn cause(&self, tick: i32) -> Cause {
        let (key, named) = (self.key, tick);
        let item = |fault| Cause::Item { key, fault };
        match self.fault {
            Fault::Twice => item(ItemFault::Twice),
            Fault::NotCounted => item(ItemFault::NotCounted),
            Fault::NotDeleted => item(ItemFault::NotDeleted),
            Fault::StillCounted => item(ItemFault::StillCounted),
            Fault::SentTwice => item(ItemFault::SentTwice),
            Fault::RemovedNotThere => item(ItemFault::RemovedNotThere),
            Fault::DeletedAndSent => item(ItemFault::DeletedAndSent),
            Fault::Absolute => item(ItemFault::Absolute),
            Fault::ItemOlder => item(ItemFault::Older(tick)),
            Fault::ItemOtherBase => item(ItemFault::OtherBase(tick)),
            Fault::OtherBase => Cause::OtherBase { tick, named },
            Fault::OnlyMessage => Cause::OnlyMessage { named },
            Fault::SumOfBase => Cause::Sum(SumFault::OfTick(tick)),
            Fault::Zero => Cause::Sum(SumFault::Zero),
            Fault::Keys => Cause::Sum(SumFault::Keys),
            Fault::Cut => Cause::Sum(SumFault::Cut(16)),
            Fault::Descriptors | Fault::TypeTwice => Cause::Type {
                kind: if self.fault == Fault::Descriptors {
                    0
                } else {
                    self.key.kind
                },
                items: 0,
                twice: self.fault == Fault::TypeTwice,
            },
            Fault::Field(fault) => Cause::Field {
                key,
                at: self.at as u16,
                value: 0,
                fault,
            },
        }
    }

    /// Returns the message that a sender with this fault sends for `items`. `older` is a snapshot before the base.
    pub(super) fn send(&self, rng: &mut Rng, older: &Items, base: &Items, items: &Items) -> Sent {
        let mut sent = Sent::new(base, items);
        let key = self.key;
        let now = items.get(&key).map_or(&[][..], Vec::as_slice);
        let old = base.get(&key).map_or(&[][..], Vec::as_slice);
        let before = older.get(&key).map_or(&[][..], Vec::as_slice);
        let add = |sent: &mut Sent, more: i32| sent.crc = sent.crc.wrapping_add(more);
        match self.fault {
            Fault::Twice => add(&mut sent, sum(now)),
            Fault::NotCounted => add(&mut sent, sum(now).wrapping_neg()),
            Fault::NotDeleted => sent.deleted.retain(|deleted| *deleted != key),
            Fault::StillCounted => add(&mut sent, sum(old)),
            Fault::SentTwice => {
                let first = vec![7; now.len()];
                sent.update(key, now.len());
                let both: Vec<i32> = old.iter().zip(&first).map(|(old, first)| old + first).collect();
                add(&mut sent, sum(&both));
                sent.updates.insert(0, (key, first));
            }
            Fault::RemovedNotThere => {
                sent.deleted.push(key);
                add(&mut sent, sum(before).wrapping_neg());
            }
            Fault::DeletedAndSent => {
                sent.deleted.push(key);
                *sent.update(key, 0) = now.to_vec();
            }
            Fault::Absolute => *sent.update(key, 0) = now.to_vec(),
            Fault::ItemOlder => add(&mut sent, sum(before).wrapping_sub(sum(now))),
            Fault::ItemOtherBase => *sent.update(key, 0) = difference(Some(&before.to_vec()), now),
            Fault::OtherBase => sent = Sent::new(older, items),
            Fault::OnlyMessage => {
                sent.crc = sent
                    .updates
                    .iter()
                    .flat_map(|(_, ints)| ints)
                    .fold(0, |sum, int| sum.wrapping_add(*int));
            }
            Fault::SumOfBase => sent.crc = total(base),
            Fault::Zero => sent.crc = 0,
            Fault::Keys => {
                let keys = items.keys().map(|key| i32::from(key.kind) + i32::from(key.id));
                add(&mut sent, keys.sum());
            }
            Fault::Cut => sent.crc = i32::from(sent.crc as u16),
            Fault::Descriptors | Fault::TypeTwice => {
                let (kind, sign) = match self.fault {
                    Fault::Descriptors => (0, -1),
                    _ => (key.kind, 1),
                };
                let of_kind = items.iter().filter(|(key, _)| key.kind == kind);
                let all: Items = of_kind.map(|(key, ints)| (*key, ints.clone())).collect();
                add(&mut sent, total(&all).wrapping_mul(sign));
            }
            Fault::Field(fault) => {
                self.send_field(fault, rng, &mut sent, (old[self.at], now[self.at]), now.len())
            }
        }
        sent
    }

    fn send_field(
        &self,
        fault: FieldFault,
        rng: &mut Rng,
        sent: &mut Sent,
        (old, now): (i32, i32),
        ints: usize,
    ) {
        let count_as =
            |sent: &mut Sent, value: i32| sent.crc = sent.crc.wrapping_add(value.wrapping_sub(now));
        let send_difference = |sent: &mut Sent, value| sent.update(self.key, ints)[self.at] = value;
        match fault {
            FieldFault::Sign => count_as(sent, -now),
            FieldFault::DifferenceSign => send_difference(sent, old - now),
            FieldFault::Cut(8) => count_as(sent, i32::from(now as i8)),
            FieldFault::Cut(_) => count_as(sent, i32::from(now as u16)),
            FieldFault::Swapped => count_as(sent, now.swap_bytes()),
            FieldFault::Twice => count_as(sent, now + now),
            FieldFault::NotCounted => count_as(sent, 0),
            FieldFault::Absolute => send_difference(sent, now),
            FieldFault::Older => count_as(sent, old),
            FieldFault::Jump(_) => send_difference(sent, rng.range(100_000, 90_000_000)),
            FieldFault::OutOfRange(_) => unreachable!("another test"),
        }
    }
}
