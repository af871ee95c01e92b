//! The filter of the screen.

use teetap_inspect::Sieve;
use teetap_rules::{Diagnostic, Filter};
use teetap_wire::{def::Registry, printable};

/// The filter that the user set.
#[derive(Debug)]
pub struct Filtering {
    /// Text of the filter.
    pub text: String,
    filter: Filter,
    /// Evaluates the filter; `None` while it is off.
    sieve: Option<Sieve>,
    /// True if the reader of a recording evaluates the filter instead of the sieve.
    by_reader: bool,
    registry: &'static Registry,
}

/// Returns the position of the first error in an expression, and the error in one line; `None` if there is no error.
pub(crate) fn first_error(errors: &[Diagnostic]) -> Option<(usize, String)> {
    errors.first().map(|error| (error.span.start, one_line(error)))
}

/// Returns a diagnostic in one line.
pub(crate) fn one_line(diagnostic: &Diagnostic) -> String {
    let help = diagnostic
        .help
        .as_ref()
        .map_or(String::new(), |help| format!("; {help}"));
    printable(format!("{}{help}", diagnostic.message).as_bytes())
}

impl Filtering {
    /// Parses an expression.
    ///
    /// # Errors
    /// Returns the position of the first error, and the error.
    pub fn parse(text: &str, registry: &'static Registry) -> Result<Self, (usize, String)> {
        let (filter, _) = Filter::parse(text, registry)
            .map_err(|errors| first_error(&errors).unwrap_or_else(|| (0, "invalid filter".to_owned())))?;
        Ok(Self {
            text: text.to_owned(),
            sieve: Some(Sieve::new(filter.clone(), registry)),
            by_reader: false,
            filter,
            registry,
        })
    }

    /// Leaves the evaluation to the reader of a recording.
    #[must_use]
    pub fn by_reader(self) -> Self {
        Self {
            by_reader: true,
            ..self
        }
    }

    /// Returns true if the filter is on and the reader of a recording evaluates it.
    #[must_use]
    pub const fn is_by_reader(&self) -> bool {
        self.by_reader && self.is_on()
    }

    /// Returns the filter for the reader of a recording; `None` if it is off or the sieve evaluates it.
    #[must_use]
    pub fn for_reader(&self) -> Option<&Filter> {
        self.is_by_reader().then_some(&self.filter)
    }

    /// Returns true unless the filter is off.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        self.sieve.is_some()
    }

    /// Switches the filter on or off. Its state starts anew.
    pub fn switch(&mut self, on: bool) {
        self.sieve = on.then(|| Sieve::new(self.filter.clone(), self.registry));
    }

    /// Resets the state of the filter if it is on.
    pub fn restart(&mut self) {
        self.switch(self.is_on());
    }

    /// Returns the sieve; `None` if the filter is off.
    pub fn sieve(&mut self) -> Option<&mut Sieve> {
        self.sieve.as_mut()
    }

    /// Returns true if the filter is on and names a type of messages, which are not folded then.
    #[must_use]
    pub fn names(&self, group: &str) -> bool {
        let mut words = self
            .text
            .split(|char: char| !char.is_ascii_alphanumeric() && char != '_');
        self.is_on()
            && words.any(|word| {
                word == group
                    || group == "snap" && word.starts_with("snap_")
                    || word == "any_snap" && group == "snap"
            })
    }
}
