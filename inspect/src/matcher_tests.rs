//! Tests of filters on messages, with the sessions around them.

use teetap_rules::{
    context::{Contexts, PacketView},
    eval::Identity,
};
use teetap_wire::{Code, Note, Seq, identify};

use super::*;

const KILL: &[u8] = b"\x38";
const START_INFO: &[u8] = b"\x36nameless tee\0";

/// A filter and the contexts of the sessions it sees.
struct Stage {
    matcher: Matcher,
    contexts: Contexts,
}

impl Stage {
    fn new(text: &str) -> Self {
        Self {
            matcher: Matcher::new(Filter::parse(text, Registry::builtin()).unwrap().0),
            contexts: Contexts::new(Registry::builtin()),
        }
    }

    fn matches(&mut self, view: &MessageView<'_>) -> bool {
        let fields = Lazy::new(view.def, view.data, view.body, Decoded::new());
        self.contexts.observe(view, &fields);
        let context = self.contexts.of_session(view.session);
        let matches = self.matcher.matches(view, &fields, context);
        self.contexts.learn(view, &fields);
        matches
    }

    fn on_session(&mut self, at: u64, session: u32, state: State) {
        self.matcher.on_session(SessionId(session), state);
        let client = ([127, 0, 0, 1], 52000).into();
        self.contexts.on_session(at, session, state.into(), client);
    }
}

/// Returns a view of a 0.7 message.
fn view(at: u64, session: u32, dir: Dir, data: &[u8]) -> MessageView<'_> {
    let found = Registry::builtin().message(Proto::V7, dir, data);
    let id = identify(data).map(|(id, _)| id).unwrap();
    MessageView {
        at,
        session: Some(session),
        proto: Proto::V7,
        dir,
        class: Some(id.layer.into()),
        id: Identity::Number(id.id),
        def: found.map(|found| found.def),
        body: found.map_or(0, |found| found.body),
        data,
        seq: Some(Seq::new(7)),
        seq_out: Some(Seq::new(9)),
        resend: false,
        delivered: true,
        first: false,
        again: false,
        leg: None,
        client: None,
        packet: PacketView::default(),
        done: None,
    }
}

#[test]
fn each_session_has_a_memory_of_its_own() {
    let mut stage = Stage::new("cl_kill and count(cl_kill) == 2");
    let mut kill = |session| stage.matches(&view(5, session, Dir::C2s, KILL));
    assert_eq!(
        [kill(1), kill(2), kill(1), kill(1), kill(2)],
        [false, false, true, false, true]
    );
}

#[test]
fn a_closed_session_is_forgotten_and_there_are_never_too_many() {
    let mut stage = Stage::new("count(cl_kill) == 1 and cl_kill");
    for session in 0..5_000 {
        stage.matches(&view(5, session, Dir::C2s, KILL));
    }
    assert_eq!(stage.matcher.sessions.len(), SESSIONS);
    stage.on_session(6, 4_999, State::Closed);
    assert_eq!(stage.matcher.sessions.len(), SESSIONS - 1);
    assert!(stage.matches(&view(7, 4_999, Dir::C2s, KILL)));
}

#[test]
fn a_session_has_a_time_a_state_and_a_player() {
    let mut stage =
        Stage::new(r#"cl_kill and sess.name == "nameless tee" and t > 1s and sess.state == online"#);
    let kill = |at, session| view(at, session, Dir::C2s, KILL);
    stage.matches(&view(0, 1, Dir::C2s, START_INFO));
    assert!(!stage.matches(&kill(500, 1)));
    assert!(!stage.matches(&kill(1_500_000, 1)));
    for session in [1, 2] {
        stage.on_session(1_600_000, session, State::Online);
    }
    assert!(stage.matches(&kill(1_700_000, 1)));
    // Its player has no name yet.
    assert!(!stage.matches(&kill(3_700_000, 2)));
}

#[test]
fn a_round_trip_ends_with_the_ack_of_the_number_sent() {
    let mut stage = Stage::new("cl_kill and sess.rtt == 20ms");
    let acked = |at, ack| MessageView {
        packet: PacketView {
            ack: Some(Seq::new(ack)),
            ..PacketView::default()
        },
        ..view(at, 1, Dir::C2s, KILL)
    };
    stage.matches(&view(1_000, 1, Dir::S2c, b"\x02motd\0"));
    assert!(!stage.matches(&acked(11_000, 8)));
    assert!(stage.matches(&acked(21_000, 9)));
    // The next message was resent, so the ack may be for either copy.
    stage.matches(&view(30_000, 1, Dir::S2c, b"\x02motd\0"));
    let again = MessageView {
        resend: true,
        ..view(35_000, 1, Dir::S2c, b"\x02motd\0")
    };
    stage.matches(&again);
    assert!(stage.matches(&acked(36_000, 9)));
}

#[test]
fn filters_see_notes_of_the_datagram_and_of_the_message() {
    let odd = [Note {
        code: Code::AckAhead,
        at: 0,
        len: 2,
    }];
    let packet = PacketView {
        notes: &odd,
        ..PacketView::default()
    };
    let plain = view(5, 1, Dir::C2s, KILL);
    let noted = MessageView { packet, ..plain };
    let short = view(5, 1, Dir::C2s, b"\x36no end");
    for (text, expected) in [
        ("lint", [false, true, true]),
        ("lint.ack_ahead", [false, true, false]),
        ("malformed", [false, true, true]),
    ] {
        let mut stage = Stage::new(text);
        let got = [plain, noted, short].map(|view| stage.matches(&view));
        assert_eq!(got, expected, "{text}");
    }
}

/// Notes on direction and vitality count for filters, too.
#[test]
fn every_note_that_is_shown_counts_as_lint() {
    for (text, dir, vital, expected) in [
        ("lint", Dir::C2s, true, false),
        ("lint.not-vital", Dir::C2s, false, true),
        ("lint.wrong-direction", Dir::S2c, true, true),
        ("lint.wrong-direction", Dir::C2s, true, false),
    ] {
        let message = MessageView {
            seq: vital.then_some(Seq::new(7)),
            ..view(5, 1, dir, KILL)
        };
        assert_eq!(
            Stage::new(text).matches(&message),
            expected,
            "{text} {dir} {vital}"
        );
    }
}

/// Session numbers restart with each run of a recording, and when a session opens.
#[test]
fn a_session_that_opens_starts_anew() {
    let mut stage = Stage::new("cl_kill and count(cl_kill) == 2");
    let kill = view(5, 1, Dir::C2s, KILL);
    assert!(!stage.matches(&kill));
    stage.on_session(6, 1, State::Opening);
    assert!(!stage.matches(&kill));
    stage.matcher.restart();
    assert!(!stage.matches(&kill));
    assert!(stage.matches(&kill));
}
