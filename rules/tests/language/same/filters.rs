//! Filters over every operand, operator and kind of value, on messages of every kind.

use super::*;
use crate::properties::{ATOMS, cases};
use crate::subject::{Case, Evaluated, Snap};
use teetap_rules::eval::Flag;
use teetap_rules::{Facts as _, Filter, rule_vocabulary, vocabulary};
use teetap_wire::def::{Class, Datum, Def, Registry};
use teetap_wire::{Code, Dir, Proto};

const OPERANDS: &[&str] = &[
    ".message",
    ".team",
    ".client_id",
    "sv_chat.message",
    "sv_chat.client_id",
    "sv_chat.mode",
    "cl_say.team",
    "input.player_flags",
    "sv_tune_params.gravity",
    "map_change.sha256",
    "map_details.sha256",
    "sv_vote_option_list_add.options[1]",
    "ctrl.close.reason",
    "info.clients[0].name",
    "snap.character.x",
    "snap.character[3].x",
    "snap.player_info.latency",
    "any(snap.character.x > 150)",
    "all(snap.character.x > 150)",
    "count(cl_say)",
    "since(sv_chat)",
    "last(cl_say).message",
    "last(sv_chat).client_id",
    "first(cl_say).message",
    "len(.message)",
    "has(.team)",
    "pkt.size",
    "pkt.ack",
    "pkt.chunks",
    "pkt.seq",
    "pkt.flags",
    "pkt.resend",
    "sess.id",
    "sess.name",
    "sess.client",
    "sess.proto",
    "sess.state",
    "sess.rtt",
    "snap.tick",
    "snap.crc_ok",
    "snap.parts",
    "frame",
    "n",
    "t",
    "3 + .client_id * 2",
    "-.client_id % 4",
    "nothing",
    "5",
];

const TESTS: &[&str] = &[
    "",
    "== 3",
    "!= 3",
    "> 2",
    "<= 100",
    "< 0.5",
    "== -1",
    "== \"foo\"",
    "!= \"nameless tee\"",
    "< \"foo\"",
    "contains \"o\"",
    "contains .message",
    "matches /^f.*o$/",
    "matches /(/",
    "in {1 3..5}",
    "in {\"foo\" \"bar\"}",
    "in {5..1}",
    "in {red online ddnet}",
    "== red",
    "== online",
    "== ddnet",
    "== resend",
    "== true",
    "> 5ms",
    "< 1h",
    "<= 1.5kB",
    "== 50%",
    "== .client_id",
    "== last(cl_say).message",
    "/ 0 == 1",
    "* 3 - 1 >= 8",
];

/// Returns more messages than [`cases`]: of every class, with snapshots, oddities and later times.
fn messages() -> Vec<Case> {
    let mut all = cases();
    let named = |proto, name: &str, fields: &[(&str, Datum)]| Case::new(proto, name, fields);
    let say = [("team", Datum::Int(1)), ("message", "foo\u{202e}bar".into())];
    all.push(named(Proto::V6, "cl_say", &say));
    all.push(named(Proto::Ddnet, "input", &[("ack_snapshot", Datum::Int(50))]));
    all.push(named(Proto::V7, "close", &[("reason", "full".into())]));
    all.push(named(Proto::V65, "map_change", &[("name", "dm1".into())]));
    all.push(named(Proto::Ddnet, "sv_tune_params", &[]));
    let character = |proto| {
        let mut named = Registry::builtin().named(proto, Some(Class::Object), "character");
        named.next().unwrap()
    };
    for (proto, crc_ok) in [(Proto::Ddnet, true), (Proto::V7, false)] {
        let mut snap = named(proto, "snap_single", &[]);
        let tee = |id: u16| -> (&'static Def, u16, Vec<i32>) {
            let mut ints = vec![0; 22];
            ints[1] = i32::from(id) * 50;
            (character(proto), id, ints)
        };
        snap.snap = Some(Snap {
            crc_ok,
            items: vec![tee(3), tee(4)],
        });
        all.push(snap);
    }
    let mut odd = named(Proto::Ddnet, "cl_say", &[("message", "a".into())]);
    (odd.flags, odd.lints) = (
        vec![Flag::Vital, Flag::Resend],
        vec![Code::WrongToken, Code::OverlongInt],
    );
    (odd.seq, odd.size, odd.time, odd.repeated) = (Some(9), 1200, 7_000_000, true);
    all.push(odd);
    for (at, case) in (0..).zip(&mut all) {
        case.time = case.time.max(at * 900_000);
    }
    all
}

/// Adds everything that is known of a filter, and its results for all messages in order, with one memory.
fn filter(groups: &mut Groups, text: &str, messages: &[Case]) {
    let registry = Registry::builtin();
    groups.line(format_args!("{text}"));
    let (filter, warnings) = match Filter::parse(text, registry) {
        Ok(parsed) => parsed,
        Err(errors) => return diagnostics(groups, text, &errors),
    };
    diagnostics(groups, text, &warnings);
    groups.line(format_args!(
        "{} {} {} {} {} {}",
        filter.expr(),
        filter.needs_snapshots(),
        filter.needs_players(),
        filter.needs_notes(),
        filter.remembers(),
        filter.needs_history()
    ));
    let reach = filter.reach();
    for proto in Proto::ALL {
        let dirs = [Dir::C2s, Dir::S2c].map(|dir| (reach.dir(proto, dir), reach.datagrams(proto, dir)));
        let can = filter.may_match(registry, |of, dir, def| {
            of == proto && dir == Dir::C2s && def.class == Class::System
        });
        groups.line(format_args!("{proto} {dirs:?} {can} {}", reach.anything()));
    }
    let mut memory = filter.memory();
    let results = messages.iter().map(|case| {
        let facts = Evaluated::new(case);
        let is_reached = reach.message(case.proto, case.dir, &facts.subject());
        let mut out = String::from(if is_reached { "r" } else { "-" });
        out.push(match filter.matches(&facts, &mut memory) {
            Some(true) => 'y',
            Some(false) => 'n',
            None => '?',
        });
        out
    });
    let results: Vec<_> = results.collect();
    let matched = [Dir::C2s, Dir::S2c].map(|dir| memory.matched(dir));
    groups.line(format_args!("{} {matched:?}", results.join(" ")));
}

#[test]
fn filters_match_as_before() {
    let (mut groups, messages) = (Groups::default(), messages());
    for operand in OPERANDS {
        groups.group(*operand);
        for test in TESTS {
            filter(&mut groups, &format!("{operand} {test}"), &messages);
        }
        for form in [
            "not X",
            "seen(X)",
            "count(X) > 1",
            "since(X) < 3s",
            "sv_chat and X",
            "X or c2s",
            "len(X) > 2",
            "any(X == 3)",
            "last(X) == 3",
        ] {
            filter(&mut groups, &form.replace('X', operand), &messages);
        }
    }
    let mut dice = Random::new(31);
    for number in 0..500 {
        if number % 50 == 0 {
            groups.group(format!("conditions {number} to {}", number + 49));
        }
        let [one, two, three] = [(); 3].map(|()| *dice.pick(ATOMS));
        let joined = *dice.pick(&["and", "or", "&&", "||"]);
        let other = *dice.pick(&["and", "or"]);
        let text = match dice.below(3) {
            0 => format!("{one} {joined} not {two}"),
            1 => format!("({one} {joined} {two}) {other} {three}"),
            _ => format!("not ({one} {joined} {two} {other} not {three})"),
        };
        filter(&mut groups, &text, &messages);
    }
    insta::assert_snapshot!(groups.table("filters"));
}

#[test]
fn each_message_and_note_is_found_by_its_name_as_before() {
    let (mut groups, registry) = (Groups::default(), Registry::builtin());
    let messages = messages();
    for proto in [Proto::V6, Proto::Ddnet, Proto::V7] {
        groups.group(format!("names of {proto}"));
        for def in registry.defs(proto.into()) {
            let word = match def.class {
                Class::System => "sys",
                Class::Control => "ctrl",
                Class::Object => "snap",
                class => class.name(),
            };
            filter(&mut groups, &def.name, &messages[..2]);
            filter(&mut groups, &format!("{word}.{}", def.name), &messages[..2]);
        }
    }
    groups.group("words");
    let words = format!("{} {}", vocabulary(), rule_vocabulary());
    for word in words.split_whitespace() {
        filter(&mut groups, word, &messages[..6]);
    }
    groups.group("notes");
    for code in Code::ALL {
        filter(&mut groups, &format!("lint.{}", code.name()), &messages);
        filter(
            &mut groups,
            &format!("lint.{}", code.name().replace('-', "_")),
            &messages,
        );
    }
    insta::assert_snapshot!(groups.table("names"));
}
