//! The filter of the screen.

use teetap_inspect::HistoryFilter;
use teetap_rules::{Diagnostic, Filter};
use teetap_wire::{def::Registry, printable};

/// The filter that the user set.
#[derive(Debug)]
pub(crate) struct Filtering {
    /// Text of the filter.
    pub(crate) text: String,
    filter: Filter,
    /// Evaluates the filter; `None` while it is off.
    history_filter: Option<HistoryFilter>,
    /// True if the reader of a recording evaluates the filter instead of the history filter.
    by_reader: bool,
    registry: &'static Registry,
}

/// The first error in a filter, rule or message, in one line. `None` if its cause is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.as_deref().map_or_else(|| "invalid filter".to_owned(), one_line))]
pub struct SyntaxError(Option<Box<Diagnostic>>);

impl SyntaxError {
    /// Returns the position in the text, in bytes.
    #[must_use]
    pub(crate) fn at(&self) -> usize {
        self.0.as_ref().map_or(0, |error| error.span.start)
    }
}

impl From<Vec<Diagnostic>> for SyntaxError {
    fn from(errors: Vec<Diagnostic>) -> Self {
        Self(errors.into_iter().next().map(Box::new))
    }
}

/// Returns a diagnostic in one line.
fn one_line(diagnostic: &Diagnostic) -> String {
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
    /// The text is not a filter.
    pub(crate) fn parse(text: &str, registry: &'static Registry) -> Result<Self, SyntaxError> {
        let (filter, _) = Filter::parse(text, registry)?;
        Ok(Self {
            text: text.to_owned(),
            history_filter: Some(HistoryFilter::new(filter.clone(), registry)),
            by_reader: false,
            filter,
            registry,
        })
    }

    /// Leaves the evaluation to the reader of a recording.
    #[must_use]
    pub(crate) fn by_reader(self) -> Self {
        Self {
            by_reader: true,
            ..self
        }
    }

    /// Returns true if the filter is on and the reader of a recording evaluates it.
    #[must_use]
    pub(crate) const fn is_by_reader(&self) -> bool {
        self.by_reader && self.is_on()
    }

    /// Returns the filter for the reader of a recording; `None` if it is off or the history filter evaluates it.
    #[must_use]
    pub(crate) fn for_reader(&self) -> Option<&Filter> {
        self.is_by_reader().then_some(&self.filter)
    }

    /// Returns true unless the filter is off.
    #[must_use]
    pub(crate) const fn is_on(&self) -> bool {
        self.history_filter.is_some()
    }

    /// Switches the filter on or off. Its state starts anew.
    pub(crate) fn switch(&mut self, on: bool) {
        self.history_filter = on.then(|| HistoryFilter::new(self.filter.clone(), self.registry));
    }

    /// Resets the state of the filter if it is on.
    pub(crate) fn restart(&mut self) {
        self.switch(self.is_on());
    }

    /// Returns the history filter; `None` if the filter is off.
    pub(crate) fn history_filter(&mut self) -> Option<&mut HistoryFilter> {
        self.history_filter.as_mut()
    }

    /// Returns true if the filter is on and names a type of messages, which are not folded then.
    #[must_use]
    pub(crate) fn names(&self, group: &str) -> bool {
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
