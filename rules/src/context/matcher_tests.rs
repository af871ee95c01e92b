//! Tests of what a filter is told about messages.

use teetap_wire::{def::Registry, identify};

use super::*;

const NOTHING: Notes = Notes::new();

const KILL: &[u8] = b"\x38";
const START_INFO: &[u8] = b"\x36nameless tee\0";

static NOBODY: Roster = Roster::new();

/// A 0.7 message.
fn asked(at: u64, session: u32, dir: Dir, data: &[u8]) -> Asked<'_> {
    let found = Registry::builtin().message(Proto::V7, dir, data);
    let id = identify(data).map(|(id, _)| id).unwrap();
    Asked {
        at: Time(at),
        session: Some(SessionId(session)),
        proto: Proto::V7,
        dir,
        class: id.layer.into(),
        id: Identity::Number(id.id),
        def: found.map(|found| found.def),
        body: found.map_or(0, |found| found.body),
        data,
        vital: true,
        resend: false,
        seq: Some(Seq::new(7)),
        seq_out: Some(Seq::new(9)),
        roster: &NOBODY,
        around: Around::default(),
        snapshot: None,
        found: &NOTHING,
    }
}

fn matcher(text: &str) -> Matcher {
    Matcher::new(Filter::parse(text, Registry::builtin()).unwrap().0)
}

#[test]
fn what_is_remembered_is_remembered_for_each_session() {
    let mut matcher = matcher("cl_kill and count(cl_kill) == 2");
    let mut kill = |session| matcher.matches(&asked(5, session, Dir::C2s, KILL));
    assert_eq!(
        [kill(1), kill(2), kill(1), kill(1), kill(2)],
        [false, false, true, false, true]
    );
}

#[test]
fn a_closed_session_is_forgotten_and_there_are_never_too_many() {
    let mut matcher = matcher("count(cl_kill) == 1 and cl_kill");
    for session in 0..5_000 {
        matcher.matches(&asked(5, session, Dir::C2s, KILL));
    }
    assert_eq!(matcher.sessions.len(), SESSIONS);
    matcher.on_session(Time(6), SessionId(4_999), State::Closed);
    assert_eq!(matcher.sessions.len(), SESSIONS - 1);
    assert!(matcher.matches(&asked(7, 4_999, Dir::C2s, KILL)));
}

#[test]
fn a_session_has_a_time_a_state_and_a_player() {
    let mut matcher =
        matcher(r#"cl_kill and sess.name == "nameless tee" and t > 1s and sess.state == online"#);
    let mut roster = Roster::new();
    let registry = Registry::builtin();
    let (def, mut decoded) = (asked(0, 1, Dir::C2s, START_INFO).def.unwrap(), Decoded::new());
    decoded
        .message(registry, Proto::V7, Dir::C2s, START_INFO)
        .unwrap();
    roster.on_message(Some(SessionId(1)), Dir::C2s, def, &decoded, START_INFO);
    let kill = |at, session| Asked {
        roster: &roster,
        ..asked(at, session, Dir::C2s, KILL)
    };
    assert!(!matcher.matches(&kill(500, 1)));
    assert!(!matcher.matches(&kill(1_500_000, 1)));
    for session in [1, 2] {
        matcher.on_session(Time(1_600_000), SessionId(session), State::Online);
    }
    assert!(matcher.matches(&kill(1_700_000, 1)));
    // Nobody knows who that is.
    assert!(!matcher.matches(&kill(3_700_000, 2)));
    assert!(!matcher.matches(&asked(3_700_000, 1, Dir::C2s, KILL)));
}

#[test]
fn a_round_trip_ends_with_the_ack_of_the_number_that_left() {
    let mut matcher = matcher("cl_kill and sess.rtt == 20ms");
    let acked = |at, ack| Asked {
        around: Around {
            ack: Some(Seq::new(ack)),
            ..Around::default()
        },
        ..asked(at, 1, Dir::C2s, KILL)
    };
    matcher.matches(&asked(1_000, 1, Dir::S2c, b"\x02motd\0"));
    assert!(!matcher.matches(&acked(11_000, 8)));
    assert!(matcher.matches(&acked(21_000, 9)));
    // The next one was sent again: nobody knows which copy is acked.
    matcher.matches(&asked(30_000, 1, Dir::S2c, b"\x02motd\0"));
    let again = Asked {
        resend: true,
        ..asked(35_000, 1, Dir::S2c, b"\x02motd\0")
    };
    matcher.matches(&again);
    assert!(matcher.matches(&acked(36_000, 9)));
}

#[test]
fn notes_of_the_datagram_and_of_the_message_are_asked_for() {
    let odd = [Note {
        code: Code::AckAhead,
        at: 0,
        len: 2,
    }];
    let around = Around {
        notes: &odd,
        ..Around::default()
    };
    let plain = asked(5, 1, Dir::C2s, KILL);
    let noted = Asked { around, ..plain };
    let short = asked(5, 1, Dir::C2s, b"\x36no end");
    for (text, expected) in [
        ("lint", [false, true, true]),
        ("lint.ack_ahead", [false, true, false]),
        ("malformed", [false, true, true]),
    ] {
        let mut matcher = matcher(text);
        let got = [plain, noted, short].map(|asked| matcher.matches(&asked));
        assert_eq!(got, expected, "{text}");
    }
}

/// What the way of a message has odd is odd to filters, too.
#[test]
fn a_lint_is_whatever_is_shown_as_odd() {
    for (text, dir, vital, expected) in [
        ("lint", Dir::C2s, true, false),
        ("lint.not-vital", Dir::C2s, false, true),
        ("lint.wrong-direction", Dir::S2c, true, true),
        ("lint.wrong-direction", Dir::C2s, true, false),
    ] {
        let message = Asked {
            vital,
            ..asked(5, 1, dir, KILL)
        };
        assert_eq!(matcher(text).matches(&message), expected, "{text} {dir} {vital}");
    }
}

/// Session numbers begin again with each run of a recording, and when one opens.
#[test]
fn a_session_that_opens_is_a_new_one() {
    let mut matcher = matcher("cl_kill and count(cl_kill) == 2");
    let kill = asked(5, 1, Dir::C2s, KILL);
    assert!(!matcher.matches(&kill));
    matcher.on_session(Time(6), SessionId(1), State::Opening);
    assert!(!matcher.matches(&kill));
    matcher.restart();
    assert!(!matcher.matches(&kill));
    assert!(matcher.matches(&kill));
}
