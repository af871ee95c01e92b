//! The text of expressions and rules, and their trees.
//!
//! Law: [`parse()`] and [`parse_rules`] accept any text and neither panic nor run out of stack: length, nesting and the
//! number of arithmetic operators are limited. Printing a tree and parsing it again gives the same tree. Names are
//! looked up later, in `check`.

mod ast;
mod error;
mod lex;
mod number;
mod operand;
mod parse;
mod print;
mod rule;
#[cfg(test)]
mod tests;

pub use ast::{Arith, Call, Choice, Compare, Expr, Index, Kind, Name, Path, Segment};
pub(crate) use error::OPERATORS;
pub use number::{Number, Quantity, Unit};
pub use parse::{MAX_ARITHMETIC, MAX_LENGTH, MAX_NESTING, parse};
pub use rule::{Action, MAX_RULES, Rule, parse_rules};
