//! Tests of facts in conditions of rules, and of the facts that are kept when a program is reloaded.

use teetap_rules::{Fate, Message, Opening, Shared};
use teetap_wire::def::{Datum, Registry};
use teetap_wire::snap::{ItemKey, Sizes, Snapshot};
use teetap_wire::{Code, Dir, Note, Proto, Seq};

use crate::stage::{OPENING, decide, first_copy, message, program, say};

#[test]
fn conditions_ask_about_packet_and_session() {
    let size = say("x").1.len();
    let facts = "pkt.seq == 7 and pkt.chunks == 1 and vital and not resend and not compressed \
                 and sess.id == 3 and sess.proto == ddnet and sess.state == online and t >= 5s";
    let program = program(&format!("drop when pkt.size == {size} and {facts}"));
    let mut state = program.open(OPENING, None);
    assert_eq!(
        decide(&mut *state, &say("x"), OPENING.at + 4_999_999).fate,
        Fate::Pass
    );
    assert_eq!(
        decide(&mut *state, &say("x"), OPENING.at + 5_000_000).fate,
        Fate::Drop
    );
}

/// Returns a message in which the client gives its name as "me".
fn start_info() -> (Dir, Vec<u8>) {
    let name = Datum::Bytes(b"me".to_vec());
    (Dir::C2s, message("cl_start_info", &[("name", name)]))
}

/// Returns a snapshot of DDNet with one tee at this position, as a delta to nothing or to the snapshot of another tick.
fn snapshot(tick: i32, x: i32, base: Option<(i32, i32)>) -> (Dir, Vec<u8>) {
    let tee = |x: i32| {
        let mut snapshot = Snapshot::new();
        let mut ints = [0; 22];
        ints[1] = x;
        snapshot.insert(ItemKey { kind: 9, id: 3 }, &ints).unwrap();
        snapshot
    };
    let (world, mut data) = (tee(x), Vec::new());
    let from = base.map_or(Snapshot::new(), |(_, x)| tee(x));
    let sizes = Sizes::new(Registry::builtin(), Proto::Ddnet);
    world.delta(&from, &sizes, &mut data).unwrap();
    let delta_tick = base.map_or(tick + 1, |(base, _)| tick - base);
    let fields = [
        ("tick", i64::from(tick).into()),
        ("delta_tick", i64::from(delta_tick).into()),
        ("crc", i64::from(world.crc()).into()),
        ("data", Datum::Bytes(data)),
    ];
    (Dir::S2c, message("snap_single", &fields))
}

#[test]
fn conditions_ask_about_the_player() {
    let program = program("drop when cl_say and sess.name == \"me\"");
    let mut state = program.open(OPENING, None);
    assert_eq!(decide(&mut *state, &say("x"), 5).fate, Fate::Pass);
    assert_eq!(decide(&mut *state, &start_info(), 5).fate, Fate::Pass);
    assert_eq!(decide(&mut *state, &say("x"), 5).fate, Fate::Drop);
    // A message that is forwarded without a decision is sufficient.
    let mut state = program.open(OPENING, None);
    state.observe(&first_copy(&start_info(), 5), &mut Shared::default());
    assert_eq!(decide(&mut *state, &say("x"), 5).fate, Fate::Drop);
    // Each session has a player of its own.
    let mut other = program.open(OPENING, None);
    assert_eq!(decide(&mut *other, &say("x"), 5).fate, Fate::Pass);
}

#[test]
fn conditions_ask_about_snapshots() {
    let program = program("drop when snap.character[3].x > 100 and snap.crc_ok");
    let mut state = program.open(OPENING, None);
    let mut of = |snapshot: &(Dir, Vec<u8>)| decide(&mut *state, snapshot, 5).fate;
    assert_eq!(of(&snapshot(20, 50, None)), Fate::Pass);
    assert_eq!(of(&snapshot(22, 150, Some((20, 50)))), Fate::Drop);
    // The dropped snapshot can be a base like any other, since the client says which one it has.
    assert_eq!(of(&snapshot(24, 160, Some((22, 150)))), Fate::Drop);
    assert_eq!(of(&snapshot(26, 100, Some((20, 50)))), Fate::Pass);
    // A program that is set later has missed the base.
    let late = Opening {
        is_new: false,
        ..OPENING
    };
    let mut state = program.open(late, None);
    let mut of = |snapshot: &(Dir, Vec<u8>)| decide(&mut *state, snapshot, 5).fate;
    assert_eq!(of(&snapshot(22, 150, Some((20, 50)))), Fate::Pass);
    assert_eq!(of(&snapshot(24, 150, None)), Fate::Drop);
}

#[test]
fn conditions_ask_about_the_round_trip() {
    let program = program("drop when cl_say and sess.rtt > 50ms");
    let mut state = program.open(OPENING, None);
    let mut after = |trip: u64| {
        state.on_sent(1_000_000, Seq::new(5), false);
        state.on_ack(1_000_000 + trip - 1, Seq::new(4));
        state.on_ack(1_000_000 + trip, Seq::new(5));
        decide(&mut *state, &say("x"), 2_000_000).fate
    };
    assert_eq!(
        [after(50_000), after(50_001), after(20)],
        [Fate::Pass, Fate::Drop, Fate::Pass]
    );
}

#[test]
fn conditions_ask_about_oddities() {
    let fate = |source: &str, message: &(Dir, Vec<u8>), notes: &[Note]| {
        let mut state = program(source).open(OPENING, None);
        let mut message = first_copy(message, 5);
        message.packet.notes = notes;
        state.decide(&message, &mut Shared::default()).fate
    };
    let (plain, mut long) = (say("x"), say("x"));
    long.1.extend(b"surplus");
    let note = |code| Note { code, at: 0, len: 1 };
    for (source, message, notes, expected) in [
        ("drop when lint.surplus-bytes", &plain, &[][..], Fate::Pass),
        ("drop when lint.surplus-bytes", &long, &[], Fate::Drop),
        ("drop when lint.not-vital", &long, &[], Fate::Pass),
        (
            "drop when lint.wrong-direction",
            &(Dir::S2c, plain.1.clone()),
            &[],
            Fate::Drop,
        ),
        ("drop when malformed", &plain, &[], Fate::Pass),
        (
            "drop when malformed",
            &plain,
            &[note(Code::ChunkTruncated)],
            Fate::Drop,
        ),
        (
            "drop when lint.ack-ahead",
            &plain,
            &[note(Code::AckAhead)],
            Fate::Drop,
        ),
        (
            "drop when lint.unknown-message",
            &(Dir::C2s, vec![0x7f, 0x01]),
            &[],
            Fate::Drop,
        ),
    ] {
        assert_eq!(fate(source, message, notes), expected, "{source}");
    }
    // The base of the snapshot is unknown.
    let mut state = program("drop when lint.snap-no-base").open(OPENING, None);
    let mut of = |snapshot: &(Dir, Vec<u8>)| decide(&mut *state, snapshot, 5).fate;
    assert_eq!(of(&snapshot(20, 50, None)), Fate::Pass);
    assert_eq!(of(&snapshot(24, 160, Some((22, 150)))), Fate::Drop);
}

/// An earlier copy was lost, so the resend flag does not make this one a repeat.
#[test]
fn a_first_copy_counts_with_the_mark_of_a_resend() {
    let mut state = program("drop when cl_say and count(cl_say) == 2").open(OPENING, None);
    let message = say("x");
    let first = Message {
        resend: true,
        ..first_copy(&message, 5)
    };
    let fates = [(); 3].map(|()| state.decide(&first, &mut Shared::default()).fate);
    assert_eq!(fates, [Fate::Pass, Fate::Drop, Fate::Pass]);
}

#[test]
fn a_reload_keeps_what_is_known_and_misses_what_was_not_needed() {
    let named = |text: &str| program(&format!("{text} when cl_say and sess.name == \"me\""));
    let mut state = named("drop").open(OPENING, None);
    decide(&mut *state, &start_info(), 5);
    let late = Opening {
        is_new: false,
        ..OPENING
    };
    let mut state = named("lose").open(late, Some(state));
    assert_eq!(decide(&mut *state, &say("x"), 5).fate, Fate::Lose { times: 1 });
    // A round trip is not measured if its end was missed.
    let trips = || program("drop when cl_say and sess.rtt > 0us");
    let mut state = trips().open(late, Some(state));
    state.on_sent(10, Seq::new(5), false);
    let state = program("drop when sv_chat").open(late, Some(state));
    let mut state = trips().open(late, Some(state));
    state.on_ack(900, Seq::new(5));
    assert_eq!(decide(&mut *state, &say("x"), 900).fate, Fate::Pass);
    state.on_sent(900, Seq::new(6), false);
    state.on_ack(950, Seq::new(6));
    assert_eq!(decide(&mut *state, &say("x"), 950).fate, Fate::Drop);
    // The program between the two does not need names.
    let state = program("drop when sv_chat").open(late, Some(state));
    let mut state = program("drop when snap.character[3].x > 100").open(late, Some(state));
    let mut of = |snapshot: &(Dir, Vec<u8>)| decide(&mut *state, snapshot, 5).fate;
    assert_eq!(of(&snapshot(22, 150, Some((20, 50)))), Fate::Pass);
    assert_eq!(of(&snapshot(24, 150, None)), Fate::Drop);
}

#[test]
fn a_session_remembers_for_itself_and_a_reload_keeps_it() {
    let source = "late: drop when cl_say and count(cl_say) > 2";
    let first = program(source);
    let mut state = first.open(OPENING, None);
    let mut other = first.open(OPENING, None);
    for _ in 0..2 {
        assert_eq!(decide(&mut *state, &say("x"), OPENING.at).fate, Fate::Pass);
    }
    // The same rule after another one, which ends the evaluation but does not hide the message from it.
    let second = program(&format!("pass when cl_say.message == \"y\"\n{source}"));
    let mut state = second.open(OPENING, Some(state));
    assert_eq!(decide(&mut *state, &say("x"), OPENING.at).fate, Fate::Drop);
    assert_eq!(decide(&mut *other, &say("x"), OPENING.at).fate, Fate::Pass);
    // Another condition under the same name starts with an empty memory.
    let third = program("late: drop when cl_say and count(cl_say) > 3");
    let mut state = third.open(OPENING, Some(state));
    assert_eq!(decide(&mut *state, &say("x"), OPENING.at).fate, Fate::Pass);
    let mut fresh = second.open(OPENING, None);
    let fates = ["y", "y", "x"].map(|text| decide(&mut *fresh, &say(text), OPENING.at).fate);
    assert_eq!(fates, [Fate::Pass, Fate::Pass, Fate::Drop]);
}
