//! Tests the one pipeline of every rule: each action at each position, on first copies, on repeats, in the other
//! direction, and after the limits are used up. Compares complete outcomes.

use teetap_rules::explain::explain;
use teetap_rules::syntax::{RuleStep, parse_statements};
use teetap_rules::{Decide, Effect, End, Fate, Message, PacketKind, Program, RuleId, Shared, Verdict};
use teetap_wire::def::Datum;
use teetap_wire::{Dir, Proto, Seq, Side};

use crate::stage::{OPENING, message, program, say};

/// Numbers the messages of each direction and evaluates the rules for them.
struct Stage {
    program: Program,
    state: Box<dyn Decide>,
    shared: Shared,
    next: [u16; 2],
}

impl Stage {
    fn new(source: &str) -> Self {
        let program = program(source);
        let mut shared = program.share(Shared::default());
        shared.record();
        Self {
            state: program.open(OPENING, None),
            program,
            shared,
            next: [0; 2],
        }
    }

    /// Decides about the first copy of a vital message. Returns its sequence number and the outcome.
    fn first(&mut self, message: &(Dir, Vec<u8>)) -> (u16, String) {
        let next = &mut self.next[message.0 as usize];
        *next += 1;
        let seq = *next;
        let verdict = self.state.decide(&numbered(message, seq), &mut self.shared);
        (seq, self.outcome(&verdict))
    }

    /// Returns the outcome of a retransmission.
    fn repeat(&mut self, message: &(Dir, Vec<u8>), seq: u16) -> String {
        let again = Message {
            resend: true,
            ..numbered(message, seq)
        };
        let verdict = self.state.repeat(&again, &mut self.shared);
        self.outcome(&verdict)
    }

    fn outcome(&mut self, verdict: &Verdict) -> String {
        let mut parts = Vec::new();
        match verdict.fate {
            Fate::Pass => {}
            Fate::Drop => parts.push("drop".to_owned()),
            Fate::Lose { times } => parts.push(format!("lose {times}")),
            Fate::Delay { for_, .. } => parts.push(format!("delay {}", for_.as_millis())),
            Fate::Hold { .. } => parts.push("hold".to_owned()),
            Fate::Pause { .. } => parts.push("pause".to_owned()),
            Fate::Reorder { after, .. } => parts.push(format!("reorder {after}")),
        }
        parts.extend(verdict.edit.iter().map(|_| "edit".to_owned()));
        parts.extend(verdict.before.iter().map(|_| "before".to_owned()));
        parts.extend(verdict.after.iter().map(|made| format!("after {}", made.dir)));
        parts.extend(
            verdict
                .copies
                .iter()
                .map(|copy| format!("copy {}", copy.as_millis())),
        );
        parts.extend(verdict.marks.iter().map(|mark| format!("#{mark}")));
        for effect in self.state.effects() {
            parts.push(match effect {
                Effect::Failed { why, .. } => format!("failed {why}"),
                Effect::Log { text, .. } => format!("log {text}"),
                Effect::Release { .. } => "release".to_owned(),
                Effect::Stall { for_, .. } => format!("stall {}", for_.as_millis()),
                Effect::Close { .. } => "close".to_owned(),
                Effect::End { end, .. } => match end {
                    End::Fail(why) => format!("fail {why}"),
                    End::Unmet(why) => format!("unmet {why}"),
                    End::Exit(code) => format!("exit {code}"),
                },
            });
        }
        if !verdict.rules.is_empty() {
            let rules: Vec<_> = verdict.rules.iter().map(|RuleId(id)| id.to_string()).collect();
            parts.push(format!("by {}", rules.join(" ")));
        }
        if parts.is_empty() {
            "-".to_owned()
        } else {
            parts.join(", ")
        }
    }

    fn hits(&self) -> Vec<u64> {
        let report = self.program.report(&self.shared);
        report.rules.iter().map(|rule| rule.hits.count).collect()
    }
}

fn numbered((dir, data): &(Dir, Vec<u8>), seq: u16) -> Message<'_> {
    Message::alone(
        (OPENING.session, *dir, Proto::Ddnet),
        Some(Seq::new(seq)),
        data,
        OPENING.at,
    )
}

fn chat(text: &str) -> (Dir, Vec<u8>) {
    let fields = [("client_id", Datum::Int(3)), ("message", text.into())];
    (Dir::S2c, message("sv_chat", &fields))
}

/// Actions with their effect on the first copy. `true` marks an action that changes no message; a rule with only such
/// actions evaluates each copy separately.
const ACTIONS: [(&str, &str, bool); 21] = [
    ("pass", "", false),
    ("drop", "drop", false),
    ("lose 2 times", "lose 2", false),
    ("delay 5ms", "delay 5", false),
    ("hold until sv_motd", "hold", false),
    ("pause", "pause", false),
    ("swap", "reorder 1", false),
    ("reorder 3", "reorder 3", false),
    ("dup 2 gap 1ms", "copy 1, copy 2", false),
    ("corrupt 1 bits", "edit", false),
    ("replace .message /a/ with \"b\"", "edit", false),
    ("set .message = \"b\"", "edit", false),
    ("inject before s2c sv_motd", "before", false),
    ("inject s2c sv_motd", "after s2c", false),
    ("mark x", "#x", true),
    ("log \"l\"", "log l", true),
    ("fail \"f\"", "fail f", true),
    ("exit 10", "exit 10", true),
    ("stall 1s", "stall 1000", true),
    ("close", "close", true),
    ("var $v = 1", "", true),
];

/// Actions that end the search.
const ENDS: [&str; 5] = ["pass", "drop", "lose 2 times", "pause", "close"];

/// Sorts the parts of an outcome.
fn sorted(parts: &[&str]) -> Vec<String> {
    let mut parts: Vec<_> = parts
        .iter()
        .flat_map(|part| part.split(", "))
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect();
    parts.sort();
    parts
}

fn parts(outcome: &str) -> Vec<String> {
    sorted(&[outcome.trim_matches('-')])
}

/// Tests every action alone, before `log` and after it. The second chat message is beyond the limit; the server's is in
/// the other direction.
#[test]
fn each_action_at_each_place_on_each_kind_of_copy() {
    for (action, effect, is_passive) in ACTIONS {
        for place in ["alone", "first", "last"] {
            let (rule, logged) = match place {
                "first" => (format!("{action}, log \"beside\""), "log beside"),
                "last" => (format!("log \"beside\", {action}"), "log beside"),
                _ => (action.to_owned(), ""),
            };
            let source = format!("{rule} when cl_say or sv_chat first 1\nmark later when cl_say or sv_chat");
            let mut stage = Stage::new(&source);
            let ends = ENDS.contains(&action);
            let later = |ends: bool| if ends { "by 0" } else { "#later, by 0 1" };
            let acted = sorted(&[effect, logged, later(ends)]);
            let untouched = sorted(&["#later", "by 1"]);
            for dir in [Dir::C2s, Dir::S2c] {
                let message = match dir {
                    Dir::C2s => say("a"),
                    Dir::S2c => chat("a"),
                };
                let (seq, outcome) = stage.first(&message);
                assert_eq!(parts(&outcome), acted, "{source}: first copy, {dir}");
                let (other, outcome) = stage.first(&message);
                // The next match overtakes, which is not part of the outcome.
                assert_eq!(parts(&outcome), untouched, "{source}: limit used up, {dir}");
                let repeated = stage.repeat(&message, seq);
                let has_beside = !logged.is_empty();
                let expected = if is_passive {
                    // Each copy is evaluated separately, and the limit is used up.
                    untouched.clone()
                } else {
                    let by = match (has_beside, ends) {
                        (true, true) => "by 0",
                        (true, false) => "#later, by 0 1",
                        (false, true) => "",
                        (false, false) => "#later, by 1",
                    };
                    sorted(&[logged, by])
                };
                assert_eq!(parts(&repeated), expected, "{source}: repeat, {dir}");
                let repeated = stage.repeat(&message, other);
                assert_eq!(parts(&repeated), untouched, "{source}: repeat of another, {dir}");
            }
            // A hit is an effect: the first copy in each direction, and a repeat on which `log` ran.
            let repeats = u64::from(!is_passive && !logged.is_empty());
            assert_eq!(stage.hits()[0], 2 * (1 + repeats), "{source}");
        }
    }
}

/// The number of lost copies of a control message is a limit like `first`: the rule does not act on further copies.
#[test]
fn a_control_message_is_lost_as_often_as_asked() {
    let mut stage = Stage::new("lose 2 times, log \"l\" when ctrl.connect\nmark later when ctrl.connect");
    let connect = (Dir::C2s, b"\x01TKEN".to_vec());
    let outcomes = [(); 4].map(|()| {
        let message = Message {
            form: PacketKind::Control(Side::Client),
            vital: false,
            seq: None,
            id: None,
            ..numbered(&connect, 0)
        };
        let verdict = stage.state.decide(&message, &mut stage.shared);
        stage.outcome(&verdict)
    });
    let (lost, passed) = ("lose 2, log l, by 0", "#later, by 1");
    assert_eq!(outcomes, [lost, lost, passed, passed]);
    assert_eq!(stage.hits(), [2, 2]);
    assert_eq!(stage.shared.decisions().len(), 2);
}

/// A rule without an effect has no hit, and is not listed in the verdict.
#[test]
fn a_hit_is_an_effect() {
    for (rule, outcome, hits) in [
        ("replace .message /z/ with \"b\" when cl_say", "-", 0),
        ("set .message = \"a\" when cl_say", "-", 0),
        ("set .message = .message, log \"l\" when cl_say", "log l, by 0", 1),
        ("hold until cl_say when cl_say", "release", 0),
        ("set sv_chat.message = \"b\" when cl_say or sv_chat", "-", 0),
        ("reply sv_motd when cl_say", "after s2c, by 0", 1),
        ("drop when cl_say chance 0%", "-", 0),
    ] {
        let mut stage = Stage::new(rule);
        assert_eq!(stage.first(&say("a")).1, outcome, "{rule}");
        assert_eq!(stage.hits(), [hits], "{rule}");
    }
    // A fate that a stronger fate hides is not a hit.
    let mut stage = Stage::new("hold until sv_motd when cl_say\ndelay 5ms when cl_say");
    assert_eq!(stage.first(&say("a")).1, "hold, by 0");
    assert_eq!(stage.hits(), [1, 0]);
}

/// The rule that holds a message is the rule whose action decided it, not a rule that only took part.
#[test]
fn the_fate_has_its_rule() {
    for (rules, by) in [
        ("pause when cl_say", Some(0)),
        (
            "mark when cl_say\nhold until sv_motd when cl_say\nmark when cl_say",
            Some(1),
        ),
        (
            "delay 5ms when cl_say\nhold until sv_motd when cl_say\ndelay 5ms when cl_say",
            Some(1),
        ),
        ("delay 5ms when cl_say\ndelay 5ms, log when cl_say", Some(1)),
        ("hold until sv_motd when cl_say\ndrop when cl_say", Some(1)),
        ("mark when cl_say", None),
    ] {
        let verdict = crate::stage::verdict(rules, &say("a"));
        assert_eq!(verdict.by, by.map(RuleId), "{rules}");
    }
}

/// A dropped message has no copies, and the copies of a delayed message are sent after it.
#[test]
fn copies_share_the_fate_of_their_message() {
    for (rules, outcome) in [
        ("dup, drop when cl_say", "drop, by 0"),
        ("dup gap 5ms when cl_say\ndrop when cl_say", "drop, by 0 1"),
        ("dup 2 gap 5ms, lose when cl_say", "lose 1, copy 5, copy 10, by 0"),
        (
            "delay 100ms, dup gap 5ms when cl_say",
            "delay 100, copy 105, by 0",
        ),
        (
            "dup, delay 100ms unordered when cl_say",
            "delay 100, copy 100, by 0",
        ),
        // The copy waits in the queue behind the message.
        ("dup, delay 100ms when cl_say", "delay 100, copy 0, by 0"),
    ] {
        assert_eq!(Stage::new(rules).first(&say("a")).1, outcome, "{rules}");
    }
    let mut state = program("dup, delay 100ms when cl_emoticon\ndup, lose when cl_kill").open(OPENING, None);
    let mut loose = |name: &str| {
        let data = (Dir::C2s, message(name, &[]));
        let message = Message {
            vital: false,
            seq: None,
            ..numbered(&data, 0)
        };
        let verdict = state.decide(&message, &mut Shared::default());
        verdict
            .copies
            .iter()
            .map(|copy| copy.as_millis())
            .collect::<Vec<_>>()
    };
    assert_eq!([loose("cl_emoticon"), loose("cl_kill")], [vec![100], vec![]]);
}

/// If a sequence number is reused, the rule's decision about the earlier message does not apply to the new one.
#[test]
fn numbers_that_come_round_are_other_messages() {
    let mut stage = Stage::new("drop, log \"l\" when cl_say.message == \"x\"");
    let (seq, outcome) = stage.first(&say("x"));
    assert_eq!(outcome, "drop, log l, by 0");
    assert_eq!(stage.repeat(&say("x"), seq), "log l, by 0");
    stage.next[0] = seq - 1;
    let (again, outcome) = stage.first(&say("y"));
    assert_eq!((again, outcome.as_str()), (seq, "-"));
    assert_eq!(stage.repeat(&say("y"), seq), "-");
    // A rule that was disabled when the first copy passed did not act on it.
    stage.shared.enable(RuleId(0), false);
    let (seq, outcome) = stage.first(&say("x"));
    stage.shared.enable(RuleId(0), true);
    assert_eq!(
        (outcome.as_str(), stage.repeat(&say("x"), seq).as_str()),
        ("-", "-")
    );
}

/// The manual lists the steps of a rule in the order in which they are carried out.
#[test]
fn the_manual_has_the_order() {
    let page = include_str!("../../../docs/src/rules.md");
    let table = page.split("| step | words |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let rows: Vec<(String, Vec<String>)> = rows
        .map(|row| {
            let cells: Vec<_> = row.split('|').map(str::trim).collect();
            let words = cells[2]
                .split_whitespace()
                .map(|word| word.trim_matches('`').to_owned());
            (cells[1].to_owned(), words.collect())
        })
        .collect();
    let steps = RuleStep::ALL.iter().map(|step| {
        let words = step.words().iter().map(|word| (*word).to_owned());
        (format!("{step:?}").to_lowercase(), words.collect::<Vec<_>>())
    });
    assert_eq!(rows, steps.collect::<Vec<_>>());
}

/// `fmt` prints the modifiers, and `--explain` explains a rule, in the order in which they are applied.
#[test]
fn a_rule_is_printed_and_read_out_in_its_order() {
    let source = "log, drop when cl_say per global max 5 per 1s first 4 chance 50% every 3 skip 2 until sv_motd after input to 9s from 1s";
    let printed = "log, drop when cl_say from 1s to 9s after input until sv_motd skip 2 every 3 chance 50% first 4 max 5 per 1s per global";
    let statements = parse_statements(source).unwrap();
    assert_eq!(statements[0].to_string(), printed);
    assert_eq!(
        explain(&statements[0]),
        "From 1 s to 9 s of the session, after the first message for which a message is `input`, until the first message \
         for which a message is `sv_motd`, when a message is `cl_say`, not for the first 2 matches, for every 3rd of the \
         others (matches 5, 8, 11 and so on), with a chance of 50 %, only the first 4 times, at most 5 times in 1 s, \
         counted in each direction of all sessions together: report it in the log; drop it, as if it had never been sent \
         (its sender sees it acked); then try no later rule."
    );
}
