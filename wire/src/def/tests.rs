//! Tests of definitions and interpreter together.

use super::*;

#[test]
fn what_is_built_in_is_right() {
    if let Err(errors) = Registry::load(&[]) {
        let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
        panic!("{}", errors.join("\n"));
    }
}

#[test]
fn dump() {
    for d in Dialect::ALL { println!("{d} {}", Registry::builtin().defs(d).count()); }
    println!("{}", Registry::builtin().describe("input").unwrap());
    println!("{}", Registry::builtin().describe("info").unwrap());
}
