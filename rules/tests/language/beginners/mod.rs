//! Rules and filters as beginners type them.
//!
//! Law: a text is accepted, and its canonical form is accepted with the same meaning; or it is refused with help.

use teetap_rules::syntax::{format, parse};
use teetap_rules::{Diagnostic, Filter, Program, Severity};
use teetap_wire::def::Registry;

/// Rules and link lines, one per line.
const RULES: &str = include_str!("rules.txt");

/// Filters, one per line.
const FILTERS: &str = include_str!("filters.txt");

type Checked = Result<Vec<Diagnostic>, Vec<Diagnostic>>;

fn check_rule(text: &str) -> Checked {
    Program::compile(text, Registry::builtin()).map(|(_, warnings)| warnings)
}

fn check_filter(text: &str) -> Checked {
    Filter::parse(text, Registry::builtin()).map(|(_, warnings)| warnings)
}

/// Returns a text with its canonical form, or with its errors and their help.
fn answer(text: &str, checked: &Checked, canonical: impl Fn(&str) -> String) -> String {
    let mut answer = format!("{text}\n");
    let diagnostics = match checked {
        Ok(warnings) => {
            answer.push_str(&format!("    ok: {}\n", canonical(text).trim_end()));
            warnings
        }
        Err(errors) => errors,
    };
    for found in diagnostics {
        answer.push_str(&format!("    {}: {}\n", found.code.name(), found.message));
        if let Some(help) = &found.help {
            answer.push_str(&format!("        help: {help}\n"));
        }
    }
    answer
}

fn shown(name: &str, texts: &str, check: fn(&str) -> Checked, canonical: fn(&str) -> String) {
    let answers: Vec<String> = texts
        .lines()
        .map(|text| answer(text, &check(text), canonical))
        .collect();
    insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!(name, answers.join("\n"));
    });
}

fn canonical_rule(text: &str) -> String {
    format(text).unwrap()
}

fn canonical_filter(text: &str) -> String {
    parse(text).unwrap().to_string()
}

#[test]
fn rules() {
    shown("rules", RULES, check_rule, canonical_rule);
}

#[test]
fn filters() {
    shown("filters", FILTERS, check_filter, canonical_filter);
}

/// Returns the errors without help.
fn helpless(texts: &str, check: fn(&str) -> Checked) -> Vec<String> {
    let mut helpless = Vec::new();
    for text in texts.lines() {
        let errors = check(text).err().unwrap_or_default();
        let errors = errors.iter().filter(|error| error.help.is_none());
        helpless.extend(errors.map(|error| format!("{text}: {}", error.message)));
    }
    helpless
}

#[test]
fn every_error_has_help() {
    assert_eq!(helpless(RULES, check_rule), [""; 0]);
    assert_eq!(helpless(FILTERS, check_filter), [""; 0]);
}

#[test]
fn a_canonical_form_is_accepted_and_keeps_itself() {
    for (texts, check, canonical) in [
        (
            RULES,
            check_rule as fn(&str) -> Checked,
            canonical_rule as fn(&str) -> String,
        ),
        (FILTERS, check_filter, canonical_filter),
    ] {
        for text in texts.lines().filter(|text| check(text).is_ok()) {
            let written = canonical(text);
            assert!(check(&written).is_ok(), "{text}: {written}");
            assert_eq!(canonical(&written), written, "{text}");
        }
    }
}

/// Returns the first text in backquotes of help that says what to type.
fn typed(error: &Diagnostic) -> Option<&str> {
    let help = error.help.as_deref()?.strip_prefix("write `")?;
    help.split('`').next()
}

/// A correction is accepted: alone, or in place of what is wrong. Others are part of a text with more to do.
#[test]
fn corrections_are_accepted() {
    let mut refused = Vec::new();
    for (texts, check) in [
        (RULES, check_rule as fn(&str) -> Checked),
        (FILTERS, check_filter),
    ] {
        for text in texts.lines() {
            let Err(errors) = check(text) else { continue };
            for error in errors {
                assert_eq!(error.severity(), Severity::Error);
                let Some(typed) = typed(&error) else { continue };
                let (start, end) = (error.span.start, error.span.end);
                let put = format!("{}{typed}{}", &text[..start], &text[end..]);
                let after = format!("{} {typed}{}", &text[..start], &text[end..]);
                let ahead = format!("{} {typed} {}", &text[..start], &text[start..]);
                let all = [typed.to_owned(), put, after, ahead, format!("log when {typed}")];
                if !all.iter().any(|text| check(text).is_ok()) {
                    refused.push(format!("{text} -> {typed}"));
                }
            }
        }
    }
    insta::with_settings!({omit_expression => true, prepend_module_to_snapshot => false}, {
        insta::assert_snapshot!("partial", refused.join("\n"));
    });
}
