//! What is to happen to a message: the verdicts that the session core carries out.
//!
//! Law: pure. A [`Decide`] sees one message and answers with a [`Verdict`]; it owns no socket, no clock and no
//! randomness of its own. The session core carries the verdict out (`teetap-proxy`, `session::splice`).
//!
//! The rule and filter language that compiles text into a `Decide` lives here too; today the crate holds the
//! contract only, so that operations can be written in Rust and exercised by tests.

mod verdict;

pub use verdict::{Decide, Fate, Made, Message, Order, Verdict};
