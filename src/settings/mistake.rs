//! Mistakes in a configuration file.

use teetap_tui::UnknownKey;
use teetap_wire::{def::meant_clause, printable};

use super::KEYS;

/// A mistake in one line of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Mistake {
    /// No option has this name.
    #[error("unknown key '{}'{}", printable(name.as_bytes()), meant_or(meant.as_deref(), "; teetap config template lists all"))]
    UnknownKey { name: String, meant: Option<String> },
    /// A project's file sets an option that only the user may set.
    #[error("'{0}' cannot be set in the file of a project; set it on the command line or for the user")]
    UserOnly(String),
    /// A project's file names a path that is not a regular file, such as a FIFO.
    #[error("'{name}' of a project must name a regular file, and '{}' is none", printable(path.as_bytes()))]
    NotRegular { name: String, path: String },
    /// The TOML value has the wrong type or range. `found` is a type or a number.
    #[error("invalid value of '{name}': expected {expected}{}", found.as_ref().map(|found| format!(", not {found}")).unwrap_or_default())]
    Value {
        name: String,
        expected: &'static str,
        found: Option<String>,
    },
    /// The parser of the option refuses the value, with this message.
    #[error("{0}")]
    Refused(String),
    #[error("'{KEYS}' is a table: write [{KEYS}]")]
    KeysNotATable,
    #[error("expected a key, or a list of keys")]
    NotAKey,
    #[error(transparent)]
    UnknownKeyName(#[from] UnknownKey),
    #[error("unknown action '{}'{}", printable(name.as_bytes()), meant_or(meant.as_deref(), ""))]
    UnknownAction { name: String, meant: Option<String> },
}

/// Returns a question for the name that was probably meant, else `other`.
fn meant_or(meant: Option<&str>, other: &str) -> String {
    match meant {
        Some(_) => meant_clause(meant),
        None => other.to_owned(),
    }
}
