//! The input log: all inputs of the core and their outputs, so that a run can be repeated.
//!
//! # The file
//!
//! JSON lines, version [`VERSION`]. The first line is the [`Header`]: the version, the configuration of the
//! core (including the secret of the tokens), seed, server, listen address, wall clock and the text of custom
//! definitions. It is followed by one [`Entry`] per input, with the datagrams that the core sent in return
//! and the sockets that it opened and closed; bytes are hex. The last line is an [`End`].
//!
//! ```text
//! {"input_log":7,"version":"0.2.0","config":{..},"seed":7,"target":"127.0.0.1:8303",..}
//! {"t":2168,"in":{"from_client":{"listener":0,"addr":"127.0.0.1:5000","bytes":"10.."}},"out":[{"open":{"upstream":1,"port":8303}},{"to_server":{"upstream":1,"bytes":"10.."}}]}
//! {"t":9001,"in":"timeout","out":[]}
//! {"end":{"reason":"complete","inputs":2}}
//! ```
//!
//! # Its law
//!
//! The data thread never waits for the log: `io::log_file` queues entries, and a separate thread writes them.
//! A log always contains the beginning of a run, without gaps.
//!
//! Other programs cannot read this format; captures are written for them.

mod command;
mod entry;
mod header;
mod reader;
mod recorder;
mod replay;
mod wanted;

pub use crate::{hex::Hex, words::Word};
pub use entry::{Compile, Compiled, Entry, LoggedInput, ProgramError};
pub use header::{Core, Definitions, End, Header, Reason, VERSION};
pub use reader::{Cut, ReadError, Reader};
pub use recorder::{Recorder, start};
pub use replay::{Checked, Difference, Loaded, Texts, check};
pub use wanted::LoggedOutput;

#[cfg(test)]
mod tests;
