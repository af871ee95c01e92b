//! The journal: decisions of rules and link lines that cause faults or changes, so that another run can
//! repeat them.
//!
//! # The file
//!
//! JSON lines, version [`VERSION`]. The first line is the [`Header`] with the seed and the text of the rules,
//! the last line is an [`End`]. Each line in between is a decision, the text of rules that were set later, or
//! a client that entered the game.
//!
//! ```text
//! {"journal":1,"version":"0.2.0","seed":7,"rules":"slow: delay 80ms..120ms when input\nlink s2c loss 5%\n"}
//! {"t":1.204,"session":1,"dir":"c2s","rule":"slow","message":"input","ordinal":61,"action":"delay 80ms..120ms","delay_us":[93123]}
//! {"t":1.209,"session":1,"dir":"s2c","link":"link s2c loss 5%","datagram":80,"action":"lose","lost":"loss"}
//! {"t":2.310,"session":1,"entered_us":1204118}
//! {"end":"complete","decisions":2}
//! ```
//!
//! # Its law
//!
//! The data thread never waits for the journal: `io::log_file` queues decisions, and a separate thread writes them. Equal
//! seeds and inputs produce equal journals.

mod line;
mod reader;
mod writer;

pub use line::{DecisionLine, End, EntryLine, Header, JournalRecord, RulesLine, VERSION};
pub use reader::{Journal, JournalError};
pub(super) use writer::{JournalWriter, start};

#[cfg(test)]
mod tests;
