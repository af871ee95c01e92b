//! The result of a recording, and how the recorder's thread reports errors.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use teetap_proxy::session::Level;

/// Reason why a recording is incomplete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The error of the operating system.
    Write(String),
    /// No program reads the pipe any more.
    ReaderLeft,
    /// No program has opened the pipe for reading.
    Unread,
    /// The reader of the pipe did not read the rest at the end of the run.
    Stalled,
}

/// Result of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Number of packets in the file: each datagram counts once as received and once per sent copy.
    pub packets: u64,
    /// Number of packets that could not be written.
    pub missing: u64,
    /// Number of events lost because the recorder was slower than the traffic.
    pub lost: u64,
    /// True if a file could not be written.
    pub has_failed: bool,
    /// Number of files, and the name of the last one, if a match begins each file; otherwise `None`.
    pub saved: Option<(u64, PathBuf)>,
}

/// A handle that reports write errors; cheap to clone.
#[derive(Clone, Debug)]
pub struct Faults(pub(super) Arc<Shared>);

/// State shared with the thread of the recorder.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) stop: AtomicBool,
    pub(super) fault: OnceLock<Trouble>,
    is_reported: AtomicBool,
    /// True if the file is no longer at its path.
    pub(super) is_gone: AtomicBool,
    /// Lines for the user about files that a match begins.
    lines: Mutex<Vec<(Level, String)>>,
}

impl Shared {
    /// Adds a line for the user.
    pub(super) fn say(&self, level: Level, text: String) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push((level, text));
    }
}

impl Faults {
    /// Returns the first write error, once.
    #[must_use]
    pub fn news(&self) -> Option<Trouble> {
        let fault = self.0.fault.get()?;
        (!self.0.is_reported.swap(true, Ordering::Relaxed)).then(|| fault.clone())
    }

    /// Returns new lines for the user about files that a match begins.
    #[must_use]
    pub fn lines(&self) -> Vec<(Level, String)> {
        std::mem::take(&mut self.0.lines.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns true if the recording is written to a pipe that no program reads any more.
    #[must_use]
    pub fn has_lost_reader(&self) -> bool {
        self.0.fault.get() == Some(&Trouble::ReaderLeft)
    }

    /// Returns true, once, if the file was deleted or moved.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.0.is_gone.swap(false, Ordering::Relaxed)
    }
}
