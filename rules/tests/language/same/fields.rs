//! Conditions and rules about every field of every message and snapshot object: their errors, their notes, and the verdicts of
//! the rules on messages.

use std::collections::BTreeSet;

use super::*;
use crate::stage::OPENING;
use teetap_rules::{Filter, Message, Program, Shared};
use teetap_wire::def::{Class, Datum, Def, Dialect, Field, Registry, Type};
use teetap_wire::{Dir, Proto, Seq};

/// Names and numbers with mistakes, as conditions.
const ODD: &[&str] = &[
    "sys.99999999999",
    "sys.99999999999.tick",
    "sys.4",
    "sys.4.x == 1",
    "game.-1",
    "game.ex.bad",
    "game.ex.5f2b1e0d-0000-0000-0000-000000000000",
    "sys.ex.00000000-0000-0000-0000-000000000000.x == 1",
    "snap",
    "snap.tick",
    "snap.tick.x",
    "snap.crc == 3",
    "snap.delta_tick == 3",
    "snap.delta_tick.x == 3",
    "snap.num_parts",
    "snap.data",
    "snap.nothing",
    "snap.nothing.x == 1",
    "snap[3].x == 1",
    "sys.snap.tick == 3",
    "n.x == 1",
    "t.x",
    "frame.x",
    "n",
    "t",
    "pkt",
    "pkt.size.x == 1",
    "sess",
    "sess.proto.x",
    "sess.name[0] == \"x\"",
    "lint.x.y",
    "lint.overlong-int.x",
    "c2s.x",
    "vital.x == 1",
    "ctrl",
    "ctrl.connect.x == 1",
    "connless.info",
    "control.close",
    "sv_chat.mesage == \"x\"",
    "sv_chat.message.x == \"x\"",
    "svchat",
    "NETMSGTYPE_SV_CHAT",
    "NETOBJTYPE_CHARACTER.x == 1",
    "SV_CHAT.message == \"x\"",
    "character.x == 1",
    "snap.character",
    "snap.character[70000].x == 1",
    "snap.character[3]",
    "snap.client_info.name == \"x\"",
    "snap.de_client_info.name == \"x\"",
    "has(snap.character)",
    "any(snap.character)",
    "any(snap.character.x == 1 and snap.player_info.score == 1)",
    "any(snap.character.x == snap.character.y)",
    "all(.team == 1)",
    "n == 1 or sv_chat",
    "n == 1 and (n == 2 or c2s)",
    "not n == 1",
    "n + 1 == 2 and sv_chat",
];

/// Returns values to compare with a field: its first and last label, numbers at and beyond its bounds, and texts.
fn values(field: &Field) -> Vec<String> {
    let mut values: Vec<String> = match &field.ty {
        Type::Enum(set) | Type::Flags(set) => {
            let ends = [set.labels.first(), set.labels.last()];
            ends.into_iter()
                .flatten()
                .map(|label| label.name.to_string())
                .collect()
        }
        Type::Int | Type::Tick | Type::U8 | Type::Be16 | Type::Be32 | Type::Bool => {
            let ends = [
                field.bounds.min,
                field.bounds.max,
                field.bounds.max.saturating_add(1),
            ];
            ends.map(|end| end.to_string()).into()
        }
        _ => Vec::new(),
    };
    values.extend(["1", "-7", "\"x\"", "red"].map(str::to_owned));
    values
}

/// Adds a filter as it was read, or its errors. Errors have byte offsets, because rendering them with their lines is slow.
fn filter(groups: &mut Groups, text: &str) {
    match Filter::parse(text, Registry::builtin()) {
        Ok((filter, notes)) => groups.line(format_args!("{text} {} {notes:?}", filter.expr())),
        Err(errors) => groups.line(format_args!("{text} {errors:?}")),
    }
}

/// Adds the errors or the notes of a rule, and its verdict on each of the messages.
fn rule(groups: &mut Groups, text: &str, messages: &[(Proto, Dir, Vec<u8>)]) {
    let (program, notes) = match Program::compile(text, Registry::builtin()) {
        Ok(compiled) => compiled,
        Err(errors) => return groups.line(format_args!("{text} {errors:?}")),
    };
    groups.line(format_args!("{text} {notes:?}"));
    let mut shared = program.share(Shared::default());
    for (proto, dir, data) in messages {
        let mut state = program.open(OPENING, None);
        for (seq, at) in (7..9).zip([OPENING.at, OPENING.at + 900_000]) {
            let message = Message::alone((OPENING.session, *dir, *proto), Some(Seq::new(seq)), data, at);
            let verdict = state.decide(&message, &mut shared);
            groups.line(format_args!("{proto} {verdict:?} {:?}", state.effects()));
        }
    }
}

/// Returns the message with its default values in each protocol that has it.
fn messages(name: &str) -> Vec<(Proto, Dir, Vec<u8>)> {
    let encoded = Proto::ALL.into_iter().filter_map(|proto| {
        let mut named = Registry::builtin().named(proto, None, name);
        let def = named.find(|def| matches!(def.class, Class::System | Class::Game))?;
        let (mut data, dir) = (
            Vec::new(),
            if def.way.allows(Dir::C2s) {
                Dir::C2s
            } else {
                Dir::S2c
            },
        );
        def.encode(&Datum::group([]), &mut data).ok()?;
        Some((proto, dir, data))
    });
    encoded.collect()
}

fn field(groups: &mut Groups, def: &Def, field: &Field, messages: &[(Proto, Dir, Vec<u8>)]) {
    let name = match def.class {
        Class::Object => format!("snap.{}", def.name),
        _ => def.name.to_string(),
    };
    let path = format!("{name}.{}", field.name);
    let values = values(field);
    for value in &values {
        for sign in ["==", "<"] {
            filter(groups, &format!("{path} {sign} {value}"));
        }
        filter(groups, &format!("{path} in {{{value} 1..2}}"));
    }
    for form in [
        "X",
        "X[0] == 1",
        "X.x == 1",
        "Xx == 1",
        "has(X)",
        "len(X) > 1",
        "last(X) == 1",
        "any(X == 1)",
        "all(X > 1)",
        "count(X) > 1",
        "X contains \"x\"",
        "X matches /x/",
        "X * 2 - 1 > X",
        "X == sess.name",
        "X > 5ms",
    ] {
        filter(groups, &form.replace('X', &path));
    }
    filter(groups, &format!(".{} == {}", field.name, values[0]));
    let when = if def.class == Class::Object {
        "any_snap"
    } else {
        &name
    };
    for text in [
        format!("set {path} = {} when {when}", values[0]),
        format!("set {path} = {} when {when}", values[values.len() / 2]),
        format!("set {path} = {path} + 1 when {when}"),
        format!("set {path} = \"{{n}} {{{path}}}\" when {when}"),
        format!("replace {path} /./ with \"z\" when {when}"),
        format!("log \"{{{path}}}\", mark when {when}"),
        format!("var $x = {path} when {when}\nmark when $x == {} or $x", values[0]),
        format!(
            "inject s2c {}{{{}: {}}} when {when}",
            def.name, field.name, values[0]
        ),
        format!("reply {}{{{}: {path}}} when {when}", def.name, field.name),
    ] {
        rule(groups, &text, messages);
    }
}

#[test]
fn rules_about_each_field_are_as_before() {
    let (mut groups, registry, mut done) = (Groups::default(), Registry::builtin(), BTreeSet::new());
    groups.group("mistakes");
    for text in ODD {
        filter(&mut groups, text);
        rule(&mut groups, &format!("drop when {text}"), &[]);
        rule(&mut groups, &format!("log \"{{{text}}}\" when s2c"), &[]);
    }
    for dialect in [Dialect::Ddnet, Dialect::V7, Dialect::V6] {
        for def in registry.defs(dialect) {
            if !done.insert((def.class.name(), def.name.clone(), def.fields.len())) {
                continue;
            }
            groups.group(format!("{dialect} {} {}", def.class.name(), def.name));
            let messages = messages(&def.name);
            for of in def.fields.iter().take(7) {
                field(&mut groups, def, of, &messages);
            }
        }
    }
    insta::assert_snapshot!(groups.table("fields"));
}
