//! Names and kinds of values.
//!
//! Law: everything that is wrong is found at once, and an expression without an error is complete: deciding with it
//! looks up no name and meets no value of a kind it does not know. A field that only some protocol versions have is
//! unknown in the others, which is a note and no error.

mod call;
mod checker;
mod compare;
mod cond;
mod fact;
mod field;
mod literal;
mod name;
mod scope;
mod set;
mod value;
mod versions;
mod vocabulary;
mod words;

pub(crate) use cond::check;
pub use vocabulary::{class_of, is_word, vocabulary};
