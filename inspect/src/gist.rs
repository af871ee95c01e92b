//! What a message says, in one line.
//!
//! The template of its definition says how; without one, or where the message is too short for it, it is its fields.
//!
//! Law: a line is not longer than a line, however much a peer sends.

use teetap_rules::context::Players;
use teetap_wire::def::{Def, Look, Record, Records, Secrets, Source, Value};

/// Characters of a gist.
pub(crate) const GIST: usize = 160;
/// Characters of one value in it.
const VALUE: usize = 64;

/// What a message says; `players` are those of its session.
pub(crate) fn line(
    records: Records<'_>,
    def: &Def,
    source: Source<'_>,
    secrets: Secrets,
    players: Option<&Players>,
) -> String {
    let look = Look {
        secrets,
        line: GIST,
        value: VALUE,
    };
    records
        .gist(def, source, look, &|id| players?.name(id))
        .unwrap_or_else(|| fields(records, def, source, secrets))
}

/// `field=value` for what has a value of its own, as far as a line goes. Of a list the number of its elements.
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
        // Padding.
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
