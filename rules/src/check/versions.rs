//! Descriptions of differences between protocol versions.

use teetap_wire::def::{Def, Dialect};

use super::checker::{Checker, DialectDef};
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;

/// Returns the names of dialects as text, such as `0.6` or `0.6 and ddnet`.
pub(super) fn names(dialects: &[Dialect]) -> String {
    let names: Vec<&str> = dialects.iter().map(|dialect| dialect.name()).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Returns the text of each dialect, with equal texts combined: `0.6 and ddnet: a, b; 0.7: c`.
pub(super) fn grouped(texts: impl IntoIterator<Item = (Dialect, String)>) -> String {
    let mut groups: Vec<(String, Vec<Dialect>)> = Vec::new();
    for (dialect, text) in texts {
        match groups.iter_mut().find(|(known, _)| *known == text) {
            Some((_, dialects)) if dialects.contains(&dialect) => {}
            Some((_, dialects)) => dialects.push(dialect),
            None => groups.push((text, vec![dialect])),
        }
    }
    let parts = groups
        .iter()
        .map(|(text, dialects)| format!("{}: {text}", names(dialects)));
    parts.collect::<Vec<_>>().join("; ")
}

/// Returns the fields of messages or items as text, by dialect.
pub(super) fn fields(defs: &[DialectDef<'_>]) -> String {
    let list = |def: &Def| {
        let names: Vec<&str> = def.parts(None).map(|(_, field)| &*field.name).collect();
        if names.is_empty() {
            "no fields".to_owned()
        } else {
            names.join(", ")
        }
    };
    grouped(defs.iter().map(|(dialect, def)| (*dialect, list(def))))
}

impl Checker<'_> {
    /// Adds a note if only some dialects have the definition.
    pub(super) fn note_versions(&mut self, what: &str, defs: &[DialectDef<'_>], span: Span) {
        let of = |dialect: &Dialect| defs.iter().any(|(of, _)| of == dialect);
        let (has, lacks): (Vec<_>, Vec<_>) = Dialect::ALL.into_iter().partition(of);
        if has.is_empty() || lacks.is_empty() {
            return;
        }
        let text = format!("`{what}` exists only in {}", names(&has));
        let note = format!(
            "in sessions of {} it has no value and never matches",
            names(&lacks)
        );
        self.report(Diagnostic::new(Code::SomeVersions, span, text).note(note));
    }
}
