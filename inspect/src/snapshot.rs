//! Formats a completed snapshot as JSON or as lines of changed items.
//!
//! Law: this code runs outside the data thread, and only for shown snapshots. Items are decoded here, on demand.

use std::{borrow::Cow, fmt::Write as _};

use teetap_wire::{
    Code, Proto,
    def::{Decoded, Def, Record, Registry, Secrets, Source, Value},
    snap::{Change, Completed, Fate, Item},
};

use crate::style::Style;

/// Maximum number of items listed for a snapshot: twice the maximum number of items in a snapshot, to include deleted
/// items.
const ITEMS: usize = 2048;

/// The items of one type in the delta of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemBytes {
    /// The name of the type, or its number as text.
    pub name: Cow<'static, str>,
    /// Number of new, changed and deleted items.
    pub items: u32,
    /// Their bytes in the delta, before compression.
    pub bytes: u32,
}

/// Measures the items in the delta of a snapshot by type.
pub(crate) fn measure(
    completed: &Completed<'_>,
    registry: &'static Registry,
    proto: Proto,
) -> Box<[ItemBytes]> {
    let mut types: Vec<(u16, ItemBytes)> = Vec::new();
    for item in completed.items().filter(|item| item.change != Change::Same) {
        let kind = item.key.kind;
        if types.last().is_none_or(|(last, _)| *last != kind) {
            let def = completed.snapshot().def(registry, proto, kind);
            let def = def.or_else(|| completed.before().def(registry, proto, kind));
            let name = def.map_or_else(|| format!("type {kind}").into(), |def| Cow::Borrowed(&*def.name));
            types.push((
                kind,
                ItemBytes {
                    name,
                    items: 0,
                    bytes: 0,
                },
            ));
        }
        if let Some((_, sum)) = types.last_mut() {
            sum.items += 1;
            sum.bytes += size(&item);
        }
    }
    types.into_iter().map(|(_, sum)| sum).collect()
}

/// Returns the bytes of an item in a delta, before compression.
fn size(item: &Item<'_>) -> u32 {
    let key = || len(item.key.kind.into()) + len(item.key.id.into());
    let has_size = item
        .def
        .and_then(|def| def.size)
        .is_none_or(|size| size.agreed.is_none());
    let count = if has_size {
        len(i32::try_from(item.ints.len()).unwrap_or(0))
    } else {
        0
    };
    match item.change {
        Change::Same => 0,
        Change::Deleted => len(item.key.to_int()),
        Change::New => key() + count + item.ints.iter().map(|int| len(*int)).sum::<u32>(),
        Change::Changed(before) => {
            let both = before.iter().zip(item.ints);
            key() + count + both.map(|(old, new)| len(new.wrapping_sub(*old))).sum::<u32>()
        }
    }
}

/// Returns the bytes of a packed int: six bits in the first byte, seven in each further byte.
fn len(int: i32) -> u32 {
    let value = if int < 0 { !int } else { int };
    let bits = 32 - value.leading_zeros();
    1 + bits.saturating_sub(6).div_ceil(7)
}

/// Returns the `snap` object of the JSON output. `error_as_sent` is the error of the snapshot that only its receiver
/// gets.
pub(crate) fn json(
    (completed, error_as_sent): (&Completed<'_>, Option<Code>),
    Style { items, secrets, .. }: Style,
) -> String {
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
    if let Some(code) = error_as_sent {
        let _never_fails = write!(out, ",\"error_sent\":\"{}\"", code.name());
    }
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
        // The names of definitions need no escapes.
        Some(name) => drop(write!(out, "\"{name}\"")),
        None => out.push_str("null"),
    }
    let _never_fails = write!(out, ",\"change\":\"{change}\"");
    match item.read(buffer) {
        Some(def) => {
            out.push_str(",\"fields\":");
            buffer.view().json(def, Source::Ints(item.ints), secrets, out);
            if let Some(scales) = buffer.view().scales_json(def) {
                let _never_fails = write!(out, ",\"scale\":{scales}");
            }
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

/// Appends the notes on the values of an item. Their ranges count ints of the item.
fn notes_json(buffer: &Decoded, out: &mut String) {
    for (number, note) in buffer.notes().iter().enumerate() {
        let (code, text) = (note.code.name(), note.code.text());
        let severity = note.code.severity().name();
        let lead = if number > 0 { "," } else { ",\"notes\":[" };
        // The texts in the table of codes need no escapes.
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
    let ItemRow { sign, name, values } = item_row(item, secrets, buffer);
    format!("{sign} {name}{values}")
}

/// An item of a snapshot as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemRow {
    /// The change relative to the base: `+` new, `~` changed, `-` deleted, a space if unchanged.
    pub sign: char,
    /// The type and the id, such as `pickup[2]`.
    pub name: String,
    /// The values, each preceded by a space. For a changed item, the old and new values that differ.
    pub values: String,
}

/// Returns `count` items of a snapshot as text, starting with index `from`. Deleted items are included.
#[must_use]
pub fn item_rows(completed: &Completed<'_>, from: usize, count: usize, secrets: Secrets) -> Vec<ItemRow> {
    let mut buffer = Decoded::new();
    let items = completed.items().skip(from).take(count);
    items.map(|item| item_row(&item, secrets, &mut buffer)).collect()
}

fn item_row(item: &Item<'_>, secrets: Secrets, buffer: &mut Decoded) -> ItemRow {
    let (sign, before) = match item.change {
        Change::Deleted => ('-', None),
        Change::Changed(before) => ('~', Some(before)),
        Change::New => ('+', None),
        Change::Same => (' ', None),
    };
    let id = item.key.id;
    let name = match item.name() {
        Some(name) => format!("{name}[{id}]"),
        None => format!("type {}[{id}]", item.key.kind),
    };
    let values = match item.change {
        Change::Deleted => String::new(),
        _ => values(item, before, secrets, buffer),
    };
    ItemRow { sign, name, values }
}

fn values(item: &Item<'_>, before: Option<&[i32]>, secrets: Secrets, buffer: &mut Decoded) -> String {
    let mut out = String::new();
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

/// Returns the records that have a value of their own.
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
