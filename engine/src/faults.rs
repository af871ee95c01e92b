//! The faults of a journal, for a run that repeats them.

use std::{path::Path, sync::Arc};

use teetap_proxy::io::journal::{Journal, JournalError};
use teetap_rules::{Program, Style};
use teetap_wire::{def::Registry, printable, printable_path};

use crate::rules::{Mistakes, Rules};

/// The rules of a journal, with its decisions instead of their own.
#[derive(Debug)]
pub struct Repeated {
    /// The program that repeats the decisions.
    pub program: Arc<Program>,
    /// The texts of the rules, which cannot be changed.
    pub rules: Rules,
    /// The seed of the run that wrote the journal.
    pub seed: u64,
}

/// The reason why the faults of a journal cannot be repeated.
#[derive(Debug, thiserror::Error)]
pub enum FaultsError {
    /// The journal cannot be read, or is damaged.
    #[error("cannot read the journal {name}: {}", printable(.cause.to_string().as_bytes()))]
    Journal {
        /// The path, printable.
        name: String,
        /// The cause.
        cause: JournalError,
    },
    /// Its rules are wrong with the definitions of this run.
    #[error("invalid rules in the journal {name}\n{mistakes}")]
    Rules {
        /// The path, printable.
        name: String,
        /// The errors.
        mistakes: Mistakes,
    },
    /// Its decisions do not belong to its rules.
    #[error("cannot repeat the journal {name}: {}", printable(.cause.as_bytes()))]
    Decisions {
        /// The path, printable.
        name: String,
        /// The cause.
        cause: String,
    },
}

impl FaultsError {
    /// Returns the error as text, with the mistakes of rules in this style.
    pub fn render(&self, style: Style) -> String {
        match self {
            Self::Rules { name, mistakes } => {
                format!("invalid rules in the journal {name}\n{}", mistakes.render(style))
            }
            Self::Journal { .. } | Self::Decisions { .. } => self.to_string(),
        }
    }

    /// Returns true if the file was read, but its contents cannot be used.
    pub const fn is_damaged(&self) -> bool {
        match self {
            Self::Journal { cause, .. } => !matches!(cause, JournalError::Read(_)),
            Self::Rules { .. } => false,
            Self::Decisions { .. } => true,
        }
    }
}

impl Repeated {
    /// Reads a journal and compiles its rules.
    ///
    /// # Errors
    /// The file is not a journal, is damaged, or its rules are wrong with these definitions.
    pub fn read(path: &Path, registry: &'static Registry) -> Result<Self, FaultsError> {
        let journal = read(path)?;
        let (name, rules) = (printable_path(path), &journal.header.rules);
        let (program, _) = match Program::compile(rules, registry) {
            Ok(compiled) => compiled,
            Err(errors) => {
                let mistakes = Mistakes::of_text(&name, rules, errors);
                return Err(FaultsError::Rules { name, mistakes });
            }
        };
        let program = match program.repeating(&journal.decisions) {
            Ok(program) => Arc::new(program),
            Err(cause) => return Err(FaultsError::Decisions { name, cause }),
        };
        Ok(Self {
            program,
            rules: Rules::of_journal(&name, rules, registry),
            seed: journal.header.seed,
        })
    }
}

/// Reads a journal.
///
/// # Errors
/// There is no such file, it is not a journal, or it is damaged.
pub fn read(path: &Path) -> Result<Journal, FaultsError> {
    Journal::read(path).map_err(|cause| FaultsError::Journal {
        name: printable_path(path),
        cause,
    })
}
