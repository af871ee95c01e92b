//! `teetap check FILE`: errors in files of rules, the rules in English, and the rules tried on a recording.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use anyhow::bail;
use teetap_engine::rules::Rules;
use teetap_rules::{explain::explain, syntax::parse_statements};

use super::against::against;
use crate::{
    cli::{Definitions, Quiet},
    exit::{Exit, Failure},
    filters, output,
};

/// Runs the command. Diagnostics go to stderr.
pub(crate) fn check(
    definitions: &Definitions,
    is_explained: bool,
    recording: Option<&Path>,
    quiet: Quiet,
    files: &[PathBuf],
) -> anyhow::Result<Exit> {
    let registry = definitions.registry()?;
    let rules = Rules::read(&[], files, registry).map_err(|error| Failure::rules(&error))?;
    let rules = rules.ok_or_else(|| Failure::usage("no file given; see teetap check --help"))?;
    let program = filters::compile(&rules)?;
    if is_explained {
        // A closed pipe is success.
        output::print(&explained(&rules)?)?;
    }
    match recording {
        Some(recording) => against(&program, registry, quiet, recording),
        None => Ok(Exit::Ok),
    }
}

/// Returns each statement with its sentence below it.
fn explained(rules: &Rules) -> anyhow::Result<String> {
    let mut page = String::new();
    for (name, text) in rules.texts() {
        let Ok(statements) = parse_statements(text) else {
            bail!("the statements of {name} were read before, but not a second time");
        };
        for statement in statements {
            let gap = if page.is_empty() { "" } else { "\n" };
            writeln!(page, "{gap}{statement}\n    {}", explain(&statement))?;
        }
    }
    Ok(page)
}
