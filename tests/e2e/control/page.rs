//! The examples of the documentation.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::Demo;

/// Returns the text without its numbers.
fn masked(text: &str) -> String {
    let text = text.replace("ddnet", "0");
    let parts: Vec<&str> = text
        .split(|c: char| c.is_ascii_digit())
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    parts.join("0")
}

/// Fails unless two lines have the same fields, and the same values except for values that vary between runs.
fn compare(expected: &Value, found: &Value, at: &str) -> Result<()> {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            let names = |object: &serde_json::Map<String, Value>| object.keys().cloned().collect::<Vec<_>>();
            ensure!(names(expected) == names(found), "{at}: {expected:?}\n{found:?}");
            for (name, value) in expected {
                match name.as_str() {
                    "event" | "id" | "done" | "kind" | "cmd" | "from" | "level" => {
                        let is_message =
                            name == "id" && expected.get("event").is_some_and(|event| event == "message");
                        ensure!(
                            is_message || found[name] == *value,
                            "{at}: {name}: {value} {}",
                            found[name]
                        );
                    }
                    "why" | "text" | "name" | "rule" => {
                        let [expected, found] = [value, &found[name]].map(|text| masked(&text.to_string()));
                        ensure!(expected == found, "{at}: {name}:\n{expected}\n{found}");
                    }
                    _ => compare(value, &found[name], at)?,
                }
            }
            Ok(())
        }
        (Value::Array(expected), Value::Array(found)) => match (expected.first(), found.first()) {
            (Some(expected), Some(found)) => compare(expected, found, at),
            (None, _) => Ok(()),
            (Some(_), None) => bail!("{at}: an empty list"),
        },
        _ => Ok(()),
    }
}

#[test]
fn the_examples_of_the_page_are_right() -> Result<()> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/control.md");
    let text = fs::read_to_string(page)?;
    let mut demo = Demo::start(&[])?;
    let (_control, number) = demo.joined()?;
    let here = |line: &str| line.replace("\"session\":1", &format!("\"session\":{number}"));
    let mut commands = 0;
    for block in text.split("```control\n").skip(1) {
        let block = block.split("```").next().unwrap_or_default();
        let mut control = demo.connect()?;
        let start = control.line()?.context("closed")?;
        ensure!(start["event"] == "start" && start["v"] == 2, "{start}");
        for line in block.lines() {
            match line.split_at(2) {
                ("> ", line) => {
                    control.send(format!("{}\n", here(line)))?;
                    commands += 1;
                }
                ("< ", line) => {
                    let expected: Value = serde_json::from_str(&here(line))?;
                    let same = |found: &Value| {
                        let fields = ["event", "kind", "name"];
                        let of_session =
                            found["event"] == "answer" || found["session"] == expected["session"];
                        fields.iter().all(|field| found[field] == expected[field]) && of_session
                    };
                    let found = control.wait_for(line, same)?;
                    compare(&expected, &found, line)?;
                }
                _ => bail!("{line}"),
            }
        }
    }
    ensure!(commands > 15, "{commands} commands");
    demo.stop()?;
    Ok(())
}
