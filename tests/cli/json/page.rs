//! docs/src/json.md against the schema: its tables equal the schema, and its examples are valid.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use serde_json::Value;
use teetap_capture::Item;
use teetap_inspect::jsonl;
use teetap_kit::binary;
use teetap_proxy::session::Notice;

use super::{Checker, root, schema_text, shown};

/// Fields that the page describes once for all lines.
const COMMON: [&str; 4] = ["v", "t", "event", "session"];

/// A part of the page below a heading.
struct Part {
    /// The name of the definition in the schema, if it has one.
    name: String,
    lines: Vec<String>,
}

impl Part {
    /// Returns the rows of the table with this head.
    fn table(&self, head: &str) -> Vec<&str> {
        let lines = self.lines.iter().map(String::as_str);
        let rows = lines.skip_while(|line| *line != head).skip(2);
        rows.take_while(|line| line.starts_with('|')).collect()
    }

    /// Returns the JSON lines shown in the part.
    fn examples(&self) -> Vec<&str> {
        let lines = self.lines.iter().map(String::as_str);
        let block = lines.skip_while(|line| *line != "```json").skip(1);
        block.take_while(|line| *line != "```").collect()
    }
}

fn parts() -> Vec<Part> {
    let page = fs::read_to_string(root().join("docs/src/json.md")).unwrap();
    let mut parts: Vec<Part> = Vec::new();
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix('#') {
            let name = heading.trim_start_matches('#').trim().replace(' ', "_");
            let lines = Vec::new();
            parts.push(Part { name, lines });
        } else if let Some(part) = parts.last_mut() {
            part.lines.push(line.to_owned());
        }
    }
    parts
}

/// Returns the name of the definition to which a value refers.
fn reference(value: &Value) -> Option<&str> {
    value["$ref"].as_str()?.strip_prefix("#/$defs/")
}

/// Returns the type of a value in the words of the page.
fn type_text(value: &Value, defs: &Value) -> String {
    if let Some(name) = reference(value) {
        return match name {
            "address" | "hex" => name.to_owned(),
            "per_dir" => "object: `c2s`, `s2c`".to_owned(),
            _ if defs[name]["enum"].is_array() => type_text(&defs[name], defs),
            _ => format!("[{}](#{})", name.replace('_', " "), name.replace('_', "-")),
        };
    }
    if let Some(either) = value["anyOf"].as_array() {
        assert_eq!(either[1]["type"], "null", "{value}");
        return format!("{} or null", type_text(&either[0], defs));
    }
    if let Some(names) = value["enum"].as_array() {
        let quoted: Vec<_> = names
            .iter()
            .filter_map(|name| Some(format!("`{}`", name.as_str()?)))
            .collect();
        let null = if names.contains(&Value::Null) {
            " or null"
        } else {
            ""
        };
        return format!("{}{null}", quoted.join(", "));
    }
    if let [first, second, _] = value["type"].as_array().map_or(&[][..], Vec::as_slice) {
        return format!(
            "{}, {} or null",
            first.as_str().unwrap(),
            second.as_str().unwrap()
        );
    }
    let (name, null) = match &value["type"] {
        Value::Array(types) => (types[0].as_str().unwrap(), " or null"),
        one => (one.as_str().unwrap(), ""),
    };
    let text = match (name, value["minimum"].as_u64(), value["maximum"].as_u64()) {
        ("array", ..) => {
            let items = type_text(&value["items"], defs);
            let items = items
                .replacen("string", "strings", 1)
                .replacen("integer", "integers", 1);
            format!("list of {items}")
        }
        (_, Some(least), Some(most)) => format!("{name} {least}–{most}"),
        (_, Some(least), None) => format!("{name} ≥ {least}"),
        _ => name.to_owned(),
    };
    text + null
}

/// Returns the meaning of a value: its own description, or the description of its type.
fn meaning<'s>(value: &'s Value, defs: &'s Value) -> &'s str {
    let of_type = reference(value).and_then(|name| defs[name]["description"].as_str());
    value["description"].as_str().or(of_type).unwrap()
}

#[test]
fn the_tables_of_fields_are_those_of_the_schema() {
    let schema = schema_text();
    let defs = &schema["$defs"];
    let mut missing: BTreeSet<_> = defs.as_object().unwrap().keys().map(String::as_str).collect();
    for part in &parts() {
        let def = &defs[&part.name];
        let Some(fields) = def["properties"].as_object() else {
            continue;
        };
        missing.remove(part.name.as_str());
        let required = def["required"].as_array().unwrap();
        // The common fields of lines are described once. Objects within lines may have fields of these names.
        let is_line = fields.contains_key("v") || fields.contains_key("session");
        let is_common =
            |name: &str, value: &Value| COMMON.contains(&name) && (is_line || value["type"].is_null());
        let fields = fields.iter().filter(|(name, value)| !is_common(name, value));
        let expected: BTreeSet<_> = fields
            .map(|(name, value)| {
                let is_required = required.contains(&Value::from(name.as_str()));
                let may = if is_required { "" } else { "May be missing. " };
                let (kind, meaning) = (type_text(value, defs), meaning(value, defs));
                format!("| `{name}` | {kind} | {may}{meaning} |")
            })
            .collect();
        let rows = part.table("| field | type | meaning |");
        let set: BTreeSet<_> = rows.iter().map(ToString::to_string).collect();
        assert_eq!((set.len(), &set), (rows.len(), &expected), "{}", part.name);
        let is_of_session = def["properties"].get("session").is_some();
        let first = part.lines.iter().find(|line| !line.is_empty()).unwrap();
        assert_eq!(first.ends_with(" Has `session`."), is_of_session, "{}", part.name);
    }
    // The remaining definitions are types of values, and the kinds of notices.
    missing.retain(|name| defs[name].get("required").is_some() && !name.starts_with("notice_"));
    assert_eq!(missing.into_iter().collect::<Vec<_>>(), ["per_dir"]);
}

#[test]
fn the_page_and_the_schema_have_every_kind_of_notice() {
    let schema = schema_text();
    let defs = &schema["$defs"];
    let (mut kinds, mut values) = (Vec::new(), BTreeMap::<_, Vec<_>>::new());
    for (kind, level, text) in Notice::KINDS {
        let def = &defs[format!("notice_{kind}")];
        assert_eq!(def["properties"]["kind"]["const"], *kind);
        let own = def["properties"].as_object().unwrap().iter();
        let own: Vec<_> = own.filter(|(name, _)| *name != "kind").collect();
        for (name, value) in &own {
            let row = (name.as_str(), type_text(value, defs), meaning(value, defs));
            values.entry(row).or_default().push(format!("`{kind}`"));
        }
        let names: Vec<_> = own.iter().map(|(name, _)| format!("`{name}`")).collect();
        kinds.push(format!("| `{kind}` | {level} | {} | {text} |", names.join(", ")));
    }
    let parts = parts();
    let part = parts.iter().find(|part| part.name == "notice").unwrap();
    assert_eq!(part.table("| kind | level | values | sentence |"), kinds);
    let values: Vec<_> = values
        .into_iter()
        .map(|((name, kind, meaning), kinds)| {
            format!("| `{name}` | {} | {kind} | {meaning} |", kinds.join(", "))
        })
        .collect();
    assert_eq!(part.table("| value | kinds | type | meaning |"), values);
    let known = schema["anyOf"].as_array().unwrap().iter();
    let known = known.filter(|def| reference(def).unwrap().starts_with("notice_"));
    // Plus the notice without a kind.
    assert_eq!(known.count(), Notice::KINDS.len() + 1);
}

#[test]
fn every_event_has_examples_that_are_of_the_schema() {
    let defs = &schema_text()["$defs"];
    let mut checker = Checker::new();
    for part in &parts() {
        let examples = part.examples();
        let event = &defs[&part.name]["properties"]["event"]["const"];
        assert_eq!(event.is_string(), !examples.is_empty(), "{}", part.name);
        for example in examples {
            let object = binary::objects(example).remove(0);
            assert_eq!(object["event"], *event, "{example}");
            checker.check(example);
            // teetap writes the example in the same form, including bytes and their meaning.
            if let Ok(Some(Item::Event(event))) = jsonl::Lines::new(example.as_bytes()).read() {
                let again = shown(event);
                assert_eq!(again.lines().next(), Some(example));
            } else {
                let is_read = ["session", "datagram", "notice", "answer"].contains(&part.name.as_str());
                assert!(!is_read, "{example}");
            }
        }
    }
    let shown = [
        "start", "session", "message", "datagram", "answer", "log", "gap", "summary",
    ];
    checker.saw(&shown);
}
