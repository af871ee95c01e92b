//! Diagnostics of rules and messages as lines.

use teetap_rules::Diagnostic;
use teetap_wire::printable;

/// Returns each diagnostic as a line.
pub(crate) fn lines(diagnostics: &[Diagnostic]) -> Vec<String> {
    let line = |diagnostic: &Diagnostic| {
        let more = diagnostic.help.iter().chain(&diagnostic.notes);
        let more: String = more.map(|more| format!("; {more}")).collect();
        let text = format!("[{}] {}{more}", diagnostic.code.name(), diagnostic.message);
        printable(text.as_bytes())
    };
    diagnostics.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use teetap_rules::{Span, diagnostic::Code};

    use super::*;

    #[test]
    fn a_line_has_the_code_the_help_and_all_notes_of_its_diagnostic() {
        let plain = || Diagnostic::new(Code::NotHere, Span::default(), "no\tsuch".to_owned());
        let full = plain()
            .help("a".to_owned())
            .note("b".to_owned())
            .note("c".to_owned());
        let name = Code::NotHere.name();
        assert_eq!(
            lines(&[plain(), full]),
            [
                format!("[{name}] no\u{fffd}such"),
                format!("[{name}] no\u{fffd}such; a; b; c")
            ]
        );
    }
}
