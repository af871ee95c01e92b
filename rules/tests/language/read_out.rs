//! Tests of statements in English: one snapshot with every kind.

use teetap_rules::{explain::explain, syntax::parse_statements};

const TEXT: &str = include_str!("read_out.tap");

#[test]
fn every_kind_of_statement_is_read_out() {
    let statements = parse_statements(TEXT).unwrap();
    let lines: Vec<String> = statements
        .iter()
        .map(|statement| format!("{statement}\n    {}", explain(statement)))
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

/// The reason is sent to one peer; the session ends for both.
#[test]
fn a_close_is_of_both_legs() {
    let read = |source: &str| {
        let statements = parse_statements(source).unwrap();
        statements.iter().map(explain).collect::<Vec<_>>().join("\n")
    };
    let ends =
        |how: &str| format!("When a message is `cl_kill`: close both legs{how}; then try no later rule.");
    for (source, how) in [
        ("close", ""),
        ("close client", ""),
        ("close \"bye\"", ", with the reason \"bye\""),
        ("close both \"bye\"", ", with the reason \"bye\""),
        ("close client \"bye\"", ", with the reason \"bye\" for the client"),
        ("close server \"bye\"", ", with the reason \"bye\" for the server"),
    ] {
        assert_eq!(read(&format!("{source} when cl_kill")), ends(how), "{source}");
    }
}
