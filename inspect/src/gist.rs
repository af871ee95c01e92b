//! Formats a message as one line.
//!
//! The line is the template in the message's definition, filled in. If there is no template, or if the message lacks
//! fields that the template needs, the line lists the fields.
//!
//! Law: the length of the line is limited, regardless of the size of the message.

use teetap_rules::context::Players;
use teetap_wire::def::{Def, GistStyle, Record, Records, Secrets, Source, Value};

/// Maximum length of a line, in characters.
pub(crate) const GIST: usize = 160;
/// Maximum length of a value in it, in characters.
const VALUE: usize = 64;

/// Returns the line for a message. `players` are the players of its session.
pub(crate) fn line(
    records: Records<'_>,
    def: &Def,
    source: Source<'_>,
    secrets: Secrets,
    players: Option<&Players>,
) -> String {
    let look = GistStyle {
        secrets,
        line: GIST,
        value: VALUE,
    };
    records
        .gist(def, source, look, &|id| players?.name(id))
        .unwrap_or_else(|| fields(records, def, source, secrets))
}

/// Returns `field=value` for each field with a value, limited to the length of a line. A list is shown as its length.
fn fields(records: Records<'_>, def: &Def, source: Source<'_>, secrets: Secrets) -> String {
    let mut out = String::new();
    let mut left = GIST;
    let mut skip_to = 0;
    for (number, record) in records.all().iter().enumerate() {
        if number < skip_to || record.value == Value::Group {
            continue;
        }
        if matches!(record.value, Value::List(_)) {
            skip_to = record.end as usize;
        }
        let Some(part) = part(records, def, record, source, secrets) else {
            continue;
        };
        let len = part.chars().count() + 1;
        if len > left {
            out.push_str(" …");
            break;
        }
        left -= len;
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&part);
    }
    out
}

fn part(
    records: Records<'_>,
    def: &Def,
    record: &Record,
    source: Source<'_>,
    secrets: Secrets,
) -> Option<String> {
    if record.value == Value::Bytes && def.bytes(record, source).iter().all(|byte| *byte == 0) {
        // Bytes that are all zero are padding.
        return None;
    }
    let name = &def.field(record.field)?.name;
    let value = records.value_text(def, record, source, secrets);
    let mut part = format!("{name}=");
    if value.chars().count() <= VALUE {
        part.push_str(&value);
    } else {
        part.extend(value.chars().take(VALUE - 1));
        part.push('…');
    }
    Some(part)
}
