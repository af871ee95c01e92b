//! Habits of a server that differ from the games, in the order of a join and in its snapshots.

use crate::{codec::Variant, peer::game::put_int};

/// How a server differs from the games.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Habit {
    /// It differs in nothing. Its snapshots are empty.
    #[default]
    None,
    /// It answers each message of a join, in any order, any number of times, and with any version.
    Lenient,
    /// It sends `con_ready` with the map, before `ready`.
    EarlyReady,
    /// It sends `sv_ready_to_enter` with `con_ready`, before `cl_start_info`.
    EarlyReadyToEnter,
    /// It sends snapshots from `info` on.
    EarlySnapshots,
    /// It differs in nothing. Its snapshots are complete.
    Complete,
    /// Items of all types are sent with their sizes.
    AllSizes,
    /// The third int of the data is missing.
    NoThird,
    /// The id of an item precedes its type.
    IdFirst,
    /// The sum is over bytes.
    SumOfBytes,
    /// The tick of the base in place of the difference to it.
    TickAsDifference,
    /// It sends no snapshot after the first 40, which are empty.
    NoMoreSnapshots,
    /// It differs in nothing, but closes the session with this reason after so many snapshots.
    Closes(&'static str, u64),
}

/// An item: its type, its id and its ints. Both types have an agreed size.
type Item = (i32, i32, &'static [i32]);

impl Habit {
    /// Returns a snapshot with items; `None` if the server sends empty snapshots. `number` is the number of the
    /// snapshot, from 0, and `before` is the tick of the previous snapshot.
    pub(super) fn snapshot(self, variant: Variant, tick: i32, before: i32, number: u64) -> Option<Vec<u8>> {
        if matches!(
            self,
            Self::None
                | Self::Lenient
                | Self::EarlyReady
                | Self::EarlyReadyToEnter
                | Self::NoMoreSnapshots
                | Self::Closes(..)
        ) {
            return None;
        }
        let pickup: &[i32] = if variant.is_seven() {
            &[500, 600, 2]
        } else {
            &[500, 600, 2, 1]
        };
        let items: [Item; 2] = [(4, 40, pickup), (5, 41, &[1000, 2000, 1])];
        let is_delta = self == Self::TickAsDifference && number > 0;
        let (data, delta_tick) = match is_delta {
            true => (vec![0, 0, 0], before),
            false => (self.data(&items), tick + 1),
        };
        let ints = items.iter().flat_map(|(.., ints)| *ints);
        let sum: i32 = match self {
            Self::SumOfBytes => ints.flat_map(|int| int.to_le_bytes()).map(i32::from).sum(),
            _ => ints.sum(),
        };
        let mut packed = Vec::new();
        data.iter().for_each(|int| put_int(&mut packed, *int));
        let mut out = Vec::new();
        let id = if variant.is_seven() { 8 } else { 7 };
        let size = i32::try_from(packed.len()).unwrap_or_default();
        for value in [id << 1 | 1, tick, delta_tick, sum, size] {
            put_int(&mut out, value);
        }
        out.extend(packed);
        Some(out)
    }

    /// Returns the ints of a complete snapshot.
    fn data(self, items: &[Item]) -> Vec<i32> {
        let mut data = vec![0, i32::try_from(items.len()).unwrap_or_default()];
        data.extend((self != Self::NoThird).then_some(0));
        for (kind, id, ints) in items {
            data.extend(match self {
                Self::IdFirst => [id, kind],
                _ => [kind, id],
            });
            let size = i32::try_from(ints.len()).ok();
            data.extend(size.filter(|_| self == Self::AllSizes));
            data.extend(*ints);
        }
        data
    }
}
