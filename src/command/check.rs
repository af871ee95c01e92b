//! `teetap check FILE`: what is wrong with a file of rules.

use std::path::PathBuf;

use crate::{
    cli::Definitions,
    exit::{Exit, Failure},
    rules::Rules,
};

/// Runs the command. Diagnostics go to stderr.
pub(crate) fn check(definitions: &Definitions, files: &[PathBuf]) -> anyhow::Result<Exit> {
    let rules = Rules::read(&[], files, definitions.registry()?)?;
    let rules = rules.ok_or_else(|| Failure::usage("no file given; see teetap check --help"))?;
    rules.compile()?;
    Ok(Exit::Ok)
}
