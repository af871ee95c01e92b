//! Errors of rules.

use std::{fmt, io, str::Utf8Error};

use teetap_proxy::io::files::Unread;
use teetap_rules::{Diagnostic, Style};
use teetap_wire::def::meant_clause;

/// Reason why the text of a file cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// The state of the file is unknown.
    #[error(transparent)]
    State(io::Error),
    /// The bytes cannot be read.
    #[error(transparent)]
    Unread(#[from] Unread),
    /// The bytes are no text.
    #[error("not UTF-8 at byte {}", .0.valid_up_to())]
    NotUtf8(#[from] Utf8Error),
}

/// Reason why rules cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RulesError {
    /// A file cannot be read.
    #[error("cannot read {name}: {cause}")]
    Unreadable {
        /// Path, printable.
        name: String,
        /// The cause.
        #[source]
        cause: TextError,
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

/// Reason why the rules of a run cannot be changed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// There is no rule of this name.
    #[error("there is no rule {name}{}", meant_clause(.meant.as_deref()))]
    Unknown {
        /// The name as given.
        name: String,
        /// The most similar name of a rule.
        meant: Option<String>,
    },
    /// The rule was read from a file.
    #[error("{name} is a rule of {file}: change the file, which is read again")]
    OfFile {
        /// The name of the rule.
        name: String,
        /// The file.
        file: String,
    },
    /// The statement is neither a rule nor a link line.
    #[error("{0} is neither a rule nor a link line")]
    NotSwitchable(String),
    /// The text to add has no statement.
    #[error("there is no statement in the text")]
    Empty,
    /// The text that replaces a rule has no statement.
    #[error("there is no statement in the text; remove the rule instead")]
    EmptyReplacement,
    /// The run repeats the faults of a journal.
    #[error("cannot change the rules: the run repeats the faults of a journal")]
    Fixed,
    /// The rules would be larger than allowed.
    #[error("all rules together are larger than {} KiB", .max >> 10)]
    TooLarge {
        /// Maximum size in bytes.
        max: u64,
    },
    /// The rules would have errors: a line for each.
    #[error("invalid rules: {}", .0.join("; "))]
    Invalid(Vec<String>),
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

    /// Returns each diagnostic with the name of its text, and its line and column in characters, from 1.
    pub fn iter(&self) -> impl Iterator<Item = (&str, (usize, usize), &Diagnostic)> {
        self.0.iter().map(|mistake| {
            let end = mistake.text.floor_char_boundary(mistake.diagnostic.span.start);
            let before = mistake.text.get(..end).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            (&*mistake.name, (line, column), &mistake.diagnostic)
        })
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
