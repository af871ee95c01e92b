//! Messages, encoded and decoded by the built-in definitions, and sent as the games send them.

use std::borrow::Cow;

use teetap_wire::def::{Class, Datum, Decoded, Def, EncodeError, Registry, Source, Vitality};
use teetap_wire::{Dir, Proto};

/// Messages that the games send without a flush: they are held until the next flush or until a timer expires. All
/// others are sent at once.
const LAZY: [&str; 11] = [
    "capabilities",
    "cl_say",
    "client_version",
    "input_timing",
    "sv_chat",
    "sv_client_drop",
    "sv_client_info",
    "sv_game_info",
    "sv_motd",
    "sv_tune_params",
    "sv_vote_clear_options",
];

/// A message to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// True if the message has a sequence number and is resent until acked.
    pub vital: bool,
    /// True if the message is sent at once, with everything queued before it.
    pub flush: bool,
    /// The bytes of the message, from its id on.
    pub data: Vec<u8>,
}

/// The reason why a message cannot be created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The protocol has no such message.
    #[error("{proto} has no message '{name}'")]
    Unknown {
        /// The protocol.
        proto: Proto,
        /// Name of the requested message.
        name: String,
    },
    /// A field does not exist, or its value does not fit.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}

impl Message {
    /// Creates a message with these fields, and with defaults for the others. It is vital and flushed as in the
    /// games.
    ///
    /// # Errors
    /// Returns a [`MessageError`] if the protocol has no such message, or if a field or value does not fit.
    pub fn new<'n>(
        proto: Proto,
        name: &str,
        fields: impl IntoIterator<Item = (&'n str, Datum)>,
    ) -> Result<Self, MessageError> {
        let def = named(proto, &[Class::System, Class::Game], name)?;
        let mut data = Vec::new();
        def.encode(&Datum::group(fields), &mut data)?;
        Ok(Self {
            vital: def.vitality == Vitality::Vital,
            flush: !LAZY.contains(&name),
            data,
        })
    }

    /// Creates a message that a peer of this crate sends by itself.
    #[expect(
        clippy::expect_used,
        reason = "the crate knows the names and types of what it sends; every message is sent in tests"
    )]
    pub(crate) fn known<'n>(
        proto: Proto,
        name: &str,
        fields: impl IntoIterator<Item = (&'n str, Datum)>,
    ) -> Self {
        Self::new(proto, name, fields).expect("the fields fit the message")
    }
}

/// A received message. Vital messages are delivered exactly once and in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered {
    /// True if its chunk was vital.
    pub vital: bool,
    /// The bytes of the message, from its id on.
    pub data: Vec<u8>,
}

impl Delivered {
    /// Decodes the message. Returns `None` if it is unknown, or if receivers drop it because its chunk is not vital.
    #[must_use]
    pub fn read(&self, proto: Proto, dir: Dir) -> Option<Reading<'_>> {
        let mut decoded = Decoded::new();
        let def = decoded.message(registry(), proto, dir, &self.data)?;
        let reading = Reading {
            def,
            decoded,
            data: &self.data,
        };
        (self.vital || def.vitality != Vitality::Vital).then_some(reading)
    }
}

/// A decoded message.
#[derive(Debug)]
pub struct Reading<'a> {
    pub(crate) def: &'static Def,
    pub(crate) decoded: Decoded,
    pub(crate) data: &'a [u8],
}

impl Reading<'_> {
    /// Returns the name of the message.
    #[must_use]
    pub fn name(&self) -> &'static str {
        &self.def.name
    }

    /// Returns the number at a path such as `input.direction`. `None` if the message has no such number.
    #[must_use]
    pub fn int(&self, path: &str) -> Option<i32> {
        let record = self.decoded.find(&self.def.path(path).ok()?)?;
        i32::try_from(record.int()?).ok()
    }

    /// Returns the text at a path, with bytes that are not UTF-8 replaced. `None` if the message has no such field.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<String> {
        Some(String::from_utf8_lossy(&self.bytes(path)?).into_owned())
    }

    /// Returns the bytes of a text or of raw data at a path. `None` if the message has no such field.
    #[must_use]
    pub(crate) fn bytes(&self, path: &str) -> Option<Cow<'_, [u8]>> {
        let record = self.decoded.find(&self.def.path(path).ok()?)?;
        Some(self.def.bytes(record, Source::Bytes(self.data)))
    }
}

/// Returns a text for a field, without the part from the first NUL on, which would end the text.
pub(crate) fn text(text: &str) -> Datum {
    text.split('\0').next().unwrap_or_default().into()
}

/// Returns the definition with this name in one of the classes.
fn named(proto: Proto, classes: &[Class], name: &str) -> Result<&'static Def, MessageError> {
    let mut defs = registry().named(proto, None, name);
    let found = defs.find(|def| classes.contains(&def.class));
    found.ok_or_else(|| MessageError::Unknown {
        proto,
        name: name.to_owned(),
    })
}

/// Returns a definition that must exist.
#[expect(
    clippy::expect_used,
    reason = "the crate names built-in messages and objects only"
)]
pub(crate) fn definition(proto: Proto, class: Class, name: &str) -> &'static Def {
    named(proto, &[class], name).expect("a built-in definition")
}

/// Returns the built-in definitions.
pub(crate) fn registry() -> &'static Registry {
    Registry::builtin()
}

/// Returns the version that clients and servers of this protocol require of each other.
pub(crate) const fn version(proto: Proto) -> &'static str {
    match proto {
        Proto::V7 => "0.7 802f1be60a05665f",
        _ => "0.6 626fce9a778df4d4",
    }
}
