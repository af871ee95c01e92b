//! Events of a control socket as rows.
//!
//! Law: changes of sessions, notices and gaps have the rows that the run prints. The objects of messages and datagrams
//! have no bytes from which these could be decoded again, so their rows have the columns of the run, and the fields as
//! JSON in place of the summary.

use std::time::Duration;

use serde_json::Value;
use teetap_inspect::{
    Decoder, Kind, Row, Style,
    fold::Moment,
    jsonl,
    reading::Transport,
    recording::Item,
    row::{self, CellKind, Draft, Start},
};
use teetap_proxy::session::{EventKind, SessionId, Time};
use teetap_wire::{Dir, Seq, Side, def::Registry};

use super::json::{list, text};

/// Returns the rows of an event, and their time. `object` is the parsed `line`.
pub(super) fn rows(line: &str, object: &Value) -> (Vec<Row>, Moment) {
    let at = Duration::try_from_secs_f64(object["t"].as_f64().unwrap_or_default()).unwrap_or_default();
    let at = Time(u64::try_from(at.as_micros()).unwrap_or(u64::MAX));
    let session = object["session"]
        .as_u64()
        .and_then(|session| u32::try_from(session).ok());
    let start = Start {
        at,
        session: session.map(SessionId),
    };
    let rows = restored(line).unwrap_or_else(|| vec![row(start, object)]);
    (rows, Moment { at, since: None })
}

/// Returns the rows of an event that its line describes completely; `None` for other lines.
fn restored(line: &str) -> Option<Vec<Row>> {
    match jsonl::Lines::new(line.as_bytes()).read() {
        Ok(Some(Item::Gap { lost, .. })) => Some(vec![row::gap(lost)]),
        Ok(Some(Item::Event(event))) if !matches!(event.what, EventKind::Datagram(_)) => {
            let decoded = Decoder::new(Registry::builtin()).decode(event);
            Some(row::rows(&decoded, Style::default()))
        }
        _ => None,
    }
}

fn row(start: Start, object: &Value) -> Row {
    let kind = text(object, "event");
    match kind.as_str() {
        "message" => message(start, object).row(Kind::Traffic),
        "datagram" => {
            let draft = direction(start, object).push(format_args!("datagram {}", object["ordinal"]));
            let draft = match object["size"].as_u64() {
                Some(size) => draft.push(format_args!(": {size} bytes")),
                None => draft,
            };
            notes(draft, object).row(Kind::Traffic)
        }
        "summary" => {
            let draft = start.draft().push(" the run has ended, exit code ");
            draft.push(&object["exit"]).row(Kind::Info)
        }
        _ => {
            let draft = start.draft().push(' ').wrapped();
            draft
                .push(format_args!("{kind} {}", text(object, "text")))
                .row(Kind::Info)
        }
    }
}

fn message(start: Start, object: &Value) -> Draft {
    let seq = |field: &str| {
        let seq = object[field].as_u64().and_then(|seq| u16::try_from(seq).ok());
        seq.map(Seq::new)
    };
    let transport = Transport {
        vital: object["vital"] == true,
        resend: object["resend"] == true,
        seq: seq("seq"),
        seq_out: seq("seq_out"),
        expected_seq: None,
    };
    let name = match &object["name"] {
        Value::String(name) => name.clone(),
        _ => format!("{}.{}", text(object, "layer"), object["id"]),
    };
    let size = object["size"]
        .as_u64()
        .and_then(|size| usize::try_from(size).ok());
    let mut draft = direction(start, object);
    draft = row::columns(draft, &transport, &name, size.unwrap_or_default());
    for action in list(object, "actions") {
        draft = draft.push(' ').push(text(action, "action"));
    }
    if let Value::Object(fields) = &object["fields"]
        && !fields.is_empty()
    {
        draft = draft.push(' ').push(&object["fields"]);
    }
    notes(draft, object)
}

/// Starts a row with time, session and direction.
fn direction(start: Start, object: &Value) -> Draft {
    let dir = if object["dir"] == "s2c" {
        Dir::S2c
    } else {
        Dir::C2s
    };
    let leg = match object["leg"].as_str() {
        Some("client") => Some(Side::Client),
        Some("server") => Some(Side::Server),
        _ => None,
    };
    start.draft().arrow(dir, leg).push(' ')
}

fn notes(draft: Draft, object: &Value) -> Draft {
    list(object, "notes").fold(draft, |draft, note| {
        draft.cell(CellKind::Notes, format_args!(" !{}", text(note, "code")))
    })
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
