//! Compares two sessions by message and field.
//!
//! ```text
//! events ── collect ──> side ─┐
//!                             ├─ compare ──> differences
//! events ── collect ──> side ─┘
//! ```
//!
//! [`Collector`] keeps the comparable part of one session: messages once each in the order of their receiver, without
//! sequence numbers, acks, tokens, times and ticks; inputs and snapshots by tick. [`compare()`] aligns two sides.
//!
//! Law: bounded. A side keeps a maximum number of messages, inputs and snapshots, with a maximum of memory; more are
//! only counted. The result depends only on the two sides, not on the clock.

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
pub use difference::{DiffSettings, Difference, FieldDifference, How};
pub use ignore::{Ignore, UnknownName};
pub use side::{Left, Side};
pub use view::View;

#[cfg(test)]
mod tests;
