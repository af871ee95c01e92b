//! A message kept for the comparison.
//!
//! Law: an entry excludes values that differ between any two runs: ticks, times and tokens. Values are compared as
//! received, even if they are hidden in the output.

use std::hash::{Hash, Hasher};

use teetap_proxy::session::Time;
use teetap_wire::{
    def::{Def, Records, Secrets, Source, Type, Value},
    identify,
};

use super::{ignore::Ignore, lineage::Lineage};
use crate::{Layer, Message, Reading, row::hex};

/// Path of the bytes after the last known field.
const REST: &str = "(more)";

/// Maximum number of bytes shown for a field without a type.
const SHOWN: usize = 32;

/// A message.
#[derive(Clone, Debug)]
pub(super) struct ComparedMessage {
    /// Time since the first datagram of the session.
    pub(super) at: Time,
    /// Number of the datagram in the recording.
    pub(super) frame: Option<u64>,
    pub(super) layer: Layer,
    pub(super) name: Box<str>,
    pub(super) vital: bool,
    pub(super) fields: Box<[Field]>,
    /// The origin of the message; empty unless a leg is compared.
    pub(super) lineage: Lineage,
}

/// A field with its value.
#[derive(Clone, Debug)]
pub(super) struct Field {
    /// Names from the outermost group on, with the indices in lists: `clients[2].name`.
    pub(super) path: Box<str>,
    /// The value on the wire.
    pub(super) exact: Exact,
    /// The value as shown.
    pub(super) text: Box<str>,
}

/// A value on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Exact {
    Int(i64),
    Bytes(Box<[u8]>),
    Count(u32),
}

impl PartialEq for Field {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.exact == other.exact
    }
}

impl Eq for Field {}

impl Hash for Field {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.path.hash(state);
        self.exact.hash(state);
    }
}

impl ComparedMessage {
    /// Returns the memory held by the entry, in bytes.
    pub(super) fn held(&self) -> usize {
        let fields = self.fields.iter().map(|field| {
            let exact = match &field.exact {
                Exact::Bytes(bytes) => bytes.len(),
                Exact::Int(_) | Exact::Count(_) => 0,
            };
            size_of::<Field>() + field.path.len() + field.text.len() + exact
        });
        size_of::<Self>() + self.name.len() + fields.sum::<usize>()
    }
}

/// Returns the fields of a message to be compared.
pub(super) fn fields(
    reading: &Reading,
    message: &Message,
    ignore: &Ignore,
    secrets: Secrets,
) -> Box<[Field]> {
    let data = reading.data(message);
    let body = match message.layer {
        Layer::Control => 1.min(data.len()),
        Layer::Connless => 8.min(data.len()),
        Layer::System | Layer::Game => identify(data).map_or(0, |(_, len)| len),
        Layer::Unreadable => 0,
    };
    let name = reading.label(message);
    let records = reading.records(message);
    let mut fields = match message.def {
        Some(def) => decoded(def, records, Source::Bytes(data), secrets),
        None => Vec::new(),
    };
    let ends = records
        .all()
        .iter()
        .map(|record| record.at as usize + record.len as usize);
    let known = ends.max().unwrap_or(body).max(body);
    if let Some(rest) = data.get(known..).filter(|rest| !rest.is_empty()) {
        fields.push(Field {
            path: REST.into(),
            exact: Exact::Bytes(rest.into()),
            text: shortened(rest).into(),
        });
    }
    fields.retain(|field| !ignore.field(&name, &field.path));
    fields.into()
}

/// Returns the decoded fields, without fields that differ between any two runs.
fn decoded(def: &Def, records: Records<'_>, source: Source<'_>, secrets: Secrets) -> Vec<Field> {
    let mut all = values(def, records, source, secrets);
    all.retain(|(_, is_transient)| !is_transient);
    all.into_iter().map(|(field, _)| field).collect()
}

/// Returns all fields of an object.
pub(super) fn object(def: &Def, records: Records<'_>, ints: &[i32], secrets: Secrets) -> Vec<Field> {
    let all = values(def, records, Source::Ints(ints), secrets);
    all.into_iter().map(|(field, _)| field).collect()
}

/// Returns all fields with their values. True marks a field that differs between any two runs.
fn values(def: &Def, records: Records<'_>, source: Source<'_>, secrets: Secrets) -> Vec<(Field, bool)> {
    let mut found = Vec::new();
    // The names of the groups and lists around the next record.
    let mut around: Vec<String> = Vec::new();
    for record in records.all() {
        let Some(field) = def.field(record.field) else {
            continue;
        };
        around.truncate(usize::from(record.depth));
        let own = match (record.index, around.last()) {
            // An element has no name of its own; it is named after its list.
            (Some(index), Some(list)) => format!("{list}[{index}]"),
            (_, Some(group)) => format!("{group}.{}", field.name),
            (_, None) => field.name.to_string(),
        };
        let exact = match record.value {
            Value::Int(int) => Some(Exact::Int(int)),
            Value::Text(_) | Value::Bytes => Some(Exact::Bytes(def.bytes(record, source).into())),
            Value::List(count) => Some(Exact::Count(count)),
            Value::Group => None,
        };
        if let Some(exact) = exact {
            let is_transient = field.ty == Type::Tick || field.transient;
            let field = Field {
                path: own.as_str().into(),
                exact,
                text: records.value_text(def, record, source, secrets).into(),
            };
            found.push((field, is_transient));
        }
        around.push(own);
    }
    found
}

/// Formats bytes in hex, shortened if there are more than [`SHOWN`].
fn shortened(bytes: &[u8]) -> String {
    match bytes.get(..SHOWN) {
        Some(start) if bytes.len() > SHOWN => format!("{}... ({} bytes)", hex(start), bytes.len()),
        _ => hex(bytes),
    }
}
