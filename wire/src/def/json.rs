//! Formats a decoded message as a JSON object.
//!
//! Law: numbers are JSON numbers, including enums and flags; a tuning parameter is the number on the wire. Text is
//! UTF-8 with U+FFFD in place of invalid bytes, and raw bytes are hex. Control characters, and characters that change
//! the text direction, are escaped. A secret is a string of dots.

use std::fmt::Write as _;

use super::model::{Def, Field, Type};
use super::record::{Record, Records, Source, Value};
use super::secret::{HIDDEN, Secrets};
use super::show::bytes_whole;

impl Records<'_> {
    /// Appends the fields as a JSON object. Missing fields are omitted.
    pub fn json(self, def: &Def, source: Source<'_>, secrets: Secrets, out: &mut String) {
        self.members(def, None, source, secrets, out);
    }

    /// Returns the scales of the scaled fields as a JSON object, such as `{"vel_x":256}`: a field's number divided by
    /// its scale is its value. The name of a part follows the name of its group and a dot. `None` if no field is
    /// scaled.
    #[must_use]
    pub fn scales_json(self, def: &Def) -> Option<String> {
        let mut scales: Vec<(String, u32)> = Vec::new();
        for record in self.all() {
            let Some(field) = def.field(record.field) else {
                continue;
            };
            if let (Some(scale), Value::Int(_)) = (field.scale(), record.value) {
                let name = full_name(def, field);
                if scales.iter().all(|(known, _)| *known != name) {
                    scales.push((name, scale));
                }
            }
        }
        let scales: Vec<String> = scales
            .iter()
            .map(|(name, scale)| format!("\"{name}\":{scale}"))
            .collect();
        (!scales.is_empty()).then(|| format!("{{{}}}", scales.join(",")))
    }

    fn members(
        self,
        def: &Def,
        parent: Option<&Record>,
        source: Source<'_>,
        secrets: Secrets,
        out: &mut String,
    ) {
        out.push('{');
        for (at, record) in self.parts(parent).enumerate() {
            let Some(field) = def.field(record.field) else {
                continue;
            };
            if at > 0 {
                out.push(',');
            }
            string(&field.name, out);
            out.push(':');
            self.value(def, record, source, secrets, out);
        }
        out.push('}');
    }

    fn value(self, def: &Def, record: &Record, source: Source<'_>, secrets: Secrets, out: &mut String) {
        let Some(field) = def.field(record.field) else {
            return;
        };
        let secret = self
            .secret(def, record, source)
            .filter(|_| secrets == Secrets::Hide);
        let hidden = secret.map(|secret| secret.start - record.at as usize..secret.end - record.at as usize);
        match (record.value, hidden) {
            (Value::Text(_), Some(hidden)) if hidden.start > 0 => {
                let bytes = def.bytes(record, source);
                let part = |range| String::from_utf8_lossy(bytes.get(range).unwrap_or_default());
                let (before, after) = (part(0..hidden.start), part(hidden.end..bytes.len()));
                string(&format!("{} {HIDDEN}{after}", before.trim_end()), out);
            }
            (_, Some(_)) => string(HIDDEN, out),
            (Value::Group, None) => self.members(def, Some(record), source, secrets, out),
            (Value::List(_), None) => {
                out.push('[');
                for (at, element) in self.parts(Some(record)).enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    self.value(def, element, source, secrets, out);
                }
                out.push(']');
            }
            (Value::Int(value @ (0 | 1)), None) if field.ty == Type::Bool => {
                out.push_str(if value == 1 { "true" } else { "false" });
            }
            (Value::Int(value), None) => {
                let _infallible = write!(out, "{value}");
            }
            (Value::Text(_), None) => string(&String::from_utf8_lossy(&def.bytes(record, source)), out),
            (Value::Bytes, None) => string(&bytes_whole(&field.ty, &def.bytes(record, source)), out),
        }
    }
}

/// Returns the name of a field, preceded by the names of the groups that contain it.
fn full_name(def: &Def, field: &Field) -> String {
    let mut name = field.name.to_string();
    let mut parent = field.place.parent;
    while let Some(group) = parent.and_then(|at| def.field(at)) {
        name = format!("{}.{name}", group.name);
        parent = group.place.parent;
    }
    name
}

/// Appends text in quotes.
fn string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control()
                || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{feff}') =>
            {
                let _infallible = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
