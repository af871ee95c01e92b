//! Messages read through the definitions, for whoever shows them.
//!
//! Law: every byte a peer sent is read off the data thread, by the watcher that shows it, and never fails: what cannot be
//! read is a note. Secrets are dots unless asked for.

use std::fmt;

use teetap_wire::{
    Code, Dir, Note, Proto,
    connless::Connless,
    def::{Decoded, Def, Record, Registry, Secrets, Source, Value},
};

/// Characters of a gist.
const GIST: usize = 160;
/// Characters of one value in it.
const VALUE: usize = 64;

/// Reads messages; a buffer to use again and again.
pub struct Decoder {
    registry: &'static Registry,
    secrets: Secrets,
    form: Form,
    decoded: Decoded,
}

/// What is made of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One line for people.
    Gist,
    /// A JSON object.
    Json,
}

/// What a message says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// Its name; `None` when its id, or UUID, is not known.
    pub name: Option<&'static str>,
    /// Its fields in the form that was asked for; empty when its id is not known.
    pub fields: String,
    /// What is odd about it. Ranges are of its data.
    pub notes: Vec<Note>,
}

impl Decoder {
    /// With these definitions.
    #[must_use]
    pub fn new(registry: &'static Registry, secrets: Secrets, form: Form) -> Self {
        Self {
            registry,
            secrets,
            form,
            decoded: Decoded::new(),
        }
    }

    /// The data of a chunk. `received`: notes about how a receiver takes it mean something.
    pub fn chunk(&mut self, proto: Proto, dir: Dir, vital: bool, data: &[u8]) -> Content {
        let def = self.decoded.message(self.registry, proto, dir, data);
        if let Some(def) = def {
            self.decoded.check_vital(def, vital);
        }
        self.content(def, data)
    }

    /// The clear payload of a control packet.
    pub fn control(&mut self, proto: Proto, dir: Dir, payload: &[u8]) -> Content {
        let def = self.decoded.control(self.registry, proto, dir, payload);
        self.content(def, payload)
    }

    /// A datagram outside a connection.
    pub fn connless(&mut self, datagram: &[u8]) -> Content {
        let Some(message) = Connless::parse(datagram) else {
            return Content::default();
        };
        let proto = match message {
            Connless::V7 { .. } => Proto::V7,
            Connless::Plain { .. } | Connless::Extended { .. } => Proto::Ddnet,
        };
        let data = message.data();
        let def = self.decoded.connless(self.registry, proto, data);
        self.content(def, data)
    }

    fn content(&self, def: Option<&'static Def>, data: &[u8]) -> Content {
        let source = Source::Bytes(data);
        let mut fields = String::new();
        if let Some(def) = def {
            match self.form {
                Form::Gist => self.gist(def, source, &mut fields),
                Form::Json => self.decoded.json(def, source, self.secrets, &mut fields),
            }
        }
        let notes: Vec<Note> = self.decoded.notes().iter().collect();
        // What has an unknown UUID is read as the envelope it is, which is not its name.
        let unknown = notes.iter().any(|note| note.code == Code::UnknownMessage);
        Content {
            name: def.filter(|_| !unknown).map(|def| &*def.name),
            fields,
            notes,
        }
    }

    /// `field=value` for what has a value of its own, as far as a line goes. Of a list the number of its elements.
    fn gist(&self, def: &Def, source: Source<'_>, out: &mut String) {
        let mut left = GIST;
        let mut skip_to = 0;
        for (number, record) in self.decoded.records().iter().enumerate() {
            if number < skip_to || record.value == Value::Group {
                continue;
            }
            if matches!(record.value, Value::List(_)) {
                skip_to = record.end as usize;
            }
            let Some(part) = self.part(def, record, source) else {
                continue;
            };
            let len = part.chars().count() + 1;
            if len > left {
                out.push_str(" …");
                return;
            }
            left -= len;
            if !out.is_empty() {
                out.push(' ');
            }
            out.push_str(&part);
        }
    }

    fn part(&self, def: &Def, record: &Record, source: Source<'_>) -> Option<String> {
        if record.value == Value::Bytes && def.bytes(record, source).iter().all(|byte| *byte == 0) {
            // Padding.
            return None;
        }
        let name = &def.field(record.field)?.name;
        let value = self.decoded.value_text(def, record, source, self.secrets);
        let mut part = format!("{name}=");
        if value.chars().count() <= VALUE {
            part.push_str(&value);
        } else {
            part.extend(value.chars().take(VALUE - 1));
            part.push('…');
        }
        Some(part)
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder")
            .field("secrets", &self.secrets)
            .field("form", &self.form)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "decoder_tests.rs"]
mod tests;
