//! Rules that are compiled from text, and the facts about a session that they can use: its player, round
//! trip, snapshots and oddities. Messages that rules only observe are forwarded unchanged.

use std::sync::Arc;

use teetap_kit::codec::Variant;
use teetap_proxy::session::Notice;
use teetap_rules::Program;
use teetap_wire::{
    Dir, Proto,
    def::{Datum, Registry},
    snap::{ItemKey, Sizes, Snapshot},
};

use crate::bench::{Bench, made, on_each_kind};

#[expect(clippy::disallowed_methods, reason = "tests choose the built-in definitions")]
pub(crate) fn registry() -> &'static Registry {
    Registry::builtin()
}

pub(crate) fn set(bench: &mut Bench, source: &str) {
    let (program, _) = Program::compile(source, registry()).unwrap();
    bench.set(Some(Arc::new(program)));
}

pub(crate) fn proto(bench: &Bench) -> Proto {
    match bench.kind {
        Variant::V6 => Proto::V6,
        Variant::V65 => Proto::V65,
        Variant::Ddnet => Proto::Ddnet,
        Variant::V7 | Variant::D7 => Proto::V7,
    }
}

/// Returns a message in the form of the bench, without its number.
pub(crate) fn message(bench: &Bench, name: &str, fields: &[(&str, Datum)]) -> String {
    let mut named = registry().named(proto(bench), None, name);
    let fields = Datum::group(fields.iter().map(|(name, value)| (*name, value.clone())));
    let mut data = Vec::new();
    named.next().unwrap().encode(&fields, &mut data).unwrap();
    let hex: String = data.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(":={hex}")
}

pub(crate) fn text(text: &str) -> Datum {
    Datum::Bytes(text.into())
}

/// Returns a snapshot with one tee at `x`, as the difference to nothing or to the snapshot of another tick.
fn snapshot(bench: &Bench, tick: i32, x: i32, base: Option<(i32, i32)>) -> String {
    let (kind, len) = if proto(bench) == Proto::V7 {
        (10, 22)
    } else {
        (9, 22)
    };
    let tee = |x: i32| {
        let mut snapshot = Snapshot::new();
        let mut ints = vec![0; len];
        ints[1] = x;
        snapshot.insert(ItemKey { kind, id: 3 }, &ints).unwrap();
        snapshot
    };
    let (world, mut data) = (tee(x), Vec::new());
    let from = base.map_or(Snapshot::new(), |(_, x)| tee(x));
    let sizes = Sizes::new(registry(), proto(bench));
    world.delta(&from, &sizes, &mut data).unwrap();
    let delta_tick = base.map_or(tick + 1, |(base, _)| tick - base);
    let fields = [
        ("tick", i64::from(tick).into()),
        ("delta_tick", i64::from(delta_tick).into()),
        ("crc", i64::from(world.crc()).into()),
        ("data", Datum::Bytes(data)),
    ];
    format!("-{}", message(bench, "snap_single", &fields))
}

#[test]
fn the_name_of_the_player() {
    on_each_kind(|bench| {
        set(bench, "drop when sv_motd and sess.name == \"me\"");
        let motd = message(bench, "sv_motd", &[("message", text("hi\n"))]);
        let info = message(bench, "cl_start_info", &[("name", text("me"))]);
        bench.is(&format!("S a1 1{motd}"), &[&format!("C a1 1{motd}")]);
        bench.is(&format!("C a1 2{info}"), &[&format!("S a1 2{info}")]);
        bench.is(&format!("S a2 2{motd} 3:x"), &["C a2 2:x"]);
        // The client's messages are only observed: their direction is not renumbered.
        assert_eq!(bench.notices, [Notice::Renumbered { dir: Dir::S2c }]);
    });
}

#[test]
fn a_snapshot() {
    on_each_kind(|bench| {
        set(bench, "drop when snap.character[3].x > 100");
        let passes = |bench: &mut Bench, snapshot: &str| {
            bench.is(&format!("S a1 {snapshot}"), &[&format!("C a1 {snapshot}")]);
        };
        let drops = |bench: &mut Bench, snapshot: &str| {
            bench.is(&format!("S a1 {snapshot} -:x"), &["C a1 -:x"]);
        };
        let [unknown, near, far, back] = [
            snapshot(bench, 20, 150, Some((18, 50))),
            snapshot(bench, 22, 50, None),
            snapshot(bench, 24, 150, Some((22, 50))),
            snapshot(bench, 26, 60, Some((22, 50))),
        ];
        // The program was set in the middle of the session.
        passes(bench, &unknown);
        passes(bench, &near);
        drops(bench, &far);
        passes(bench, &back);
    });
}

#[test]
fn the_round_trip() {
    on_each_kind(|bench| {
        set(bench, "drop when c2s and vital and sess.rtt > 50ms");
        bench.is("S a1 1:a", &["C a1 1:a"]);
        bench.wait(30);
        bench.is("C a1 2:b", &["S a1 2:b"]);
        bench.is("S a2 2:a", &["C a2 2:a"]);
        bench.wait(60);
        // The datagram with the ack ends the round trip before its own messages are evaluated.
        bench.is("C a2 3:c -:x", &["S a2 -:x"]);
        // The client is shown an ack of the dropped message.
        bench.is("S a2 3:a", &["C a3 3:a"]);
        bench.wait(10);
        bench.is("C a3 4:d", &["S a3 3:d"]);
        // Messages of the server keep their numbers.
        assert_eq!(bench.notices, [Notice::Renumbered { dir: Dir::C2s }]);
    });
}

/// The round trip of a message in a renumbered direction; a keepalive has the ack.
#[test]
fn the_round_trip_of_renumbered_messages() {
    on_each_kind(|bench| {
        set(
            bench,
            "drop when s2c and vital and pkt.seq == 1\ndrop when s2c and vital and sess.rtt > 50ms",
        );
        bench.is("S a1 1:a 2:b", &["C a1 1:b"]);
        bench.wait(60);
        // The client acks the number under which it received the message.
        bench.is("C a0 keepalive", &["S a1 keepalive"]);
        bench.is("S a1 3:c", &["C a1 2:c"]);
        bench.is("C a1 keepalive", &["S a2 keepalive"]);
        bench.is("S a1 4:d -:x", &["C a1 -:x"]);
    });
}

#[test]
fn oddities_of_messages() {
    on_each_kind(|bench| {
        set(bench, "drop when c2s and lint.surplus-bytes");
        let say = message(bench, "cl_say", &[("message", text("hi\n"))]);
        bench.is(&format!("C a0 2{say}"), &[&format!("S a0 2{say}")]);
        bench.is(&format!("C a0 3{say}00 -:x"), &["S a0 -:x"]);
        bench.is(&format!("C a0 4{say}"), &[&format!("S a0 3{say}")]);
    });
}

/// The oddities of a datagram apply to each message in it.
#[test]
fn oddities_of_datagrams() {
    on_each_kind(|bench| {
        // DDNet has its token at that place.
        if bench.kind == Variant::Ddnet {
            return;
        }
        set(bench, "drop when c2s and lint.trailing-bytes");
        bench.is("C a0 2:x -:y", &["S a0 2:x -:y"]);
        assert_eq!(bench.send_with_tail("C a0 3:x -:y", b"tail"), ["S a0 keepalive"]);
        bench.is("C a0 4:x", &["S a0 3:x"]);
    });
}

/// A message that is forwarded unchanged counts once, no matter how often it is sent.
#[test]
fn what_was_seen_in_an_untouched_direction() {
    on_each_kind(|bench| {
        set(bench, "drop when sv_motd and count(cl_say) == 2");
        let motd = message(bench, "sv_motd", &[("message", text("hi\n"))]);
        let say = message(bench, "cl_say", &[("message", text("hi\n"))]);
        bench.is(&format!("C a0 2{say}"), &[&format!("S a0 2{say}")]);
        bench.is(&format!("C a0 2*{say}"), &[&format!("S a0 2*{say}")]);
        // Its receiver refuses the message, since the previous one is missing.
        bench.is(&format!("C a0 4{say}"), &[&format!("S a0 4{say}")]);
        bench.is(&format!("S a2 1{motd}"), &[&format!("C a2 1{motd}")]);
        // The first copy that arrives has the resend flag.
        bench.is(&format!("C a1 3*{say}"), &[&format!("S a1 3*{say}")]);
        bench.is(&format!("S a3 2{motd} 3:x"), &["C a3 2:x"]);
        bench.is(&format!("C a2 4*{say}"), &[&format!("S a3 4*{say}")]);
        bench.is(&format!("S a4 4{motd}"), &[&format!("C a4 3{motd}")]);
        assert_eq!(bench.notices, [Notice::Renumbered { dir: Dir::S2c }]);
    });
}

/// A user's message has armed a direction in which no rule can match. Its messages are still observed, each
/// once.
#[test]
fn what_was_seen_in_a_direction_that_is_renumbered_for_a_person() {
    on_each_kind(|bench| {
        set(bench, "drop when sv_motd and count(cl_say) == 2");
        let motd = message(bench, "sv_motd", &[("message", text("hi\n"))]);
        let say = message(bench, "cl_say", &[("message", text("hi\n"))]);
        assert_eq!(bench.inject(made(Dir::C2s, "i")), ["S a0 2:i"]);
        bench.is(&format!("C a0 2{say}"), &[&format!("S a0 3{say}")]);
        bench.is(&format!("C a0 2*{say}"), &[&format!("S a0 3*{say}")]);
        bench.is(&format!("C a0 3{say}"), &[&format!("S a0 4{say}")]);
        bench.is(&format!("S a1 1{motd} 2:x"), &["C a1 1:x"]);
        bench.is(&format!("C a1 4{say}"), &[&format!("S a2 5{say}")]);
        bench.is(&format!("S a1 3{motd}"), &[&format!("C a1 2{motd}")]);
    });
}
