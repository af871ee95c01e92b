//! The text of an expression, and the tree it stands for.
//!
//! Law: [`parse`] takes any text and neither panics nor runs out of stack: length, nesting and the number of
//! arithmetic operators are limited. Printing a tree and parsing it again gives the same tree. No name is looked up
//! here; that is `check`.

mod ast;
mod error;
mod lex;
mod number;
mod operand;
mod parse;
mod print;
#[cfg(test)]
mod tests;

pub use ast::{Arith, Call, Choice, Compare, Expr, Index, Kind, Name, Path, Segment};
pub(crate) use error::OPERATORS;
pub use number::{Number, Quantity, Unit};
pub use parse::{MAX_ARITHMETIC, MAX_LENGTH, MAX_NESTING, parse};
