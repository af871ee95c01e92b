//! Explains messages by their definitions: in control packets, chunks, and outside a connection.

use teetap_wire::{
    Code, Control, Note, Proto, connless, counted,
    def::{Class, Decoded, Def, Id, Record, Secrecy, Source, Value},
    identify,
};

use crate::expect::missing;

use super::{
    Span,
    packet::{Payload, Walk},
    snap_data,
    tree::label,
    verdict::Doubt,
};

/// The container of a message, which decides how it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Container {
    /// A chunk.
    Chunk {
        /// True if it is vital.
        vital: bool,
    },
    /// A control packet.
    Control,
    /// A datagram outside a connection, parsed with the definitions of this variant.
    Connless(Proto),
}

impl Walk {
    /// Adds the rows of a control packet's payload.
    pub(super) fn control(&mut self, payload: &Payload<'_>) {
        let span = Span::new(payload.space, payload.base, payload.bytes.len());
        let group = self.tree.group(0, span, "control message", "empty");
        if payload.bytes.is_empty() {
            return;
        }
        let name = self.message(1, span, payload.bytes, Container::Control);
        self.tree
            .set_value(group, format!("{name}, {}", counted(payload.bytes.len(), "byte")));
        self.facts.push(format!("control message {name}"));
        self.control_doubts(payload.bytes);
    }

    /// Adds doubts about content that the definitions accept but peers of this variant never send.
    fn control_doubts(&mut self, payload: &[u8]) {
        let layout = self.proto.layout();
        let Some(control) = Control::parse(self.proto, payload) else {
            return;
        };
        if let Control::Connect { tken: true, .. } | Control::ConnectAccept { tken: true, .. } = control
            && !layout.tken
            && self.proto != Proto::V7
        {
            self.doubts.push(Doubt::new("TKEN after the id, a DDNet feature"));
        }
        if let Control::Connect { .. } = control {
            let (sent, have) = (layout.connect.len, payload.len());
            if sent != have && self.proto != Proto::V7 {
                let text = format!("a connect of {have} bytes; clients of this variant send {sent}");
                self.doubts.push(Doubt::new(text));
            }
        }
        if self.decoded.notes().contains(Code::SurplusBytes) {
            self.doubts.push(Doubt::new("bytes after the control message"));
        }
    }

    /// Adds the rows of the message `data` at `span`. Returns its name.
    pub(super) fn message(&mut self, depth: u8, span: Span, data: &[u8], of: Container) -> String {
        let first = self.tree.rows.len();
        let mut decoded = std::mem::take(&mut self.decoded);
        let def = match of {
            Container::Chunk { vital } => {
                let def = decoded.message(self.registry, self.proto, self.dir, data);
                if let Some(def) = def {
                    decoded.check_vital(def, vital);
                }
                def
            }
            Container::Control => decoded.control(self.registry, self.proto, self.dir, data),
            Container::Connless(proto) => decoded.connless(self.registry, proto, data),
        };
        let unknown = decoded.notes().contains(Code::UnknownMessage);
        let name = match def {
            Some(def) if !unknown => def.name.to_string(),
            _ => unnamed(data, of),
        };
        match def {
            Some(def) => {
                self.id(depth, span, data, def, &name, of);
                self.fields(depth, span, data, def, &decoded);
            }
            None if data.is_empty() => {
                self.tree.bytes(depth, span, "no message", "");
            }
            None => {
                self.tree.bytes(depth, span, "unknown message", &*name);
            }
        }
        for note in decoded.notes().iter() {
            let at = span.at + note.at;
            self.tree.attach(first, span.space, Note { at, ..note });
        }
        if decoded.notes().overflowed() {
            self.tree
                .group(depth, Span { len: 0, ..span }, "more notes", "than are kept");
        }
        self.decoded = decoded;
        name
    }

    fn id(&mut self, depth: u8, span: Span, data: &[u8], def: &Def, name: &str, of: Container) {
        let doc = def.doc.as_deref().and_then(|doc| doc.lines().next());
        let doc = doc.map_or(String::new(), |doc| format!(": {doc}"));
        let at = |at, len| Span::new(span.space, span.at + at, len);
        let value = format!("{} {name}{doc}", def.class.name());
        match of {
            Container::Control => {
                self.tree.bytes(depth, at(0, 1), "id", value);
            }
            Container::Connless(_) => {
                self.tree.bytes(depth, at(0, 4), "magic", "");
                self.tree.bytes(depth, at(4, 4), "tag", value);
            }
            Container::Chunk { .. } => {
                let extended = identify(data).is_some_and(|(id, _)| id.uuid.is_some());
                let body = self.body_len(data);
                let int = if extended { body.saturating_sub(16) } else { body };
                let system = def.class == Class::System;
                if extended {
                    self.tree.bytes(depth, at(0, int), "id", "0: a UUID follows");
                    self.id_bits(depth, at(0, int), system);
                    self.tree.bytes(depth, at(int, 16), "uuid", value);
                } else {
                    let number = match def.id {
                        Id::Number(number) => format!("{number} "),
                        _ => String::new(),
                    };
                    self.tree
                        .bytes(depth, at(0, int), "id", format!("{number}{value}"));
                    self.id_bits(depth, at(0, int), system);
                }
            }
        }
    }

    /// Returns the length of the id, including a UUID.
    fn body_len(&self, data: &[u8]) -> usize {
        identify(data).map_or(0, |(_, len)| len)
    }

    fn id_bits(&mut self, depth: u8, span: Span, system: bool) {
        // A longer id spans several bytes, which have no common bits.
        if span.len == 1 {
            let class = if system { "system" } else { "game" };
            self.tree.bits(depth + 1, span, 0xfe, "id, as an int", "");
            self.tree.bits(depth + 1, span, 0x01, "class", class);
        }
    }

    fn fields(&mut self, depth: u8, span: Span, data: &[u8], def: &Def, decoded: &Decoded) {
        let source = Source::Bytes(data);
        // The envelope of an unknown UUID contains the UUID as a field, which already has a row.
        let mut pos = match def.class {
            Class::Control => 1,
            Class::Connless => 8.min(data.len()),
            _ => self.body_len(data),
        };
        let at = |at, len| Span::new(span.space, span.at + at, len);
        let guarded = def.fields.iter().any(|field| field.secrecy != Secrecy::Open);
        for record in decoded.records() {
            let (start, len) = (record.at as usize, record.len as usize);
            let deep = depth.saturating_add(record.depth);
            let label = label(def, record);
            let secret = decoded.view().secret(def, record, source);
            if let Some(secret) = &secret {
                self.tree.hide(at(secret.start, secret.len()));
            }
            let value = self.value(def, record, source, decoded);
            if matches!(record.value, Value::Group | Value::List(_)) {
                self.tree.group(deep, at(start, len), label, value);
                continue;
            }
            if start + len <= pos && len > 0 {
                continue;
            }
            if start > pos {
                self.gap(depth, at(pos, start - pos), "not a field", guarded);
            }
            pos = pos.max(start + len);
            if snap_data::is_data(def, &label) {
                let bytes = data.get(start..start + len).unwrap_or_default();
                self.snapshot_data(deep, at(start, len), bytes, (def, decoded));
                continue;
            }
            self.tree.bytes(deep, at(start, len), label, value);
        }
        if pos < data.len() {
            let surplus = decoded.notes().contains(Code::SurplusBytes);
            let label = if surplus { "surplus" } else { "not read" };
            self.gap(depth, at(pos, data.len() - pos), label, guarded && !surplus);
        } else if decoded.notes().contains(Code::MissingField) {
            let name = missing(def, decoded.records());
            self.tree.bytes(depth, at(data.len(), 0), name, "missing");
        }
    }

    fn value(&self, def: &Def, record: &Record, source: Source<'_>, decoded: &Decoded) -> String {
        let bytes = def.bytes(record, source);
        if record.value == Value::Bytes && bytes.len() > 4 && bytes.iter().all(|byte| *byte == 0) {
            return format!("{} of zero", counted(bytes.len(), "byte"));
        }
        decoded.view().value_text(def, record, source, self.secrets)
    }

    fn gap(&mut self, depth: u8, span: Span, label: &str, secret: bool) {
        if secret {
            self.tree.hide(span);
        }
        self.tree
            .bytes(depth, span, label, counted(span.len, "byte").to_string());
    }
}

/// Returns the text shown in place of a name for an unknown message.
fn unnamed(data: &[u8], of: Container) -> String {
    match of {
        Container::Chunk { .. } => identify(data).map_or("no id".to_owned(), |(id, _)| id.to_string()),
        Container::Control => data
            .first()
            .map_or("no id".to_owned(), |id| format!("control.{id}")),
        Container::Connless(_) => connless::tag(data),
    }
}
