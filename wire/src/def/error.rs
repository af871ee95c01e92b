//! Errors in a definition file, with their places.

use std::fmt;
use std::sync::Arc;

use super::mark::{Mark, Name};

/// The maximum number of errors reported for one set of definitions.
const MAX: usize = 50;

/// One error in a definition file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct DefError {
    /// The name of the file as given.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// The error.
    pub message: String,
    /// The remedy.
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

/// The errors found so far, at most one for each position.
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

    /// Moves each error in the first `builtin` files to a user's definition, since the built-in files are correct.
    /// `own` are the user's definitions that replace built-in definitions. The error is moved to the definition that it
    /// names, or else to the first.
    pub(super) fn blame(&mut self, builtin: usize, own: &[&Name]) {
        for (mark, message, _) in &mut self.found {
            let place = usize::from(mark.file);
            let named = own
                .iter()
                .find(|name| message.contains(&format!("`{}`", name.text)));
            if let Some(name) = named.or(own.first())
                && place < builtin
            {
                let file = self.files.get(place).cloned().unwrap_or_default();
                *message = format!("this does not fit where {file}:{} uses it: {message}", mark.line);
                *mark = name.mark;
            }
        }
        let mut known = Vec::new();
        self.found.retain(|(mark, ..)| {
            let is_new = !known.contains(mark);
            known.push(*mark);
            is_new
        });
    }

    /// Returns the errors in the order of the text, or success if there are none.
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
