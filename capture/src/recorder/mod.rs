//! The recorder: a watcher that writes events to a file, on a separate thread.
//!
//! Law: the data thread never waits for the recorder and never wakes it. The recorder lags by at most its own tick and
//! the tick of the bus, so a crash loses at most the last 25 ms. If the file cannot be written, the run continues: the
//! error is reported once, and the missing packets are counted.

mod destination;
mod file;
mod flight;
mod format;
mod outcome;
mod pipe;
mod ring;
mod writer;

use std::{
    io,
    sync::{Arc, atomic::Ordering, mpsc},
    thread::{self, JoinHandle},
};

use teetap_inspect::DecodedEvent;
use teetap_proxy::{
    io::{Clock, Watcher},
    session::{Level, Time},
};

pub use destination::Destination;
pub use file::{FileError, RecordingFile};
pub(crate) use file::{FindEnd, end_of_pcapng};
use flight::Flight;
pub use flight::{AFTER, FlightPlan};
pub(crate) use flight::{Goal, Numbered};
pub use format::Encode;
use outcome::Shared;
pub use outcome::{Faults, Recorded, Trouble};
pub(crate) use pipe::RecordingPipe;
pub use ring::LIMIT;
pub use writer::CompletedRecording;
use writer::Writer;
pub(crate) use writer::packets_of;

/// A recording in progress.
#[derive(Debug)]
pub struct Recording {
    thread: JoinHandle<CompletedRecording>,
    shared: Arc<Shared>,
    logs: mpsc::Sender<(Time, Level, String)>,
}

/// Writes the start of the run and starts the thread. A pipe is written by the thread only, since it may have no reader
/// yet.
///
/// # Errors
/// An error of the operating system; there is no recording then.
pub fn start(
    destination: impl Into<Destination>,
    mut encode: Box<dyn Encode>,
    watcher: Watcher<DecodedEvent>,
    clock: Clock,
) -> Result<Recording, FileError> {
    let mut destination = destination.into();
    destination.keep()?;
    let path = destination.path().to_owned();
    let failed = |error| FileError::Create { path, error };
    let is_pipe = destination.is_pipe();
    let mut block = Vec::new();
    encode.start(&mut block);
    let mut writer = Writer {
        destination: Some(destination),
        flight: None,
        encode,
        ends: vec![block.len()],
        packets: vec![0],
        block,
        recorded: Recorded::default(),
        shared: Arc::default(),
    };
    if !is_pipe {
        writer.write();
    }
    if let Some(Trouble::Write(fault)) = writer.shared.fault.get() {
        return Err(failed(io::Error::other(fault.clone())));
    }
    spawn(writer, watcher, clock).map_err(failed)
}

/// Starts the thread of a flight recorder, which keeps only the last minutes of the run.
///
/// # Errors
/// An error of the operating system; there is no recording then.
pub fn start_flight(
    plan: FlightPlan,
    mut encode: Box<dyn Encode>,
    watcher: Watcher<DecodedEvent>,
    clock: Clock,
) -> Result<Recording, FileError> {
    let path = plan.path().to_owned();
    let mut header = Vec::new();
    encode.start(&mut header);
    let flight = Flight::new(plan, header);
    let writer = Writer {
        destination: None,
        recorded: Recorded {
            saved: flight.saved(),
            ..Recorded::default()
        },
        flight: Some(flight),
        encode,
        ends: Vec::new(),
        packets: Vec::new(),
        block: Vec::new(),
        shared: Arc::default(),
    };
    spawn(writer, watcher, clock).map_err(|error| FileError::Create { path, error })
}

fn spawn(writer: Writer, watcher: Watcher<DecodedEvent>, clock: Clock) -> io::Result<Recording> {
    let shared = Arc::clone(&writer.shared);
    let (logs, lines) = mpsc::channel();
    let thread = thread::Builder::new()
        .name("recorder".into())
        .spawn(move || writer.run(watcher, &lines, clock))?;
    Ok(Recording { thread, shared, logs })
}

impl Recording {
    /// Records a log line of the program.
    pub fn log(&self, at: Time, level: Level, text: &str) {
        // The thread runs until it is stopped.
        let _ended = self.logs.send((at, level, text.to_owned()));
    }

    /// Returns a handle that reports write errors.
    #[must_use]
    pub fn faults(&self) -> Faults {
        Faults(Arc::clone(&self.shared))
    }

    /// Writes the remaining events. Returns `None` if the thread panicked.
    #[must_use]
    pub fn finish(self) -> Option<CompletedRecording> {
        self.shared.stop.store(true, Ordering::Release);
        self.thread.join().ok()
    }
}

#[cfg(test)]
mod tests;
