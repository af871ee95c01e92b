//! Compares two sessions by message and field.
//!
//! ```text
//! events ── collect ──> side ─┐
//!                             ├─ compare ──> differences
//! events ── collect ──> side ─┘
//! ```
//!
//! [`Collector`] keeps the comparable parts of one session: each message once, in the order in which the receiver
//! accepts them, without sequence numbers, acks, tokens, times and ticks; and inputs and snapshots by tick.
//! [`compare()`] aligns two sides. The legs of one run are aligned by what the recording says about each message, other
//! sides by name and fields.
//!
//! Law: memory is bounded. Each side keeps a limited number of messages, inputs and snapshots in limited memory, and
//! only counts the rest. The result depends only on the two sides, not on the clock.

mod align;
mod collect;
mod compare;
mod difference;
mod entry;
mod ignore;
mod legs;
mod lineage;
mod options;
mod order;
mod side;
mod stats;
mod ticks;
mod view;

pub use collect::Collector;
pub use compare::{Comparison, Found, Run, Stop, Totals, compare};
pub use difference::{DiffSettings, Difference, FieldDifference, How};
pub use ignore::{Ignore, UnknownName};
pub use options::{NoSide, Options};
pub use side::{Omitted, Side};
pub use stats::{Measure, Statistic};
pub use view::View;

#[cfg(test)]
mod tests;
