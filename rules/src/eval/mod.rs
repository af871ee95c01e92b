//! Checked expressions, and what they are asked about.
//!
//! Law: a program is made by the checker only, and deciding with it never fails, never allocates and costs no more
//! than its length. A comparison without a value is unknown, and stays unknown under `not`. What has to be remembered
//! between messages is in a [`Memory`] of fixed size, one for each session.

mod facts;
mod history;
mod key;
mod memory;
mod program;
mod reach;
mod remember;
mod run;
mod test;

pub use facts::{
    Facts, Fields, Flag, Identity, Lazy, PacketFact, SessionFact, SessionState, SnapFact, Subject,
};
pub use memory::{MAX_KEPT, Memory};
pub use reach::Reach;

pub(crate) use key::{Key, Target};
pub(crate) use program::{Cond, Entry, Field, Number, Program, Source, Text};
pub(crate) use test::{IntTest, Test, TextTest};
