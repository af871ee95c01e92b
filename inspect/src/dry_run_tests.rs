//! Tests that a dry run prints the actions that rules would have taken on recorded messages.

use teetap_wire::control as ctrl;

use super::*;
use crate::testing::{chunks, packet, session};

/// The 0.7 `cl_kill`.
const KILL: &[u8] = b"\x38";

/// The 0.7 `cl_say` of "hi" to all.
const SAY: &[u8] = b"\x30\x01\x40hi\0";

/// The 0.7 `enter_game`.
const ENTER_GAME: &[u8] = b"\x27";

struct Stage(DryRun);

impl Stage {
    fn new(rules: &str) -> Self {
        let registry = Registry::builtin();
        let (program, _) = Program::compile(rules, registry).unwrap();
        Self(DryRun::new(program, registry, 1))
    }

    /// Returns each attempt: its time in milliseconds, the message, the numbers of the rules, and the actions.
    fn event(&mut self, ms: u64, what: EventKind) -> Vec<String> {
        let (at, session) = (Time(ms * 1000), Some(SessionId(1)));
        let attempts = self.0.event(&Event { at, session, what });
        let attempts = attempts.iter().map(|attempt| {
            let rules: Vec<_> = attempt
                .rules
                .iter()
                .map(|RuleId(rule)| rule.to_string())
                .collect();
            let of = attempt.message.as_ref().map_or("-".to_owned(), |of| {
                let seq = of.seq.map_or(String::new(), |seq| format!(" {}", seq.get()));
                format!("{} {}{seq}", of.dir, of.name)
            });
            let (ms, actions) = (attempt.at.0 / 1000, attempt.actions.join(", "));
            format!("{ms} {of} [{}] {actions}", rules.join(" "))
        });
        attempts.collect()
    }

    fn state(&mut self, ms: u64, state: State) -> Vec<String> {
        self.event(ms, EventKind::Session(session(state, Proto::V7)))
    }

    fn sent(&mut self, ms: u64, dir: Dir, bytes: &[u8], change: impl FnOnce(&mut Datagram)) -> Vec<String> {
        let bytes: &'static [u8] = bytes.to_vec().leak();
        let mut datagram = Datagram::new(dir, Proto::V7, Origin::Peer, bytes, [bytes].into_iter());
        change(&mut datagram);
        self.event(ms, EventKind::Datagram(datagram))
    }

    /// Sends vital chunks of the client with these numbers.
    fn client(&mut self, ms: u64, messages: &[(u16, &[u8])]) -> Vec<String> {
        let messages: Vec<_> = messages.iter().map(|(seq, data)| (Some(*seq), *data)).collect();
        self.sent(ms, Dir::C2s, &chunks(0, false, &messages), |_| ())
    }
}

#[test]
fn each_action_has_its_words() {
    for (rule, actions) in [
        ("drop", "dropped"),
        ("lose", "lost"),
        ("lose 3 times", "lost 3 times"),
        ("delay 50ms", "delayed by 50ms"),
        ("delay 50ms unordered", "delayed by 50ms, unordered"),
        ("hold until seen(cl_emoticon) max 2s", "held, at most 2s"),
        (
            "hold until seen(cl_emoticon) max 2s unordered",
            "held, at most 2s, unordered",
        ),
        ("pause max 2s", "paused, at most 2s"),
        ("pause max 2s unordered", "paused, at most 2s, unordered"),
        ("swap", "overtaken by 1"),
        ("set .message = \"ho\"", "changed"),
        ("dup", "sent 1 times more"),
        ("dup 3", "sent 3 times more"),
        ("mark x", "marked x"),
        (
            "mark x, dup, delay 1s",
            "delayed by 1s, sent 1 times more, marked x",
        ),
        ("log \"said {.message}\"", "reports \"said hi\""),
        ("reply sv_motd{message: \"y\"}", "sends the client sv_motd"),
        ("inject c2s cl_kill", "sends the server cl_kill"),
        (
            "inject before s2c sv_motd{message: \"y\"}",
            "sends the client sv_motd",
        ),
        ("stall 2s", "stalls for 2s"),
        ("close \"bye\"", "closes the session \"bye\""),
        ("exit 10", "ends the run with 10"),
        ("fail \"bad\"", "fails the run: bad"),
        ("pass", "matched"),
    ] {
        let mut stage = Stage::new(&format!("log \"\" when sv_motd\n{rule} when cl_say"));
        let got = stage.client(5, &[(1, KILL), (2, SAY)]);
        assert_eq!(got, [format!("5 c2s cl_say 2 [1] {actions}")], "{rule}");
    }
    // The message has this text already.
    let mut stage = Stage::new("set .message = \"hi\" when cl_say");
    assert_eq!(stage.client(5, &[(1, SAY)]), [""; 0]);
}

/// Retransmissions get no second decision, in each direction for itself; numbers wrap.
#[test]
fn each_message_is_decided_once() {
    let mut stage = Stage::new("drop when cl_kill\nmark y when sv_emoticon");
    let kill = |seq: u16| format!("0 c2s cl_kill {seq} [0] dropped");
    assert_eq!(stage.client(0, &[(1, KILL), (2, KILL)]), [kill(1), kill(2)]);
    assert_eq!(stage.client(0, &[(1, KILL), (2, KILL)]), [""; 0]);
    assert_eq!(stage.client(0, &[(2, KILL), (3, KILL)]), [kill(3)]);
    let emoticon: &[u8] = b"\x14\x01\x02";
    let of_server = chunks(
        0,
        false,
        &[(Some(3), emoticon), (None, emoticon), (None, emoticon)],
    );
    let mark = |seq: &str| format!("0 s2c sv_emoticon{seq} [1] marked y");
    assert_eq!(
        stage.sent(0, Dir::S2c, &of_server, |_| ()),
        [mark(" 3"), mark(""), mark("")]
    );
    for seq in [400, 800, 1023, 0] {
        assert_eq!(stage.client(0, &[(seq, KILL)]), [kill(seq)]);
    }
    assert_eq!(stage.client(0, &[(1023, KILL)]), [""; 0]);
}

/// Messages that the proxy has made, or that only the server's leg has, are no messages of a peer.
#[test]
fn only_messages_of_peers_are_tried() {
    let bytes = chunks(0, false, &[(None, KILL)]);
    for (origin, leg, is_tried) in [
        (Origin::Peer, None, true),
        (Origin::Peer, Some(Side::Client), true),
        (Origin::Peer, Some(Side::Server), false),
        (Origin::Proxy, None, false),
        (Origin::Rule, None, false),
        (Origin::User, None, false),
    ] {
        let mut stage = Stage::new("drop when cl_kill");
        let got = stage.sent(0, Dir::C2s, &bytes, |datagram| {
            (datagram.origin, datagram.leg) = (origin, leg)
        });
        assert_eq!(got.len(), usize::from(is_tried), "{origin:?} {leg:?}");
        let hits = stage.0.report().rules[0].hits.count;
        assert_eq!(hits, u64::from(is_tried), "{origin:?} {leg:?}");
    }
}

#[test]
fn control_messages_are_tried_with_their_names() {
    let mut stage = Stage::new("drop when ctrl");
    let mut payload = Vec::new();
    ctrl::close(b"bye", &mut payload);
    let close = packet(Flags::CONTROL, 0, 0, &payload);
    assert_eq!(
        stage.sent(3, Dir::S2c, &close, |_| ()),
        ["3 s2c close [0] dropped"]
    );
    let unknown = packet(Flags::CONTROL, 0, 0, &[77]);
    assert_eq!(
        stage.sent(4, Dir::C2s, &unknown, |_| ()),
        ["4 c2s ctrl.77 [0] dropped"]
    );
    let empty = packet(Flags::CONTROL, 0, 0, &[]);
    assert_eq!(stage.sent(5, Dir::C2s, &empty, |_| ()), [""; 0]);
}

/// A rule with `every` acts at its times, before the event that shows that they have passed.
#[test]
fn rules_act_at_their_times() {
    let mut stage = Stage::new("inject s2c sv_motd{message: \"x\"} every 1s");
    assert_eq!(stage.state(0, State::Opening), [""; 0]);
    assert_eq!(stage.client(100, &[(1, ENTER_GAME)]), [""; 0]);
    let at = |ms: u64| format!("{ms} - [] sends the client sv_motd");
    assert_eq!(stage.client(1099, &[]), [""; 0]);
    assert_eq!(stage.client(1100, &[]), [at(1100)]);
    assert_eq!(stage.client(3500, &[]), [at(2100), at(3100)]);
    // Each session has its own times, which begin with it.
    stage.0.restart();
    assert_eq!(stage.client(4100, &[]), [""; 0]);
}

/// The end of a session reports the messages that its rules still expected.
#[test]
fn rules_report_what_did_not_happen() {
    for (messages, is_met) in [
        (&[(1, SAY), (2, KILL)][..], true),
        (&[(1, SAY)], false),
        (&[(1, KILL)], true),
    ] {
        let mut stage = Stage::new("expect cl_kill within 5s when cl_say");
        stage.state(0, State::Opening);
        stage.client(5, messages);
        assert_eq!(stage.state(7, State::Closing), [""; 0]);
        let got = stage.state(9, State::Closed);
        let failures: Vec<_> = got
            .iter()
            .map(|line| line.starts_with("9 - [0] fails the run: "))
            .collect();
        assert_eq!(failures, vec![true; usize::from(!is_met)], "{got:?}");
        // The session is over.
        assert_eq!(stage.state(10, State::Closed), [""; 0]);
    }
}
