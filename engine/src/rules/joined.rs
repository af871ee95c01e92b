//! Joins all texts of a run, and maps diagnostics back to each text.

use teetap_proxy::session::Level;
use teetap_rules::{Diagnostic, Severity, Span};
use teetap_wire::printable;

use super::{error::Mistakes, part::RuleText};

/// All texts joined into one.
pub(super) struct Joined {
    pub(super) text: String,
    /// Start of each part in the joined text, and the range of its text that is left out.
    pub(super) places: Vec<(usize, Span)>,
}

impl Joined {
    /// Joins texts. The first statement of each text starts a statement, even if it is indented.
    pub(super) fn new(parts: &[RuleText]) -> Self {
        let mut text = String::new();
        let mut places = Vec::new();
        for part in parts {
            let cut = indent(&part.text);
            places.push((text.len(), cut));
            text.push_str(part.text.get(..cut.start).unwrap_or_default());
            text.push_str(part.text.get(cut.end..).unwrap_or_default());
            if !text.ends_with('\n') {
                text.push('\n');
            }
        }
        Self { text, places }
    }

    /// Converts the span of a statement in a part to its span in the joined text.
    pub(super) fn place_of(&self, part: usize, span: Span) -> Span {
        let (start, cut) = self.places.get(part).copied().unwrap_or((0, Span::new(0, 0)));
        let moved = |place: usize| {
            start
                + if place >= cut.end {
                    place - (cut.end - cut.start)
                } else {
                    place.min(cut.start)
                }
        };
        Span::new(moved(span.start), moved(span.end))
    }
}

/// Returns a diagnostic as one line.
pub(super) fn line(parts: &[RuleText], joined: &Joined, diagnostic: &Diagnostic) -> (Level, String) {
    let (part, moved) = place(parts, joined, diagnostic);
    let before = part.text.get(..moved.span.start).unwrap_or(&part.text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let help = diagnostic
        .help
        .as_deref()
        .map_or(String::new(), |help| format!("; {help}"));
    let level = match diagnostic.severity() {
        Severity::Error | Severity::Warning => Level::Warning,
        Severity::Note => Level::Info,
    };
    let text = format!(
        "{}:{line}:{column}: [{}] {}{help}",
        part.name,
        diagnostic.code.name(),
        diagnostic.message
    );
    (level, printable(text.as_bytes()))
}

/// Returns diagnostics about the joined text, each with the part to which it refers.
pub(super) fn mistakes(parts: &[RuleText], joined: &Joined, diagnostics: &[Diagnostic]) -> Mistakes {
    let mut mistakes = Mistakes::default();
    for diagnostic in diagnostics {
        let (part, moved) = place(parts, joined, diagnostic);
        mistakes.push(&part.name, &part.text, moved);
    }
    mistakes
}

/// Returns the part to which a diagnostic refers, and the diagnostic with its span in that part.
fn place<'p>(parts: &'p [RuleText], joined: &Joined, diagnostic: &Diagnostic) -> (&'p RuleText, Diagnostic) {
    let at = joined
        .places
        .iter()
        .rposition(|(start, _)| *start <= diagnostic.span.start);
    let at = at.unwrap_or_default();
    let (start, cut) = joined.places.get(at).copied().unwrap_or((0, Span::new(0, 0)));
    let moved = |place: usize| {
        let place = place.saturating_sub(start);
        place
            + if place >= cut.start {
                cut.end - cut.start
            } else {
                0
            }
    };
    let mut diagnostic = diagnostic.clone();
    diagnostic.span = Span::new(moved(diagnostic.span.start), moved(diagnostic.span.end));
    static NOTHING: RuleText = RuleText {
        name: String::new(),
        text: String::new(),
        file: None,
    };
    (parts.get(at).unwrap_or(&NOTHING), diagnostic)
}

/// Returns the indentation of the first statement in a text.
pub(super) fn indent(text: &str) -> Span {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let code = line.trim_start();
        if !code.is_empty() && !code.starts_with('#') {
            return Span::new(start, start + line.len() - code.len());
        }
        start += line.len();
    }
    Span::new(0, 0)
}
