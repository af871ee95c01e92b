//! Filters and rules of the command line, checked before anything starts.

use std::sync::Arc;

use teetap_engine::rules::{Mistakes, Rules};
use teetap_rules::{Filter, Program};
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
    match Filter::parse(text, registry) {
        Ok((filter, warnings)) => {
            warn(&Mistakes::of_text(option, text, warnings));
            Ok(Some(filter))
        }
        Err(errors) => {
            let shown = Mistakes::of_text(option, text, errors).render(Look::get().err.diagnostics());
            Err(Failure::usage(format!(
                "invalid expression for {option}\n{shown}"
            )))
        }
    }
}

/// Compiles the rules, and prints warnings.
///
/// # Errors
/// The rules are wrong: the error shows every mistake with its place.
pub(crate) fn compile(rules: &Rules) -> Result<Arc<Program>, Failure> {
    let (program, warnings) = rules.compile().map_err(|error| Failure::rules(&error))?;
    warn(&warnings);
    Ok(program)
}

fn warn(warnings: &Mistakes) {
    if !warnings.is_empty() {
        output::print_status(&warnings.render(Look::get().err.diagnostics()));
    }
}
