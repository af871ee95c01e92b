//! The message definitions of this run: those that are built in, and a user's own.

use std::{fs::File, io::Read as _, path::Path, sync::OnceLock};

use teetap_wire::def::{Class, Registry};

use crate::exit::Failure;

/// Bytes of a definition file; all of DDNet's messages take a twentieth of it.
const LARGEST: u64 = 1 << 20;

/// Reads `file`, if there is one. Once in a run: later calls give what the first one read.
///
/// # Errors
/// [`Failure`]s of the command line: a file that cannot be read, or everything that is wrong in it, a line each.
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
            file.display()
        ))
    };
    let mut text = String::new();
    let open = File::open(file).map_err(|error| cannot(&error))?;
    open.take(LARGEST + 1)
        .read_to_string(&mut text)
        .map_err(|error| cannot(&error))?;
    if text.len() as u64 > LARGEST {
        return Err(cannot(&format!("more than {LARGEST} bytes")));
    }
    let registry = Registry::with_names(&file.to_string_lossy(), &text, objection).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Failure::usage(lines.join("\n"))
    })?;
    Ok(LOADED.get_or_init(|| registry))
}

/// What is wrong with the name of a message or object: nobody could ask for it.
fn objection(class: Class, name: &str) -> Option<String> {
    let prefix = if class == Class::Object { "snap." } else { "" };
    let what = format!("`{prefix}{name}` means something else in filters: choose another name");
    teetap_rules::is_word(class, name).then_some(what)
}
