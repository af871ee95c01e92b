//! The faults of a journal, for a run that repeats them.

use std::{path::Path, sync::Arc};

use teetap_proxy::io::journal::Journal;
use teetap_rules::Program;
use teetap_wire::{def::Registry, printable, printable_path};

use crate::{exit::Failure, look::Look, rules::Rules};

/// The rules of a journal, with its decisions instead of their own.
#[derive(Debug)]
pub(crate) struct Repeated {
    pub(crate) program: Arc<Program>,
    pub(crate) rules: Rules,
    /// The seed of the run that wrote the journal.
    pub(crate) seed: u64,
}

impl Repeated {
    /// Reads a journal and compiles its rules.
    ///
    /// # Errors
    /// The file is not a journal, is damaged, or its rules are wrong with these definitions.
    pub(crate) fn read(path: &Path, registry: &'static Registry) -> Result<Self, Failure> {
        let name = printable_path(path);
        let journal = read(path)?;
        let rules = &journal.header.rules;
        let program = Program::compile(rules, registry).map_err(|errors| {
            let shown = errors
                .iter()
                .map(|error| error.render(&name, rules, Look::get().err.diagnostics()));
            let shown: Vec<_> = shown.collect();
            Failure::usage(format!(
                "invalid rules in the journal {name}\n{}",
                shown.join("\n\n")
            ))
        });
        let (program, _) = program?;
        let repeating = program.repeating(&journal.decisions);
        let program = repeating.map_err(|why| {
            let why = printable(why.as_bytes());
            Failure::damaged(format!("cannot repeat the journal {name}: {why}"))
        })?;
        Ok(Self {
            program: Arc::new(program),
            rules: Rules::of_journal(&name, rules, registry),
            seed: journal.header.seed,
        })
    }
}

/// Reads a journal.
///
/// # Errors
/// There is no such file, it is not a journal, or it is damaged.
pub(crate) fn read(path: &Path) -> Result<Journal, Failure> {
    use teetap_proxy::io::journal::JournalError;
    Journal::read(path).map_err(|error| {
        let name = printable_path(path);
        let text = format!(
            "cannot read the journal {name}: {}",
            printable(error.to_string().as_bytes())
        );
        match error {
            JournalError::Read(_) => Failure::usage(text),
            _ => Failure::damaged(text),
        }
    })
}
