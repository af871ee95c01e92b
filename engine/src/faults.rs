//! The faults of a journal, for a run that repeats them.

use std::{path::Path, sync::Arc};

use teetap_proxy::io::journal::{Journal, JournalError};
use teetap_rules::{Program, RepeatError, Style};
use teetap_wire::{def::Registry, printable, printable_path};

use crate::rules::{Mistakes, Rules};

/// The rules of a journal. They repeat its decisions instead of making their own.
#[derive(Debug)]
pub struct Repeated {
    /// Program that repeats the decisions.
    pub program: Arc<Program>,
    /// Texts of the rules, which cannot be changed.
    pub rules: Rules,
    /// Seed of the run that wrote the journal.
    pub seed: u64,
}

/// Reason why the faults of a journal cannot be repeated.
#[derive(Debug, thiserror::Error)]
pub enum FaultsError {
    /// The journal cannot be read, or is damaged.
    #[error("cannot read the journal {name}: {}", printable(.cause.to_string().as_bytes()))]
    Journal {
        /// Path, printable.
        name: String,
        /// Error of the reader.
        cause: JournalError,
    },
    /// The rules of the journal are wrong with the definitions of this run.
    #[error("invalid rules in the journal {name}\n{mistakes}")]
    Rules {
        /// Path, printable.
        name: String,
        /// Errors in the rules.
        mistakes: Mistakes,
    },
    /// The decisions of the journal do not match its rules.
    #[error("cannot repeat the journal {name}: {}", printable(.cause.to_string().as_bytes()))]
    Decisions {
        /// Path, printable.
        name: String,
        /// Why they do not match.
        cause: RepeatError,
    },
}

impl FaultsError {
    /// Returns the error as text, with mistakes in rules in this style.
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
/// The file does not exist, is not a journal, or is damaged.
pub fn read(path: &Path) -> Result<Journal, FaultsError> {
    Journal::read(path).map_err(|cause| FaultsError::Journal {
        name: printable_path(path),
        cause,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_damaged_if_it_was_read_and_its_contents_are_of_no_use() {
        let name = || "a.journal".to_owned();
        let journal = |cause| FaultsError::Journal { name: name(), cause };
        let decisions = |cause| FaultsError::Decisions { name: name(), cause };
        let mistakes = Program::compile("drop wen c2s", Registry::builtin()).unwrap_err();
        let rules = FaultsError::Rules {
            name: name(),
            mistakes: Mistakes::of_text("a.journal", "drop wen c2s", mistakes),
        };
        let cannot_read = "cannot read the journal a.journal: ";
        let rows = [
            (
                journal(JournalError::Read("no such\tfile".to_owned())),
                false,
                format!("{cannot_read}no such\u{fffd}file"),
            ),
            (
                journal(JournalError::Empty),
                true,
                format!("{cannot_read}the file is empty"),
            ),
            (
                journal(JournalError::Foreign("x".to_owned())),
                true,
                format!("{cannot_read}not a journal of teetap: x"),
            ),
            (
                journal(JournalError::Version(9)),
                true,
                format!("{cannot_read}cannot read a journal of version 9: this teetap reads version "),
            ),
            (
                journal(JournalError::Damaged {
                    line: 3,
                    why: "x".to_owned(),
                }),
                true,
                format!("{cannot_read}line 3 is damaged: x"),
            ),
            (
                journal(JournalError::RulesChanged(1.5)),
                true,
                format!("{cannot_read}the rules changed 1.500 s after the start"),
            ),
            (
                decisions(RepeatError::NoRule("x".into())),
                true,
                "cannot repeat the journal a.journal: no rule is called `x`".to_owned(),
            ),
            (
                rules,
                false,
                "invalid rules in the journal a.journal\nerror".to_owned(),
            ),
        ];
        for (error, is_damaged, text) in rows {
            assert_eq!(error.is_damaged(), is_damaged, "{error:?}");
            assert!(error.to_string().starts_with(&text), "{error}");
            assert_eq!(error.render(Style::Plain), error.to_string());
            let is_coloured = error.render(Style::Coloured).contains('\u{1b}');
            assert_eq!(
                is_coloured,
                matches!(error, FaultsError::Rules { .. }),
                "{error:?}"
            );
        }
    }
}
