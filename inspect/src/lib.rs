//! What a person sees of the traffic.
//!
//! [`decoder`] reads messages through the definitions and asks filters about them. [`reading`] takes a datagram event apart
//! again: the core tells what happened in bytes, and whoever shows it decodes it, off the data thread. [`row`] makes text
//! of events, for the plain output and for tables.
//!
//! Law: nothing a peer sent leaves here as a control character.
//!
//! [`mod@explain`] stands alone: it names every byte of one datagram.

pub mod decoder;
pub mod explain;
mod gist;
pub mod jsonl;
mod judge;
mod matcher;
pub mod reading;
pub mod recording;
pub mod row;
mod snapshot;
mod style;
mod teller;

pub use decoder::Decoder;
pub use reading::{Layer, Message, Reading};
pub use row::{Kind, Row, Verbosity, rows};
pub use style::Style;
pub use teller::{Content, Form};
