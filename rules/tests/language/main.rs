//! Tests of the filter language, from text to decision.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails may stop"
)]
#![expect(clippy::disallowed_methods, reason = "tests choose the built-in definitions")]

mod beginners;
mod decide;
mod effects;
mod ends;
mod facts;
mod hits;
mod items;
mod journal;
mod links;
mod modifiers;
mod names;
mod pipeline;
mod program;
mod properties;
mod random;
mod read_out;
mod right;
mod same;
mod stage;
mod subject;
mod tables;
mod warned;
mod writes;
mod wrong;
