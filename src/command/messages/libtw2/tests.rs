//! An export is the same after an import, and the imported definitions read messages as the built-in ones do.

use serde_json::Value;
use teetap_repeatable::Random;
use teetap_wire::{
    Dir, Proto,
    def::{Class, Decoded, Def, Id, Secrets, Source},
};

use super::*;

const PROTOS: [(Dialect, Proto); 3] = [
    (Dialect::V6, Proto::V6),
    (Dialect::Ddnet, Proto::Ddnet),
    (Dialect::V7, Proto::V7),
];

fn import(text: &str) -> Result<String, String> {
    imported(text.as_bytes(), Path::new("spec.json"))
}

#[test]
fn an_export_is_the_same_after_an_import() {
    for dialect in Dialect::ALL {
        let first = exported(Registry::builtin(), dialect).unwrap();
        let text = import(&first).unwrap();
        let registry = Registry::with("spec.tw", &text).unwrap();
        let second = exported(&registry, dialect).unwrap();
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let (first, second) = (read(&first), read(&second));
        for part in [
            "system_messages",
            "game_messages",
            "snapshot_objects",
            "connless_messages",
        ] {
            let [first, second] = [&first, &second].map(|spec| spec[part].as_array().unwrap());
            assert_eq!(first.len(), second.len(), "{dialect} {part}");
            for message in first {
                assert!(second.contains(message), "{dialect} {part}: no {message:#}");
            }
        }
        for part in ["constants", "game_enumerations", "game_flags"] {
            assert_eq!(first[part], second[part], "{dialect} {part}");
        }
    }
}

/// Returns the fields of a message as JSON.
fn fields(registry: &Registry, proto: Proto, dir: Dir, data: &[u8]) -> Option<(String, Value)> {
    let mut decoded = Decoded::new();
    let def = decoded.message(registry, proto, dir, data)?;
    let mut text = String::new();
    decoded
        .view()
        .json(def, Source::Bytes(data), Secrets::Show, &mut text);
    Some((def.name.to_string(), serde_json::from_str(&text).unwrap()))
}

/// Returns true if a specification expresses all fields of a message.
fn is_expressed(spec: &Value, def: &Def) -> bool {
    let part = if def.class == Class::System {
        "system_messages"
    } else {
        "game_messages"
    };
    let mut messages = spec[part].as_array().unwrap().iter();
    let found = messages
        .find(|message| message["name"].as_array().map(|words| join(words)).as_deref() == Some(&*def.name));
    // The size of data is not a member.
    let sized = def.fields.iter().any(|field| &*field.name == "data");
    found.is_some_and(|message| {
        message["members"].as_array().unwrap().len() + usize::from(sized) >= def.parts(None).count()
    })
}

fn join(words: &[Value]) -> String {
    let words: Vec<&str> = words.iter().map(|word| word.as_str().unwrap()).collect();
    words.join("_")
}

#[test]
fn imported_definitions_read_random_messages_as_the_built_in_ones_do() {
    let mut rng = Random::new(28);
    let mut messages = 0;
    for (dialect, proto) in PROTOS {
        let text = exported(Registry::builtin(), dialect).unwrap();
        let spec: Value = serde_json::from_str(&text).unwrap();
        let registry = Registry::with("spec.tw", &import(&text).unwrap()).unwrap();
        let defs = Registry::builtin().defs(dialect);
        let defs: Vec<&Def> = defs
            .filter(|def| matches!(def.class, Class::System | Class::Game) && is_expressed(&spec, def))
            .collect();
        assert!(defs.len() > 60, "{dialect}: {}", defs.len());
        for def in defs {
            let dir = if def.way.allows(Dir::S2c) {
                Dir::S2c
            } else {
                Dir::C2s
            };
            for _ in 0..64 {
                let mut data = Vec::new();
                let class = i32::from(def.class == Class::System);
                match &def.id {
                    Id::Number(number) => teetap_wire::varint::encode(number * 2 + class, &mut data),
                    Id::Uuid { uuid, .. } => {
                        teetap_wire::varint::encode(class, &mut data);
                        data.extend_from_slice(uuid);
                    }
                    Id::Tag(_) => continue,
                }
                let len = rng.below(60);
                data.extend((0..len).map(|_| u8::try_from(rng.below(128)).unwrap()));
                let expected = fields(Registry::builtin(), proto, dir, &data).unwrap();
                let (name, read) = fields(&registry, proto, dir, &data).unwrap();
                assert_eq!((name, read), expected, "{dialect} {data:02x?}");
                messages += 1;
            }
        }
    }
    assert!(messages > 10_000, "{messages} messages");
}

/// A specification with one message of the engine, with this member.
fn sample(member: &str) -> String {
    format!(
        r#"{{"constants": [{{"name": ["version"], "type": "string", "value": "0.7 x"}}],
        "game_enumerations": [{{"name": ["mood"], "values": [{{"value": -1, "name": ["very", "bad"]}}]}}],
        "game_flags": [], "game_messages": [], "snapshot_objects": [], "connless_messages": [],
        "system_messages": [{{"id": 99, "name": ["pet", "call"], "members": [{member}], "attributes": ["unreliable"]}}]}}"#
    )
}

#[test]
fn a_specification_becomes_a_definition_file() {
    for (kind, field) in [
        (r#"{"kind": "int32", "min": -1}"#, "  pet_x int -1.."),
        (r#"{"kind": "enum", "enum": ["mood"]}"#, "  pet_x mood"),
        (
            r#"{"kind": "optional", "inner": {"kind": "int32", "max": 7}}"#,
            "  pet_x int? ..7",
        ),
        (
            r#"{"kind": "array", "count": 3, "member_type": {"kind": "int32", "min": 0, "max": 9}}"#,
            "  pet_x int[3] 0..9",
        ),
        (
            r#"{"kind": "data", "size": "specified_before"}"#,
            "  size int 0..\n  pet_x raw len=size",
        ),
        (
            r#"{"kind": "int32_twstring", "count": 4}"#,
            "  pet_x twstr ints=4",
        ),
        (
            r#"{"kind": "boolean"}, "default": false"#,
            "  pet_x bool? default=0",
        ),
    ] {
        let text = import(&sample(&format!(r#"{{"name": ["pet", "x"], "type": {kind}}}"#))).unwrap();
        let expected = format!(
            "# Made by `teetap messages --import` from spec.json, a specification of libtw2.\n\nfor 0.7\n\n\
             enum mood\n  -1 very_bad\n\nsystem 99 pet_call both nonvital\n{field}\n"
        );
        assert_eq!(text, expected);
    }
}

/// The specifications of 0.6 and DDNet number these two messages of the engine otherwise than the games.
#[test]
fn the_ids_of_ping_are_those_of_the_games() {
    let spec = |version: &str, name: &str, id: &str| {
        let text = sample("").replace("0.7 x", version).replace("99", id);
        import(&text.replace(r#"["pet", "call"]"#, name)).unwrap()
    };
    for (version, name, id, expected) in [
        (
            "0.6 x",
            r#"["ping"]"#,
            "20",
            "# The specification has the wrong id 20.\nsystem 22 ping both",
        ),
        ("0.6 x", r#"["ping"]"#, "22", "\n\nsystem 22 ping both"),
        (
            "0.6 x",
            r#"["ping", "reply"]"#,
            "21",
            "has the wrong id 21.\nsystem 23 ping_reply both",
        ),
        ("0.6 x", r#"["pong"]"#, "20", "\n\nsystem 20 pong both"),
        ("0.7 x", r#"["ping"]"#, "20", "\n\nsystem 20 ping both"),
    ] {
        let text = spec(version, name, id);
        assert!(text.contains(expected), "{version} {name} {id}: {text}");
    }
}

#[test]
fn a_wrong_specification_is_refused_with_the_reason() {
    let int = r#"{"name": ["x"], "type": {"kind": "int32"}}"#;
    for (text, reason) in [
        ("[]".to_owned(), "not a specification of libtw2: invalid length 0"),
        (
            sample(r#"{"name": ["x"], "type": {"kind": "float"}}"#),
            "unknown variant `float`",
        ),
        (
            sample(int).replace("0.7 x", "0.5 x"),
            "its constant version is of 0.5; expected 0.6 or 0.7",
        ),
        (
            sample(int).replace("\"version\"", "\"other\""),
            "it has no constant version",
        ),
        (
            sample(r#"{"name": ["x\n  y int"], "type": {"kind": "int32"}}"#),
            "is not a name",
        ),
        (
            sample(r#"{"name": ["x"], "type": {"kind": "enum", "enum": ["nowhere"]}}"#),
            "it does not make valid definitions: import:",
        ),
        (sample(&format!("{int}, {int}")), "duplicate field `x`"),
    ] {
        let error = import(&text).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}
