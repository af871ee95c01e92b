//! Two sessions compared by message and field.
//!
//! ```text
//! events ── collect ──> side ─┐
//!                             ├─ compare ──> differences
//! events ── collect ──> side ─┘
//! ```
//!
//! [`Collector`] keeps of one session what can be compared: messages in the order in which their receiver takes them, each
//! once, without numbers, acks, tokens, times and ticks; inputs and snapshots by their ticks. [`compare()`] aligns two of them.
//!
//! Law: bounded. A side keeps so many messages, inputs and snapshots, in so many bytes; more are counted. The same two sides
//! give the same result, whatever the clock.

mod align;
mod collect;
mod compare;
mod difference;
mod entry;
mod ignore;
mod order;
mod side;
mod ticks;
mod view;

pub use collect::{Collector, NoSide, Options};
pub use compare::{Comparison, Found, Run, Totals, compare};
pub use difference::{Difference, FieldDifference, How, Manner};
pub use ignore::{Ignore, UnknownName};
pub use side::{Left, Side};
pub use view::View;

#[cfg(test)]
mod tests;
