//! The dependencies: all from crates.io, all under licences that are allowed in a binary of MIT or Apache-2.0.

use std::process::Command;

use serde_json::Value;

/// Licences that are allowed.
const ALLOWED: [&str; 8] = [
    "MIT",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Splits an expression at a word outside of parentheses.
fn split<'e>(expression: &'e str, word: &str) -> Vec<&'e str> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0);
    for (at, char) in expression.char_indices() {
        match char {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth == 0 && expression[at..].starts_with(word) => {
                parts.push(&expression[from..at]);
                from = at + word.len();
            }
            _ => {}
        }
    }
    parts.push(&expression[from..]);
    parts
}

/// Returns true if allowed licences satisfy an SPDX expression.
fn is_allowed(expression: &str) -> bool {
    let expression = expression.trim();
    let inner = expression
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'));
    let (any, all) = (split(expression, " OR "), split(expression, " AND "));
    match inner {
        _ if any.len() > 1 => any.into_iter().any(is_allowed),
        _ if all.len() > 1 => all.into_iter().all(is_allowed),
        Some(inner) => is_allowed(inner),
        None => ALLOWED.contains(&expression),
    }
}

#[test]
fn expressions_are_understood() {
    for expression in [
        "MIT",
        "GPL-3.0 OR MIT",
        "(MIT OR Apache-2.0) AND Unicode-3.0",
        "MIT AND (ISC OR X)",
    ] {
        assert!(is_allowed(expression), "{expression}");
    }
    for expression in ["GPL-3.0", "", "MIT AND GPL-3.0", "(X OR Y) AND MIT", "MITX"] {
        assert!(!is_allowed(expression), "{expression}");
    }
}

#[test]
fn every_dependency_has_an_allowed_source_and_licence() {
    let version = Command::new("rustc").arg("-vV").output().unwrap().stdout;
    let version = String::from_utf8(version).unwrap();
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .unwrap();
    // Dependencies of other platforms need not be downloaded.
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--offline",
            "--locked",
            "--filter-platform",
            host,
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 50, "{}", packages.len());
    for package in packages {
        let name = &package["name"];
        let licence = package["license"]
            .as_str()
            .unwrap_or_default()
            .replace('/', " OR ");
        assert!(is_allowed(&licence), "{name}: licence '{licence}'");
        // Crates of this workspace have no source.
        let source = package["source"]
            .as_str()
            .unwrap_or("registry+https://github.com/rust-lang/crates.io-index");
        assert_eq!(
            source, "registry+https://github.com/rust-lang/crates.io-index",
            "{name}"
        );
    }
}
