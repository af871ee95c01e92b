//! A message that the proxy holds, readable.

use teetap_proxy::session::Waiting;
use teetap_wire::def::{Decoded, Def, Registry, Secrets, Source};

use crate::gist;

/// A held message with its fields.
#[derive(Debug)]
pub struct HeldMessage {
    /// The message.
    pub waiting: Waiting,
    /// The definition; `None` if it is not known.
    pub def: Option<&'static Def>,
    /// The name.
    pub name: String,
    /// The message in one line.
    pub gist: String,
    fields: Decoded,
}

impl HeldMessage {
    /// Reads a held message.
    #[must_use]
    pub fn read(waiting: Waiting, registry: &'static Registry, secrets: Secrets) -> Self {
        let found = registry.known_message(waiting.proto, waiting.dir, &waiting.data);
        let mut fields = Decoded::new();
        let def = found.map(|found| {
            fields.read(found.def, &waiting.data, found.body);
            found.def
        });
        let source = Source::Bytes(&waiting.data);
        let gist = def.map_or_else(String::new, |def| {
            gist::line(fields.view(), def, source, secrets, None)
        });
        let name = def.map_or_else(|| "unknown".to_owned(), |def| def.name.to_string());
        Self {
            waiting,
            def,
            name,
            gist,
            fields,
        }
    }

    /// Returns the fields.
    #[must_use]
    pub const fn fields(&self) -> &Decoded {
        &self.fields
    }
}
