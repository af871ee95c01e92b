//! Regression tests: generated texts of rules and filters are read, printed and explained, and decide about messages, with
//! the same results as before.
//!
//! A snapshot has a line for each group of texts, with the number of lines and the checksum of all outputs. Any difference
//! fails the test, whether or not it is intended. After an intended change, run
//! `INSTA_UPDATE=always cargo test -p teetap-rules --test language same` and look at the groups that differ.
//! `TEETAP_SAME=DIR` writes the outputs to files, to be compared with `diff` before and after the change.

mod fields;
mod filters;
mod links;
mod runs;
mod texts;

use teetap_repeatable::{Groups, Random};
use teetap_rules::{Diagnostic, Style};

/// Adds the diagnostics about a text, with their codes and as they are printed.
fn diagnostics(groups: &mut Groups, text: &str, diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        let code = diagnostic.code;
        groups.line(format_args!(
            "{} {:?} {}",
            code.name(),
            diagnostic.severity(),
            code.text()
        ));
        groups.line(format_args!(
            "{}",
            diagnostic.render("rules.tap", text, Style::Plain)
        ));
    }
}

/// Returns a word of one of two lists, each with the same chance.
fn of_two(dice: &mut Random, one: &[&'static str], other: &[&'static str]) -> &'static str {
    let list = *dice.pick(&[one, other]);
    dice.pick::<&str>(list)
}
