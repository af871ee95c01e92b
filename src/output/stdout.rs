//! Stdout of a run: what is printed gathers, and is written once per tick.
//!
//! Law: a closed pipe is not an error, nor is a terminal that has hung up. After an error nothing more is written: a part of a line may be there.

use std::io;

use teetap_tui::has_hung_up;

use crate::exit::Failure;

/// Stdout with the bytes that wait for the next tick.
#[derive(Debug, Default)]
pub(super) struct Stdout {
    /// The lines that have gathered.
    pub(super) lines: Vec<u8>,
    closed: bool,
    /// True once stdout was closed, if it was a terminal.
    has_lost_terminal: bool,
    fault: Fault,
}

/// The error of stdout, and its effect.
#[derive(Debug, Default)]
enum Fault {
    /// No error; the first one ends the command.
    #[default]
    Ends,
    /// No error; the first one is reported, and the command continues.
    None,
    /// An error that is not reported yet.
    New(String),
    /// An error that was reported.
    Reported,
}

impl Stdout {
    /// Lets the command continue once stdout cannot be written.
    pub(super) fn outlive(&mut self) {
        self.fault = Fault::None;
    }

    /// Returns true if it was a terminal, which is gone.
    pub(super) const fn has_lost_terminal(&self) -> bool {
        self.has_lost_terminal
    }

    /// Returns the error that is not reported yet.
    pub(super) fn take_error(&mut self) -> Option<String> {
        let Fault::New(why) = &mut self.fault else {
            return None;
        };
        let why = std::mem::take(why);
        self.fault = Fault::Reported;
        Some(why)
    }

    /// Writes what has gathered; false when stdout is closed.
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
