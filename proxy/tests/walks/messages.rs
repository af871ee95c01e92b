//! The messages of the game that the peers of a walk send.

use teetap_kit::{codec::extended, link::Random};
use teetap_wire::{
    Dir, Proto,
    def::{Datum, Registry},
    snap::{ItemKey, Sizes, Snapshot},
};

/// A text that does not fit into a chunk of 0.6, twice of which does not fit into a datagram.
pub(crate) const LONG: &str = include_str!("long.txt");

/// Ports to which servers redirect: the proxy's own server, two others, and ports in all lengths of an int.
const PORTS: [u16; 8] = [8303, 8303, 8304, 8305, 8304, 1, 70, 65_535];

#[expect(clippy::disallowed_methods, reason = "tests choose the built-in definitions")]
pub(crate) fn registry() -> &'static Registry {
    Registry::builtin()
}

fn encoded(proto: Proto, name: &str, fields: &[(&str, Datum)]) -> Vec<u8> {
    let fields = Datum::group(fields.iter().map(|(name, value)| (*name, value.clone())));
    let mut data = Vec::new();
    let mut named = registry().named(proto, None, name);
    named.next().unwrap().encode(&fields, &mut data).unwrap();
    data
}

fn text(text: &str) -> Datum {
    Datum::Bytes(text.into())
}

/// Returns a redirect to a random port, possibly with more bytes than its port, up to what fits into a chunk.
fn redirect(random: &mut Random) -> Vec<u8> {
    let port = PORTS[usize::try_from(random.below(PORTS.len() as u64)).unwrap()];
    let mut data = match random.below(8) {
        0 => extended::RECONNECT.to_vec(),
        _ => extended::redirect(port),
    };
    if random.chance(0.1) {
        // Another message.
        data[5] ^= 1;
    }
    let surplus = [0, 0, 0, 3, 1002, 1003, 1004, 1005, 1365];
    let surplus = surplus[usize::try_from(random.below(surplus.len() as u64)).unwrap()];
    data.resize(data.len() + surplus, 0);
    data
}

/// The snapshots that the server of a walk sends: a tee that moves, as differences to nothing or to an earlier snapshot.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    /// Ticks and places of the last snapshots.
    sent: Vec<(i32, i32)>,
}

impl Snapshots {
    /// Returns the next snapshot, as a single part.
    pub(crate) fn next(&mut self, random: &mut Random, proto: Proto) -> Vec<u8> {
        let tee = |x: i32| {
            let mut snapshot = Snapshot::new();
            let mut ints = vec![0; 22];
            ints[1] = x;
            let kind = if proto == Proto::V7 { 10 } else { 9 };
            snapshot.insert(ItemKey { kind, id: 3 }, &ints).unwrap();
            snapshot
        };
        let tick = self.sent.last().map_or(20, |(tick, _)| tick + 2);
        let x = i32::try_from(random.below(50)).unwrap();
        let base = match random.below(4) {
            0 => None,
            back => self
                .sent
                .iter()
                .rev()
                .nth(usize::try_from(back).unwrap() - 1)
                .copied(),
        };
        self.sent.push((tick, x));
        let (world, from) = (tee(x), base.map_or(Snapshot::new(), |(_, x)| tee(x)));
        let mut data = Vec::new();
        world
            .delta(&from, &Sizes::new(registry(), proto), &mut data)
            .unwrap();
        let fields = [
            ("tick", i64::from(tick).into()),
            (
                "delta_tick",
                i64::from(base.map_or(tick + 1, |(base, _)| tick - base)).into(),
            ),
            ("crc", i64::from(world.crc()).into()),
            ("data", Datum::Bytes(data)),
        ];
        encoded(proto, "snap_single", &fields)
    }

    /// Returns an input that acks the last snapshot.
    pub(crate) fn ack(&self, proto: Proto) -> Vec<u8> {
        let tick = self.sent.last().map_or(-1, |(tick, _)| *tick);
        encoded(proto, "input", &[("ack_snapshot", i64::from(tick).into())])
    }
}

/// Returns a random message of a peer that sends in this direction.
pub(crate) fn message(random: &mut Random, proto: Proto, dir: Dir) -> Vec<u8> {
    match (dir, random.below(14)) {
        (_, 0) => {
            let len = [1, 62, 64, 300, 900, 1023, 1024, 1370][usize::try_from(random.below(8)).unwrap()];
            vec![0x7e; len]
        }
        (Dir::C2s, 1) => encoded(proto, "cl_emoticon", &[("emoticon", 2.into())]),
        (Dir::C2s, 2) => encoded(proto, "input", &[]),
        (Dir::C2s, 3) => encoded(proto, "ready", &[]),
        (Dir::C2s, 4) => encoded(proto, "enter_game", &[]),
        (Dir::C2s, 5) => encoded(proto, "cl_start_info", &[("name", text("tee"))]),
        (Dir::C2s, _) => encoded(proto, "cl_say", &[("message", text("hello to you"))]),
        (Dir::S2c, 1..=3) => redirect(random),
        (Dir::S2c, 4) => encoded(proto, "sv_motd", &[("message", text("of the day"))]),
        (Dir::S2c, 5) => encoded(proto, "con_ready", &[]),
        (Dir::S2c, 6) => encoded(
            proto,
            "snap_empty",
            &[("tick", 20.into()), ("delta_tick", 21.into())],
        ),
        (Dir::S2c, _) => encoded(
            proto,
            "sv_chat",
            &[("client_id", 1.into()), ("message", text("hello"))],
        ),
    }
}
