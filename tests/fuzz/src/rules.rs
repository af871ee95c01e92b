//! Arbitrary text as rules, and their decisions about a few messages.

use teetap_rules::{
    Diagnostic, Message, Opening, Program, Shared, Style, explain::explain, syntax, syntax::parse_statements,
};
use teetap_wire::{
    Dir, Proto, Seq,
    def::{Datum, Registry},
};

/// Maximum length of a message that a rule may write, in bytes: far longer than a datagram.
const MAX_WRITTEN: usize = 64 << 10;

/// Parses, prints, compiles and runs one text.
pub fn rules(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    formats(&text);
    match Program::compile(&text, registry()) {
        Ok((program, warnings)) => {
            check_places(&text, &warnings);
            runs(&program);
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            check_places(&text, &errors);
        }
    }
}

fn registry() -> &'static Registry {
    Registry::builtin()
}

/// Checks that formatting a text keeps its meaning, and that formatting it again changes nothing.
fn formats(text: &str) {
    let Ok(statements) = parse_statements(text) else {
        assert!(
            syntax::format(text).is_err(),
            "wrong statements have no canonical form"
        );
        return;
    };
    let printed = |statements: &[syntax::Statement]| -> Vec<String> {
        statements.iter().map(ToString::to_string).collect()
    };
    let formatted = syntax::format(text);
    assert!(
        formatted.is_ok(),
        "statements without a canonical form: {formatted:?}"
    );
    let formatted = formatted.unwrap_or_default();
    let again = parse_statements(&formatted).map_err(|errors| format!("{formatted}: {errors:?}"));
    assert_eq!(
        again.as_deref().map(printed),
        Ok(printed(&statements)),
        "{formatted}"
    );
    assert_eq!(syntax::format(&formatted).as_ref(), Ok(&formatted));
    for statement in &statements {
        let sentence = explain(statement);
        assert!(sentence.ends_with('.'), "{sentence}");
    }
}

/// Checks that every span lies in the text, and that every diagnostic can be rendered.
fn check_places(text: &str, diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        let span = diagnostic.span;
        assert!(text.get(span.start..span.end).is_some(), "{diagnostic:?}");
        assert!(!diagnostic.render("x.tap", text, Style::Plain).is_empty());
    }
}

/// Checks that two runs over the same messages make the same decisions.
fn runs(program: &Program) {
    let decisions = || {
        let mut shared = program.share(Shared::default());
        let opening = Opening {
            seed: 1,
            session: 1,
            at: 0,
            is_new: true,
            client: None,
        };
        let mut session = program.open(opening, None);
        let mut decisions = Vec::new();
        for (at, (proto, dir, data)) in (0_u64..).step_by(100_000).zip(messages()) {
            let message = message(at, proto, dir, &data);
            let verdict = if program.interest().acts.contains(proto, dir) {
                session.decide(&message, &mut shared)
            } else {
                session.observe(&message, &mut shared)
            };
            let made = verdict.before.iter().chain(&verdict.after);
            let longest = made.map(|made| made.data.len()).max();
            assert!(longest.max(verdict.edit.as_ref().map(Vec::len)) < Some(MAX_WRITTEN));
            decisions.push((verdict, session.effects()));
            if session.deadline().is_some_and(|due| due <= at) {
                session.on_time(at, &mut shared);
            }
        }
        decisions
    };
    assert_eq!(decisions(), decisions());
}

/// Returns the messages of a login and of some play in each protocol.
fn messages() -> impl Iterator<Item = (Proto, Dir, Vec<u8>)> {
    const PLAY: [(Dir, &str); 8] = [
        (Dir::S2c, "map_change"),
        (Dir::C2s, "ready"),
        (Dir::S2c, "con_ready"),
        (Dir::C2s, "enter_game"),
        (Dir::S2c, "snap_single"),
        (Dir::C2s, "input"),
        (Dir::C2s, "cl_say"),
        (Dir::S2c, "sv_chat"),
    ];
    [Proto::V6, Proto::Ddnet, Proto::V7]
        .into_iter()
        .flat_map(|proto| {
            PLAY.into_iter().filter_map(move |(dir, name)| {
                let mut data = Vec::new();
                let def = registry().named(proto, None, name).next()?;
                let fields = Datum::group([("message", Datum::Bytes(b"some words".to_vec()))]);
                // Messages without this text field are built from their defaults.
                let none = Datum::group([] as [(&str, Datum); 0]);
                if def.encode(&fields, &mut data).is_err() {
                    data.clear();
                    def.encode(&none, &mut data).ok()?;
                }
                Some((proto, dir, data))
            })
        })
}

fn message(at: u64, proto: Proto, dir: Dir, data: &[u8]) -> Message<'_> {
    Message::alone((1, dir, proto), Some(Seq::ZERO.next()), data, at)
}
