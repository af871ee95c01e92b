//! The demo server's little world and the messages that describe it: two-sided packings of what a 0.6 and a 0.7
//! client gets during its join, and the snapshot of a tick.

use std::collections::BTreeMap;

use teetap_wire::Proto;

use super::message::{Kind, Packed};
use super::snap::{Snap, text_ints};

/// Item type of a player's info that lists the players of a snapshot, in 0.6 and 0.7.
pub(super) const fn player_info(proto: Proto) -> i32 {
    if matches!(proto, Proto::V7) { 11 } else { 10 }
}

/// Digest of the standard dm1 of 0.7.
const DM1_SHA256: [u8; 32] = [
    0x49, 0x1a, 0xf1, 0x7a, 0x51, 0x02, 0x14, 0x50, 0x62, 0x70, 0x90, 0x4f, 0x14, 0x7a, 0x4c, 0x30, 0xae,
    0x0a, 0x85, 0xb9, 0x1b, 0xb8, 0x54, 0x39, 0x5b, 0xef, 0x8c, 0x39, 0x7f, 0xc0, 0x78, 0xc3,
];
/// Default tuning times 100, in the order of sv_tune_params up to laser_bounce_cost.
const TUNING: [i32; 30] = [
    1000, 200, 50, 1320, 1200, 500, 150, 95, 38000, 8000, 300, 1500, 50, 55000, 200_000, 140, 125, 220_000,
    200, 125, 275_000, 80, 20, 700, 100_000, 200, 80000, 15000, 100, 0,
];
/// Where pickups lie on dm1, about.
const PICKUPS: [(i32, i32); 4] = [(336, 720), (1040, 304), (1552, 912), (2128, 560)];

/// A player in the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tee {
    pub(super) name: String,
    pub(super) x: i32,
    pub(super) direction: i32,
    pub(super) angle: i32,
}

impl Tee {
    /// One tick further: it walks between two walls.
    pub(super) fn walk(&mut self) {
        self.x = self.x.wrapping_add(self.direction * 10).clamp(64, 2400);
    }
}

/// dm1, the map that every client has: no download.
pub(super) fn map_change(proto: Proto) -> Packed {
    let packed = Packed::new(proto, Kind::MapChange).str("dm1");
    if proto == Proto::V7 {
        packed.ints(&[0x6454_8818, 6793, 8, 1384]).raw(&DM1_SHA256)
    } else {
        packed.ints(&[0xf215_9e6e_u32.cast_signed(), 5805])
    }
}

/// The default tuning.
pub(super) fn tune_params(proto: Proto) -> Packed {
    // 0.6 has laser_damage before player_collision and player_hooking.
    let rest: &[i32] = if proto == Proto::V7 {
        &[100, 100]
    } else {
        &[500, 100, 100]
    };
    Packed::new(proto, Kind::SvTuneParams).ints(&TUNING).ints(rest)
}

/// The message of a 0.7 server about itself on entering.
pub(super) fn server_info(players: i32) -> Packed {
    let texts = ["0.7.5", "teetap demo", "localhost", "dm1", "DM"];
    let ints = [0, 1, players, 16, players, 16];
    Packed::new(Proto::V7, Kind::ServerInfo).strs(&texts).ints(&ints)
}

/// 0.7: the description of a client.
pub(super) fn client_info(id: i32, local: bool, name: &str) -> Packed {
    let packed = Packed::new(Proto::V7, Kind::SvClientInfo).ints(&[id, i32::from(local), 0]);
    skin_parts(packed.strs(&[name, "demo"]).int(-1)).int(0)
}

/// Six standard skin parts without custom colours, as 0.7 wants them.
pub(super) fn skin_parts(packed: Packed) -> Packed {
    packed
        .strs(&["standard", "", "", "standard", "standard", "standard"])
        .ints(&[0; 12])
}

/// A line of chat to all; `id` -1 is the server.
pub(super) fn chat(proto: Proto, id: i32, text: &str) -> Packed {
    let to_all: &[i32] = if proto == Proto::V7 {
        &[1, id, -1]
    } else {
        &[0, id]
    };
    Packed::new(proto, Kind::SvChat).ints(to_all).str(text)
}

/// The snapshot of a tick for the client `viewer`.
pub(super) fn snapshot(proto: Proto, tick: i32, tees: &BTreeMap<i32, Tee>, viewer: i32) -> Snap {
    let seven = proto == Proto::V7;
    let mut items = BTreeMap::new();
    let rules = if seven {
        vec![0; 3]
    } else {
        vec![0, 0, 0, 0, 20, 0, 0, 1]
    };
    items.insert((6, 0), rules);
    for (id, (x, y)) in (0..).zip(PICKUPS) {
        items.insert((4, id), if seven { vec![x, y, id] } else { vec![x, y, id, 0] });
    }
    for (id, tee) in tees {
        items.insert((if seven { 10 } else { 9 }, *id), character(seven, tick, tee));
        if seven {
            items.insert((player_info(proto), *id), vec![0, 0, 1]);
        } else {
            items.insert(
                (player_info(proto), *id),
                vec![i32::from(*id == viewer), *id, 0, 0, 1],
            );
            items.insert((11, *id), looks(&tee.name));
        }
    }
    Snap(items)
}

fn character(seven: bool, tick: i32, tee: &Tee) -> Vec<i32> {
    // The core: tick, place, speed, angle, direction, jumped, and a hook at rest.
    let mut ints = vec![
        tick,
        tee.x,
        497,
        tee.direction * 2560,
        0,
        tee.angle,
        tee.direction,
        0,
    ];
    ints.extend([-1, 0, 0, tee.x, 497, 0, 0]);
    let (health, armor, ammo, gun, emote, attack) = (10, 5, 10, 1, 0, 0);
    if seven {
        ints.extend([health, armor, ammo, gun, emote, attack, 0]);
    } else {
        ints.extend([1, health, armor, ammo, gun, emote, attack]);
    }
    ints
}

fn looks(name: &str) -> Vec<i32> {
    let mut ints = text_ints(name, 4);
    ints.extend(text_ints("demo", 3));
    ints.push(-1);
    ints.extend(text_ints("default", 6));
    ints.extend([0, 0, 0]);
    ints
}
