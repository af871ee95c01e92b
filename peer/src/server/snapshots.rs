//! The snapshots sent to one client, and the deltas between them.

use std::collections::BTreeMap;

use teetap_wire::Proto;
use teetap_wire::def::Datum;
use teetap_wire::snap::{PART, Sizes, Snapshot};

use crate::message::{Message, registry};

/// Number of ticks for which a snapshot is kept as a base for deltas.
const KEPT: i32 = 150;

/// The snapshots sent to one client.
#[derive(Debug)]
pub(super) struct Snapshots {
    proto: Proto,
    sizes: Sizes,
    stored: BTreeMap<i32, Snapshot>,
    /// Tick of the stored snapshot that the client acked; -1 if there is none.
    acked: i32,
}

impl Snapshots {
    pub(super) fn new(proto: Proto) -> Self {
        Self {
            proto,
            sizes: Sizes::new(registry(), proto),
            stored: BTreeMap::new(),
            acked: -1,
        }
    }

    /// Records the tick that an input acks. Ignores ticks of snapshots that are not stored.
    pub(super) fn acked(&mut self, tick: i32) {
        if tick == -1 || self.stored.contains_key(&tick) {
            self.acked = tick;
        }
    }

    /// Returns true if a snapshot is due. There are five per second until the client has acked one, then 25, as in
    /// the games.
    pub(super) fn is_due(&self, tick: i32) -> bool {
        let every = if self.acked > 0 { 2 } else { 10 };
        self.stored
            .last_key_value()
            .is_none_or(|(last, _)| tick - last >= every)
    }

    /// Stores a snapshot, and returns the messages with it. It is sent as a delta to the snapshot that the client has
    /// acked, or to the empty one.
    #[expect(
        clippy::expect_used,
        reason = "both snapshots are made of the built-in definitions"
    )]
    pub(super) fn push(&mut self, tick: i32, snap: Snapshot) -> Vec<Message> {
        self.stored = self.stored.split_off(&self.acked.max(tick - KEPT));
        let empty = Snapshot::new();
        let known = self.stored.get(&self.acked);
        let base = if known.is_some() { self.acked } else { -1 };
        let mut delta = Vec::new();
        snap.delta(known.unwrap_or(&empty), &self.sizes, &mut delta)
            .expect("items keep their sizes");
        let crc = snap.crc();
        self.stored.insert(tick, snap);
        let head = [("tick", tick.into()), ("delta_tick", (tick - base).into())];
        let number = |value: usize| i32::try_from(value).unwrap_or(i32::MAX);
        let count = delta.len().div_ceil(PART);
        if count == 0 {
            return vec![Message::known(self.proto, "snap_empty", head)];
        }
        let parts = (0..).zip(delta.chunks(PART));
        let message = |(part, data): (i32, &[u8])| {
            let place = [("num_parts", number(count).into()), ("part", part.into())];
            let body = [
                ("crc", crc.into()),
                ("part_size", number(data.len()).into()),
                ("data", Datum::Bytes(data.to_vec())),
            ];
            let name = if count == 1 { "snap_single" } else { "snap" };
            let place = place.into_iter().filter(|_| count > 1);
            Message::known(
                self.proto,
                name,
                head.clone().into_iter().chain(place).chain(body),
            )
        };
        parts.map(message).collect()
    }
}
