//! Messages and snapshot objects, which are declared in text files and interpreted.
//!
//! The files `wire/defs/*.tw` declare every message of every dialect, in a format that [`FORM`] explains. A
//! [`Registry`] contains these definitions, which are parsed once. [`Decoded`] decodes bytes into flat records in a
//! reusable buffer, [`Def::encode`] encodes values, and [`Decoded::splice`] changes one field and keeps all other
//! bytes. [`Path`] names a field for rules. [`Records::rows`], [`Records::gist`] and [`Records::json`] format the
//! records, and [`Registry::describe`] documents the definitions.
//!
//! Law: definitions are data. No code in this module depends on the name of a message or on the dialect. Since the
//! bytes are from peers, decoding never fails or panics: unreadable bytes get a note, and no byte is lost. Definitions
//! of users are loaded in the same way ([`Registry::with`]), and replace or extend the built-in definitions.
//!
//! Out of scope: packets, chunk headers and handshakes, which are implemented in code, and snapshot deltas, which need
//! state.
//!
//! | module | part |
//! |---|---|
//! | [`model`](self) | the content of a definition |
//! | `lex`, `syntax`, `parse` | the text form |
//! | `resolve`, `registry`, `table` | from text to a table per dialect |
//! | `read`, `record` | decoding |
//! | `write`, `edit`, `datum` | encoding and splicing |
//! | `path`, `suggest` | names, as people write them |
//! | `show`, `gist`, `json`, `secret`, `print` | output for people and programs |

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
mod secrecy;
mod secret;
mod show;
mod suggest;
mod syntax;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod uuid;
mod write;

pub use datum::{Datum, EncodeError};
pub use edit::EditError;
pub use error::DefError;
pub use gist::GistStyle;
pub use model::{
    Bounds, Class, Clean, Def, Default, Dialect, Endpoints, Field, Frequency, Gist, Id, Label, Len, Path,
    Repeat, Secrecy, Set, Size, Type, Vitality, Words,
};
pub use path::PathError;
pub use record::{Decoded, Record, Records, Source, Value};
pub use registry::{Found, Registry};
pub use secret::{HIDDEN, Secrets};
pub use show::TreeRow;
pub use suggest::{did_you_mean, meant_clause, meant_in_source, suggest};

/// The form of definition files, explained with an example of each part. The text is a definition file itself.
pub const FORM: &str = include_str!("../../defs/form.tw");
