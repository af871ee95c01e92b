#![doc = include_str!("../README.md")]
//!
//! ```text
//! event ── decoder, select ──> reading ──> lines ──> row (text), jsonl, lists
//! ```
//!
//! Events contain raw bytes. [`decoder`] decodes their messages with the definitions and evaluates filters on them; a
//! [`reading`] is the typed result. [`feed`] decodes each event once for all watchers, and [`subscribers`] are watchers
//! with their own filters. [`lines`] decides which lines an event has, [`row`] and [`jsonl`] render the lines that are
//! shown, and [`sentence`] explains their notes. [`joins`] tracks joins and reports stalled logins. [`judge`] collects
//! the errors and warnings of a run or a recording.
//!
//! Law: text from peers never contains control characters when this crate returns it.
//!
//! [`report`] sums up a recording as Markdown. [`mod@explain`] is independent of the other modules: it explains every byte of one datagram. [`diff`] compares two
//! sessions.

mod after;
pub mod both_legs;
mod cells;
pub mod control;
pub mod decoder;
pub mod diff;
pub mod dry_run;
mod encoding;
mod ending;
pub mod expect;
pub mod explain;
pub mod feed;
mod field_order;
pub mod fold;
pub mod follow;
mod form;
pub mod frame;
mod gist;
mod header_length;
mod held;
mod history_filter;
mod ints;
pub mod joins;
pub mod jsonl;
pub mod judge;
pub mod lines;
mod matcher;
mod meant;
mod place;
mod previous;
pub mod reading;
pub mod recording;
pub mod report;
pub mod row;
mod select;
pub mod sentence;
mod snapshot;
pub mod snapshots;
mod stated;
mod style;
pub mod subscribers;
#[cfg(test)]
mod testing;
mod token_mistake;
pub mod track;
mod transit;
mod values;
mod viewer;

pub use after::After;
pub use both_legs::BothLegs;
pub use decoder::Decoder;
pub use dry_run::DryRun;
pub use ending::{Ending, EndingBy};
pub use feed::DecodedEvent;
pub use follow::Statistics;
pub use held::DecodedHeld;
pub use history_filter::HistoryFilter;
pub use lines::EventLines;
pub use reading::{Layer, Message, Reading};
pub use row::{Row, rows};
pub use sentence::Sentences;
pub use snapshot::{ItemBytes, ItemRow, item_rows};
pub use snapshots::Snapshots;
pub use stated::{Stated, StatedBy};
pub use style::{Kind, Style, Verbosity, Viewer};
pub use subscribers::{Subscribers, Subscription};
pub use track::Detail;
pub use transit::Transits;
pub use values::Values;
