//! Tests of properties of all expressions.

use proptest::prelude::*;
use teetap_rules::{Filter, Severity, Style};
use teetap_wire::def::{Datum, Registry};
use teetap_wire::{Code, Proto};

use crate::subject::{Case, Snap};

/// Conditions of every kind: true, false and unknown.
pub(crate) const ATOMS: &[&str] = &[
    "c2s",
    "s2c",
    "game",
    "sys",
    "vital",
    "unknown",
    "lint.overlong-int",
    "sv_chat",
    "enter_game",
    "any_snap",
    "sys.8",
    "game.3",
    "\"foo\"",
    "/x/",
    ".team == red",
    ".message contains \"foo\"",
    "sv_chat.mode == 1",
    "has(.team)",
    "sv_chat.client_id == 3",
    "len(.message) > 3",
    "sv_chat.client_id * 2 > 5",
    "sv_chat.client_id / .team == 1",
    ".message == last(sv_chat).message",
    "pkt.seq > 4",
    "sess.rtt > 5ms",
    "sess.name contains \"tee\"",
    "snap.crc_ok",
    "any(snap.character.x > 4)",
    "seen(sv_chat)",
    "count(sys) > 0",
    "since(sys) < 5s",
];

pub(crate) fn cases() -> Vec<Case> {
    let chat = |proto, message: &str| {
        let fields = [("client_id", Datum::Int(3)), ("message", message.into())];
        Case::new(proto, "sv_chat", &fields)
    };
    let mut odd = chat(Proto::Ddnet, "foo");
    (odd.def, odd.lints) = (None, vec![Code::OverlongInt]);
    let mut snap = Case::new(Proto::V6, "snap_empty", &[]);
    snap.snap = Some(Snap::default());
    let mut vital = chat(Proto::V7, "a fox");
    vital.seq = Some(5);
    let enter = Case::new(Proto::Ddnet, "enter_game", &[]);
    vec![chat(Proto::Ddnet, "foo"), vital, odd, snap, enter]
}

/// An expression, and its value for given values of its conditions.
#[derive(Debug, Clone)]
enum Made {
    Atom(usize),
    Not(Box<Made>),
    And(Box<Made>, Box<Made>),
    Or(Box<Made>, Box<Made>),
}

impl Made {
    fn text(&self) -> String {
        match self {
            Self::Atom(at) => ATOMS[*at].to_owned(),
            Self::Not(inner) => format!("not ({})", inner.text()),
            Self::And(one, two) => format!("({}) && ({})", one.text(), two.text()),
            Self::Or(one, two) => format!("({}) or ({})", one.text(), two.text()),
        }
    }

    fn worth(&self, atoms: &[Option<bool>]) -> Option<bool> {
        match self {
            Self::Atom(at) => atoms[*at],
            Self::Not(inner) => inner.worth(atoms).map(|value| !value),
            Self::And(one, two) => match (one.worth(atoms), two.worth(atoms)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Self::Or(one, two) => match (one.worth(atoms), two.worth(atoms)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
        }
    }
}

fn made() -> impl Strategy<Value = Made> {
    let atom = (0..ATOMS.len()).prop_map(Made::Atom);
    atom.prop_recursive(4, 16, 2, |inner| {
        let two = || (inner.clone().prop_map(Box::new), inner.clone().prop_map(Box::new));
        prop_oneof![
            inner.clone().prop_map(|inner| Made::Not(Box::new(inner))),
            two().prop_map(|(one, two)| Made::And(one, two)),
            two().prop_map(|(one, two)| Made::Or(one, two)),
        ]
    })
}

thread_local! {
    static CASES: Vec<(Case, Vec<Option<bool>>)> = cases().into_iter().map(|case| {
        let worth = ATOMS.iter().map(|atom| case.value(atom)).collect();
        (case, worth)
    }).collect();
}

/// Pieces of almost correct texts.
const WORDS: &[&str] = &[
    "sv_chat",
    "input",
    "snap",
    "sess",
    "pkt",
    "lint",
    "sys",
    "ctrl",
    "info",
    "character",
    "message",
    "team",
    "skin_part_names",
    "close",
    "overlong-int",
    ".",
    ".",
    ".",
    "[3]",
    "[0]",
    "(",
    ")",
    "seen(",
    "count(",
    "last(",
    "len(",
    "any(",
    "all(",
    "has(",
    " == ",
    " < ",
    " contains ",
    " matches ",
    " in {",
    "}",
    " and ",
    " or ",
    "not ",
    "-",
    " + ",
    " / ",
    " % ",
    "1",
    "5s",
    "0",
    "1..5 ",
    "\"x\"",
    "/x/",
    "/[/",
    "red",
    "true",
    "n",
    "t",
    "$x",
    "1.5",
    "c2s",
    "any_snap",
    "2mbit",
    " 9999999999 ",
    "tick",
    "crc_ok",
    "size",
];

proptest! {
    #[test]
    fn conditions_join_in_three_values(made in made()) {
        let text = made.text();
        // No message may have such a field, as in `sys and .team == red`.
        let no_field = |errors: Vec<teetap_rules::Diagnostic>| {
            errors.iter().all(|error| error.code == teetap_rules::diagnostic::Code::UnknownField)
        };
        prop_assume!(!Filter::parse(&text, Registry::builtin()).is_err_and(no_field));
        CASES.with(|cases| {
            for (case, worth) in cases {
                prop_assert_eq!(case.value(&text), made.worth(worth), "{}", text);
            }
            Ok(())
        })?;
    }

    #[test]
    fn whatever_is_written_is_judged(words in prop::collection::vec(proptest::sample::select(WORDS), 0..24)) {
        let text = words.concat();
        let diagnostics = match Filter::parse(&text, Registry::builtin()) {
            Ok((filter, diagnostics)) => {
                CASES.with(|cases| for (case, _) in cases { case.value(&text); });
                let again = Filter::parse(&filter.to_string(), Registry::builtin());
                prop_assert!(again.is_ok_and(|(again, _)| again.expr() == filter.expr()), "{}", text);
                diagnostics
            }
            Err(errors) => {
                prop_assert!(errors.iter().all(|error| error.severity() == Severity::Error) && !errors.is_empty());
                errors
            }
        };
        for diagnostic in &diagnostics {
            prop_assert!(diagnostic.span.end <= text.len() && diagnostic.span.start <= diagnostic.span.end);
            prop_assert!(!diagnostic.render("filter", &text, Style::Plain).is_empty());
        }
    }
}

#[test]
fn a_small_stack_is_enough() {
    let texts = || {
        let depth = teetap_rules::syntax::MAX_NESTING;
        let deep = |open: &str, inner: &str, close: &str| {
            format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
        };
        vec![
            deep("(", "c2s", ")"),
            deep("not ", "c2s", ""),
            deep("(s2c or c2s and not 1 + 1 * ", "1", " == 1)"),
            format!("t > 1s * 2{}", " + 1s * 1".repeat(31)),
            "(".repeat(10_000),
            format!("any({}", "all(".repeat(5000)),
        ]
    };
    let judge = move || {
        texts()
            .iter()
            .map(|text| Filter::parse(text, Registry::builtin()).is_ok())
            .collect::<Vec<_>>()
    };
    let thread = std::thread::Builder::new()
        .stack_size(512 * 1024)
        .spawn(judge)
        .unwrap();
    assert_eq!(thread.join().unwrap(), [true, true, false, true, false, false]);
}
