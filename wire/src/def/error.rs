//! What is wrong with a definition file, and where.

use std::fmt;
use std::sync::Arc;

/// Most errors that are told of one set of definitions.
const MAX: usize = 50;

/// One error in a definition file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct DefError {
    /// The name of the file as it was given.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl fmt::Display for DefError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            column,
            message,
            help,
        } = self;
        write!(f, "{file}:{line}:{column}: {message}")?;
        match help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

/// Where something stands in the definition files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mark {
    pub(super) file: u16,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// The errors found so far. The same place is told of once.
#[derive(Debug)]
pub(super) struct Errors {
    pub(super) files: Vec<Arc<str>>,
    found: Vec<(Mark, String, Option<String>)>,
}

impl Errors {
    pub(super) const fn new() -> Self {
        Self {
            files: Vec::new(),
            found: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, mark: Mark, message: impl Into<String>, help: Option<String>) {
        let known = self.found.iter().any(|(at, ..)| *at == mark);
        if !known && self.found.len() < MAX {
            self.found.push((mark, message.into(), help));
        }
    }

    /// The errors in the order of the text.
    pub(super) fn into_result(mut self) -> Result<(), Vec<DefError>> {
        if self.found.is_empty() {
            return Ok(());
        }
        self.found.sort_by_key(|(mark, ..)| *mark);
        let files = self.files;
        let error = |(mark, message, help): (Mark, String, Option<String>)| DefError {
            file: files.get(usize::from(mark.file)).cloned().unwrap_or_default(),
            line: mark.line,
            column: mark.column,
            message,
            help,
        };
        Err(self.found.into_iter().map(error).collect())
    }
}
