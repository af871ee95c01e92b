//! Tests of decisions that are repeated in another run, and of disabled rules.

use teetap_rules::impair::{Copy, Fate, LineSet, PassedDatagram, Sent};
use teetap_rules::{
    By, Decision, Effect, GameEntry, Message, Opening, PacketKind, Program, RepeatError, RuleId, Shared,
    Verdict,
};
use teetap_wire::def::Datum;
use teetap_wire::{Dir, Side};

use crate::stage::{OPENING, first_copy, message, program, say};

/// Rules of all kinds that draw or count.
const RULES: &str = "\
a: drop when cl_say chance 20%
delay 10ms..90ms when cl_say chance 30%
corrupt 3 bits, corrupt 2 bytes when cl_say every 4
swap when cl_say.message == \"x3\" or cl_say.message == \"x4\"
dup 2 gap 5ms when s2c max 2 per 1s
set sv_chat.message = \"new\" when sv_chat chance 50%
lose 2 times when c2s first 2
log \"{cl_say.message}\" when cl_say every 5
reply sv_chat{message: \"y\"} when cl_say skip 30
inject s2c sv_chat{message: \"tick\"} every 2s";

fn messages() -> Vec<(Dir, Vec<u8>)> {
    let chat = |number: u32| {
        let text = Datum::Bytes(format!("s{number}").into());
        (Dir::S2c, message("sv_chat", &[("message", text)]))
    };
    let enter = (Dir::C2s, message("enter_game", &[]));
    let both = |number: u32| [say(&format!("x{}", number % 7)), chat(number)];
    std::iter::once(enter).chain((0..60).flat_map(both)).collect()
}

/// Returns the verdicts of a session, the number of messages that timers created, and the decisions.
fn run(program: &Program, opening: Opening) -> (Vec<Verdict>, usize, Vec<Decision>) {
    let mut shared = program.share(Shared::default());
    shared.record();
    let mut state = program.open(opening, None);
    let mut verdicts = Vec::new();
    let mut made = 0;
    for (number, message) in (0..).zip(messages()) {
        let at = opening.at + number * 200_000;
        verdicts.push(state.decide(&first_copy(&message, at), &mut shared));
        if state.deadline().is_some_and(|due| due <= at) {
            made += state.on_time(at, &mut shared).len();
        }
    }
    (verdicts, made, shared.decisions())
}

/// Another seed, with which the program decides differently unless it repeats faults.
const OTHER: Opening = Opening { seed: 9, ..OPENING };

#[test]
fn a_program_makes_the_decisions_of_another_run() {
    let program = program(RULES);
    let (verdicts, made, decisions) = run(&program, OPENING);
    assert!(decisions.len() > 60 && made > 4, "{} {made}", decisions.len());
    assert_eq!(
        run(&program, OPENING),
        (verdicts.clone(), made, decisions.clone())
    );
    assert_ne!(run(&program, OTHER).0, verdicts);
    let repeating = program.repeating(&decisions).unwrap();
    assert_eq!(run(&repeating, OTHER), (verdicts, made, decisions.clone()));
    // A rule that only logs makes no decisions.
    let of_log =
        |decision: &Decision| matches!(&decision.by, By::Rule { rule, .. } if rule.starts_with("log"));
    assert!(!decisions.iter().any(of_log));
}

#[test]
fn fewer_decisions_are_fewer_faults() {
    let program = program(RULES);
    let (_, _, decisions) = run(&program, OPENING);
    let none = program.repeating(&[]).unwrap();
    let (verdicts, made, left) = run(&none, OPENING);
    let logs = |verdict: &Verdict| verdict.rules == [RuleId(7)] || verdict.rules.is_empty();
    assert!(verdicts.iter().all(logs) && made == 0 && left.is_empty());
    for skip in [0, 1, decisions.len() / 2] {
        let some: Vec<_> = decisions.iter().skip(skip).step_by(3).cloned().collect();
        let repeating = program.repeating(&some).unwrap();
        assert_eq!(run(&repeating, OTHER).2, some);
    }
}

#[test]
fn messages_that_pass_spares_are_spared_again() {
    let program = program("pass when cl_say chance 50%\nswap when cl_say every 3");
    let (verdicts, _, decisions) = run(&program, OPENING);
    assert_ne!(run(&program, OTHER).0, verdicts);
    let repeating = program.repeating(&decisions).unwrap();
    assert_eq!(run(&repeating, OTHER).0, verdicts);
}

/// Rules on control messages of both legs and on messages outside the connection, and a rule that stalls.
const OUTSIDE: &str = "\
lose 2 times when ctrl.connect
drop when leg == client and ctrl.keepalive chance 50%
drop when leg == server chance 30%
dup when connless.request_info chance 50%
stall 1s when cl_say chance 50%";

/// Returns the verdicts and effects of a session with messages of all forms, and the decisions.
fn run_outside(program: &Program, opening: Opening) -> (Vec<Verdict>, Vec<Effect>, Vec<Decision>) {
    let mut shared = program.share(Shared::default());
    shared.record();
    let mut state = program.open(opening, None);
    let mut verdicts = Vec::new();
    let (client, server) = (
        PacketKind::Control(Side::Client),
        PacketKind::Control(Side::Server),
    );
    let outside = [
        (client, &b"\x01TKEN"[..]),
        (server, b"\x01TKEN"),
        (client, b"\x00"),
        (server, b"\x00"),
        (PacketKind::Connless, b"\xff\xff\xff\xffgie3\x00"),
    ];
    for _ in 0..20 {
        for (form, bytes) in outside {
            let data = (Dir::C2s, bytes.to_vec());
            let message = Message {
                form,
                vital: false,
                seq: None,
                id: None,
                ..first_copy(&data, opening.at)
            };
            verdicts.push(state.decide(&message, &mut shared));
        }
        verdicts.push(state.decide(&first_copy(&say("x"), opening.at), &mut shared));
    }
    (verdicts, state.effects(), shared.decisions())
}

#[test]
fn decisions_on_messages_of_all_forms_are_made_again() {
    let program = program(OUTSIDE);
    let (verdicts, effects, decisions) = run_outside(&program, OPENING);
    let made = |wanted: &str| {
        let of =
            |decision: &&Decision| matches!(&decision.by, By::Rule { rule, .. } if rule.starts_with(wanted));
        decisions.iter().filter(of).count()
    };
    // Copies that pass after the lost ones are not decisions.
    assert_eq!(made("lose"), 2);
    for rule in [
        "drop when leg == client",
        "drop when leg == server",
        "dup",
        "stall",
    ] {
        assert!((3..40).contains(&made(rule)), "{rule}: {}", made(rule));
    }
    assert_eq!(made("stall"), effects.len());
    let other = run_outside(&program, OTHER);
    assert!(other.0 != verdicts && other.1.len() != effects.len());
    let repeating = program.repeating(&decisions).unwrap();
    assert_eq!(run_outside(&repeating, OTHER), (verdicts, effects, decisions));
    let (verdicts, effects, left) = run_outside(&program.repeating(&[]).unwrap(), OPENING);
    assert!(verdicts.iter().all(|verdict| *verdict == Verdict::PASS));
    assert!(effects.is_empty() && left.is_empty());
}

#[test]
fn decisions_of_other_programs_are_refused() {
    let (_, _, decisions) = run(&program("a: drop when cl_say"), OPENING);
    let refused = |source: &str| program(source).repeating(&decisions).unwrap_err();
    assert_eq!(refused("b: drop when cl_say"), RepeatError::NoRule("a".into()));
    assert!(program("a: dup when c2s").repeating(&decisions).is_ok());
}

/// A journal of a program that printed modifiers in another order has the same rules.
#[test]
fn rules_are_known_by_an_older_order_of_their_modifiers() {
    let program = program("drop when cl_say chance 50% to 5s\ndrop when cl_say chance 50% to 5s");
    let (verdicts, _, decisions) = run(&program, OPENING);
    let older = decisions.iter().cloned().map(|mut decision| {
        if let By::Rule { rule, .. } = &mut decision.by {
            *rule = rule.replace("to 5s chance 50%", "chance 50% to 5s").into();
        }
        decision
    });
    let older: Vec<_> = older.collect();
    assert!(older != decisions && decisions.len() > 5);
    let repeating = program.repeating(&older).unwrap();
    let (again, _, made) = run(&repeating, OTHER);
    assert_eq!((again, made), (verdicts, decisions));
}

/// Returns the copies of 500 datagrams behind the links of a program, and the decisions.
fn run_link(program: &Program, opening: Opening) -> (Vec<Vec<Copy>>, Vec<Decision>) {
    let mut shared = program.share(Shared::default());
    shared.record();
    let mut channel = program.open_link(&opening, Dir::S2c, None).unwrap();
    let mut copies = Vec::new();
    for ordinal in 1..=500 {
        let at = opening.at + ordinal * 2_000;
        let sent = Sent {
            seven: true,
            ..Sent::new(at, ordinal, &[0x10; 90])
        };
        copies.push(channel.pass(&sent).to_vec());
        let session = opening.session;
        shared.count_impacts(
            teetap_rules::Hit { at, session },
            PassedDatagram {
                dir: Dir::S2c,
                datagram: ordinal,
                connless: false,
            },
            channel.impacts(),
        );
    }
    (copies, shared.decisions())
}

#[test]
fn a_link_has_the_effects_of_another_run() {
    let source = "link both delay 20ms jitter 15ms loss 20% dup 20%\n\
                  link both corrupt 30% reorder 20% gap 2 delay 3ms rate 1mbit";
    let program = program(source);
    let (copies, decisions) = run_link(&program, OPENING);
    assert_ne!(run_link(&program, OTHER).0, copies);
    let repeating = program.repeating(&decisions).unwrap();
    assert_eq!(run_link(&repeating, OTHER), (copies, decisions));
    let (copies, decisions) = run_link(&program.repeating(&[]).unwrap(), OPENING);
    assert!(decisions.is_empty() && copies.iter().all(|copies| copies.len() == 1));
}

/// In an edited journal the second line doubles datagrams that the first line loses.
#[test]
fn a_datagram_lost_by_one_line_does_not_reach_the_next_line() {
    let program = program("link both loss 50%\nlink both dup 50%");
    let of = |opening, line: &str| -> Vec<Decision> {
        let decisions = run_link(&program, opening).1.into_iter();
        decisions
            .filter(|one| matches!(&one.by, By::Link { line: of, .. } if of.contains(line)))
            .collect()
    };
    let (lost, doubled) = (of(OPENING, "loss"), of(OTHER, "dup"));
    let repeating = program.repeating(&[lost.clone(), doubled].concat()).unwrap();
    let (copies, made) = run_link(&repeating, OPENING);
    let is_lost = |copies: &&Vec<Copy>| copies.iter().any(|copy| matches!(copy.fate, Fate::Lost(_)));
    let of_lost: Vec<_> = copies.iter().filter(is_lost).map(Vec::len).collect();
    assert_eq!(of_lost, vec![1; lost.len()]);
    let counts = [lost.len(), made.len() - lost.len()];
    assert!(counts.iter().all(|count| (30..300).contains(count)), "{counts:?}");
}

/// The decisions of another run include the windows of that run.
#[test]
fn the_lines_of_a_repeated_run_act_outside_of_their_windows() {
    let program = program("link both loss 5% from 5s\nlink s2c delay 5ms from 9s");
    let closed = LineSet::ALL.without(0).without(1);
    for (program, [both, second]) in [
        (
            program.repeating(&[]).unwrap(),
            [LineSet::ALL, LineSet::ALL.without(0)],
        ),
        (program, [closed, closed]),
    ] {
        let mut shared = program.share(Shared::default());
        assert_eq!(shared.acting(closed), both);
        assert!(shared.enable_line(0, false));
        assert_eq!(shared.acting(closed), second);
    }
}

#[test]
fn a_disabled_rule_does_nothing_and_shifts_no_other() {
    let source = "a: drop when cl_say chance 30%\nb: dup when cl_say chance 30%\nc: mark when cl_say every 3";
    let program = program(source);
    let run = |off: &[u64]| -> Vec<Vec<RuleId>> {
        let mut shared = program.share(Shared::default());
        let mut state = program.open(OPENING, None);
        let mut rules = Vec::new();
        for number in 0..40 {
            assert!(shared.enable(RuleId(0), !off.contains(&number)));
            let message = say("x");
            let verdict = state.decide(&first_copy(&message, OPENING.at + number), &mut shared);
            rules.push(verdict.rules);
        }
        let hits = rules.iter().filter(|rules| rules.contains(&RuleId(0))).count();
        let report = program.report(&shared);
        assert_eq!(report.rules[0].hits.count, hits as u64);
        assert_eq!(report.rules[0].is_enabled, !off.contains(&39));
        rules
    };
    let of = |rules: &[Vec<RuleId>], id| -> Vec<bool> {
        rules.iter().map(|rules| rules.contains(&RuleId(id))).collect()
    };
    let (on, off) = (run(&[]), run(&(10..20).collect::<Vec<_>>()));
    let (first, second) = (of(&on, 0), of(&off, 0));
    assert_eq!((&first[..10], &first[20..]), (&second[..10], &second[20..]));
    assert!(first[10..20].contains(&true) && !second[10..20].contains(&true));
    // `a` ends the search, so that the others act on messages for which it does not.
    let without: Vec<u64> = (0..40).collect();
    let alone = run(&without);
    for (number, dropped) in second.iter().enumerate() {
        assert!(*dropped || off[number] == alone[number], "{number}");
    }
    let mut shared = program.share(Shared::default());
    assert!(!shared.enable(RuleId(3), true));
    assert_eq!(program.find("b"), Some(RuleId(1)));
    assert_eq!(program.find("mark when cl_say every 3"), None);
}

/// Clients that entered the game before the rules were removed are still in the journal.
#[test]
fn clients_that_entered_outlive_the_rules() {
    let program = program("drop when cl_kill");
    let mut shared = program.share(Shared::default());
    shared.record();
    let mut state = program.open(OPENING, None);
    let (enter, at) = ((Dir::C2s, message("enter_game", &[])), OPENING.at + 700);
    let verdict = state.decide(&first_copy(&enter, at), &mut shared);
    assert_eq!(verdict, Verdict::PASS, "no rule is about it");
    let entry = GameEntry {
        at,
        session: OPENING.session,
        after: 700,
    };
    assert_eq!(shared.cleared().entries(), [entry], "entries after the rules");
}
