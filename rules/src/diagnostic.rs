//! Errors, warnings and notes about a text, with positions and suggestions.
//!
//! Law: every diagnostic has a [`Code`] from the table below. Codes never change, because scripts and searches rely
//! on them. A diagnostic is data; the text it refers to and the name of the file are needed only to render it.

use annotate_snippets::Level;
use teetap_wire::def::meant_in_source;
use teetap_wire::{is_deceptive, is_invisible};

use crate::render::{Report, Style};
use crate::span::Span;

/// The severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The text is rejected.
    Error,
    /// The text probably does not have the intended meaning.
    Warning,
    /// Additional information.
    Note,
}

macro_rules! codes {
    ($($variant:ident $name:literal $severity:ident $text:literal)*) => {
        /// The kinds of diagnostics. One table defines the code, the severity and the meaning of each.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $text] $variant,)*
        }

        impl Code {
            /// All codes.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            const fn row(self) -> (&'static str, Severity, &'static str) {
                match self {
                    $(Self::$variant => ($name, Severity::$severity, $text),)*
                }
            }
        }
    };
}

codes! {
    Expected        "E001" Error   "something else is expected here"
    Unclosed        "E002" Error   "a string, regex, bracket or set has no end"
    LeadingZero     "E003" Error   "a number starts with 0"
    BadNumber       "E004" Error   "not a number, or one that is too large"
    UnknownUnit     "E005" Error   "no such unit"
    BadEscape       "E006" Error   "no such escape in a string"
    TooComplex      "E007" Error   "too long or nested too deeply"
    Assignment      "E008" Error   "`=` in place of `==`"
    Chained         "E009" Error   "chained comparisons"
    BadRegex        "E010" Error   "not a regular expression"
    UnknownAction   "E011" Error   "no such action"
    Repeated        "E012" Error   "a modifier, or a field, with two values"
    UnknownName     "E101" Error   "no message or fact has this name"
    NotHere         "E102" Error   "a name that is not allowed here"
    UnknownField    "E103" Error   "the message has no such field"
    UnknownFact     "E104" Error   "`pkt`, `sess` or `snap` has no such fact"
    UnknownFunction "E105" Error   "no such function"
    Arguments       "E106" Error   "a function called with wrong arguments"
    UnknownItem     "E107" Error   "no such snapshot item"
    UnknownLabel    "E108" Error   "the enum or flags have no such name"
    UnknownLint     "E109" Error   "no such lint"
    UnknownVariable "E110" Error   "a variable that is never set"
    NoList          "E111" Error   "an index of something that is not a list, or one out of range"
    Contradiction   "E112" Error   "actions that exclude each other"
    Mismatch        "E201" Error   "values of these kinds cannot be compared"
    MissingUnit     "E202" Error   "a number without the unit that it needs"
    WrongOperator   "E203" Error   "an operator that does not apply to this kind of value"
    Impossible      "E204" Error   "a value that can never occur"
    NotCondition    "E205" Error   "a value in place of a condition"
    NotValue        "E206" Error   "a condition in place of a value"
    WholeList       "E207" Error   "a list in place of a single value"
    DivideByZero    "E208" Error   "division by zero"
    BadRange        "E209" Error   "a range whose end is before its start"
    NeverMatches    "W301" Warning "no message that the games send can match"
    OutOfRange      "W302" Warning "a value that the games never send"
    Hidden          "W303" Warning "a rule that an earlier one hides"
    NeverResent     "W304" Warning "`lose` on messages that are never sent again"
    HeldJoin        "W305" Warning "a held message that holds the join"
    NoEffect        "W306" Warning "an action that does nothing, or not to all messages"
    Braces          "W307" Warning "values in braces in a text that is written as it is"
    FirstCopies     "W308" Warning "a rule about repeats whose actions look at first copies"
    SomeVersions    "N401" Note    "exists only in some protocol versions"
    OneOfSeveral    "N402" Note    "only one of several messages that may be meant"
    Greets          "N403" Note    "a rule with which a flood of CONNECTs keeps clients out"
}

impl Code {
    /// Returns the code as in `error[E103]`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.row().0
    }

    /// Returns the severity.
    #[must_use]
    pub const fn severity(self) -> Severity {
        self.row().1
    }

    /// Returns the meaning in one line.
    #[must_use]
    pub const fn text(self) -> &'static str {
        self.row().2
    }
}

/// One error, warning or note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Kind of the diagnostic.
    pub code: Code,
    /// Message for the user.
    pub message: String,
    /// Position in the text.
    pub span: Span,
    /// Suggested correction.
    pub help: Option<String>,
    /// Additional information.
    pub notes: Vec<String>,
}

impl Diagnostic {
    /// Creates a diagnostic without help and notes.
    #[must_use]
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            span,
            help: None,
            notes: Vec::new(),
        }
    }

    /// Adds a suggested correction.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(visible(help.into()));
        self
    }

    /// Suggests a similar name, if there is one.
    #[must_use]
    pub fn meant(self, name: Option<&str>) -> Self {
        match name {
            Some(name) => self.help(meant_in_source(name)),
            None => self,
        }
    }

    /// Replaces the suggested correction if there is another one.
    #[must_use]
    pub fn or_help(mut self, help: Option<String>) -> Self {
        self.help = help.map(visible).or(self.help);
        self
    }

    /// Adds a note.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Returns the severity.
    #[must_use]
    pub const fn severity(&self) -> Severity {
        self.code.severity()
    }

    /// Renders the diagnostic with lines of `source`, the text to which it refers, which is called `name`. The result
    /// has no final newline.
    #[must_use]
    pub fn render(&self, name: &str, source: &str, style: Style) -> String {
        let level = match self.severity() {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let report = Report {
            level,
            code: Some(self.code.name()),
            message: &self.message,
            span: self.span,
            help: self.help.as_deref(),
            notes: &self.notes,
        };
        report.render(name, source, style)
    }
}

/// Returns a text with escapes for characters that a terminal obeys or does not show: help quotes what was typed.
fn visible(text: String) -> String {
    let is_hidden = |c: char| c.is_control() || is_deceptive(c) || is_invisible(c);
    if !text.contains(is_hidden) {
        return text;
    }
    let escaped = text.chars().map(|c| match is_hidden(c) {
        true => c.escape_unicode().to_string(),
        false => c.to_string(),
    });
    escaped.collect()
}

impl Diagnostic {
    /// Adds general help to an error without help.
    #[must_use]
    pub(crate) fn with_general_help(self) -> Self {
        if self.help.is_some() || self.severity() != Severity::Error {
            return self;
        }
        let help = match self.code {
            Code::Unclosed => "close it, or remove the opening sign",
            Code::TooComplex => "write a shorter text, or split it into several statements",
            Code::LeadingZero | Code::BadNumber => {
                "write a number such as `5`, `1.5` or `0x1f`, with a unit such as `ms` if it measures time"
            }
            Code::BadRegex => {
                "a `\\` before a sign takes it literally, as in `/\\(/`; text without patterns is `contains \"(\"`"
            }
            Code::Repeated => "remove one of the two",
            Code::Contradiction => "keep one of the two",
            Code::UnknownVariable => "a rule sets it first, as in `var $joined = t when enter_game`",
            Code::NoList => "remove the index in brackets, or use a smaller one",
            Code::Arguments | Code::UnknownFunction => {
                "write `seen(enter_game)`, `count(sv_chat) > 3`, `last(sv_chat).message` or `len(.message)`"
            }
            Code::Mismatch => "compare numbers with numbers, and text in quotes with text",
            Code::WrongOperator => "numbers have `==`, `<` and `in`; text has `==`, `contains` and `matches`",
            Code::Impossible => {
                "write a value that the field can have; `teetap messages NAME` prints the fields"
            }
            Code::NotCondition => "compare it, as in `sv_chat.client_id == 0`",
            Code::NotValue => "write a field, as in `sv_chat.client_id`, or use the condition alone",
            Code::DivideByZero => "write another number after `/`",
            Code::BadRange => "write the smaller value first",
            Code::UnknownField | Code::UnknownLabel => {
                "`teetap messages NAME` prints the fields of a message and their values"
            }
            Code::UnknownItem => "`teetap messages` prints the names of all items",
            Code::UnknownName => "`teetap messages` prints the names of all messages",
            _ => "`teetap help rules` and `teetap help filters` show how texts are written",
        };
        self.help(help)
    }
}

/// Prepares diagnostics for display: adds general help, and sorts them by position in the text, then by severity.
pub(crate) fn finish(diagnostics: &mut Vec<Diagnostic>) {
    for diagnostic in diagnostics.iter_mut() {
        let given = diagnostic.clone();
        *diagnostic = given.with_general_help();
    }
    diagnostics.sort_by(|a, b| {
        let key = |d: &Diagnostic| (d.span.start, d.severity(), d.span.end, d.code);
        key(a).cmp(&key(b)).then_with(|| a.message.cmp(&b.message))
    });
    diagnostics.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_match_their_severity() {
        let mut names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            let letter = match code.severity() {
                Severity::Error => 'E',
                Severity::Warning => 'W',
                Severity::Note => 'N',
            };
            assert!(code.name().starts_with(letter), "{code:?}");
        }
    }

    #[test]
    fn help_shows_hidden_characters() {
        let help = |text: &str| {
            Diagnostic::new(Code::Expected, Span::default(), "x")
                .help(text)
                .help
        };
        assert_eq!(
            help("write `\u{1b}[1m\u{202e}`").as_deref(),
            Some("write `\\u{1b}[1m\\u{202e}`")
        );
        assert_eq!(help("write `é`").as_deref(), Some("write `é`"));
    }

    #[test]
    fn is_drawn_as_text_or_in_colour() {
        let source = "drop when sv_chat.mesage contains \"buy gold\"";
        let diagnostic = Diagnostic::new(
            Code::UnknownField,
            Span::new(18, 24),
            "message `sv_chat` has no field `mesage`",
        )
        .meant(Some("message"))
        .note("0.7: mode, client_id, target_id, message");
        let plain = diagnostic.render("rules.tap", source, Style::Plain);
        assert_eq!(
            plain,
            "error[E103]: message `sv_chat` has no field `mesage`
 --> rules.tap:1:19
  |
1 | drop when sv_chat.mesage contains \"buy gold\"
  |                   ^^^^^^
  |
  = help: did you mean `message`?
  = note: 0.7: mode, client_id, target_id, message"
        );
        let coloured = diagnostic.render("rules.tap", source, Style::Coloured);
        assert!(coloured.contains("\u{1b}[") && coloured.contains("E103"));
    }

    #[test]
    fn a_span_outside_the_text_does_not_fail() {
        for span in [
            Span::new(0, 100),
            Span::new(50, 60),
            Span::new(1, 2),
            Span::new(3, 1),
        ] {
            let text = Diagnostic::new(Code::Expected, span, "x").render("f", "äö", Style::Plain);
            assert!(text.starts_with("error[E001]: x"), "{text}");
        }
    }
}
