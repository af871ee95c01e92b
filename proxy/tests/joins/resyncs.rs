//! A requested complete snapshot: only the acks of inputs change, until the server sends it.

use teetap_kit::{codec::Variant, world::config};
use teetap_proxy::session::{Command, Config, Notice, SessionId};
use teetap_rules::Fate;
use teetap_wire::def::Registry;

use crate::bench::{Bench, KINDS, fate, on_each_kind, with_rules};

/// Message ids: of 0.6 and DDNet, and of 0.7.
const INPUT: [u8; 2] = [16, 20];
const SNAP_EMPTY: [u8; 2] = [6, 7];

fn system(bench: &Bench, numbers: [u8; 2], ints: &[u8]) -> String {
    let [six, seven] = numbers;
    let number = if bench.kind == Variant::V7 { seven } else { six };
    let bytes = [&[number << 1 | 1], ints].concat();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("-:={hex}")
}

/// Returns an input that acks the snapshot of tick `ack`, or no snapshot if it is `None`.
fn input(bench: &Bench, ack: Option<u8>) -> String {
    // 0x40 is -1; then the intended tick, the size, and the keys.
    let mut ints = vec![ack.unwrap_or(0x40), 0x33, 0x28];
    ints.extend([1; 10]);
    system(bench, INPUT, &ints)
}

/// Returns a snapshot of tick 20: a delta to the snapshot `delta` ticks before, or a complete snapshot if `delta` is
/// larger than 20.
fn snapshot(bench: &Bench, delta: u8) -> String {
    system(bench, SNAP_EMPTY, &[20, delta])
}

fn ask(bench: &mut Bench) {
    let session = SessionId(1);
    assert_eq!(bench.command(Command::Resync { session }), [] as [&str; 0]);
}

#[test]
fn inputs_say_that_the_client_has_none_until_one_comes() {
    on_each_kind(|bench| {
        let [has, none] = [Some(9), None].map(|ack| input(bench, ack));
        let [differs, complete] = [5, 21].map(|delta| snapshot(bench, delta));
        bench.is(&format!("C a0 {has}"), &[&format!("S a0 {has}")]);
        bench.is(&format!("S a1 {complete}"), &[&format!("C a1 {complete}")]);
        assert_eq!(bench.notices, []);
        ask(bench);
        // Created before the server could know about the request.
        bench.is(&format!("S a1 {complete}"), &[&format!("C a1 {complete}")]);
        bench.is(&format!("C a0 2:x {has}"), &[&format!("S a0 2:x {none}")]);
        bench.is(&format!("S a1 {differs}"), &[&format!("C a1 {differs}")]);
        bench.is(&format!("C a0 {has}"), &[&format!("S a0 {none}")]);
        bench.is("C a0 3:y", &["S a0 3:y"]);
        bench.is(
            &format!("S a1 1:a {complete}"),
            &[&format!("C a1 1:a {complete}")],
        );
        bench.is(&format!("C a1 {has}"), &[&format!("S a1 {has}")]);
        // No direction is renumbered for it.
        assert_eq!(bench.notices, [Notice::Resync, Notice::Resynced]);
    });
}

#[test]
fn it_gives_up_and_can_be_requested_again() {
    on_each_kind(|bench| {
        let [has, none] = [Some(9), None].map(|ack| input(bench, ack));
        for _ in 0..2 {
            ask(bench);
            for _ in 0..50 {
                bench.is(&format!("C a0 {has}"), &[&format!("S a0 {none}")]);
                // An input that acks no snapshot itself does not count.
                bench.is(&format!("C a0 {none}"), &[&format!("S a0 {none}")]);
            }
            bench.is(&format!("C a0 {has}"), &[&format!("S a0 {has}")]);
            let expected = [
                Notice::Resync,
                Notice::ResyncRefused {
                    why: "the server sent no complete snapshot".into(),
                },
            ];
            assert_eq!(std::mem::take(&mut bench.notices), expected);
        }
    });
}

/// The core reads inputs by the definitions of its configuration.
#[test]
fn the_ack_is_where_the_definitions_have_it() {
    const OTHER: &str = "
for 0.6 ddnet
system 16 input c2s
  keys          int
  ack_snapshot  int
for 0.7
system 20 input c2s
  keys          int
  ack_snapshot  int
";
    let registry: &'static Registry = Box::leak(Box::new(Registry::with("own.tw", OTHER).unwrap()));
    for kind in KINDS {
        let config = Config {
            registry,
            ..config(3, None, true)
        };
        let bench = &mut Bench::with(kind, config);
        let [has, none] = [9, 0x40].map(|ack| system(bench, INPUT, &[5, ack]));
        ask(bench);
        bench.is(&format!("C a0 {has}"), &[&format!("S a0 {none}")]);
        let has_none = system(bench, INPUT, &[9, 0x40]);
        bench.is(&format!("C a0 {has_none}"), &[&format!("S a0 {has_none}")]);
    }
}

#[test]
fn rules_go_first() {
    with_rules(&vec![fate("x", Fate::Drop)], |bench| {
        let [has, none] = [Some(9), None].map(|ack| input(bench, ack));
        bench.notices.clear();
        ask(bench);
        bench.is(&format!("C a0 2:x 3:y {has}"), &[&format!("S a0 2:y {none}")]);
        assert_eq!(bench.notices, [Notice::Resync]);
    });
}

#[test]
fn a_session_that_ends_gets_no_request() {
    on_each_kind(|bench| {
        bench.send("C a0 close bye");
        bench.notices.clear();
        ask(bench);
        let refused = [Notice::ResyncRefused {
            why: "the session is not online".into(),
        }];
        assert_eq!(bench.notices, refused);
    });
}
