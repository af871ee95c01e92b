//! Evaluates checked expressions.
//!
//! Law: only the checker creates programs. Evaluation never fails, never allocates, and its cost is limited by the
//! length of the program. A comparison without a value is unknown, and stays unknown under `not`. Values for later
//! messages are kept in a [`Memory`] of fixed size, one per session.

mod facts;
mod history;
mod key;
mod memory;
mod program;
mod reach;
mod remember;
mod reported;
mod run;
mod test;
mod value;
mod variables;

pub use facts::{
    DoneAction, DoneFact, Facts, Fields, Flag, Identity, Lazy, Maker, PacketFact, SessionFact, SessionState,
    SnapFact, Subject,
};
pub use memory::{MAX_KEPT, Memory};
pub use reach::Reach;

pub(crate) use key::{DefKey, Target};
pub(crate) use program::{Cond, Field, FieldVariant, Number, Program, Source, Text};
pub(crate) use reported::Reported;
pub(crate) use test::{IntTest, Test, TextTest};
pub(crate) use value::{TextPart, Value};
pub(crate) use variables::{Given, Variables};
