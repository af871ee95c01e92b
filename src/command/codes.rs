//! `teetap explain CODE`: every code that teetap prints, each with its page.
//!
//! | codes | printed | page |
//! |---|---|---|
//! | `wrong-token` | notes of lines, findings | of the book |
//! | `login-stalled` | findings about sessions | a section of the book |
//! | `hold_full` | `kind` of notices in JSON lines | level, sentence and values |
//! | `E103` | errors and warnings of filters and rules | the meaning |

use teetap_inspect::judge::FindingCode;
use teetap_proxy::session::Notice;
use teetap_rules::diagnostic;
use teetap_wire::{Code, def::suggest};

use super::notes;

/// Pages of the book that have a section for each finding about sessions.
const FINDINGS: [&str; 2] = [
    include_str!("../../docs/src/joins.md"),
    include_str!("../../docs/src/findings.md"),
];

/// Returns every code as it is printed.
fn all() -> impl Iterator<Item = &'static str> {
    let notes = Code::ALL.iter().map(|code| code.name());
    let matters = FindingCode::ALL.iter().map(|code| code.name());
    let notices = Notice::KINDS.iter().map(|(kind, ..)| *kind);
    let diagnostics = diagnostic::Code::ALL.iter().map(|code| code.name());
    notes.chain(matters).chain(notices).chain(diagnostics)
}

/// Returns the name of the code in `word`, which is written as in lines, filters and errors: `wrong-token:`,
/// `lint.wrong_token`, `!wrong-token`, `error[E103]:`.
fn name(word: &str) -> String {
    let word = bare(word).to_ascii_lowercase();
    let word = word.strip_prefix("lint.").unwrap_or(&word);
    word.replace('_', "-")
}

/// Returns a code without the punctuation around it.
fn bare(word: &str) -> &str {
    let word = word
        .trim()
        .trim_start_matches('!')
        .trim_end_matches([':', ',', ';']);
    let inner = word.split_once('[').and_then(|(_, rest)| rest.strip_suffix(']'));
    inner.unwrap_or(word)
}

/// Returns the page of a code as plain text; `None` if the word is not a code.
pub(super) fn page(word: &str) -> Option<String> {
    let name = name(word);
    notes::page(&name)
        .or_else(|| finding(&name))
        .or_else(|| notice(&name))
        // Not in lower case: `e103` is hex.
        .or_else(|| diagnostic(bare(word)))
}

/// Returns the code that is spelled most like `word`.
pub(super) fn meant(word: &str) -> Option<&'static str> {
    let name = name(word);
    let spelled: Vec<(String, &'static str)> = all()
        .map(|code| (code.replace('_', "-").to_ascii_lowercase(), code))
        .collect();
    let near = suggest(&name, spelled.iter().map(|(spelled, _)| spelled.as_str()))?;
    let found = spelled.iter().find(|(spelled, _)| spelled == near);
    found.map(|(_, code)| *code)
}

/// Returns the section of the book about a finding of a session.
fn finding(name: &str) -> Option<String> {
    FindingCode::ALL.iter().find(|code| code.name() == name)?;
    let heading = format!("\n## {name}\n");
    let section = FINDINGS.iter().find_map(|page| {
        let (_, section) = page.split_once(&heading)?;
        let end = section.find("\n## ").unwrap_or(section.len());
        section.get(..end)
    })?;
    Some(notes::plain(&format!("# {name}\n{section}")))
}

/// Returns the page of a kind of notice.
fn notice(name: &str) -> Option<String> {
    let mut kinds = Notice::KINDS.iter();
    let (kind, level, sentence) = kinds.find(|(kind, ..)| kind.replace('_', "-") == name)?;
    Some(format!(
        "{kind}\n\nLevel: {level}. The kind of a notice: a line about a session or the proxy itself, in JSON lines \
         {{\"event\":\"notice\",\"kind\":\"{kind}\"}}.\n\nIts sentence, with its values in braces:\n\n    {sentence}\n"
    ))
}

/// Returns the page of an error, a warning or a hint about a filter or a rule.
fn diagnostic(name: &str) -> Option<String> {
    let mut codes = diagnostic::Code::ALL.iter();
    let code = codes.find(|code| code.name() == name)?;
    let severity = match code.severity() {
        diagnostic::Severity::Error => "error",
        diagnostic::Severity::Warning => "warning",
        diagnostic::Severity::Note => "note",
    };
    Some(format!(
        "{}\n\nSeverity: {severity}. About a filter or a rule: {}.\n\nThe message with the code names the place in the text, and where it can a correction.\n",
        code.name(),
        code.text()
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_code_that_is_printed_has_a_page() {
        let mut pages = BTreeMap::new();
        for code in all() {
            let page = page(code).unwrap_or_else(|| panic!("{code}: no page"));
            let first = page.lines().next().unwrap_or_default();
            assert_eq!(name(first), name(code));
            assert!(page.lines().count() >= 3, "{code}: {page}");
            for mark in ["```", "](", "\n#"] {
                assert!(!page.contains(mark), "{mark} in {page}");
            }
            pages.insert(name(code), page);
        }
        // Notices about a finding share its page.
        let shared = Notice::KINDS.iter().filter(|(kind, ..)| {
            let mut matters = FindingCode::ALL.iter();
            matters.any(|code| code.name() == kind.replace('_', "-"))
        });
        assert_eq!(pages.len() + shared.count(), all().count());
        assert!(pages["login-stalled"].contains("has to send the next message"));
        assert!(!pages["login-stalled"].contains("The server has not accepted the client"));
    }

    #[test]
    fn a_code_is_found_as_it_is_printed_and_near_ones_are_suggested() {
        for (word, first) in [
            ("lint.wrong_token", "wrong-token"),
            ("never-entered", "never-entered"),
            ("upstream_silent", "upstream-silent"),
            ("hold_full", "hold_full"),
            ("E103", "E103"),
            ("error[E103]:", "E103"),
            ("snap-again:", "snap-again"),
        ] {
            let page = page(word);
            assert_eq!(
                page.as_deref().and_then(|page| page.lines().next()),
                Some(first),
                "{word}"
            );
        }
        for (word, expected) in [
            ("login-staled", "login-stalled"),
            ("never-enterd", "never-entered"),
            ("hold_ful", "hold_full"),
            ("wrong-tokn", "wrong-token"),
        ] {
            assert_eq!(meant(word), Some(expected));
        }
        assert_eq!(
            (page("10"), page("e103"), page("wrong"), meant("tests/captures")),
            (None, None, None, None)
        );
    }
}
