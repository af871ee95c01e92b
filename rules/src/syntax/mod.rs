//! The text of expressions and rules, and the trees they stand for.
//!
//! Law: [`parse`] and [`parse_rules`] take any text and neither panic nor run out of stack: length, nesting and the number of
//! arithmetic operators are limited. Printing a tree and parsing it again gives the same tree. No name is looked up
//! here; that is `check`.

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
