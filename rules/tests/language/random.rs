//! Tests with random programs, and with texts that are not programs.

use proptest::prelude::*;
use proptest::sample::select;
use teetap_rules::{Effect, Fate, Made, Program, RuleId, Severity, Shared, Style, Verdict};
use teetap_wire::Dir;
use teetap_wire::def::{Datum, Registry};

use crate::stage::{OPENING, first_copy, message, program, say};

pub(crate) const ACTIONS: &[&str] = &[
    "pass",
    "drop",
    "lose",
    "lose 2 times",
    "delay 80ms",
    "delay 5ms..90ms unordered",
    "dup",
    "dup 2 gap 15ms",
    "swap",
    "reorder 4",
    "corrupt 3 bits",
    "corrupt 2 bytes",
    "pause max 2s",
    "stall 2s",
    "hold until cl_say.message == \"b\" max 1s",
    "set .message = \"new\"",
    "set .message = last(cl_say).message, .team = 1",
    "set sv_chat.client_id = .client_id * 1000000000",
    "replace .message /[ab]/ with \"$0$0\"",
    "inject s2c sv_chat{message: \"x\"}",
    "inject before c2s cl_say{message: \"y\", team: 1} nonvital",
    "reply sv_motd",
    "log",
    "log \"{t}: {n} {.message}\"",
    "mark",
    "mark odd",
    "close client \"bye\"",
    "fail \"x\"",
    "expect sv_chat or cl_say.message == \"b\" within 1s",
    "exit 12",
    "var $said = .message",
    "var $at = t",
];

/// A name that conditions use.
pub(crate) const NAMES: &str = "let talk = cl_say or sv_chat\n";

/// A rule that sets the variables that conditions use.
pub(crate) const SETS: &str = "var $said = .message, var $at = t when talk\n";

/// Mark of a rule that is added to others.
const BESIDE: &str = "beside";

pub(crate) const CONDITIONS: &[&str] = &[
    "cl_say",
    "sv_chat",
    "c2s and .message contains \"a\"",
    "vital and has(.message)",
    "count(cl_say) > 2 and has(.message)",
    "sv_chat.client_id * 2 > 3",
    "seen(sv_chat) and cl_say",
    "talk and $said != \"a\"",
    "cl_say and not $at > 4s",
];

pub(crate) const MODIFIERS: &[&str] = &[
    "",
    "chance 30%",
    "every 2",
    "every 3s",
    "skip 1",
    "first 3",
    "once",
    "max 2 per 4s",
    "from 2s to 9s",
    "after sv_chat",
    "until count(cl_say) > 4",
    "chance 60% skip 1 first 4 per global",
];

prop_compose! {
    fn rule()(actions in prop::collection::vec(select(ACTIONS), 1..3), when in select(CONDITIONS), modifier in select(MODIFIERS)) -> String {
        // A rule can hold a message only once, and can use a field only if all its messages have it.
        let mut actions = actions;
        actions.dedup();
        if !when.contains("sv_chat") || when.contains("seen") {
            actions.retain(|action| !action.contains("client_id *"));
        }
        if actions.is_empty() {
            actions.push("mark");
        }
        format!("{} when {when} {modifier}", actions.join(", "))
    }
}

fn traffic() -> Vec<(Dir, Vec<u8>)> {
    let chat = |id: i64, text: &str| {
        let fields = [("client_id", Datum::Int(id)), ("message", text.into())];
        (Dir::S2c, message("sv_chat", &fields))
    };
    vec![
        say("a"),
        say("b"),
        say("a long text, with a and b in it"),
        chat(1, "a"),
        chat(3, ""),
        (Dir::S2c, message("sv_motd", &[])),
        (Dir::C2s, vec![0x7f, 0x01, 0xff]),
        (Dir::C2s, vec![]),
    ]
}

/// Returns the verdicts and effects for messages, one per half second.
fn run(program: &Program, order: &[usize]) -> Vec<(Verdict, Vec<Effect>)> {
    let traffic = traffic();
    let mut state = program.open(OPENING, None);
    let mut shared = program.share(Shared::default());
    let mut step = |(at, index): (u64, &usize)| {
        let message = &traffic[index % traffic.len()];
        let verdict = state.decide(&first_copy(message, OPENING.at + at * 500_000), &mut shared);
        (verdict, state.effects())
    };
    (0..).zip(order).map(&mut step).collect()
}

/// Returns the outcome with `less` subtracted from the number of each rule.
fn renumbered((verdict, effects): (Verdict, Vec<Effect>), less: u16) -> (Verdict, Vec<Effect>) {
    let number = |RuleId(id): RuleId| id.checked_sub(less).map(RuleId);
    let fate = match verdict.fate {
        Fate::Reorder { group, after } => Fate::Reorder {
            group: group - u32::from(less),
            after,
        },
        other => other,
    };
    let rules = verdict.rules.iter().copied().filter_map(number).collect();
    let overtakes = verdict
        .overtakes
        .iter()
        .map(|group| group - u32::from(less))
        .collect();
    let marks = verdict
        .marks
        .into_iter()
        .skip_while(|mark| &**mark == BESIDE)
        .collect();
    let made = |list: Vec<Made>| {
        let of = |made: Made| Made {
            rule: made.rule.and_then(number),
            ..made
        };
        list.into_iter().map(of).collect::<Vec<_>>()
    };
    let (before, after) = (made(verdict.before), made(verdict.after));
    let effects = effects.into_iter().filter_map(|effect| {
        Some(match effect {
            Effect::Failed { rule, why } => Effect::Failed {
                rule: number(rule)?,
                why,
            },
            Effect::Log { rule, text, whole } => Effect::Log {
                rule: number(rule)?,
                text,
                whole,
            },
            Effect::End { rule, end, message } => Effect::End {
                rule: number(rule)?,
                end,
                message,
            },
            other => other,
        })
    });
    let verdict = Verdict {
        fate,
        copied_by: verdict.copied_by.and_then(number),
        by: verdict.by.and_then(number),
        rules,
        overtakes,
        marks,
        before,
        after,
        ..verdict
    };
    (verdict, effects.collect())
}

/// Pieces of rules.
pub(crate) const WORDS: &[&str] = &[
    "drop",
    "lose",
    "2 times",
    "delay",
    "80ms",
    "..",
    "120ms",
    "unordered",
    "dup",
    "gap",
    "swap",
    "reorder",
    "4",
    "corrupt",
    "bits",
    "set",
    ".message",
    "sv_chat",
    ".client_id",
    "=",
    "==",
    "replace",
    "/x/",
    "/[/",
    "with",
    "\"x\"",
    "inject",
    "before",
    "s2c",
    "c2s",
    "{",
    "}",
    "message:",
    "nonvital",
    "reply",
    "hold",
    "until",
    "max",
    "5s",
    "per",
    "log",
    "\"{",
    "}\"",
    "\"",
    "let",
    "var",
    "mark",
    "fail",
    "expect",
    "within",
    "exit",
    "17",
    "close",
    "client",
    "when",
    "chance",
    "5%",
    "every",
    "skip",
    "first",
    "once",
    "from",
    "to",
    "after",
    "session",
    "global",
    ",",
    ":",
    "\n",
    "\n  ",
    "#",
    "seed",
    "n",
    "t",
    "$x",
    "seen(",
    ")",
    "name:",
    "-",
    "+",
    "99999999999999999999",
    "é",
    "\0",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn random_programs_run_and_repeat(rules in prop::collection::vec(rule(), 1..7), order in prop::collection::vec(0usize..8, 1..40)) {
        // Rules with contradictory actions, or actions about another message, are errors.
        let is_right = |rule: &String| Program::compile(&format!("{NAMES}{SETS}{rule}"), Registry::builtin()).is_ok();
        let rules: Vec<String> = rules.into_iter().filter(is_right).collect();
        prop_assume!(!rules.is_empty());
        let source = format!("{NAMES}{SETS}{}", rules.join("\n"));
        let first = program(&source);
        let outcome = run(&first, &order);
        prop_assert_eq!(&run(&program(&source), &order), &outcome, "{}", source);
        // Rules that change nothing do not affect the others.
        let beside = program(&format!("log when c2s or s2c\nmark beside when sv_chat every 2 chance 50%\n{source}"));
        let shifted: Vec<_> = run(&beside, &order).into_iter().map(|outcome| renumbered(outcome, 2)).collect();
        prop_assert_eq!(shifted, outcome, "{}", source);
        // The canonical text has the same meaning.
        let texts = (0..).map_while(|id| first.rule(RuleId(id)));
        let texts: Vec<&str> = texts.map(|text| text.split(" #").next().unwrap()).collect();
        let again = program(&format!("{NAMES}{}", texts.join("\n")));
        for (id, _) in (0..).zip(&texts) {
            prop_assert_eq!(again.rule(RuleId(id)), first.rule(RuleId(id)));
        }
    }

    #[test]
    fn any_text_is_read_or_refused(words in prop::collection::vec(select(WORDS), 0..40)) {
        let text = words.join(" ");
        let diagnostics = match Program::compile(&text, Registry::builtin()) {
            Ok((program, diagnostics)) => {
                run(&program, &[0, 1, 2, 3, 4, 5, 6, 7]);
                diagnostics
            }
            Err(errors) => {
                prop_assert!(!errors.is_empty() && errors.iter().all(|error| error.severity() == Severity::Error));
                errors
            }
        };
        for diagnostic in &diagnostics {
            prop_assert!(diagnostic.span.end <= text.len() && diagnostic.span.start <= diagnostic.span.end);
            prop_assert!(!diagnostic.render("rules.tap", &text, Style::Plain).is_empty());
        }
    }
}

#[test]
fn texts_have_a_limit() {
    let wrong = crate::stage::wrong;
    assert_eq!(
        wrong(&"drop when s2c\n".repeat(10_000)),
        ["1025:1 E007 more than 1024 statements"]
    );
    let long = format!("drop when \"{}\"", "x".repeat(20_000));
    assert_eq!(wrong(&long), ["1:1 E007 a statement longer than 16384 bytes"]);
    let pattern = format!(
        "replace .message /{}/ with \"\" when cl_say",
        "x{1000}".repeat(100)
    );
    assert_eq!(
        wrong(&pattern),
        ["1:18 E010 this regular expression takes too much memory"]
    );
    let with = format!("replace .message /a/ with \"{}\" when cl_say", "x".repeat(1025));
    assert_eq!(wrong(&with), ["1:27 E007 a text longer than 1024 bytes"]);
}
