//! Interruptions of the main loop.

use teetap_proxy::session::Level;

use crate::exit::Exit;

/// Number of the signal for a terminal that has hung up.
pub(crate) const SIGHUP: u8 = 1;

/// An interruption of the wait for the next tick.
#[derive(Debug)]
pub(crate) enum Wake {
    /// A signal was received, with this number.
    Signal(u8),
    /// The demo has ended, with this exit code and lines to print.
    Done(Exit, Vec<(Level, String)>),
    /// Stdin was closed.
    StdinClosed,
    /// A line to print.
    Report(Level, String),
}
