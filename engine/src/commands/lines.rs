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
