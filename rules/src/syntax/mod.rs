//! The text of expressions and statements, and their trees.
//!
//! Law: [`parse()`] and [`parse_statements`] accept any text and neither panic nor overflow the stack, since length,
//! nesting and the number of arithmetic operators are limited. Printing a tree and parsing it again results in the same
//! tree. Names are resolved later, in `check`.

mod action;
mod advice;
mod argument;
mod ast;
mod change;
mod error;
mod format;
mod lex;
mod link;
mod made;
mod modifier;
mod named;
mod number;
mod operand;
mod parse;
mod pipeline;
mod print;
mod profile;
mod rule;
mod statement;
mod template;
#[cfg(test)]
mod tests;
mod words;

pub use action::Action;
pub(crate) use action::English;
pub(crate) use advice::{idiom, is_quotable, names_an_action};
pub(crate) use argument::with_unit;
pub use ast::{Arith, Call, Choice, Compare, Expr, Index, Kind, Name, Path, Segment};
pub use change::{Assign, Replace};
pub use format::format;
pub use link::Link;
pub use made::Made;
pub(crate) use made::parse_made;
pub use modifier::{Every, Max, Modifiers, Scope};
pub use named::Let;
pub use number::{Number, Quantity, Unit};
pub use parse::{MAX_NESTING, parse};
pub use pipeline::RuleStep;
pub use profile::{Profile, Use};
pub use rule::Rule;
pub(crate) use statement::places;
pub use statement::{Outlined, Statement, outline, parse_statements};
pub use template::{Template, TemplatePart};
pub(crate) use template::{parse_template, place_in_text};
pub(crate) use words::{ACTIONS, LINK_WORDS, MODIFIERS, OPERATORS};
