//! Statements in English: one snapshot of every kind.

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
