//! The message definitions of this run: built-in definitions, and definitions of the user.

use std::{path::Path, sync::OnceLock};

use teetap_proxy::io::{files::read_given, input_log::Definitions};
use teetap_rules::render_def_error;
use teetap_wire::{
    def::{Class, DefError, Registry},
    printable_path,
};

use crate::{exit::Failure, look::Look};

/// Maximum bytes of a definition file: twenty times as much as all messages of DDNet need.
const LARGEST: u64 = 1 << 20;

/// Returns the built-in definitions and the definitions in `file`, which is read once per run.
///
/// # Errors
/// The file cannot be read, or is wrong: the error shows every mistake with its place.
pub(crate) fn load(file: Option<&Path>) -> Result<&'static Registry, Failure> {
    static LOADED: OnceLock<Registry> = OnceLock::new();
    let Some(file) = file else {
        return Ok(Registry::builtin());
    };
    if let Some(loaded) = LOADED.get() {
        return Ok(loaded);
    }
    let cannot = |error: &dyn std::fmt::Display| {
        Failure::usage(format!(
            "cannot read the definitions in {}: {error}",
            printable_path(file)
        ))
    };
    let bytes = read_given(file, LARGEST).map_err(|error| cannot(&error))?;
    let text = String::from_utf8(bytes).map_err(|error| cannot(&error.utf8_error()))?;
    let registry = Registry::with_names(&file.to_string_lossy(), &text, objection).map_err(|errors| {
        let style = Look::get().err.diagnostics();
        let shown = errors.iter().map(|error| render_def_error(error, &text, style));
        let shown: Vec<String> = shown.collect();
        Failure::usage(format!("invalid definitions\n{}", shown.join("\n\n")))
    })?;
    Ok(LOADED.get_or_init(|| registry))
}

/// Returns the definitions of the run that wrote an input log. They are kept until the end of the program, which
/// replays one log.
///
/// # Errors
/// Returns the mistakes in the definitions.
pub(crate) fn of_log(definitions: &[Definitions]) -> Result<&'static Registry, Vec<DefError>> {
    if definitions.is_empty() {
        return Ok(Registry::builtin());
    }
    let files: Vec<(&str, &str)> = definitions
        .iter()
        .map(|definitions| (&*definitions.file, &*definitions.text))
        .collect();
    let registry = Registry::load(&files)?;
    Ok(Box::leak(Box::new(registry)))
}

/// Returns an objection if a filter could not use this name for a message or object.
fn objection(class: Class, name: &str) -> Option<String> {
    let prefix = if class == Class::Object { "snap." } else { "" };
    let what = format!("`{prefix}{name}` means something else in filters: choose another name");
    teetap_rules::is_word(class, name).then_some(what)
}
