//! Errors of rules.

use std::fmt;

use teetap_rules::{Diagnostic, Style};

/// Reason why rules cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// A file cannot be read.
    #[error("cannot read {name}: {cause}")]
    Unreadable {
        /// Path, printable.
        name: String,
        /// Why it cannot be read.
        cause: String,
    },
    /// The rules have errors.
    #[error("invalid rules\n{0}")]
    Invalid(Mistakes),
}

impl RulesError {
    /// Returns the error as text, with mistakes in this style.
    pub fn render(&self, style: Style) -> String {
        match self {
            Self::Invalid(mistakes) => format!("invalid rules\n{}", mistakes.render(style)),
            Self::Unreadable { .. } => self.to_string(),
        }
    }
}

/// Errors or warnings about rules, each with the text to which it refers.
#[derive(Clone, Debug, Default)]
pub struct Mistakes(Vec<Mistake>);

#[derive(Clone, Debug)]
struct Mistake {
    /// Name of the option or file.
    name: String,
    /// Text of the option or file.
    text: String,
    diagnostic: Diagnostic,
}

impl Mistakes {
    /// Adds a diagnostic about a text of this name.
    pub(super) fn push(&mut self, name: &str, text: &str, diagnostic: Diagnostic) {
        self.0.push(Mistake {
            name: name.to_owned(),
            text: text.to_owned(),
            diagnostic,
        });
    }

    /// Combines the diagnostics about one text with the text.
    pub fn of_text(name: &str, text: &str, diagnostics: Vec<Diagnostic>) -> Self {
        let mut mistakes = Self::default();
        diagnostics
            .into_iter()
            .for_each(|diagnostic| mistakes.push(name, text, diagnostic));
        mistakes
    }

    /// Returns true if there are no mistakes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Renders each diagnostic with the lines to which it refers, separated by empty lines.
    pub fn render(&self, style: Style) -> String {
        let rendered = self.0.iter();
        let rendered = rendered.map(|mistake| mistake.diagnostic.render(&mistake.name, &mistake.text, style));
        rendered.collect::<Vec<_>>().join("\n\n")
    }
}

impl fmt::Display for Mistakes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Style::Plain))
    }
}
