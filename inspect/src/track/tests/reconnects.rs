//! Map changes without an answer, and requests for a session in a session.

use super::*;

/// Returns the notes about a client that goes on with inputs after a map change of `size` bytes, and sends `answer`.
fn after_map_change(proto: Proto, size: i32, answer: Option<&str>, has_entered: bool) -> Vec<String> {
    let mut script = Script::new(proto);
    let (enter, mut input) = (script.named("enter_game"), script.named("input"));
    input.extend([0; 13]);
    let mut number = 1;
    let mut snapshot = script.named("snap_empty");
    snapshot.extend([1, 2]);
    if has_entered {
        script.send(Dir::C2s, 0, &[(Some(1), false, &enter)]);
        script.send(Dir::S2c, 1, &[(None, false, &snapshot)]);
        number = 2;
    }
    let mut change = script.named("map_change");
    change.extend(b"ctf1\0\0");
    teetap_wire::varint::encode(size, &mut change);
    script.send(Dir::S2c, number - 1, &[(Some(1), false, &change)]);
    if let Some(answer) = answer {
        match answer {
            "snap_empty" => script.send(Dir::S2c, number - 1, &[(None, false, &snapshot)]),
            _ => script.send(Dir::C2s, 1, &[(Some(number), false, &script.named(answer))]),
        };
    }
    let mut found = Vec::new();
    for _ in 0..140 {
        script.at += 50_000;
        let notes = script.send(Dir::C2s, 1, &[(None, false, &input)]);
        let notes = notes.into_iter().filter(|(code, _)| *code == Code::OutOfTurn);
        found.extend(notes.map(|(_, text)| text));
    }
    found
}

#[test]
fn a_map_change_that_is_never_answered_is_noted_once() {
    for proto in Proto::ALL {
        let found = after_map_change(proto, 4000, None, true);
        assert_eq!(found.len(), 1, "{proto} {found:?}");
        assert!(
            found[0].starts_with("got 121 inputs in 6.0 s after map_change"),
            "{found:?}"
        );
        // The client may still load a large map, answers, has not been in the game, or is still in it.
        for (size, answer, has_entered) in [
            (40_000, None, true),
            (4000, Some("ready"), true),
            (4000, Some("request_map_data"), true),
            (4000, None, false),
            (4000, Some("snap_empty"), true),
        ] {
            let found = after_map_change(proto, size, answer, has_entered);
            assert_eq!(found, [""; 0], "{proto} {size} {answer:?}");
        }
    }
}

/// Returns the number of notes about requests for a session, between which `between` happens.
fn requests(proto: Proto, between: impl Fn(&mut Script)) -> usize {
    let mut script = Script::new(proto);
    script.vital(Dir::C2s, 0, 1);
    let mut count = 0;
    for _ in 0..12 {
        script.at += 500_000;
        let notes = script.control(Dir::C2s, b"\x01");
        count += notes.iter().filter(|(code, _)| *code == Code::OutOfTurn).count();
        between(&mut script);
    }
    count
}

#[test]
fn a_client_that_begins_anew_in_its_session_is_noted_once() {
    for proto in Proto::ALL {
        let count = requests(proto, |script| {
            script.keepalive(Dir::S2c, 1);
        });
        assert_eq!(count, 1, "{proto}");
        // The client still sends in the session, so the requests are late copies.
        let count = requests(proto, |script| {
            script.keepalive(Dir::C2s, 0);
        });
        assert_eq!(count, 0, "{proto}");
        let count = requests(proto, |script| {
            script.control(Dir::S2c, b"\x02TKEN");
        });
        assert_eq!(count, 0, "{proto}");
    }
}
