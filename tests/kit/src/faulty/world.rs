//! The snapshots that a server sends to a client: differences to the snapshot that the client acked, as the games do
//! (`CServer::DoSnapshot` in `server.cpp` of Teeworlds 0.6.5 and 0.7.5, and of DDNet).

use std::collections::BTreeMap;

use super::content::ServerAct;
use crate::{
    codec::Variant,
    museum::{
        message::Message,
        snap::{Items, Snap, empty, world},
    },
};

/// Number of ticks for which a server keeps a snapshot as a base.
const KEPT: i32 = 150;

/// The snapshots that were sent to a client.
#[derive(Debug, Default)]
pub(super) struct World {
    sent: BTreeMap<i32, Items>,
    acked: Option<i32>,
    /// The number of snapshots so far.
    count: i32,
}

impl World {
    /// Records an ack of the client. Servers of DDNet since 19.9 drop inputs with other acks
    /// (`CServer::ProcessClientPacket` in `server.cpp`).
    pub(super) fn on_ack(&mut self, tick: i32, now: i32) {
        if (-1..=now).contains(&tick) {
            self.acked = Some(tick);
        }
    }

    /// Returns the messages of the snapshot of a tick, with a number of items besides the player.
    pub(super) fn snapshot(
        &mut self,
        variant: Variant,
        tick: i32,
        count: i32,
        act: Option<ServerAct>,
    ) -> Vec<Vec<u8>> {
        self.count += 1;
        let tick = match act {
            Some(ServerAct::Tick(change)) => change(tick, self.count),
            _ => tick,
        };
        let items = items(variant, tick, count);
        self.sent = self.sent.split_off(&(tick - KEPT));
        let acked = self.acked.filter(|_| !matches!(act, Some(ServerAct::NoBase)));
        let base = acked.and_then(|acked| Some((acked, self.sent.get(&acked)?)));
        let snap = match base {
            Some(base) => Snap::new(variant, tick, base, &items),
            None => Snap::complete(variant, tick, &items),
        };
        let messages = match base {
            Some((base, same)) if *same == items => vec![empty(variant, tick, base)],
            _ => snap.messages(variant),
        };
        self.sent.insert(tick, items);
        let count = messages.len();
        let is_sent = |(part, message): (usize, Message)| match act {
            Some(ServerAct::Omit(omits)) if omits(part, count) => None,
            _ => Some(message.data),
        };
        messages.into_iter().enumerate().filter_map(is_sent).collect()
    }
}

/// Returns the items of a tick: a player who moves, and things that stay where they are.
fn items(variant: Variant, tick: i32, count: i32) -> Items {
    let mut items = world(variant, tick, 400 + tick % 64);
    for id in 0..count {
        let kind = [1000 + 37 * id, 2000 + 53 * id, 1, 0];
        let len = if variant.is_seven() { 3 } else { 4 };
        items.insert((4, 100 + id), kind.into_iter().take(len).collect());
    }
    items
}
