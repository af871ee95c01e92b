//! Errors in a definition file, with their places.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::lex::{Failure, Parsed, Word};

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
    /// The wrong text, as a range of bytes of the file. Empty if the error is about a position or about the whole file.
    pub span: Range<usize>,
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
            ..
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
pub(super) struct Errors<'t> {
    files: Vec<File<'t>>,
    found: Vec<Found>,
}

#[derive(Debug)]
struct File<'t> {
    name: &'t str,
    text: &'t str,
    /// The position of the text: the length of the files before.
    start: usize,
}

/// An error in the text at a position.
#[derive(Debug)]
struct Found {
    /// The wrong text, as positions.
    span: Range<usize>,
    /// Name of the definition that the error is about; `None` if it is about no other definition.
    about: Option<String>,
    message: String,
    help: Option<String>,
}

impl<'t> Errors<'t> {
    pub(super) const fn new() -> Self {
        Self {
            files: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Adds the next file, and returns the position of its text.
    pub(super) fn file(&mut self, name: &'t str, text: &'t str) -> usize {
        // The position behind a text belongs to its file, too.
        let start = self
            .files
            .last()
            .map_or(0, |file| file.start + file.text.len() + 1);
        self.files.push(File { name, text, start });
        start
    }

    pub(super) fn push(&mut self, place: Word<'_>, message: impl Into<String>, help: Option<String>) {
        self.add(Found {
            span: place.span(),
            about: None,
            message: message.into(),
            help,
        });
    }

    /// Adds an error about the definition called `about`, which the text at `place` uses.
    pub(super) fn push_about(
        &mut self,
        about: Word<'_>,
        place: Word<'_>,
        message: String,
        help: Option<String>,
    ) {
        self.add(Found {
            span: place.span(),
            about: Some(about.text.to_owned()),
            message,
            help,
        });
    }

    /// Returns a parsed value. Adds the error if there is none.
    pub(super) fn accept<T>(&mut self, parsed: Parsed<T>) -> Option<T> {
        match parsed {
            Ok(value) => Some(value),
            Err(Failure(wrong)) => {
                debug_assert!(wrong.is_some(), "a parser of a line failed without an error");
                if let Some(wrong) = wrong {
                    self.add(Found {
                        span: wrong.span,
                        about: None,
                        message: wrong.message,
                        help: wrong.help,
                    });
                }
                None
            }
        }
    }

    fn add(&mut self, error: Found) {
        let known = self
            .found
            .iter()
            .any(|other| other.span.start == error.span.start);
        if !known && self.found.len() < MAX {
            self.found.push(error);
        }
    }

    /// Returns the file and the line of a position, such as `my.tw:3`.
    pub(super) fn line_of(&self, at: usize) -> String {
        let error = self.located(at..at, String::new(), None);
        format!("{}:{}", error.file, error.line)
    }

    /// Moves each error in the first `builtin` files to a user's definition, since the built-in files are correct.
    /// `own` are the names of the user's definitions that replace built-in definitions. The error is moved to the
    /// definition that it is about, or else to the first.
    pub(super) fn blame(&mut self, builtin: usize, own: &[Word<'_>]) {
        let end = self.files.get(builtin).map_or(usize::MAX, |file| file.start);
        let mut found = std::mem::take(&mut self.found);
        for error in &mut found {
            let named = own.iter().find(|name| error.about.as_deref() == Some(name.text));
            if let Some(name) = named.or(own.first())
                && error.span.start < end
            {
                let (used, message) = (self.line_of(error.span.start), &error.message);
                error.message = format!("this does not fit where {used} uses it: {message}");
                error.span = name.span();
            }
        }
        found.into_iter().for_each(|error| self.add(error));
    }

    /// Returns the errors in the order of the text, or success if there are none.
    pub(super) fn into_result(mut self) -> Result<(), Vec<DefError>> {
        if self.found.is_empty() {
            return Ok(());
        }
        let mut found = std::mem::take(&mut self.found);
        found.sort_by_key(|error| error.span.start);
        let error = |error: Found| self.located(error.span, error.message, error.help);
        Err(found.into_iter().map(error).collect())
    }

    /// Returns an error about a range of positions.
    fn located(&self, range: Range<usize>, message: String, help: Option<String>) -> DefError {
        let file = self.files.partition_point(|file| file.start <= range.start);
        let file = file.checked_sub(1).and_then(|file| self.files.get(file));
        let (name, text, start) = file.map_or(("", "", 0), |file| (file.name, file.text, file.start));
        let span = range.start - start..range.end - start;
        let before = text.get(..span.start).unwrap_or(text);
        let line = before.rsplit('\n').next().unwrap_or_default();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1);
        DefError {
            file: name.into(),
            line: number(before.matches('\n').count()),
            column: number(line.chars().count()),
            span,
            message,
            help,
        }
    }
}
