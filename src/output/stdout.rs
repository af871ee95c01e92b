//! Stdout of a run: output is gathered, and written once per tick.
//!
//! Law: a closed pipe is not an error, and neither is a terminal that has hung up. After an error, all further output
//! is discarded, since a partial line may already be written.

use std::io;

use teetap_tui::has_hung_up;

use crate::exit::Failure;

/// Stdout, with the bytes to write at the next tick.
#[derive(Debug, Default)]
pub(super) struct Stdout {
    /// Gathered lines.
    pub(super) lines: Vec<u8>,
    closed: bool,
    /// True if stdout was a terminal that has hung up.
    has_lost_terminal: bool,
    fault: Fault,
}

/// The error of stdout, and its effect.
#[derive(Debug, Default)]
enum Fault {
    /// No error yet; the first error ends the command.
    #[default]
    Ends,
    /// No error yet; the first error is reported, and the command continues.
    None,
    /// An error that has not been reported.
    New(String),
    /// An error that was reported.
    Reported,
}

impl Stdout {
    /// Lets the command continue if stdout cannot be written.
    pub(super) fn outlive(&mut self) {
        self.fault = Fault::None;
    }

    /// Returns true if stdout was a terminal that has hung up.
    pub(super) const fn has_lost_terminal(&self) -> bool {
        self.has_lost_terminal
    }

    /// Returns true if stdout could not be written.
    pub(super) const fn has_failed(&self) -> bool {
        matches!(self.fault, Fault::New(_) | Fault::Reported)
    }

    /// Returns an error that was not reported yet, and marks it as reported.
    pub(super) fn take_error(&mut self) -> Option<String> {
        let Fault::New(why) = &mut self.fault else {
            return None;
        };
        let why = std::mem::take(why);
        self.fault = Fault::Reported;
        Some(why)
    }

    /// Writes the gathered lines. Returns false if stdout is closed.
    pub(super) fn flush(
        &mut self,
        write: impl FnOnce(&[u8]) -> Result<bool, Failure>,
    ) -> Result<bool, Failure> {
        let is_written = matches!(self.fault, Fault::Ends | Fault::None);
        if is_written && !self.closed && !self.lines.is_empty() {
            match (write(&self.lines), &self.fault) {
                (Ok(is_open), _) => {
                    self.closed = !is_open;
                    self.has_lost_terminal = self.closed && has_hung_up(io::stdout());
                }
                (Err(failure), Fault::Ends) => return Err(failure),
                (Err(failure), _) => self.fault = Fault::New(failure.to_string()),
            }
        }
        self.lines.clear();
        Ok(!self.closed)
    }
}
