//! The small world of a server and the messages that describe it, for clients of 0.6 and 0.7.

use std::collections::BTreeMap;

use teetap_wire::Proto;
use teetap_wire::def::{Class, Datum, Id};
use teetap_wire::snap::{ItemKey, Snapshot};

use crate::message::{Message, definition, text};

/// Default tuning times 100, in the order of sv_tune_params up to laser_bounce_cost.
const TUNING: [i32; 30] = [
    1000, 200, 50, 1320, 1200, 500, 150, 95, 38000, 8000, 300, 1500, 50, 55000, 200_000, 140, 125, 220_000,
    200, 125, 275_000, 80, 20, 700, 100_000, 200, 80000, 15000, 100, 0,
];
/// Approximate positions of the pickups on dm1.
const PICKUPS: [(i32, i32); 4] = [(336, 720), (1040, 304), (1552, 912), (2128, 560)];

/// A player in the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tee {
    pub(crate) name: String,
    pub(crate) clan: String,
    pub(crate) x: i32,
    pub(crate) direction: i32,
    pub(crate) angle: i32,
}

impl Tee {
    /// Moves the player one tick further, between two walls.
    pub(crate) fn walk(&mut self) {
        self.x = self.x.wrapping_add(self.direction * 10).clamp(64, 2400);
    }
}

/// Returns the message with the default tuning.
pub(crate) fn tune_params(proto: Proto) -> Message {
    // 0.6 has laser_damage before player_collision and player_hooking.
    let rest: &[i32] = if proto == Proto::V7 {
        &[100, 100]
    } else {
        &[500, 100, 100]
    };
    let fields = &definition(proto, Class::Game, "sv_tune_params").fields;
    let values = TUNING.iter().chain(rest).map(|value| (*value).into());
    Message::known(
        proto,
        "sv_tune_params",
        fields.iter().map(|field| &*field.name).zip(values),
    )
}

/// Returns the message with which a 0.7 server describes itself to a client that enters.
pub(crate) fn server_info(name: &str, map: &str, players: i32) -> Message {
    let fields = [
        ("version", "0.7.5".into()),
        ("name", text(name)),
        ("hostname", "localhost".into()),
        ("map", text(map)),
        ("game_type", "DM".into()),
        ("skill_level", 1.into()),
        ("num_players", players.into()),
        ("max_players", 16.into()),
        ("num_clients", players.into()),
        ("max_clients", 16.into()),
    ];
    Message::known(Proto::V7, "server_info", fields)
}

/// Returns the 0.7 message that describes a client.
pub(crate) fn client_info(id: i32, local: bool, tee: &Tee) -> Message {
    let fields = [("client_id", id.into()), ("local", i32::from(local).into())];
    Message::known(
        Proto::V7,
        "sv_client_info",
        fields.into_iter().chain(looks(Proto::V7, &tee.name, &tee.clan)),
    )
}

/// Returns the fields for the name, the clan, the country and the skin of a player.
pub(crate) fn looks(proto: Proto, name: &str, clan: &str) -> [(&'static str, Datum); 4] {
    let skin = if proto == Proto::V7 {
        let parts = ["standard", "", "", "standard", "standard", "standard"].map(Datum::from);
        ("skin_part_names", Datum::List(parts.into()))
    } else {
        ("skin", "default".into())
    };
    [
        ("name", text(name)),
        ("clan", text(clan)),
        ("country", (-1).into()),
        skin,
    ]
}

/// Returns a message with a line of chat for all players. The `id` -1 is the server.
pub(crate) fn chat(proto: Proto, id: i32, line: &str) -> Message {
    let head = [("client_id", id.into()), ("message", text(line))];
    let to_all = [("mode", 1.into()), ("target_id", (-1).into())];
    let to_all = to_all.into_iter().filter(|_| proto == Proto::V7);
    Message::known(proto, "sv_chat", head.into_iter().chain(to_all))
}

/// Returns the snapshot of a tick for the client `viewer`.
pub(crate) fn snapshot(proto: Proto, tick: i32, tees: &BTreeMap<i32, Tee>, viewer: i32) -> Snapshot {
    let seven = proto == Proto::V7;
    let mut snap = Snapshot::new();
    let mut put = |name, id, fields: Vec<_>| insert(&mut snap, proto, name, id, fields);
    if seven {
        put("game_data", 0, vec![]);
    } else {
        let rules = [("score_limit", 20.into()), ("round_current", 1.into())];
        put("game_info", 0, rules.into());
    }
    for (id, (x, y)) in (0..).zip(PICKUPS) {
        put(
            "pickup",
            id,
            vec![("x", x.into()), ("y", y.into()), ("type", id.into())],
        );
    }
    for (id, tee) in tees {
        put("character", *id, character(proto, tick, tee));
        let mut info = vec![("latency", 1.into())];
        if !seven {
            let local = i32::from(*id == viewer);
            info.extend([("local", local.into()), ("client_id", (*id).into())]);
            put("client_info", *id, looks(proto, &tee.name, &tee.clan).into());
        }
        put("player_info", *id, info);
    }
    snap
}

fn character(proto: Proto, tick: i32, tee: &Tee) -> Vec<(&'static str, Datum)> {
    let mut fields = vec![
        ("tick", tick.into()),
        ("x", tee.x.into()),
        ("y", 497.into()),
        ("vel_x", (tee.direction * 2560).into()),
        ("angle", tee.angle.into()),
        ("direction", tee.direction.into()),
        ("hooked_player", (-1).into()),
        ("hook_x", tee.x.into()),
        ("hook_y", 497.into()),
        ("health", 10.into()),
        ("armor", 5.into()),
        ("ammo_count", 10.into()),
        ("weapon", 1.into()),
    ];
    if proto != Proto::V7 {
        fields.push(("player_flags", 1.into()));
    }
    fields
}

#[expect(
    clippy::expect_used,
    reason = "the demo knows the names and types of its objects, and has room for 16 players"
)]
fn insert(snap: &mut Snapshot, proto: Proto, name: &str, id: i32, fields: Vec<(&str, Datum)>) {
    let def = definition(proto, Class::Object, name);
    let mut ints = Vec::new();
    def.encode_object(&Datum::group(fields), &mut ints)
        .expect("the fields fit the object");
    let kind = match def.id {
        Id::Number(number) => number,
        _ => 0,
    };
    snap.insert(ItemKey::from_int((kind << 16) | id), &ints)
        .expect("the snapshot has room for an item of its own");
}
