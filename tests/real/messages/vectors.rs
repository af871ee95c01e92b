//! The oracle reads the packets of `docs/vectors.json` as the file says.

use std::{fs, path::Path};

use anyhow::{Result, ensure};
use serde_json::Value;

use super::oracle::{Question, ask};

/// The names that the oracle has for control messages of other names here.
const NAMES: [(&str, &str); 3] = [
    ("ack_accept_connect", "accept"),
    ("keep_alive", "keepalive"),
    ("accept", "connect_accept"),
];

fn is_same(vector: &Value, answer: &Value) -> bool {
    let flags = ["control", "resend", "compression"];
    let flags: Vec<&str> = flags.into_iter().filter(|flag| vector[*flag] == true).collect();
    if answer["ack"] != vector["ack"]
        || answer["chunks"] != vector["num_chunks"]
        || answer["flags"] != Value::from(flags)
    {
        return false;
    }
    let messages = answer["messages"].as_array().map_or(&[][..], |messages| messages);
    if vector["control"] == true {
        let (name, expected) = (&messages[0]["name"], &vector["message"]["name"]);
        return name == expected
            || NAMES
                .iter()
                .any(|(theirs, ours)| name == theirs && expected == ours);
    }
    let chunks = vector["chunks"].as_array().map_or(&[][..], |chunks| chunks);
    chunks.len() == messages.len()
        && chunks.iter().zip(messages).all(|(chunk, message)| {
            let fields = chunk["fields"].as_object().into_iter().flatten();
            let mut fields = fields.filter_map(|(name, value)| Some((value, message["fields"].get(name)?)));
            [
                ("vital", "vital"),
                ("resend", "resend"),
                ("data", "hex"),
                ("name", "name"),
            ]
            .iter()
            .all(|(ours, theirs)| chunk[*ours] == message[*theirs])
                && (chunk["vital"] != true || chunk["seq"] == message["seq"])
                && fields.all(|(ours, theirs)| *ours == as_int(theirs))
        })
}

/// Returns the value; 0 or 1 for the oracle's booleans.
fn as_int(value: &Value) -> Value {
    match value {
        Value::Bool(is_set) => u8::from(*is_set).into(),
        other => other.clone(),
    }
}

#[test]
fn the_oracle_agrees_with_the_vectors() -> Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/vectors.json");
    let vectors: Value = serde_json::from_str(&fs::read_to_string(path)?)?;
    let packets = vectors["packets"].as_array().map_or(&[][..], |packets| packets);
    let questions = packets.iter().map(|packet| Question {
        seven: packet["variant"] == "0.7",
        c2s: packet["direction"] == "c2s",
        hex: packet["hex"].as_str().unwrap_or_default().to_owned(),
    });
    let answers = ask(questions.collect())?;
    for (packet, answer) in packets.iter().zip(&answers) {
        ensure!(is_same(packet, answer), "{packet}\n{answer}");
    }
    ensure!(packets.len() > 40, "{} packets", packets.len());
    Ok(())
}
