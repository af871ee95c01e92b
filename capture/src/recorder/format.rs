//! The formats of recordings, as the recorder sees them.

use teetap_inspect::DecodedEvent;
use teetap_proxy::{
    io::Seen,
    session::{Level, Time},
};

/// Encoder for a format of recordings.
pub trait Encode: Send {
    /// Appends the start of a run.
    fn start(&mut self, out: &mut Vec<u8>);

    /// Appends an event or a gap.
    fn seen(&mut self, seen: &Seen<DecodedEvent>, now: Time, out: &mut Vec<u8>);

    /// Appends a gap before the first event of a recording that begins in the middle of a run.
    fn left_out(&mut self, at: Time, count: u64, out: &mut Vec<u8>);

    /// Appends a log line of the program.
    fn log(&mut self, at: Time, level: Level, text: &str, out: &mut Vec<u8>);

    /// Appends the summary of the run. `json` is the same summary as a JSON line.
    fn summary(&mut self, at: Time, text: &str, _json: &[u8], out: &mut Vec<u8>) {
        self.log(at, Level::Info, text, out);
    }
}
