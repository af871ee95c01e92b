//! Map downloads that stop: the side that owes the next message, and the messages that have no effect.

use teetap_wire::varint;

use super::*;

/// Size of a map with three parts in 0.6, in bytes.
const SIZE: i32 = 2000;
/// The crc32 of the map, whose bytes are all `aa`.
const CRC: i32 = 0x8c23_68f6_u32.cast_signed();

/// A message of a download.
#[derive(Clone, Copy, Debug)]
enum MapMessage {
    /// A request for the part with this number.
    Ask(i32),
    /// A part: number, mark of the last part, size in bytes.
    Part(i32, bool, i32),
    /// The part with this number and a wrong checksum.
    Foreign(i32),
    /// A copy of the last message with the resend flag.
    Again,
}

use MapMessage::{Again, Ask, Foreign, Part};

fn message(id: i32, ints: &[i32], rest: usize) -> Vec<u8> {
    let mut data = Vec::new();
    varint::encode(id << 1 | 1, &mut data);
    ints.iter().for_each(|int| varint::encode(*int, &mut data));
    data.resize(data.len() + rest, 0xaa);
    data
}

/// Plays a join up to `map_change`, for a map of [`SIZE`] bytes. In 0.7 the parts have 700 bytes, and a request is
/// answered with two.
fn begun(script: &'static Script) -> Play {
    let play = Play::from_script(script).until(script.index("map_change"));
    let mut data = message(2, &[], 0);
    data.extend(b"dm1\0");
    let ints: &[i32] = if script.proto == Proto::V7 {
        &[CRC, SIZE, 2, 700]
    } else {
        &[CRC, SIZE]
    };
    ints.iter().for_each(|int| varint::encode(*int, &mut data));
    let next = script.index("map_change") + 1;
    play.bytes(Side::Server, &data, false).skip_to(next)
}

fn play(script: &'static Script, steps: &[MapMessage]) -> Play {
    let is_seven = script.proto == Proto::V7;
    let mut play = begun(script);
    let mut last = (Side::Client, Vec::new());
    for step in steps {
        let rest = |size: i32| usize::try_from(size).unwrap();
        last = match *step {
            Ask(_) if is_seven => (Side::Client, message(23, &[], 0)),
            Ask(part) => (Side::Client, message(19, &[part], 0)),
            Part(_, _, size) if is_seven => (Side::Server, message(3, &[], rest(size))),
            Part(part, is_last, size) => {
                let ints = [i32::from(is_last), CRC, part, size];
                (Side::Server, message(3, &ints, rest(size)))
            }
            Foreign(part) => (Side::Server, message(3, &[0, CRC + 1, part, 896], 896)),
            Again => last,
        };
        play = play.bytes(last.0, &last.1, matches!(step, Again));
    }
    play
}

/// Returns the last stall of a join that stops after these steps, without its common prefix.
fn stall(script: &'static Script, steps: &[MapMessage]) -> String {
    let stalls = play(script, steps).wait(1500).stalls();
    assert_eq!(stalls.len(), 1, "{} {steps:?}: {stalls:?}", script.name);
    let (_, waits) = stalls[0].split_once("(acked) ").unwrap();
    waits.to_owned()
}

const OF_SERVER: &str = "the client waits for map_data from the server; ";
const OF_CLIENT: &str = "the server waits for request_map_data from the client; ";
const READY: &str = "the server waits for ready from the client";

const ONE: MapMessage = Part(0, false, 896);
const TWO: MapMessage = Part(1, false, 896);
const THREE: MapMessage = Part(2, true, 208);

/// Steps of a download in 0.6, the side that owes the next message, and the reason.
const NUMBERED: &[(&[MapMessage], &str, &str)] = &[
    // The server omits parts.
    (&[Ask(0)], OF_SERVER, "the client has 0 of 3 parts of the map"),
    (
        &[Ask(0), ONE, Ask(1)],
        OF_SERVER,
        "the client has 1 of 3 parts of the map",
    ),
    (
        &[Ask(0), ONE, Ask(1), TWO, Ask(2)],
        OF_SERVER,
        "the client has 2 of 3 parts of the map",
    ),
    // The client omits a request.
    (
        &[Ask(0), ONE],
        OF_CLIENT,
        "the client has 1 of 3 parts of the map",
    ),
    (
        &[Ask(0), ONE, Ask(1), TWO],
        OF_CLIENT,
        "the client has 2 of 3 parts of the map",
    ),
    // The client requests wrong parts.
    (
        &[Ask(9)],
        OF_CLIENT,
        "request_map_data asked for part 9, but the map has only 3, counted from 0",
    ),
    (
        &[Ask(-1)],
        OF_CLIENT,
        "request_map_data asked for part -1, but the map has only 3, counted from 0",
    ),
    (
        &[Ask(0), ONE, Ask(3)],
        OF_CLIENT,
        "request_map_data asked for part 3, but the map has only 3, counted from 0",
    ),
    (
        &[Ask(0), ONE, Ask(2), THREE],
        OF_CLIENT,
        "the client has 2 of 3 parts of the map",
    ),
    (
        &[Ask(0), ONE, Ask(0), ONE],
        OF_CLIENT,
        "the client has 1 of 3 parts of the map",
    ),
    (
        &[Ask(0), ONE, Ask(1), TWO, Ask(0), ONE],
        OF_CLIENT,
        "the client has restarted the map download with part 0",
    ),
    // The server sends wrong parts.
    (&[Ask(0), TWO], OF_SERVER, "map_data has part 1, expected part 0"),
    (
        &[Ask(0), ONE, Ask(1), ONE],
        OF_SERVER,
        "map_data has part 0, expected part 1",
    ),
    (
        &[Ask(0), Part(0, false, 0)],
        OF_SERVER,
        "map_data has no data of part 0",
    ),
    (
        &[Ask(0), Foreign(0)],
        OF_SERVER,
        "map_data has the map crc 8c2368f7, expected 8c2368f6 as in map_change",
    ),
    (
        &[Ask(0), Part(0, true, 896)],
        OF_SERVER,
        "map_data has part 0 of 3, counted from 0, but is marked as the last",
    ),
    (
        &[Ask(0), ONE, Ask(1), TWO, Ask(2), Part(2, false, 208)],
        OF_SERVER,
        "map_data has the last part, 2, but is not marked as the last",
    ),
    // Copies change nothing.
    (
        &[Ask(0), Again, ONE, Again],
        OF_CLIENT,
        "the client has 1 of 3 parts of the map",
    ),
    (
        &[Ask(0), ONE, Ask(1), Again],
        OF_SERVER,
        "the client has 1 of 3 parts of the map",
    ),
    // Several requests are open at once.
    (
        &[Ask(0), Ask(1), Ask(2), ONE, THREE],
        OF_SERVER,
        "the client has 2 of 3 parts of the map",
    ),
    // The window of DDNet: parts are sent ahead of their requests.
    (
        &[Ask(0), ONE, TWO, Ask(1)],
        OF_CLIENT,
        "the client has 2 of 3 parts of the map",
    ),
    (
        &[Ask(0), ONE, TWO, Ask(1), Ask(2)],
        OF_SERVER,
        "the client has 2 of 3 parts of the map",
    ),
    (&[Ask(0), ONE, TWO, THREE, Ask(1), Ask(2)], READY, ""),
    (&[Ask(0), ONE, Ask(1), TWO, Ask(2), THREE], READY, ""),
    // A wrong message is followed by the right one.
    (&[Ask(9), Ask(0), TWO, ONE, Ask(1), TWO, Ask(2), THREE], READY, ""),
];

#[test]
fn a_download_of_numbered_parts_stops_at_the_side_that_owes_the_next_message() {
    for (steps, owes, why) in NUMBERED {
        for name in ["0.6 without tokens", "0.6.5", "DDNet"] {
            let got = stall(Script::named(name), steps);
            assert_eq!(got, format!("{owes}{why}"), "{name} {steps:?}");
        }
    }
}

#[test]
fn a_download_of_counted_parts_stops_at_the_side_that_owes_the_next_message() {
    let (part, last) = (Part(0, false, 700), Part(0, false, 600));
    for (steps, owes, why) in [
        (&[Ask(0)][..], OF_SERVER, "the client has 0 of 3 parts of the map"),
        (
            &[Ask(0), part],
            OF_SERVER,
            "the client has 1 of 3 parts of the map",
        ),
        (
            &[Ask(0), part, part],
            OF_CLIENT,
            "the client has 2 of 3 parts of the map",
        ),
        (
            &[Ask(0), part, part, Ask(0)],
            OF_SERVER,
            "the client has 2 of 3 parts of the map",
        ),
        (
            &[Ask(0), Ask(0), part, part],
            OF_SERVER,
            "the client has 2 of 3 parts of the map",
        ),
        (
            &[Ask(0), part, Part(0, false, 699)],
            OF_SERVER,
            "map_data has 699 bytes, expected 700",
        ),
        (
            &[Ask(0), part, part, Ask(0), Part(0, false, 599)],
            OF_SERVER,
            "map_data has 599 bytes, expected 600",
        ),
        (
            &[Ask(0), Again, part, Again],
            OF_SERVER,
            "the client has 1 of 3 parts of the map",
        ),
        (&[Ask(0), part, part, Ask(0), last], READY, ""),
    ] {
        for name in ["0.7", "DDNet's 0.7"] {
            let got = stall(Script::named(name), steps);
            assert_eq!(got, format!("{owes}{why}"), "{name} {steps:?}");
        }
    }
}

#[test]
fn the_end_of_a_join_says_how_much_of_the_map_came() {
    let script = Script::named("0.6.5");
    let stopped = |steps: &[MapMessage]| {
        let play = play(script, steps).wait(1500).closed_by(Side::Client, None);
        play.joins()[0].stopped().unwrap()
    };
    assert_eq!(
        stopped(&[Ask(0), Part(0, false, 896), Ask(1)]),
        "after request_map_data (acked) the server did not send the rest of map_data (the client has 1 of 3 parts of the map); \
         closed by the client"
    );
    assert_eq!(
        stopped(&[Ask(0), Part(0, false, 896), Ask(7)]),
        "after map_data (acked) the request_map_data of the client had no effect: it asked for part 7, but the map has only 3, \
         counted from 0; closed by the client"
    );
}

/// A recording that ends within a second of the last part says nothing about the side that owes the next message.
#[test]
fn a_recording_that_ends_during_a_download_accuses_nobody() {
    for name in ["0.6 without tokens", "0.6.5", "DDNet"] {
        let script = Script::named(name);
        for steps in [&[Ask(0), ONE][..], &[Ask(0), ONE, Ask(1)]] {
            let join = play(script, steps).wait(500).finish().pop().unwrap();
            assert_eq!(join.outcome, JoinOutcome::Interrupted, "{name} {steps:?}");
            let join = play(script, steps).wait(2500).finish().pop().unwrap();
            assert_eq!(join.outcome, JoinOutcome::NeverEntered, "{name} {steps:?}");
        }
    }
}

/// The steps of a join count the parts of the map that have an effect.
#[test]
fn wrong_parts_are_not_counted() {
    for name in ["0.6 without tokens", "0.6.5", "DDNet"] {
        let counts = |steps: &[MapMessage]| {
            let play = play(Script::named(name), steps).closed_by(Side::Client, None);
            let steps = play.joins()[0].steps.iter();
            let of_map = steps.filter(|step| step.name.contains("map_data"));
            of_map
                .map(|step| (step.name, step.from, step.count))
                .collect::<Vec<_>>()
        };
        let expected = vec![("map_data", Side::Server, 2)];
        assert_eq!(counts(&[Ask(0), ONE, Ask(1), TWO]), expected, "{name}");
        for wrong in [
            TWO,
            Foreign(0),
            Part(0, false, 0),
            Part(0, true, 896),
            Ask(9),
            Ask(-1),
        ] {
            assert_eq!(
                counts(&[Ask(0), wrong, ONE, Ask(1), TWO]),
                expected,
                "{name} {wrong:?}"
            );
        }
    }
}

/// A server of 0.6 reads a missing number as 0.
#[test]
fn a_request_without_a_number_is_for_the_first_part() {
    for name in ["0.6.5", "DDNet"] {
        let script = Script::named(name);
        let play = begun(script).bytes(Side::Client, &message(19, &[], 0), false);
        let stalls = play.wait(1500).stalls();
        let waits = format!("{OF_SERVER}the client has 0 of 3 parts of the map");
        assert!(
            stalls.len() == 1 && stalls[0].ends_with(&waits),
            "{name}: {stalls:?}"
        );
    }
}
