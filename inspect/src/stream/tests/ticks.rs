//! Snapshots, and their acks in inputs.

use super::*;

/// Returns a message of a name with these ints.
fn message(script: &Script, name: &str, ints: &[i32]) -> &'static [u8] {
    let mut data = script.named(name);
    ints.iter()
        .for_each(|int| teetap_wire::varint::encode(*int, &mut data));
    data.leak()
}

/// Returns the notes of a client of which each input acks the snapshot that `ack` says, of one a tick before.
fn play(proto: Proto, ack: fn(i32) -> i32) -> Vec<(Code, String)> {
    let mut script = Script::new(proto);
    let mut found = Vec::new();
    for tick in 0..100 {
        let snapshot = message(&script, "snap_empty", &[1000 + tick * 2, 1]);
        script.send(Dir::S2c, 0, &[(None, false, snapshot)]);
        script.at += 40_000;
        let ints = [
            ack(1000 + tick * 2),
            1010 + tick * 2,
            40,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
        ];
        let input = message(&script, "input", &ints);
        found.extend(script.send(Dir::C2s, 0, &[(None, false, input)]));
    }
    found.retain(|(code, _)| *code == Code::SnapUnacked);
    found
}

#[test]
fn a_client_that_acks_no_snapshot_is_noted_once() {
    for proto in Proto::ALL {
        let text = |got, newest| {
            format!(
                "got {got} in the last of 50 inputs, expected the tick of a snapshot that was sent, such as {newest}"
            )
        };
        assert_eq!(
            play(proto, |_| -1),
            [(Code::SnapUnacked, text(-1, 1098))],
            "{proto}"
        );
        assert_eq!(
            play(proto, |tick| tick + 1),
            [(Code::SnapUnacked, text(1099, 1098))]
        );
        assert_eq!(play(proto, |tick| tick), []);
        // One that lags, or that gets few.
        assert_eq!(play(proto, |_| 1000), []);
        assert_eq!(play(proto, |tick| if tick % 40 == 0 { tick } else { -1 }), []);
    }
}
