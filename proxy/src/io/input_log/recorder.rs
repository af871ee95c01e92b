//! The data thread's end of the log.
//!
//! Law: an entry is begun before the core handles its input, so that an input that crashes the core is in the
//! log.

use std::path::Path;

use serde::Serialize;

use super::{End, Entry, Header, LoggedInput, LoggedOutput, Reason};
use crate::{
    io::log_file::{self, Fault, Log, LogEntry, LogError, LogSender, Writing},
    session::{Input, Output, Time},
};

/// A log that is being written. Dropping it completes the log.
#[derive(Debug)]
pub struct Recorder {
    sender: LogSender<Entry>,
    /// The input that the core is handling, with its outputs so far.
    open: Option<Entry>,
}

/// Creates the file and starts the writer.
///
/// # Errors
/// See [`LogError`]. No thread is started then.
pub fn start(path: &Path, header: &Header) -> Result<(Recorder, Writing), LogError> {
    let (sender, writing) = log_file::start(path, header)?;
    Ok((Recorder { sender, open: None }, writing))
}

impl Recorder {
    /// Begins the entry of an input that the core is about to handle.
    pub fn begin(&mut self, at: Time, input: &Input<'_>) {
        // An entry that is still open means that the core panicked on it and the panic was caught.
        self.end();
        if self.sender.is_open() {
            self.open = Some(Entry {
                at: at.0,
                input: LoggedInput::from(input),
                outputs: Vec::new(),
            });
        }
    }

    /// Appends an output of the core to the entry.
    pub fn output(&mut self, output: &Output<'_>) {
        if let Some(open) = &mut self.open
            && let Some(wanted) = LoggedOutput::from_output(output)
        {
            open.outputs.push(wanted);
        }
    }

    /// Completes the entry: the core has no more outputs for its input.
    pub fn end(&mut self) {
        if let Some(entry) = self.open.take() {
            self.sender.push(entry);
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.end();
    }
}

/// The last line.
#[derive(Serialize)]
struct Last {
    end: End,
}

impl LogEntry for Entry {
    const LOG: Log = Log::Inputs;

    fn weight(&self) -> usize {
        self.size()
    }

    fn line(&self) -> impl Serialize {
        self
    }

    fn last(fault: Option<&Fault>, inputs: u64) -> impl Serialize {
        let (reason, error) = match fault {
            None => (Reason::Complete, None),
            Some(Fault::QueueFull) => (Reason::QueueFull, None),
            Some(Fault::WriteFailed(error)) => (Reason::WriteFailed, Some(error.clone())),
            Some(Fault::Crashed) => (Reason::Crashed, None),
        };
        Last {
            end: End {
                reason,
                inputs,
                error,
            },
        }
    }
}
