//! The result of a run: its cause, its exit code, the facts at its end, and its tests in a report.

mod ended_by;
mod exit;
mod joins;
mod summary;
mod times;
mod verdicts;

pub use ended_by::{EndedBy, Last, by_ending, by_signal, decide};
pub use exit::Exit;
pub use joins::Joins;
pub use summary::{Summary, grave};
pub use times::Times;
pub use verdicts::{Verdicts, VerdictsError};

/// Maximum number of findings, and of stopped joins, that are named at the end of a run.
pub const FEW: usize = 3;
