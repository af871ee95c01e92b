//! `teetap fmt FILE` prints a file of rules in its canonical form.

use std::{
    io::{self, IsTerminal as _},
    path::Path,
};

use teetap_engine::rules;
use teetap_rules::syntax;
use teetap_wire::printable;

use crate::{
    exit::{Exit, Failure},
    look::Look,
    output,
};

use super::{file, new_file};

/// Runs the command.
///
/// # Errors
/// The file cannot be read or written, or is wrong: the error shows every mistake with its place.
pub(crate) fn fmt(write: bool, check: bool, path: &Path) -> anyhow::Result<Exit> {
    let name = teetap_wire::printable_path(file::shown(path));
    let text =
        rules::contents(path).map_err(|error| Failure::usage(format!("cannot read {name}: {error}")))?;
    let formatted = syntax::format(&text).map_err(|errors| {
        let style = Look::get().err.diagnostics();
        let shown = errors.iter().map(|error| error.render(&name, &text, style));
        let shown: Vec<String> = shown.collect();
        Failure::usage(format!("invalid rules\n{}", shown.join("\n\n")))
    })?;
    if check {
        return Ok(if formatted == text { Exit::Ok } else { Exit::Failed });
    }
    if !write {
        let shown = if io::stdout().is_terminal() {
            formatted.lines().map(for_terminal).collect()
        } else {
            formatted
        };
        // A closed pipe is success.
        output::write_out(shown.as_bytes())?;
        return Ok(Exit::Ok);
    }
    if path == Path::new(file::STDIN) {
        return Err(Failure::usage("cannot write to stdin: leave out --write").into());
    }
    if formatted != text {
        new_file::replace(path, formatted.as_bytes())?;
    }
    Ok(Exit::Ok)
}

/// Returns a line for a terminal: hidden characters in a comment are escaped.
fn for_terminal(line: &str) -> String {
    let parts: Vec<String> = line.split('\t').map(|part| printable(part.as_bytes())).collect();
    parts.join("\t") + "\n"
}
