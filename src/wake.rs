//! Interruptions of the main loop.

use teetap_proxy::session::Level;

use crate::exit::Exit;

/// The signal of a terminal that is gone.
pub(crate) const SIGHUP: u8 = 1;

/// An interruption of the wait for the next tick.
#[derive(Debug)]
pub(crate) enum Wake {
    /// A signal was received: its number.
    Signal(u8),
    /// The demo is over: the end, and lines to print.
    Done(Exit, Vec<(Level, String)>),
    /// A line to print.
    Report(Level, String),
}
