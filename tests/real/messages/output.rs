//! The output of the program with `--json -vv --show-secrets`: its messages, grouped by datagram, and its notes.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use teetap_kit::real::{UNDECLARED, is_odd_as_known, text};
use teetap_wire::def::{Decoded, Registry};
use teetap_wire::{Dir, Proto};

use super::compare::Datagram;

/// Returns the datagrams of peers, with their messages.
pub(crate) fn datagrams(what: &str, objects: &[Value]) -> Result<Vec<Datagram>> {
    let mut all: Vec<Datagram> = Vec::new();
    for object in objects.iter().filter(|object| text(object, "origin") == "peer") {
        let bytes = text(object, "hex");
        let new = |seven, header| Datagram {
            seven,
            c2s: text(object, "dir") == "c2s",
            hex: bytes.to_owned(),
            at: format!("{what}, {}", text(object, "proto")),
            header,
            messages: Vec::new(),
        };
        let proto = text(object, "proto");
        match text(object, "event") {
            "datagram" => {
                let header = ["ack", "chunks", "flags"].map(|key| (key.to_owned(), object[key].clone()));
                all.push(new(
                    proto == "0.7",
                    Some(Value::Object(header.into_iter().collect())),
                ));
            }
            "message" if text(object, "layer") == "connless" => {
                all.push(new(bytes.starts_with("21"), None));
                all.last_mut()
                    .context("no datagram")?
                    .messages
                    .push(object.clone());
            }
            "message" => {
                let datagram = all.last_mut().context("a message before its datagram")?;
                datagram.messages.push(object.clone());
            }
            _ => {}
        }
    }
    ensure!(
        all.iter().all(|datagram| !datagram.hex.is_empty()),
        "a datagram without bytes"
    );
    Ok(all)
}

/// Checks that every message has a name, every byte is in a field or a note, every note has an explanation, and every
/// snapshot was followed and has the right sum.
pub(crate) fn check(objects: &[Value]) -> Result<()> {
    let mut wrong: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut tell =
        |what: String, object: &Value| wrong.entry(what).or_insert_with(|| (0, object.to_string())).0 += 1;
    // Described types of items by session. The objects are read backwards: later snapshots describe types that an
    // earlier one cannot name yet.
    let mut described: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for object in objects.iter().rev() {
        let label = format!(
            "{} {} {}",
            text(object, "proto"),
            text(object, "dir"),
            text(object, "name")
        );
        let notes = object.get("notes").and_then(Value::as_array);
        for note in notes.into_iter().flatten() {
            let code = text(note, "code");
            if !is_odd_as_known(&label, code) {
                tell(format!("{label}: {code}"), object);
            }
        }
        // A message with a single part is a snapshot by itself; snapshots on one leg are the server's proof of an
        // address.
        let is_whole = ["snap_single", "snap_empty"].contains(&text(object, "name"));
        if is_whole && object.get("leg").is_some_and(Value::is_null) && object.get("snap").is_none() {
            tell(format!("{label}: not followed"), object);
        }
        if let Some(snap) = object.get("snap") {
            let item = check_snapshot(snap, described.entry(session(object)).or_default());
            item.into_iter()
                .for_each(|what| tell(format!("{label}: {what}"), object));
        }
        if object.get("error").is_some_and(|error| !error.is_null()) {
            tell(format!("{label}: an error"), object);
        }
        if text(object, "event") != "message" {
            continue;
        }
        let is_unknown =
            notes.is_some_and(|notes| notes.iter().any(|note| text(note, "code") == "unknown-message"));
        if text(object, "name").is_empty() && !is_unknown {
            tell(format!("{label}: without a name"), object);
        }
        if !object.get("fields").is_some_and(Value::is_object) {
            tell(format!("{label}: without fields"), object);
        }
        if !is_covered(object)? {
            tell(format!("{label}: unexplained bytes"), object);
        }
    }
    let list: String = wrong
        .iter()
        .map(|(what, (count, example))| format!("\n{count} times {what}\n    {:.600}", example))
        .collect();
    ensure!(wrong.is_empty(), "odd without an explanation:{list}");
    Ok(())
}

fn session(object: &Value) -> u64 {
    object.get("session").and_then(Value::as_u64).unwrap_or_default()
}

/// Returns the errors of a snapshot. `described` lists the types that later snapshots of the session describe.
fn check_snapshot(snap: &Value, described: &mut BTreeSet<u64>) -> Vec<String> {
    let mut wrong = Vec::new();
    let fate = text(snap, "fate");
    if !["kept", "late", "again"].contains(&fate) || snap["crc_ok"] == false {
        wrong.push(format!("a snapshot that is {fate}"));
    }
    let items = snap["items"].as_array();
    let count = |of: &str| snap.pointer(&format!("/counts/{of}")).and_then(Value::as_u64);
    if items.map(|items| items.len() as u64) != count("items").zip(count("deleted")).map(|(a, b)| a + b) {
        wrong.push("a snapshot without its items".to_owned());
    }
    for item in items.into_iter().flatten() {
        let kind = item["type"].as_u64().unwrap_or_default();
        if kind == 0 {
            described.extend(item["id"].as_u64());
        }
    }
    for item in items.into_iter().flatten() {
        let kind = item["type"].as_u64().unwrap_or_default();
        if item["name"].is_null() && !described.contains(&kind) {
            wrong.push(format!("an item of the type {kind}, {UNDECLARED}"));
        }
        let notes = item["notes"].as_array();
        for note in notes.into_iter().flatten() {
            let (name, code) = (text(item, "name"), text(note, "code"));
            wrong.push(format!("{name}[{}]: {code}", note["at"]));
        }
    }
    wrong
}

/// Returns true if every byte of a message is in its id, in a field or in a note.
fn is_covered(message: &Value) -> Result<bool> {
    let proto = match text(message, "proto") {
        "0.6" => Proto::V6,
        "0.6.5" => Proto::V65,
        "ddnet" => Proto::Ddnet,
        "0.7" => Proto::V7,
        // Outside a connection the header has no fields of messages.
        _ => return Ok(true),
    };
    let dir = if text(message, "dir") == "c2s" {
        Dir::C2s
    } else {
        Dir::S2c
    };
    let (data, mut decoded) = (unhex(text(message, "hex"))?, Decoded::new());
    let def = if text(message, "layer") == "control" {
        decoded.control(Registry::builtin(), proto, dir, &data)
    } else {
        decoded.message(Registry::builtin(), proto, dir, &data)
    };
    let mut seen = vec![false; data.len()];
    let mut mark = |at: usize, len: usize| seen.iter_mut().skip(at).take(len).for_each(|seen| *seen = true);
    mark(0, decoded.body());
    decoded
        .records()
        .iter()
        .for_each(|record| mark(record.at as usize, record.len as usize));
    decoded.notes().iter().for_each(|note| mark(note.at, note.len));
    Ok(def.is_some() && seen.iter().all(|seen| *seen))
}

fn unhex(text: &str) -> Result<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?))
        .collect()
}
