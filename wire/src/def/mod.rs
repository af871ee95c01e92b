//! Messages and snapshot objects, declared once in text and interpreted.
//!
//! The files `wire/defs/*.tw` say what every message of every dialect looks like, in a form that [`FORM`] explains; a [`Registry`] is what they say, read
//! once. One interpreter does the rest: [`Decoded`] reads bytes into flat records in a reused buffer, [`Def::encode`]
//! writes values, [`Decoded::splice`] changes one field and keeps all other bytes, [`Path`] names a field for rules,
//! [`Records::rows`], [`Records::gist`] and [`Records::json`] show what was read, [`Registry::describe`] is the documentation.
//!
//! Law: definitions are data; no code here knows a message by name, or asks which dialect it reads. Peers decide the
//! bytes, so reading never fails and never panics: what cannot be read is a note, and no byte is lost. A user's own
//! definitions come through the same door ([`Registry::with`]) and replace or extend what is built in.
//!
//! What it is not: packets, chunk headers and handshakes, which are typed code; snapshot deltas, which need state.
//!
//! | module | part |
//! |---|---|
//! | [`model`](self) | what a definition says |
//! | `lex`, `syntax`, `parse` | the text form |
//! | `resolve`, `registry` | from text to a table per dialect |
//! | `read`, `record` | decoding |
//! | `write`, `edit`, `datum` | encoding and splicing |
//! | `path`, `suggest` | names, as people write them |
//! | `show`, `gist`, `json`, `secret`, `print` | what people and programs see |

mod datum;
mod edit;
mod error;
mod gist;
mod json;
mod lex;
mod model;
mod parse;
mod path;
mod print;
mod read;
mod record;
mod registry;
mod resolve;
mod secret;
mod show;
mod suggest;
mod syntax;
#[cfg(test)]
mod tests;
mod text;
mod uuid;
mod write;

pub use datum::{Datum, EncodeError};
pub use edit::EditError;
pub use error::DefError;
pub use gist::Look;
pub use model::{
    Class, Clean, Def, Default, Dialect, Field, Gist, Id, Label, Len, Path, Repeat, Secrecy, Set, Size, Type,
    Vitality, Way, Words,
};
pub use path::PathError;
pub use record::{Decoded, Record, Records, Source, Value};
pub use registry::{Found, Registry};
pub use secret::Secrets;
pub use show::Row;
pub use suggest::suggest;

/// How definitions are written, for people: all of it, with an example of each. It is a definition file itself.
pub const FORM: &str = include_str!("../../defs/form.tw");
