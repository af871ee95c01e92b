//! `teetap check FILE`: errors in files of rules, the rules in English, and the rules tried on a recording.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use anyhow::bail;
use serde_json::json;
use teetap_engine::rules::{Mistakes, Rules, RulesError};
use teetap_inspect::jsonl::VERSION;
use teetap_rules::{Severity, explain::explain, syntax::parse_statements};
use teetap_wire::printable;

use super::against::against;
use crate::{
    cli::{Definitions, Quiet},
    exit::{Exit, Failure},
    filters, output,
};

/// What the command prints.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// Each statement as a sentence.
    pub(crate) explain: bool,
    /// Each diagnostic as a JSON object.
    pub(crate) json: bool,
}

impl Shown {
    /// Creates the choice of the options `--explain` and `--json`.
    pub(crate) const fn new(explain: bool, json: bool) -> Self {
        Self { explain, json }
    }
}

/// Runs the command. Diagnostics go to stderr, or as JSON to stdout.
pub(crate) fn check(
    definitions: &Definitions,
    shown: Shown,
    recording: Option<&Path>,
    quiet: Quiet,
    files: &[PathBuf],
) -> anyhow::Result<Exit> {
    let registry = definitions.registry()?;
    let (typed, files): (Vec<PathBuf>, Vec<PathBuf>) = files.iter().cloned().partition(|path| is_typed(path));
    let typed: Vec<(&str, String)> = typed
        .iter()
        .map(|text| ("rule", text.to_string_lossy().into_owned()))
        .collect();
    let rules = Rules::read(&typed, &files, registry).map_err(|error| Failure::rules(&error))?;
    let rules = rules.ok_or_else(|| Failure::usage("no file given; see teetap check --help"))?;
    if shown.json {
        return diagnostics(&rules);
    }
    let program = filters::compile(&rules)?;
    if shown.explain {
        // A closed pipe is success.
        output::print(&explained(&rules)?)?;
    }
    match recording {
        Some(recording) => against(&program, registry, quiet, recording),
        None => Ok(Exit::Ok),
    }
}

/// Returns true for an argument that is a rule: text with blanks that is not the name of a file.
fn is_typed(path: &Path) -> bool {
    let text = path.to_str().unwrap_or_default();
    text.trim().contains(char::is_whitespace) && path.symlink_metadata().is_err()
}

/// Prints each diagnostic as a JSON line.
fn diagnostics(rules: &Rules) -> anyhow::Result<Exit> {
    let (mistakes, exit) = match rules.compile() {
        Ok((_, warnings)) => (warnings, Exit::Ok),
        Err(RulesError::Invalid(mistakes)) => (mistakes, Exit::Usage),
        Err(error) => return Err(Failure::rules(&error).into()),
    };
    // A closed pipe is success.
    output::print(&lines(&mistakes))?;
    Ok(exit)
}

fn lines(mistakes: &Mistakes) -> String {
    let mut lines = String::new();
    for (name, (line, column), found) in mistakes.iter() {
        let severity = match found.severity() {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let notes: Vec<String> = found
            .notes
            .iter()
            .map(|note| printable(note.as_bytes()))
            .collect();
        let object = json!({
            "v": VERSION,
            "t": 0.0,
            "event": "diagnostic",
            "file": printable(name.as_bytes()),
            "line": line,
            "column": column,
            "code": found.code.name(),
            "severity": severity,
            "message": printable(found.message.as_bytes()),
            "help": found.help.as_ref().map(|help| printable(help.as_bytes())),
            "notes": notes,
        });
        let _infallible = writeln!(lines, "{object}");
    }
    lines
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
