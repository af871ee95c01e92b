//! Formats texts in their canonical form.
//!
//! Law: the output parses to the same statements, has the same comments, and is its own canonical form.

use super::rule::Rule;
use super::statement::{MAX_STATEMENTS, Statement, parse_statement, places};
use crate::diagnostic::{Code, Diagnostic};
use crate::span::Span;

/// Maximum line width in characters. A longer rule continues on indented lines.
const WIDTH: usize = 100;
/// Indentation of a continued line.
const INDENT: &str = "    ";

/// Returns a text in its canonical form: single blanks between words, canonical numbers and operators, and at most one
/// empty line between statements. A statement with a comment inside keeps its lines.
///
/// # Errors
/// Returns all syntax errors in the order of the text. Names are not checked.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    let (mut out, mut errors) = (String::new(), Vec::new());
    let mut end = 0;
    for (at, span) in places(text).into_iter().enumerate() {
        if at == MAX_STATEMENTS {
            let what = format!("more than {MAX_STATEMENTS} statements");
            errors.push(Diagnostic::new(Code::TooComplex, span, what));
            break;
        }
        between(&mut out, text.get(end..span.start).unwrap_or_default());
        end = span.end;
        match parse_statement(text, span) {
            Ok((statement, comments)) => write_statement(&mut out, text, span, &statement, &comments),
            Err(wrong) => errors.extend(wrong),
        }
    }
    between(&mut out, text.get(end..).unwrap_or_default());
    out.truncate(out.trim_end_matches('\n').len());
    if !out.is_empty() {
        out.push('\n');
    }
    if errors.is_empty() { Ok(out) } else { Err(errors) }
}

/// Writes comments and empty lines between two statements.
fn between(out: &mut String, text: &str) {
    // The first piece is the rest of the statement's line, and the last piece is the indentation of the next statement.
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with('#') {
            out.push_str(line);
            out.push('\n');
        } else if !out.is_empty() && !out.ends_with("\n\n") {
            out.push('\n');
        }
    }
}

fn write_statement(out: &mut String, text: &str, span: Span, statement: &Statement, comments: &[Span]) {
    let source = |span: Span| text.get(span.start..span.end).unwrap_or_default().trim_end();
    let comment = match comments {
        [] => None,
        [only] if only.end >= span.end => Some(source(*only)),
        _ => {
            // The lines are kept, because a comment inside refers to the words next to it.
            let lines: Vec<&str> = source(span).trim_start().lines().map(str::trim_end).collect();
            out.push_str(&lines.join("\n"));
            return;
        }
    };
    let line = statement.to_string();
    let width = line.chars().count() + comment.map_or(0, |comment| comment.chars().count() + 2);
    match statement {
        Statement::Rule(rule) if width > WIDTH => wrapped(out, rule),
        _ => out.push_str(&line),
    }
    if let Some(comment) = comment {
        out.push_str("  ");
        out.push_str(comment);
    }
}

/// Writes a rule with its condition and then its modifiers on separate lines.
fn wrapped(out: &mut String, rule: &Rule) {
    if let Some(name) = &rule.name {
        out.push_str(&format!("{}: ", name.text));
    }
    let actions: Vec<String> = rule.actions.iter().map(ToString::to_string).collect();
    out.push_str(&actions.join(", "));
    let when = rule.when.as_ref().map(|when| format!("when {when}"));
    let modifiers = rule.modifiers.to_string();
    let modifiers = Some(modifiers.trim_start().to_owned()).filter(|text| !text.is_empty());
    for line in when.into_iter().chain(modifiers) {
        out.push_str(&format!("\n{INDENT}{line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_statements;
    use super::*;

    fn canonical(text: &str) -> String {
        let formatted = format(text).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
        let printed = |text: &str| -> Vec<String> {
            let statements = parse_statements(text).unwrap();
            statements.iter().map(ToString::to_string).collect()
        };
        assert_eq!(printed(&formatted), printed(text));
        assert_eq!(format(&formatted).unwrap(), formatted);
        formatted
    }

    #[test]
    fn one_way_to_write_a_statement() {
        for (text, wanted) in [
            ("", ""),
            ("\n\n # only a comment \n\n", "# only a comment\n"),
            ("seed  42", "seed 42\n"),
            ("a :drop  when c2s&&input", "a: drop when c2s and input\n"),
            ("  drop when\n\tc2s", "drop when c2s\n"),
            (
                "drop when c2s#why\nuse  \"3g\"\n",
                "drop when c2s  #why\nuse \"3g\"\n",
            ),
            (
                "profile p{link both delay 0.04s # far\n}\r\nseed 1",
                "profile p{link both delay 0.04s # far\n}\nseed 1\n",
            ),
            (
                "profile p{link both delay 0.04s link c2s loss 5%}",
                "profile p {\n    link both delay 40ms\n    link c2s loss 5%\n}\n",
            ),
            (
                "drop when c2s # one\n  and input   # two",
                "drop when c2s # one\n  and input   # two\n",
            ),
            (
                "seed 1\n\n\n# a\n\n   # b\nlog when c2s\n\n\n",
                "seed 1\n\n# a\n\n# b\nlog when c2s\n",
            ),
            ("log \"a # b\" when /#/", "log \"a # b\" when /#/\n"),
            // Hidden characters in a file by someone else.
            (
                "drop when \"\u{1b}\u{202e}\u{200b}\" or /\u{202e}\\\u{1b}[\u{200b}]/",
                "drop when \"\\u{1b}\\u{202e}\\u{200b}\" or /\\u{202e}\\u{1b}[\\u{200b}]/\n",
            ),
            (
                "hold until seen(x) max 30s when s2c",
                "hold until seen(x) when s2c\n",
            ),
        ] {
            assert_eq!(canonical(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn a_long_rule_is_continued_on_lines_of_its_own() {
        let text = "inject s2c sv_broadcast{message: \"the connection is bad now\"}, log \"bad\" \
            when enter_game and sess.name == \"nameless tee\" once per session # for a test";
        assert_eq!(
            canonical(text),
            "inject s2c sv_broadcast{message: \"the connection is bad now\"}, log \"bad\"\n    \
             when enter_game and sess.name == \"nameless tee\"\n    once per session  # for a test\n"
        );
    }

    #[test]
    fn wrong_statements_are_all_reported() {
        let errors = format("drup when c2s\nseed 1\nlink up\n").unwrap_err();
        assert_eq!(errors.len(), 2);
    }
}
