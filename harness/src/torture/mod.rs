//! A client that joins once for each message of a login and each fault.
//!
//! Law: each cell is a separate run with its own listen port and session. Which cells a client is expected to
//! survive is a table of facts about the peers; it does not depend on the runs.
//!
//! | file | contents |
//! |---|---|
//! | `login.rs` | the messages of a login |
//! | `cell.rs` | a message and a fault: the rule, and whether peers survive the fault |
//! | `run.rs` | one run of the client through a proxy in process |
//! | `printed.rs` | the last line that the client prints |
//! | `watch.rs` | the facts that the events and the end of a run show |
//! | `limit.rs` | limits of servers: reasons to refuse clients for a while |
//! | `verdict.rs` | the verdict that follows from these facts |
//! | `tried.rs` | the results |
//! | `report.rs` | the results as JSON lines and as a JUnit report |
//! | `tries.rs` | the order of runs: baseline, cells, second tries |

mod cell;
mod limit;
mod login;
mod printed;
mod report;
mod run;
mod tried;
mod tries;
mod verdict;
mod watch;

pub use cell::{Cell, Fault};
pub use login::LoginMessage;
pub use report::Report;
pub use run::{Plan, Prepare, Stopper};
pub use tried::{Baseline, CellResult, Results};
pub use tries::{Progress, TortureError, run};
pub use verdict::{Judged, Verdict};
