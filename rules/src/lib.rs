//! What is to happen to a message: the language that says it, and the verdicts that the session core carries out.
//!
//! Law: pure. A [`Decide`] sees one message and answers with a [`Verdict`], a [`Filter`] says whether a message is one
//! that is looked for; neither owns a socket, a clock or randomness of its own. The session core carries a verdict out
//! (`teetap-proxy`, `session::splice`).
//!
//! | module | part |
//! |---|---|
//! | [`syntax`] | the text of an expression, and its tree |
//! | `check` | names and kinds of values, against the message definitions |
//! | [`eval`] | deciding about a message |
//! | [`context`] | everything known of a session, and the facts about its messages |
//! | [`program`] | rules: what is to be done with which messages |
//! | [`diagnostic`] | what is wrong with a text, and how it is shown |

#![warn(missing_docs)]

pub mod context;
pub mod diagnostic;
pub mod eval;
pub mod program;
pub mod syntax;

mod check;
mod filter;
mod span;
mod verdict;

pub use check::{class_of, is_word, vocabulary};
pub use diagnostic::{Diagnostic, Severity, Style};
pub use eval::{Facts, Fields, Memory, Reach, Subject};
pub use filter::Filter;
pub use program::{Logic, Opening, Program};
pub use span::Span;
pub use verdict::{Decide, Fate, Made, Message, Order, PacketFacts, RuleId, Verdict};
