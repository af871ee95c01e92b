//! The schema itself: it names all values and fields, and allows no others.

use serde_json::{Map, Value, json};
use strum::VariantArray as _;
use teetap_kit::binary;
use teetap_proxy::session::{Action, EventKind, Level, Notice, Origin, State};
use teetap_rules::impair::Lost;
use teetap_wire::{Dir, Proto, Side};

use super::{Checker, line_of, root, schema_text};
use crate::run;

#[test]
fn the_schema_has_every_name_of_a_value() {
    fn check<T: ToString>(all: &[T], values: &Value) {
        let expected: Vec<_> = all.iter().map(|value| json!(value.to_string())).collect();
        assert_eq!(*values, json!(expected));
    }
    let defs = &schema_text()["$defs"];
    check(Dir::VARIANTS, &defs["dir"]["enum"]);
    check(Side::VARIANTS, &defs["side"]["enum"]);
    check(&Proto::ALL, &defs["proto"]["enum"]);
    check(Origin::VARIANTS, &defs["origin"]["enum"]);
    check(Level::VARIANTS, &defs["level"]["enum"]);
    check(State::VARIANTS, &defs["session"]["properties"]["state"]["enum"]);
    check(Lost::VARIANTS, &defs["transit"]["properties"]["lost"]["enum"]);
    check(Action::VARIANTS, &defs["placed"]["properties"]["action"]["enum"]);
}

/// Lists the objects of a schema that allow other fields.
fn open_objects(at: &str, schema: &Value, open: &mut Vec<String>) {
    if let Value::Object(node) = schema {
        let is_object = match &node.get("type") {
            Some(Value::Array(types)) => types.contains(&json!("object")),
            Some(one) => **one == json!("object"),
            None => node.contains_key("properties"),
        };
        let is_closed = ["additionalProperties", "unevaluatedProperties"]
            .iter()
            .any(|key| node.get(*key) == Some(&json!(false)));
        if is_object && !is_closed {
            open.push(at.to_owned());
        }
        for (key, value) in node {
            // The keys here are names, not keywords.
            if key == "properties" {
                let fields = value.as_object().unwrap();
                fields
                    .iter()
                    .for_each(|(name, field)| open_objects(&format!("{at}.{name}"), field, open));
            } else if key == "$defs" {
                let defs = value.as_object().unwrap();
                defs.iter().for_each(|(name, def)| open_objects(name, def, open));
            } else {
                open_objects(at, value, open);
            }
        }
    } else if let Value::Array(nodes) = schema {
        nodes.iter().for_each(|node| open_objects(at, node, open));
    }
}

#[test]
fn no_object_accepts_other_fields() {
    let mut open = Vec::new();
    open_objects("", &schema_text(), &mut open);
    // The definitions determine the fields of messages and items, and their scales; each kind of notice closes
    // `notice`.
    assert_eq!(
        open,
        [
            "as_sent.fields",
            "item.before",
            "item.fields",
            "item.scale",
            "message.fields",
            "message.scale",
            "notice",
            "waiting.fields"
        ]
    );
}

#[test]
fn the_schema_accepts_nothing_else() {
    let checker = Checker::new();
    let capture = root().join("tests/captures/tw07-session.pcap");
    let lines = run(&["open", "--json", "-vv", capture.to_str().unwrap()], 0).0;
    for name in ["start", "session", "message", "datagram", "summary"] {
        let mut objects = binary::objects(&lines).into_iter();
        let line = objects.find(|object| object["event"] == *name).unwrap();
        let changed = |change: &dyn Fn(&mut Map<String, Value>)| {
            let mut line = line.clone();
            change(line.as_object_mut().unwrap());
            checker.is_valid(&line)
        };
        assert!(changed(&|_| ()), "{line}");
        assert!(
            !changed(&|line| drop(line.insert("later".to_owned(), json!(1)))),
            "{line}"
        );
        assert!(!changed(&|line| drop(line.remove("t"))), "{line}");
        assert!(
            !changed(&|line| drop(line.insert("v".to_owned(), json!(1)))),
            "{line}"
        );
        assert!(
            !changed(&|line| drop(line.insert("event".to_owned(), json!("later")))),
            "{line}"
        );
    }
    let notice: Value = serde_json::from_str(&line_of(EventKind::Notice(Notice::EarlyClose))).unwrap();
    assert!(checker.is_valid(&notice), "{notice}");
    for (key, value) in [
        ("kind", "later"),
        ("kind", "renumbered"),
        ("level", "later"),
        ("dir", "c2s"),
    ] {
        let mut notice = notice.clone();
        notice[key] = json!(value);
        assert!(!checker.is_valid(&notice), "{notice}");
    }
}
