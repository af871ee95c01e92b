//! A completed snapshot as JSON or as lines of changed items.
//!
//! Law: off the data thread, and only for snapshots that are shown; items are decoded here, on demand.

use std::fmt::Write as _;

use teetap_wire::{
    def::{Decoded, Def, Record, Secrets, Source, Value},
    snap::{Change, Completed, Fate, Item},
};

/// Most items listed with one snapshot: as many as one can have, and as many deleted ones.
const ITEMS: usize = 2048;

/// Returns the `snap` object of the JSON output.
pub(crate) fn json(completed: &Completed<'_>, items: bool, secrets: Secrets) -> String {
    let mut out = String::new();
    let Completed {
        tick, parts, counts, ..
    } = completed;
    let _never_fails = write!(out, "{{\"tick\":{tick},\"base\":");
    match completed.base {
        Some(base) => push(&mut out, base),
        None => out.push_str("null"),
    }
    out.push_str(",\"crc_ok\":");
    match completed.crc_ok() {
        Some(ok) => push(&mut out, ok),
        None => out.push_str("null"),
    }
    let fate = match completed.fate {
        Fate::Kept => "kept",
        Fate::Late => "late",
        Fate::Again => "again",
        Fate::NoBase => "no base",
        Fate::Broken => "broken",
        Fate::BadCrc => "bad crc",
    };
    let _never_fails = write!(
        out,
        ",\"parts\":{parts},\"fate\":\"{fate}\",\"counts\":{{\"items\":{},\"new\":{},\"changed\":{},\"deleted\":{}}}",
        counts.items, counts.new, counts.changed, counts.deleted
    );
    if items {
        let mut buffer = Decoded::new();
        out.push_str(",\"items\":[");
        for (number, item) in completed.items().take(ITEMS).enumerate() {
            if number > 0 {
                out.push(',');
            }
            item_json(&item, secrets, &mut buffer, &mut out);
        }
        out.push(']');
    }
    out.push('}');
    out
}

fn item_json(item: &Item<'_>, secrets: Secrets, buffer: &mut Decoded, out: &mut String) {
    let change = match item.change {
        Change::Same => "same",
        Change::New => "new",
        Change::Changed(_) => "changed",
        Change::Deleted => "deleted",
    };
    let _never_fails = write!(
        out,
        "{{\"type\":{},\"id\":{},\"name\":",
        item.key.kind, item.key.id
    );
    match item.name() {
        // Names of definitions need no escapes.
        Some(name) => drop(write!(out, "\"{name}\"")),
        None => out.push_str("null"),
    }
    let _never_fails = write!(out, ",\"change\":\"{change}\"");
    match item.read(buffer) {
        Some(def) => {
            out.push_str(",\"fields\":");
            buffer.view().json(def, Source::Ints(item.ints), secrets, out);
            notes_json(buffer, out);
        }
        None => push_ints(out, "ints", item.ints),
    }
    if let Change::Changed(before) = item.change {
        match item.read_before(buffer) {
            Some(def) => {
                out.push_str(",\"before\":");
                buffer.view().json(def, Source::Ints(before), secrets, out);
            }
            None => push_ints(out, "ints_before", before),
        }
    }
    out.push('}');
}

/// Appends the notes about the values of an item; their ranges count its ints.
fn notes_json(buffer: &Decoded, out: &mut String) {
    for (number, note) in buffer.notes().iter().enumerate() {
        let (code, text) = (note.code.name(), note.code.text());
        let severity = note.code.severity().name();
        let lead = if number > 0 { "," } else { ",\"notes\":[" };
        // Words of the table of codes need no escapes.
        let _never_fails = write!(
            out,
            "{lead}{{\"code\":\"{code}\",\"severity\":\"{severity}\",\"at\":{},\"len\":{},\"text\":\"{text}\"}}",
            note.at, note.len
        );
    }
    if buffer.notes().iter().next().is_some() {
        out.push(']');
    }
}

/// Returns a line for each new, changed or deleted item.
pub(crate) fn lines(completed: &Completed<'_>, secrets: Secrets) -> Vec<String> {
    let mut buffer = Decoded::new();
    let changed = completed.items().filter(|item| item.change != Change::Same);
    changed
        .take(ITEMS)
        .map(|item| line(&item, secrets, &mut buffer))
        .collect()
}

fn line(item: &Item<'_>, secrets: Secrets, buffer: &mut Decoded) -> String {
    let (sign, before) = match item.change {
        Change::Deleted => ('-', None),
        Change::Changed(before) => ('~', Some(before)),
        Change::New | Change::Same => ('+', None),
    };
    let id = item.key.id;
    let mut out = match item.name() {
        Some(name) => format!("{sign} {name}[{id}]"),
        None => format!("{sign} type {}[{id}]", item.key.kind),
    };
    if item.change == Change::Deleted {
        return out;
    }
    let Some(def) = item.read(buffer) else {
        for (at, int) in item.ints.iter().enumerate() {
            match before.and_then(|before| before.get(at)) {
                Some(old) if old == int => {}
                Some(old) => drop(write!(out, " {at}:{old}→{int}")),
                None => drop(write!(out, " {int}")),
            }
        }
        return out;
    };
    let source = Source::Ints(item.ints);
    let notes: String = buffer
        .notes()
        .iter()
        .map(|note| format!(" !{}", note.code.name()))
        .collect();
    let value =
        |decoded: &Decoded, record: &Record, source| decoded.view().value_text(def, record, source, secrets);
    let Some(before) = before else {
        for record in leaves(buffer) {
            push_field(&mut out, def, record, &value(buffer, record, source));
        }
        out.push_str(&notes);
        return out;
    };
    let new = leaves(buffer).filter(|record| item.before(record).is_some());
    let changed: Vec<(Record, String)> = new
        .map(|record| (*record, value(buffer, record, source)))
        .collect();
    buffer.object(def, before);
    let old = Source::Ints(before);
    for (record, now) in &changed {
        let was = leaves(buffer).find(|old| old.field == record.field && old.at == record.at);
        let was = was.map_or(String::new(), |record| value(buffer, record, old));
        push_field(&mut out, def, record, &format!("{was}→{now}"));
    }
    out.push_str(&notes);
    out
}

/// Returns the records with a value of their own.
fn leaves(decoded: &Decoded) -> impl Iterator<Item = &Record> {
    let records = decoded.records().iter();
    records.filter(|record| !matches!(record.value, Value::Group | Value::List(_)))
}

fn push_field(out: &mut String, def: &Def, record: &Record, value: &str) {
    if let Some(field) = def.field(record.field) {
        let _never_fails = write!(out, " {}={value}", field.name);
    }
}

fn push_ints(out: &mut String, name: &str, ints: &[i32]) {
    let _never_fails = write!(out, ",\"{name}\":[");
    for (number, int) in ints.iter().enumerate() {
        let comma = if number > 0 { "," } else { "" };
        let _never_fails = write!(out, "{comma}{int}");
    }
    out.push(']');
}

fn push(out: &mut String, value: impl std::fmt::Display) {
    let _never_fails = write!(out, "{value}");
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
