//! Checks names and kinds of values.
//!
//! Law: one check reports all errors. The evaluation of an expression without errors looks up no names and has no value
//! of an unexpected kind. A field that exists only in some protocol versions is unknown in the others, which is a note
//! and not an error.

mod call;
mod checker;
mod compare;
mod complete;
mod cond;
mod fact;
mod field;
mod item;
mod kinds;
mod literal;
mod made;
mod name;
mod ordinal;
mod resolved_action;
mod scope;
mod set;
mod value;
mod variable;
mod versions;
mod vocabulary;
mod words;

pub use complete::{Completion, completions, is_rule_word};
pub(crate) use cond::check;
pub(crate) use fact::noun;
pub(crate) use kinds::{VarValue, Variables};
pub(crate) use literal::{MAX_REGEXES, too_many_regexes};
pub(crate) use made::check_made;
pub(crate) use name::is_snap;
pub(crate) use resolved_action::{
    Assign, DialectForm, Replace, ResolvedAction, Target, Template, check_rule,
};

pub use vocabulary::{class_of, is_word, rule_vocabulary, vocabulary};
