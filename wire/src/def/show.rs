//! Formats a decoded message as the rows of a tree with byte ranges.
//!
//! Law: the rows contain no control sequence from a peer, and secrets are replaced with dots unless requested.

use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::model::{Def, Field, Set, Type};
use super::record::{Record, Records, Source, Value};
use super::secret::{HIDDEN, Secrets};
use crate::printable;

/// The number of bytes of raw data that are shown.
const MAX_RAW: usize = 32;

/// A row of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeRow<'d> {
    /// The depth, 0 for the fields of the message.
    pub depth: u8,
    /// The name of the field.
    pub name: &'d str,
    /// The index in the list; `None` if the value is not an element of a list.
    pub index: Option<u16>,
    /// The value; empty for groups.
    pub value: String,
    /// The offset of the value in bytes; in an object, in ints.
    pub at: usize,
    /// The length of the value in the same unit.
    pub len: usize,
}

impl<'d> Records<'d> {
    /// Returns the tree as rows. `source` is the input of the decoding.
    pub fn rows(
        self,
        def: &'d Def,
        source: Source<'d>,
        secrets: Secrets,
    ) -> impl Iterator<Item = TreeRow<'d>> + 'd {
        self.all().iter().filter_map(move |record| {
            Some(TreeRow {
                depth: record.depth,
                name: &def.field(record.field)?.name,
                index: record.index,
                value: self.value_text(def, record, source, secrets),
                at: record.at as usize,
                len: record.len as usize,
            })
        })
    }

    /// Formats one value: a number with its label, text in quotes, bytes in hex.
    #[must_use]
    pub fn value_text(self, def: &Def, record: &Record, source: Source<'_>, secrets: Secrets) -> String {
        let Some(field) = def.field(record.field) else {
            return String::new();
        };
        let secret = self
            .secret(def, record, source)
            .filter(|_| secrets == Secrets::Hide);
        let hidden = secret.map(|secret| secret.start - record.at as usize..secret.end - record.at as usize);
        match (record.value, hidden) {
            (Value::Group, _) => String::new(),
            (Value::List(count), _) => format!("[{count}]"),
            (Value::Int(value), None) => number(field, value),
            (Value::Text(_), Some(hidden)) if hidden.start > 0 => {
                let bytes = def.bytes(record, source);
                let part = |range| printable(bytes.get(range).unwrap_or_default());
                let (before, after) = (part(0..hidden.start), part(hidden.end..bytes.len()));
                format!("\"{} {HIDDEN}{after}\"", before.trim_end())
            }
            (_, Some(_)) => HIDDEN.to_owned(),
            (Value::Text(_), None) => format!("\"{}\"", printable(&def.bytes(record, source))),
            (Value::Bytes, None) => bytes_text(&field.ty, &def.bytes(record, source)),
        }
    }
}

/// Returns a number with its label.
pub(super) fn number(field: &Field, value: i64) -> String {
    match &field.ty {
        Type::Bool if (0..2).contains(&value) => if value == 0 { "no" } else { "yes" }.to_owned(),
        Type::Tune => hundredths(value),
        Type::Enum(set) => match set.label(value) {
            Some(label) => format!("{value} ({})", label.text()),
            None => value.to_string(),
        },
        Type::Flags(set) => flags(set, value),
        _ => value.to_string(),
    }
}

fn flags(set: &Set, value: i64) -> String {
    match flag_names(set, value) {
        Some(names) => format!("{value} ({names})"),
        None => value.to_string(),
    }
}

/// Returns the names of the bits that are set; `None` if none of them has a name.
pub(super) fn flag_names(set: &Set, value: i64) -> Option<String> {
    let set_bits = set
        .labels
        .iter()
        .filter(|label| value & label.value != 0)
        .map(|label| &*label.name);
    let names = set_bits.collect::<Vec<_>>().join("|");
    (!names.is_empty()).then_some(names)
}

fn hundredths(value: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let value = value.unsigned_abs();
    format!("{sign}{}.{:02}", value / 100, value % 100)
}

/// Returns raw bytes in the form of their type, else in hex, shortened if they are long.
pub(super) fn bytes_text(ty: &Type, bytes: &[u8]) -> String {
    match ty {
        Type::Raw(..) if bytes.len() > MAX_RAW => {
            let start = bytes.get(..MAX_RAW).unwrap_or_default();
            format!("{}... ({} bytes)", hex(start), bytes.len())
        }
        _ => bytes_whole(ty, bytes),
    }
}

/// Returns UUIDs with dashes, addresses as text, and other bytes in hex.
pub(super) fn bytes_whole(ty: &Type, bytes: &[u8]) -> String {
    match (ty, bytes) {
        (Type::Uuid, _) => {
            let text = hex(bytes);
            let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
            [part(0..8), part(8..12), part(12..16), part(16..20), part(20..32)].join("-")
        }
        (Type::Addr | Type::AddrLegacy, [ip @ .., high, low]) => {
            let port = u16::from_be_bytes([*high, *low]);
            match address(ip) {
                Some(IpAddr::V4(ip)) => format!("{ip}:{port}"),
                Some(IpAddr::V6(ip)) => format!("[{ip}]:{port}"),
                None => hex(bytes),
            }
        }
        _ => hex(bytes),
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(ip) = <[u8; 4]>::try_from(bytes) {
        return Some(Ipv4Addr::from(ip).into());
    }
    let ip = Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?);
    Some(ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            let _infallible = write!(text, "{byte:02x}");
            text
        })
}
