//! The list of all definitions, so that none disappears or changes unnoticed: everything but the documentation, for each
//! protocol and class.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::super::show::bytes_whole;
use super::*;

/// Returns the text form of all definitions: heads, types, ranges, vital flags, enums and gists, without documentation. An
/// enum or struct is listed before the first definition that uses it.
fn listed() -> String {
    let mut out = String::new();
    for dialect in Dialect::ALL {
        for class in Class::ALL {
            let mut defs: Vec<_> = Registry::builtin()
                .defs(dialect)
                .filter(|def| def.class == class)
                .map(|def| {
                    let id = match &def.id {
                        Id::Number(number) => (*number, String::new()),
                        Id::Uuid { uuid, .. } => (i32::MAX, bytes_whole(&Type::Uuid, uuid)),
                        Id::Tag(tag) => (0, tag.map(char::from).iter().collect()),
                    };
                    (id, def)
                })
                .collect();
            defs.sort_by(|(one, _), (other, _)| one.cmp(other));
            writeln!(out, "{dialect} {}: {}", class.name(), defs.len()).unwrap();
            let mut listed = BTreeSet::new();
            for (_, def) in defs {
                for block in without_docs(&def.to_text()).split("\n\n") {
                    if listed.insert(block.to_owned()) {
                        writeln!(out, "{}", block.trim_end()).unwrap();
                    }
                }
            }
        }
    }
    out
}

/// Removes documentation and the blanks that align columns.
fn without_docs(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let lines = lines.map(|line| {
        let is_gist = line.trim_start().starts_with("gist");
        let code = line
            .split_once("  # ")
            .filter(|_| !is_gist)
            .map_or(line, |(code, _)| code);
        let indent = if code.starts_with(' ') { "  " } else { "" };
        let words: Vec<_> = if is_gist {
            vec![code.trim()]
        } else {
            code.split_whitespace().collect()
        };
        format!("{indent}{}", words.join(" "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_definition_is_as_listed() {
    let expected = include_str!("list.txt");
    let listed = listed();
    let mut lines = expected.lines().zip(listed.lines()).enumerate();
    if let Some((line, (old, new))) = lines.find(|(_, (old, new))| old != new) {
        panic!("list.txt line {}: expected `{old}`, found `{new}`", line + 1);
    }
    let [old, new] = [expected, &listed].map(|text| text.lines().count());
    assert_eq!(old, new, "list.txt has {old} lines, the definitions have {new}");
}

#[test]
fn as_many_as_the_references_have() {
    let count = |dialect, class: Class, extended| {
        let defs = Registry::builtin().defs(dialect).filter(|def| def.class == class);
        defs.filter(|def| matches!(def.id, Id::Uuid { .. }) == extended)
            .count()
    };
    // 0.6 has ids 1 to 26, DDNet the same and the envelope, 0.7 ids 1 to 30.
    assert_eq!(count(Dialect::V6, Class::System, false), 27);
    assert_eq!(count(Dialect::Ddnet, Class::System, false), 27);
    assert_eq!(count(Dialect::V7, Class::System, false), 31);
    // With the envelope: 1 to 25 and DDNet's 26 to 31; 0.7 ids 1 to 39.
    assert_eq!(count(Dialect::V6, Class::Game, false), 32);
    assert_eq!(count(Dialect::Ddnet, Class::Game, false), 32);
    assert_eq!(count(Dialect::V7, Class::Game, false), 40);
    assert_eq!(count(Dialect::Ddnet, Class::Object, false), 21);
    assert_eq!(count(Dialect::V7, Class::Object, false), 25);
    for dialect in Dialect::ALL {
        let extended = [Class::System, Class::Game, Class::Object].map(|class| count(dialect, class, true));
        assert_eq!(extended, [23, 26, 22], "{dialect}");
    }
    assert_eq!(
        Registry::builtin()
            .sets(Dialect::Ddnet)
            .map(|set| set.labels.len())
            .sum::<usize>(),
        266
    );
}

#[test]
fn sizes_both_sides_agreed_on() {
    let agreed = |proto, types: std::ops::RangeInclusive<i32>| -> Vec<u16> {
        let size = |number| Registry::builtin().object(proto, number)?.size?.agreed;
        types.map(|number| size(number).unwrap_or(0)).collect()
    };
    let six = [10, 6, 5, 4, 3, 8, 4, 15, 22, 5, 17, 3, 2, 2, 2, 2, 3, 3, 3, 3];
    assert_eq!(agreed(Proto::V6, 1..=20), six);
    assert_eq!(agreed(Proto::Ddnet, 1..=20), six);
    let seven = [
        10, 6, 5, 3, 3, 3, 2, 4, 15, 22, 3, 4, 58, 5, 32, 2, 2, 2, 2, 3, 3, 7, 0, 0,
    ];
    assert_eq!(agreed(Proto::V7, 1..=24), seven);
}

#[test]
fn everything_is_documented() {
    for dialect in Dialect::ALL {
        for def in Registry::builtin().defs(dialect) {
            assert!(def.doc.is_some(), "{dialect} {}", def.name);
        }
    }
}

/// The typed code for connless and control messages uses the same names.
#[test]
fn names_agree() {
    let registry = Registry::builtin();
    for dialect in Dialect::ALL {
        for def in registry.defs(dialect) {
            if let Id::Tag(tag) = def.id {
                let data = [[0xff; 4], tag].concat();
                assert_eq!(crate::connless::name(&data), Some(&*def.name));
            }
        }
    }
    for proto in Proto::ALL {
        for id in 0..8 {
            let payload = [id];
            let typed = crate::Control::parse(proto, &payload).unwrap();
            let known = proto.layout().control_ids.contains(&id);
            let name = registry.control(proto, Dir::C2s, id).map(|def| &*def.name);
            assert_eq!(name, known.then(|| typed.name()).as_deref(), "{proto} {id}");
        }
    }
}

/// A sentence has at least three words, so that a unit or a repeated name is none.
#[test]
fn every_field_has_a_sentence_or_a_named_type_that_has_one() {
    let says = |doc: Option<&std::sync::Arc<str>>| doc.is_some_and(|doc| doc.split_whitespace().count() > 2);
    let mut fields = 0;
    let mut silent = BTreeSet::new();
    for dialect in Dialect::ALL {
        for def in Registry::builtin().defs(dialect) {
            for field in &def.fields {
                fields += 1;
                if !says(field.doc.as_ref()) && !field.set().is_some_and(|set| says(set.doc.as_ref())) {
                    silent.insert(format!("{dialect} {}.{}", def.name, field.name));
                }
            }
        }
    }
    assert!(silent.is_empty(), "{silent:#?}");
    assert!(fields > 1500, "{fields} fields");
}
