//! `teetap messages --libtw2 PROTOCOL` and `--import FILE`: the JSON specifications of libtw2.
//!
//! Law: an import of an export defines the same messages, so that a second export is equal to the first. Both forms can
//! express things that the other cannot: a specification has no documentation, gists, text limits and lists of unknown
//! length; a definition file has no constants and attributes of code generators.

mod export;
mod import;
mod spec;

use std::path::Path;

use teetap_proxy::io::files::read_given;
use teetap_wire::{
    def::{Dialect, Registry},
    printable_path,
};

use self::spec::Spec;
use crate::{
    cli::Definitions,
    exit::{Exit, Failure},
    output,
};

/// The namespace of the UUIDs of DDNet's messages.
const NAMESPACE: &str = "e05ddaaa-c4e6-4cfb-b642-5d48e80c0029";
/// Maximum bytes of a specification: ten times as much as the largest one of libtw2.
const LARGEST: u64 = 1 << 20;

/// Prints the definitions of a dialect as a specification.
pub(crate) fn export(definitions: &Definitions, dialect: Dialect) -> anyhow::Result<Exit> {
    let text = exported(definitions.registry()?, dialect)?;
    output::print(&text)?;
    Ok(Exit::Ok)
}

/// Prints a specification as a definition file.
pub(crate) fn import(file: &Path) -> anyhow::Result<Exit> {
    let cannot = |error: &dyn std::fmt::Display| {
        let name = printable_path(file);
        Failure::usage(format!("cannot import {name}: {error}"))
    };
    let bytes = read_given(file, LARGEST).map_err(|error| cannot(&error))?;
    let text = imported(&bytes, file).map_err(|error| cannot(&error))?;
    output::print(&text)?;
    Ok(Exit::Ok)
}

fn exported(registry: &Registry, dialect: Dialect) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(&export::spec(registry, dialect))?;
    Ok(text + "\n")
}

/// Returns the definition file of a specification, which is valid.
fn imported(bytes: &[u8], file: &Path) -> Result<String, String> {
    let spec: Spec = serde_json::from_slice(bytes).map_err(|error| {
        let error = teetap_wire::printable(error.to_string().as_bytes());
        format!("not a specification of libtw2: {error}")
    })?;
    let text = import::definitions(&spec, file)?;
    match Registry::with("import", &text) {
        Ok(_) => Ok(text),
        Err(errors) => {
            let first = errors.first().map(ToString::to_string).unwrap_or_default();
            Err(format!("it does not make valid definitions: {first}"))
        }
    }
}

#[cfg(test)]
mod tests;
