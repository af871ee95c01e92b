//! Tests of rules that end the run: `fail`, `expect` and `exit`.

use teetap_rules::{Decide, Effect, End, Interest, Opening, Program, ProtoDirs, RuleId, Shared, Verdict};
use teetap_wire::def::Datum;
use teetap_wire::{Dir, Proto};

use crate::stage::{OPENING, decide, first_copy, message, outcome, program, say, wrong};

fn chat(text: &str) -> (Dir, Vec<u8>) {
    let fields = [("client_id", Datum::Int(3)), ("message", text.into())];
    (Dir::S2c, message("sv_chat", &fields))
}

/// Converts milliseconds since the start of the session to a time.
fn at(ms: u64) -> u64 {
    OPENING.at + ms * 1000
}

fn end(rule: u16, end: End, message: Option<(Dir, &str)>) -> Effect {
    let message = message.map(|(dir, name)| (dir, name.into()));
    let rule = RuleId(rule);
    Effect::End { rule, end, message }
}

fn unmet(why: &str, message: Option<(Dir, &str)>) -> Effect {
    end(0, End::Unmet(why.into()), message)
}

fn open(program: &Program) -> Box<dyn Decide> {
    program.open(OPENING, None)
}

/// Shows a message that is forwarded without a decision. Returns the effects.
fn see(state: &mut dyn Decide, message: &(Dir, Vec<u8>), at: u64) -> Vec<Effect> {
    state.observe(&first_copy(message, at), &mut Shared::default());
    state.effects()
}

const SAID: Option<(Dir, &str)> = Some((Dir::C2s, "cl_say"));

#[test]
fn fail_and_exit_end_the_run_and_change_nothing() {
    let source = "fail \"no \\\"x\\\"\" when cl_say\nexit 17, drop when cl_say\nexit 0 when sv_chat";
    let (verdict, effects) = outcome(source, &say("x"));
    assert_eq!(verdict.rules, [RuleId(0), RuleId(1)]);
    let fail = end(0, End::Fail("no \"x\"".into()), SAID);
    assert_eq!(effects, [fail, end(1, End::Exit(17), SAID)]);
    let (verdict, effects) = outcome(source, &chat("x"));
    assert_eq!(
        verdict,
        Verdict {
            rules: vec![RuleId(2)],
            ..Verdict::PASS
        }
    );
    assert_eq!(effects, [end(2, End::Exit(0), Some((Dir::S2c, "sv_chat")))]);
    // These rules do not renumber any direction.
    let passive =
        program("fail \"x\" when cl_say\nexit 10 when sv_chat\nexpect sv_motd within 1s when cl_say");
    assert_eq!(passive.interest().acts, ProtoDirs::NONE);
}

/// Without a condition the time begins with the session, before its first message.
#[test]
fn an_expectation_without_a_condition_begins_with_the_session() {
    let program = program("expect sv_chat within 500ms");
    let mut state = open(&program);
    assert_eq!(state.deadline(), Some(at(500)));
    let mut shared = program.share(Shared::default());
    state.observe(&first_copy(&say("x"), at(100)), &mut shared);
    let report = program.report(&shared);
    assert_eq!(report.rules[0].hits.count, 1);
    assert_eq!(see(&mut *state, &chat("x"), at(499)), []);
    assert_eq!(state.deadline(), None);

    let mut state = open(&program);
    state.on_time(at(500), &mut Shared::default());
    let late = unmet("expected `sv_chat` within 0.5 s: it was not received", None);
    assert_eq!(state.effects(), [late]);
    assert_eq!(state.deadline(), None);

    let mut state = open(&program);
    state.on_end();
    let ended = unmet("expected `sv_chat` within 0.5 s: the session ended first", None);
    assert_eq!(state.effects(), [ended]);

    // A program that comes later waits for the next session.
    let late = Opening {
        is_new: false,
        ..OPENING
    };
    assert_eq!(program.open(late, None).deadline(), None);
    assert!(!wrong("drop, expect sv_chat within 5s").is_empty());
}

#[test]
fn an_expectation_is_met_or_fails_in_time() {
    let program = program("expect sv_chat.message == \"pong\" within 500ms when cl_say");
    let late = unmet(
        "expected `sv_chat.message == \"pong\"` within 0.5 s: it was not received",
        SAID,
    );
    let mut state = open(&program);
    assert_eq!(state.deadline(), None);
    assert_eq!(see(&mut *state, &say("ping"), at(0)), []);
    assert_eq!(state.deadline(), Some(at(500)));
    assert_eq!(see(&mut *state, &chat("no"), at(100)), []);
    // The first match meets all open expectations.
    assert_eq!(see(&mut *state, &say("ping"), at(200)), []);
    assert_eq!(see(&mut *state, &chat("pong"), at(499)), []);
    assert_eq!(state.deadline(), None);
    // Each expectation has a deadline of its own.
    assert_eq!(see(&mut *state, &say("ping"), at(1000)), []);
    assert_eq!(see(&mut *state, &say("ping"), at(1100)), []);
    assert_eq!(state.on_time(at(1500), &mut Shared::default()), []);
    assert_eq!(state.effects(), std::slice::from_ref(&late));
    assert_eq!(state.deadline(), Some(at(1600)));
    // A late message does not meet the expectation, even if it is seen before the timer runs.
    assert_eq!(see(&mut *state, &chat("pong"), at(1600)), [late]);
    assert_eq!(state.deadline(), None);
}

#[test]
fn a_message_does_not_meet_its_own_expectation() {
    let program = program("expect cl_say within 500ms when cl_say");
    let mut state = open(&program);
    assert_eq!(see(&mut *state, &say("a"), at(0)), []);
    assert_eq!(state.deadline(), Some(at(500)));
    assert_eq!(see(&mut *state, &say("b"), at(400)), []);
    assert_eq!(state.deadline(), Some(at(900)));
}

#[test]
fn a_session_that_ends_fails_what_is_expected() {
    let program = program("expect sv_chat within 5s, expect sv_motd within 4s when cl_say");
    let mut state = open(&program);
    assert_eq!(see(&mut *state, &say("a"), at(0)), []);
    assert_eq!(see(&mut *state, &say("b"), at(1)), []);
    assert_eq!(see(&mut *state, &chat("x"), at(2)), []);
    state.on_end();
    let why = "expected `sv_motd` within 4 s: the session ended first";
    assert_eq!(state.effects(), [unmet(why, SAID)]);
    state.on_end();
    assert_eq!(state.effects(), []);
}

#[test]
fn open_expectations_are_bounded_and_carried_over() {
    let source = "expect sv_chat within 5s when cl_say";
    let mut state = open(&program(source));
    for step in 0..1000 {
        assert_eq!(see(&mut *state, &say("a"), at(step)), []);
    }
    let mut state = program(&format!("log when sv_motd\n{source}")).open(OPENING, Some(state));
    assert_eq!(state.deadline(), Some(at(5000)));
    state.on_time(at(7000), &mut Shared::default());
    assert_eq!(state.effects().len(), 64);
}

#[test]
fn rules_end_the_run_at_times() {
    let program = program("fail \"slow\", exit 10, expect sv_chat within 1s every 2s");
    let mut state = open(&program);
    let enter = (Dir::C2s, message("enter_game", &[]));
    assert_eq!(see(&mut *state, &enter, at(0)), []);
    state.on_time(at(2000), &mut Shared::default());
    let effects = [
        end(0, End::Fail("slow".into()), None),
        end(0, End::Exit(10), None),
    ];
    assert_eq!(state.effects(), effects);
    assert_eq!(state.deadline(), Some(at(3000)));
    state.on_time(at(3000), &mut Shared::default());
    let why = "expected `sv_chat` within 1 s: it was not received";
    assert_eq!(state.effects(), [unmet(why, None)]);
}

/// The direction of the expected message is observed, and expectations see messages that are dropped.
#[test]
fn expected_messages_are_observed() {
    let program = program("expect sv_chat within 1s when cl_say\ndrop when cl_say");
    let Interest { acts, observes, .. } = program.interest();
    assert!(observes.contains(Proto::Ddnet, Dir::S2c) && !acts.contains(Proto::Ddnet, Dir::S2c));
    let mut state = open(&program);
    decide(&mut *state, &say("a"), at(0));
    assert_eq!(state.deadline(), Some(at(1000)));
}

#[test]
fn wrong_endings() {
    for (source, expected) in [
        (
            "fail when c2s",
            "1:6 E001 expected a text, as in `fail \"no answer\"`, found `when`",
        ),
        (
            "exit when c2s",
            "1:6 E001 expected an exit code, as in `exit 10`, found `when`",
        ),
        (
            "exit 1 when c2s",
            "1:6 E204 expected 0, or an exit code from 10 to 99",
        ),
        (
            "exit 100 when c2s",
            "1:6 E204 expected 0, or an exit code from 10 to 99",
        ),
        ("exit 10s when c2s", "1:6 E202 expected a number, found `10s`"),
        (
            "expect sv_motd when c2s",
            "1:16 E001 expected `within`, as in `expect sv_motd within 5s`, found `when`",
        ),
        (
            "expect sv_motd within 5 when c2s",
            "1:23 E202 expected a duration, found `5`",
        ),
        (
            "expect sv_motd within 4000s when c2s",
            "1:23 E204 expected more than no time, and at most 3600 s",
        ),
        (
            "expect sv_mot within 5s when c2s",
            "1:8 E101 unknown message `sv_mot`",
        ),
        ("mark every 5s", "1:1 E102 `mark` needs a message"),
    ] {
        assert_eq!(wrong(source), [expected], "{source}");
    }
}
