//! The messages of the demo: packed and read by the built-in definitions, and how the games send them.

use std::hash::{DefaultHasher, Hash, Hasher};

use teetap_wire::def::{Class, Datum, Decoded, Def, Registry, Source, Vitality};
use teetap_wire::{Dir, Proto, Token};

/// Messages that wait for other chunks, or for the next flush. All others leave at once.
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

/// The version string that a server of this protocol demands.
pub const fn version(proto: Proto) -> &'static str {
    match proto {
        Proto::V7 => "0.7 802f1be60a05665f",
        _ => "0.6 626fce9a778df4d4",
    }
}

/// A message packed and ready for an endpoint.
#[derive(Debug, Clone)]
pub struct Packed {
    pub vital: bool,
    pub flush: bool,
    pub data: Vec<u8>,
}

impl Packed {
    /// A message with these fields, and defaults for the others.
    #[expect(
        clippy::expect_used,
        reason = "the demo knows the names and types of what it packs; both peers are played through in tests"
    )]
    pub fn new<'n>(proto: Proto, name: &str, fields: impl IntoIterator<Item = (&'n str, Datum)>) -> Self {
        let def = named(proto, &[Class::System, Class::Game], name);
        let mut data = Vec::new();
        def.encode(&Datum::group(fields), &mut data)
            .expect("the fields fit the message");
        Self {
            vital: def.vitality == Vitality::Vital,
            flush: !LAZY.contains(&name),
            data,
        }
    }
}

/// A message that was read.
#[derive(Debug)]
pub struct Opened<'a> {
    pub def: &'static Def,
    pub decoded: Decoded,
    pub data: &'a [u8],
}

impl<'a> Opened<'a> {
    /// Reads a message; `None` if it is unknown, or not vital where receivers drop it then.
    pub fn new(proto: Proto, dir: Dir, vital: bool, data: &'a [u8]) -> Option<Self> {
        let mut decoded = Decoded::new();
        let def = decoded.message(registry(), proto, dir, data)?;
        let opened = Self { def, decoded, data };
        (vital || def.vitality != Vitality::Vital).then_some(opened)
    }

    /// Returns the number at a path.
    pub fn int(&self, path: &str) -> Option<i32> {
        let record = self.decoded.find(&self.def.path(path).ok()?)?;
        i32::try_from(record.int()?).ok()
    }

    /// Returns the text at a path.
    pub fn text(&self, path: &str) -> Option<String> {
        let record = self.decoded.find(&self.def.path(path).ok()?)?;
        let bytes = self.def.bytes(record, Source::Bytes(self.data));
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Returns the definition of this name in one of the classes.
#[expect(
    clippy::expect_used,
    reason = "the demo names built-in messages and objects only"
)]
pub fn named(proto: Proto, classes: &[Class], name: &str) -> &'static Def {
    let mut defs = registry().named(proto, None, name);
    defs.find(|def| classes.contains(&def.class))
        .expect("a built-in definition")
}

/// Returns the definitions of both peers, whatever those of the run are.
pub fn registry() -> &'static Registry {
    Registry::builtin()
}

/// Returns a token made of a secret: never one of the special values.
pub fn token(secret: u64, of: impl Hash) -> Token {
    let mut hasher = DefaultHasher::new();
    (secret, of).hash(&mut hasher);
    let [a, b, c, d, ..] = hasher.finish().to_be_bytes();
    match [a, b, c, d] {
        [0, 0, 0, 0] | [0xff, 0xff, 0xff, 0xff] => Token(*b"demo"),
        bytes => Token(bytes),
    }
}
