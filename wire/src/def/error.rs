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
    found: Vec<Found>,
}

/// An error in the text at a position.
#[derive(Debug)]
struct Found {
    mark: Mark,
    /// Name of the definition that the error is about; `None` if it is about no other definition.
    about: Option<Arc<str>>,
    message: String,
    help: Option<String>,
}

impl Errors {
    pub(super) const fn new() -> Self {
        Self {
            files: Vec::new(),
            found: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, mark: Mark, message: impl Into<String>, help: Option<String>) {
        self.add(Found {
            mark,
            about: None,
            message: message.into(),
            help,
        });
    }

    /// Adds an error about the definition called `about`, which the text at `mark` uses.
    pub(super) fn push_about(&mut self, about: &Name, mark: Mark, message: String, help: Option<String>) {
        self.add(Found {
            mark,
            about: Some(Arc::clone(&about.text)),
            message,
            help,
        });
    }

    fn add(&mut self, error: Found) {
        let known = self.found.iter().any(|other| other.mark == error.mark);
        if !known && self.found.len() < MAX {
            self.found.push(error);
        }
    }

    /// Moves each error in the first `builtin` files to a user's definition, since the built-in files are correct.
    /// `own` are the user's definitions that replace built-in definitions. The error is moved to the definition that it
    /// is about, or else to the first.
    pub(super) fn blame(&mut self, builtin: usize, own: &[&Name]) {
        for error in &mut self.found {
            let place = usize::from(error.mark.file);
            let named = own.iter().find(|name| error.about.as_ref() == Some(&name.text));
            if let Some(name) = named.or(own.first())
                && place < builtin
            {
                let file = self.files.get(place).cloned().unwrap_or_default();
                let (line, message) = (error.mark.line, &error.message);
                error.message = format!("this does not fit where {file}:{line} uses it: {message}");
                error.mark = name.mark;
            }
        }
        let mut known = Vec::new();
        self.found.retain(|error| {
            let is_new = !known.contains(&error.mark);
            known.push(error.mark);
            is_new
        });
    }

    /// Returns the errors in the order of the text, or success if there are none.
    pub(super) fn into_result(mut self) -> Result<(), Vec<DefError>> {
        if self.found.is_empty() {
            return Ok(());
        }
        self.found.sort_by_key(|error| error.mark);
        let files = self.files;
        let error = |error: Found| DefError {
            file: files
                .get(usize::from(error.mark.file))
                .cloned()
                .unwrap_or_default(),
            line: error.mark.line,
            column: error.mark.column,
            message: error.message,
            help: error.help,
        };
        Err(self.found.into_iter().map(error).collect())
    }
}
