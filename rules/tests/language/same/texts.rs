//! Texts of rules, right and with mistakes: diagnostics, canonical texts, explanations and completions.

use std::fmt::Write as _;

use super::*;
use crate::random::{ACTIONS, CONDITIONS, MODIFIERS, NAMES, SETS, WORDS};
use teetap_rules::explain::explain;
use teetap_rules::program::{profile, profiles};
use teetap_rules::syntax::{format, outline, parse_statements};
use teetap_rules::{Draft, Program, completions, is_rule_word, rule_vocabulary, vocabulary};
use teetap_wire::def::{Class, Registry};
use teetap_wire::{Dir, Proto};

/// Number of texts with mistakes.
const MISTAKES: u64 = 2400;
/// Number of texts in a group.
const GROUP: usize = 25;

const PARTS: &[&str] = &[
    "sess.rtt",
    "$x",
    "let $x = count(cl_say) > 2",
    "var $x = n",
    "snap.character[3].x",
    "snap.tick",
    "n == 3",
    "t > 5s",
    "frame",
    "in {1 3..5}",
    "matches /a/",
    "last(cl_say).message",
    "since(cl_say) < 5s",
    "any(snap.character.x > 4)",
    "has(.team)",
    "lint.overlong-int",
    "sys.4",
    "game.ex.00000000-0000-0000-0000-000000000000",
    "red",
    "2.5kB",
    "1min",
    "5..",
    "*",
    "/",
    "%",
    "not",
    "or",
    "and",
    "connless",
    "pass",
    "link both",
    "loss gemodel 1% 30%",
    "use \"3g\"",
    "profile a {",
    "nonvital",
    "ctrl.close",
    "info",
    "sv_chat{client_id: -1}",
    "# a comment",
    "from 1s",
    "to 2s",
    "after 3s",
    "until sv_motd",
    "malformed",
    "per session",
    "jitter 5ms",
    "gap 3",
    "queue 5kB",
    "within 2s",
    "seq",
    "{n}",
    "(",
    "\"\u{200b}\"",
    "sv_chta",
    "snap.charakter.x",
    "\"\\u{202e}\"",
];

/// Returns valid statements, invalid statements and whole files of rules.
fn sources() -> Vec<String> {
    let texts = [
        include_str!("../read_out.tap"),
        include_str!("../wrong.tap"),
        "log when sv_chat\nlog \"{sv_chat.message}\" when sv_chat and n <= 3\nname-1: mark odd, log when c2s",
        "var $n = count(cl_say), var $m = .message when cl_say\nmark when $n > 3 and $m == \"a\"",
        "drop when sess.proto == ddnet or sess.state in {opening online}\ndrop when pkt.flags == resend",
        "set snap.character[3].x = snap.character.x * 2 % 7 when any_snap\nset seq = 4 when vital",
        "replace sv_chat.message /(a)(b)/ with \"{sess.name}: $2$1\" when sv_chat once",
        "inject s2c sv_chat{client_id: -1, team: red, message: \"{n}\"} nonvital when input every 3",
        "let w = sv_chat.team == 99 or sv_chat.client_id == -9\ndrop when w\nlog when w and not w",
        "let bad = (sv_chat.x == 1 or c2s and .y == 2)\ndrop when bad and cl_say\nlog when not bad or n == 1",
        "let two = sys.snap or snap.character.x > 3 and game\nset two.tick = 1 when two\nlog \"{two}\" when two",
        "a-long-name: set .message = \"a long text in place of the message\", mark odd, log \"{t}: {.message}\" when cl_say \
         and .message contains \"something long\" and not seen(sv_motd) chance 5% skip 2 first 3 per global",
        "another: log \"{sess.name} said {sv_chat.message} to team {sv_chat.team} of {sess.client}\" when sv_chat # why",
        "profile p { # it's \" odd } {\n    link both delay 1ms # \"{\n    link c2s loss 1% until .message == \"}\" # '\n}",
        "use \"p\"\nprofile p { link both loss 1% }\nuse \"p\" # twice\nuse \"wifi-bdd\"",
        "link both delay 5ms from 1s from 2s\nlink both loss 1% from 1s after 2s\nlink c2s dup 1% to 1s until sv_motd",
        "link both loss 1% after 2s from 1s\nlink both loss 1% until 3s to 4s\nlink s2c after sv_motd after cl_say loss 1%",
        "link both delay 40ms delay 50ms\nlink rate 5mbit\nlink both queue 5kB\nlink both jitter 5ms\nlink both gap 3",
        "drop when .message == \"\u{200b}\" or .message == \"\u{202e}x\" or .message contains \"\\u{feff}\\n\\t\\\"\"",
        "set snap.character[3].x = snap.character.y, cl_say.team = snap.character.x when any_snap",
        "set snap.character[3].x = 1, snap.character[3].x = 2 when any_snap\nlog \"{snap.character.x}\" when any_snap",
        "drop when malformed or lint\nlog when malformed.x",
        "inject c2s cl_say{message: \"x\",\n    team: 1} every 5s # often\n\n\n# the end\n",
        "drop when sv_server_info.clients[0].name == \"x\" and ctrl.close.reason contains \"full\"",
    ];
    let mut sources: Vec<String> = Vec::new();
    for text in texts {
        let mut block = String::new();
        for line in text.lines() {
            writeln!(block, "{line}").unwrap();
            // A profile takes several lines.
            if !block.contains('{')
                || block.matches('{').count() == block.matches('}').count()
                || !block.contains("profile")
            {
                sources.push(std::mem::take(&mut block));
            }
        }
    }
    let joined = ACTIONS.chunks(4).enumerate();
    sources.extend(joined.map(|(at, actions)| {
        let when = CONDITIONS[at % CONDITIONS.len()];
        format!(
            "long-{at}: {} when {when} and not seen(sv_motd) {}",
            actions.join(", "),
            MODIFIERS[at % MODIFIERS.len()]
        )
    }));
    sources.extend(profiles().filter_map(profile).map(str::to_owned));
    for (at, action) in ACTIONS.iter().enumerate() {
        let when = CONDITIONS[at % CONDITIONS.len()];
        sources.push(format!("{NAMES}{SETS}{action} when {when}"));
        sources.push(format!(
            "rule-{at}: {action} when cl_say {}",
            MODIFIERS[at % MODIFIERS.len()]
        ));
    }
    sources
}

fn text(groups: &mut Groups, text: &str) {
    groups.line(format_args!("{text}"));
    match Program::compile(text, Registry::builtin()) {
        Ok((program, warnings)) => {
            diagnostics(groups, text, &warnings);
            let interest = program.interest();
            groups.line(format_args!(
                "{interest:?} {:?} {:?}",
                program.seed(),
                program.names()
            ));
            let shared = program.share(teetap_rules::Shared::default());
            for proto in Proto::ALL {
                groups.line(format_args!("{:?}", program.needs_session(proto, proto, &shared)));
            }
            groups.line(format_args!("{:?}", program.report(&shared)));
            for name in program.names() {
                groups.line(format_args!(
                    "{:?}",
                    program.find(&name).map(|id| (id, program.hold_key(id)))
                ));
            }
            let browse = [Dir::C2s, Dir::S2c].map(|dir| program.links_browse(dir));
            groups.line(format_args!("{browse:?}"));
        }
        Err(errors) => diagnostics(groups, text, &errors),
    }
    if let Ok(statements) = parse_statements(text) {
        for statement in statements {
            groups.line(format_args!("{statement}"));
            groups.line(format_args!("{}", explain(&statement)));
        }
    }
    match format(text) {
        Ok(formatted) => groups.line(format_args!("{formatted}")),
        Err(errors) => diagnostics(groups, text, &errors),
    }
    groups.line(format_args!("{:?}", outline(text)));
}

#[test]
fn statements_are_read_and_explained_as_before() {
    let mut groups = Groups::default();
    for (at, source) in sources().iter().enumerate() {
        if at % GROUP == 0 {
            groups.group(format!("statements {at} to {}", at + GROUP - 1));
        }
        text(&mut groups, source);
    }
    insta::assert_snapshot!(groups.table("statements"));
}

/// Returns a text with some words inserted, replaced, removed or swapped.
fn with_mistakes(dice: &mut Random, source: &str) -> String {
    let mut words: Vec<&str> = source.split(' ').collect();
    for _ in 0..=dice.below(2) {
        let at = usize::try_from(dice.below(words.len() as u64)).unwrap();
        let word = match dice.below(2) {
            0 => *dice.pick(WORDS),
            _ => *dice.pick(PARTS),
        };
        match dice.below(4) {
            0 => words.insert(at, word),
            1 => words[at] = word,
            2 if words.len() > 1 => drop(words.remove(at)),
            _ => {
                let other = usize::try_from(dice.below(words.len() as u64)).unwrap();
                words.swap(at, other);
            }
        }
    }
    words.join(" ")
}

#[test]
fn mistakes_are_reported_as_before() {
    let (mut groups, mut dice) = (Groups::default(), Random::new(23));
    let sources: Vec<_> = sources()
        .into_iter()
        .filter(|source| source.len() < 400)
        .collect();
    for number in 0..MISTAKES {
        if number % 50 == 0 {
            groups.group(format!("mistakes {number} to {}", number + 49));
        }
        let source = dice.pick(&sources).clone();
        text(&mut groups, &with_mistakes(&mut dice, &source));
    }
    insta::assert_snapshot!(groups.table("mistakes"));
}

/// Adds the messages that are read from texts as a person types them, to send a message or to change one.
fn drafts(groups: &mut Groups) {
    let registry = Registry::builtin();
    groups.group("drafts");
    for text in [
        "s2c sv_chat{client_id: -1, message: \"hi\"}",
        "c2s cl_say{message: \"hi\", team: 1} nonvital",
        "s2c sv_chat",
        "s2c sv_chat{mode: 1, message: \"x\"}",
        "c2s sv_chat{message: \"x\"}",
        "s2c sv_chat{message: n}",
        "s2c nothing{}",
        "sv_chat.message = \"x\"",
        ".message = \"x\", .client_id = 3",
        "message: \"x\"",
        "cl_say{team: 1}",
        "sv_chat{client_id: 99999999999}",
        "s2c snap_empty{tick: 5} vital",
        "",
    ] {
        for draft in [Draft::inject(text, registry), Draft::edit(text, registry)] {
            match draft {
                Ok((draft, warnings)) => {
                    diagnostics(groups, text, &warnings);
                    for proto in Proto::ALL {
                        groups.line(format_args!("{text} {proto} {:?}", draft.made(proto)));
                        let (_, say) = crate::stage::say("before");
                        groups.line(format_args!("{:?}", draft.edited(proto, Dir::C2s, &say)));
                    }
                }
                Err(errors) => diagnostics(groups, text, &errors),
            }
        }
    }
}

#[test]
fn words_are_completed_and_drafts_are_read_as_before() {
    let (mut groups, mut dice) = (Groups::default(), Random::new(29));
    groups.group("vocabulary");
    groups.line(format_args!("{}\n{}", vocabulary(), rule_vocabulary()));
    groups.group("completions");
    let registry = Registry::builtin();
    for source in [
        "",
        "s",
        "sv_",
        "sys.",
        "snap.",
        "snap.c",
        "sess.",
        "pkt.",
        "lint.",
        "sv_chat.",
        "sv_chat.m",
        "ctrl.",
        "snap.character.",
        "d",
        "drop wh",
        "x.",
        "connless.i",
        "$",
    ] {
        for rule in [false, true] {
            groups.line(format_args!(
                "{source} {rule} {:?}",
                completions(source, rule, registry)
            ));
        }
    }
    let sources = sources();
    for _ in 0..60 {
        let text = dice.pick(&sources);
        let end = usize::try_from(dice.below(text.len() as u64 + 1)).unwrap();
        let Some(start) = text.get(..end) else { continue };
        let (replaced, words) = completions(start, dice.below(2) == 0, registry);
        groups.line(format_args!(
            "{start} {replaced} {} {:?}",
            words.len(),
            words.first()
        ));
    }
    for word in WORDS.iter().chain(PARTS) {
        let class = teetap_rules::class_of(word);
        let is_word = [Class::Object, Class::Game].map(|class| teetap_rules::is_word(class, word));
        groups.line(format_args!(
            "{word} {} {class:?} {is_word:?}",
            is_rule_word(word)
        ));
    }
    drafts(&mut groups);
    insta::assert_snapshot!(groups.table("words"));
}
