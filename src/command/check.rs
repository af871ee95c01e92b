//! `teetap check FILE`: errors in files of rules, and the rules in English.

use std::{fmt::Write as _, path::PathBuf};

use anyhow::bail;
use teetap_rules::{explain::explain, syntax::parse_statements};

use crate::{
    cli::Definitions,
    exit::{Exit, Failure},
    output,
    rules::Rules,
};

/// Runs the command. Diagnostics go to stderr.
pub(crate) fn check(
    definitions: &Definitions,
    is_explained: bool,
    files: &[PathBuf],
) -> anyhow::Result<Exit> {
    let rules = Rules::read(&[], files, definitions.registry()?)?;
    let rules = rules.ok_or_else(|| Failure::usage("no file given; see teetap check --help"))?;
    rules.compile()?;
    if is_explained {
        // A closed pipe is success.
        output::write_out(explained(&rules)?.as_bytes())?;
    }
    Ok(Exit::Ok)
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
