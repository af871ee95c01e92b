//! Filters of the command line.

use teetap_rules::{Diagnostic, Filter};
use teetap_wire::def::Registry;

use crate::{exit::Failure, look::Look, output};

/// Parses the expression `text` of `option`, and prints warnings.
///
/// # Errors
/// The expression is wrong: the error shows every mistake with its place.
pub(crate) fn parse(
    option: &str,
    text: Option<&str>,
    registry: &Registry,
) -> Result<Option<Filter>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let style = Look::get().err.diagnostics();
    let show = |diagnostics: &[Diagnostic]| {
        let shown = diagnostics
            .iter()
            .map(|diagnostic| diagnostic.render(option, text, style));
        shown.collect::<Vec<_>>().join("\n\n")
    };
    match Filter::parse(text, registry) {
        Ok((filter, warnings)) => {
            if !warnings.is_empty() {
                output::say(&show(&warnings));
            }
            Ok(Some(filter))
        }
        Err(wrong) => Err(Failure::usage(format!(
            "invalid expression for {option}\n{}",
            show(&wrong)
        ))),
    }
}
