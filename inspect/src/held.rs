//! A decoded message that the proxy holds.

use teetap_proxy::session::HeldMessage;
use teetap_wire::def::{Decoded, Def, Registry, Secrets, Source};

use crate::gist;

/// A held message with its fields.
#[derive(Debug)]
pub struct DecodedHeld {
    /// The held message.
    pub message: HeldMessage,
    /// The definition; `None` if unknown.
    pub def: Option<&'static Def>,
    /// The name; `unknown` without a definition.
    pub name: String,
    /// The one-line summary; empty without a definition.
    pub gist: String,
    fields: Decoded,
}

impl DecodedHeld {
    /// Decodes a held message.
    #[must_use]
    pub fn read(message: HeldMessage, registry: &'static Registry, secrets: Secrets) -> Self {
        let found = registry.known_message(message.proto, message.dir, &message.data);
        let mut fields = Decoded::new();
        let def = found.map(|found| {
            fields.read(found.def, &message.data, found.body);
            found.def
        });
        let source = Source::Bytes(&message.data);
        let gist = def.map_or_else(String::new, |def| {
            gist::line(fields.view(), def, source, secrets, None)
        });
        let name = def.map_or_else(|| "unknown".to_owned(), |def| def.name.to_string());
        Self {
            message,
            def,
            name,
            gist,
            fields,
        }
    }

    /// Returns the decoded fields.
    #[must_use]
    pub const fn fields(&self) -> &Decoded {
        &self.fields
    }
}
