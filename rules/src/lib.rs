#![doc = include_str!("../README.md")]
//!
//! Law: pure. A [`Filter`] decides whether a message matches an expression; a [`Decide`] sees one message and returns a
//! [`Verdict`]. Neither has a socket, a clock or a source of randomness. The session core carries a verdict out
//! (`teetap-proxy`, `session::splice`).
//!
//! | module | part |
//! |---|---|
//! | [`syntax`] | the text of an expression, and its tree |
//! | `check` | checks names and kinds of values against the message definitions |
//! | [`eval`] | the evaluation of checked expressions |
//! | [`context`] | everything known of a session, and the facts about its messages |
//! | [`explain`] | statements explained in English |
//! | [`impair`] | link impairment of whole datagrams, such as delay, loss and rate |
//! | [`program`] | rules: conditions on messages, and actions |
//! | [`diagnostic`] | errors, warnings and notes about a text |
//! | `corrected` | help that is checked before it is shown |
//! | `synonym` | words of other tools, with what to type for them |
//! | [`wrap`] | text for people in lines of a given width |

#![warn(missing_docs)]

pub mod context;
pub mod diagnostic;
pub mod eval;
pub mod explain;
pub mod impair;
pub mod program;
pub mod syntax;
pub mod wrap;

mod check;
mod corrected;
mod dice;
mod draft;
mod filter;
mod opening;
mod proto_dirs;
mod render;
mod span;
mod synonym;
mod units;
mod verdict;

pub use check::{Completion, class_of, completions, is_rule_word, is_word, rule_vocabulary, vocabulary};
pub use diagnostic::{Diagnostic, Severity};
pub use draft::{Draft, DraftError};
pub use eval::{Facts, Fields, Memory, Reach, Subject};
pub use filter::Filter;
pub use opening::Opening;
pub use program::{
    By, Decide, Decision, Drawn, Failure, GameEntry, Hit, Hits, Interest, LineReport, Logic, Program,
    RepeatError, Report, RuleReport, Shared, Test,
};
pub use proto_dirs::ProtoDirs;
pub use render::{Style, render_def_error};
pub use span::Span;
pub use verdict::{
    Effect, End, Fate, Made, Message, Order, PacketFacts, PacketKind, RuleId, SnapshotPart, Verdict,
};
