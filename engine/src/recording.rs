//! The recording of a run: `-w FILE`.
//!
//! The file is checked, opened and locked before the run starts.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use teetap_capture::{FileError, Recorded, Recording, RecordingFile, Run, Target, recorder};
use teetap_inspect::DecodedEvent;
use teetap_proxy::{
    io::{Bus, Clock, Watcher},
    session::{Level, Time},
};
use teetap_wire::printable_path;

/// Maximum bytes of decoded events that wait for the file: several seconds of 64 players while the disk does not
/// respond.
const BACKLOG: usize = 128 << 20;

/// An open file, with a watcher that misses no event from now on.
#[derive(Debug)]
pub struct Prepared {
    target: Target,
    file: RecordingFile,
    watcher: Watcher<DecodedEvent>,
}

/// Result of a recording.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Path of the file.
    pub path: PathBuf,
    /// `None` if the recorder crashed.
    pub recorded: Option<Recorded>,
}

/// A recording in progress.
#[derive(Debug)]
pub struct Running {
    path: PathBuf,
    recording: Recording,
}

impl Prepared {
    /// Opens the file and starts to watch.
    pub fn open(target: &Target, bus: &Bus<DecodedEvent>) -> Result<Self, FileError> {
        Ok(Self {
            file: target.open()?,
            target: target.clone(),
            watcher: bus.watch_all(BACKLOG),
        })
    }

    /// Writes the start of the run and starts the recorder. Also returns log lines about the file.
    pub fn start(self, run: Run, clock: Clock) -> Result<(Running, Vec<(Level, String)>), FileError> {
        let Self {
            target,
            file,
            watcher,
        } = self;
        let path = file.path().to_owned();
        let mut lines = Vec::new();
        if file.cut() > 0 {
            let text = format!(
                "{} is incomplete at its end: its last {} bytes were cut off",
                printable_path(&path),
                file.cut()
            );
            lines.push((Level::Warning, text));
        }
        if file.was_open() {
            let text = format!(
                "{} could be read by other users; now it cannot",
                printable_path(&path)
            );
            lines.push((Level::Warning, text));
        }
        if file.is_appended() {
            lines.push((
                Level::Info,
                format!("appending to the recording {}", printable_path(&path)),
            ));
        }
        let encode = target.encoder(run);
        let recording = recorder::start(file, encode, watcher, clock)?;
        Ok((Running { path, recording }, lines))
    }
}

impl Running {
    /// Records a log line of the program.
    pub fn log(&self, at: Time, level: Level, text: &str) {
        self.recording.log(at, level, text);
    }

    /// Returns, once, why the recording is incomplete or its file is gone.
    pub fn news(&self) -> Option<String> {
        news(&self.recording.faults(), &self.path)
    }

    /// Writes the remaining events. Returns the outcome, and the recording for its summary.
    pub fn finish(self) -> (Outcome, Finished) {
        let shared = self.recording.faults();
        let done = self.recording.finish();
        let outcome = Outcome {
            path: self.path,
            recorded: done.as_ref().map(recorder::CompletedRecording::recorded),
        };
        let finished = Finished {
            // Writing the last events may have failed.
            news: news(&shared, &outcome.path),
            done,
        };
        (outcome, finished)
    }
}

/// A recording that is complete except for its summary.
pub struct Finished {
    /// Reason why the recording is incomplete; `None` if it is complete, or if that was already reported.
    pub news: Option<String>,
    done: Option<recorder::CompletedRecording>,
}

impl Finished {
    /// Writes the summary.
    pub fn summary(self, at: Time, text: &str, json: &[u8]) {
        if let Some(done) = self.done {
            // `open` prints the program's name itself.
            done.summary(at, text.strip_prefix("teetap: ").unwrap_or(text), json);
        }
    }
}

/// Returns the recording's header for a run in front of `target`: the server as the user wrote it, its address, and the
/// address on which the proxy listens.
pub fn header(seed: u64, target: &str, (server, listen): (SocketAddr, SocketAddr), wall: SystemTime) -> Run {
    let since = wall.duration_since(UNIX_EPOCH).unwrap_or_default();
    Run {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        wall: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX),
        seed,
        target: target.to_owned(),
        server,
        listen,
    }
}

fn news(faults: &recorder::Faults, path: &Path) -> Option<String> {
    let gone = || {
        let path = printable_path(path);
        format!(
            "the recording {path} was deleted or moved; the run continues and records to the file that was there"
        )
    };
    let error = faults.news().map(|error| trouble(path, &error));
    error.or_else(|| faults.is_gone().then(gone))
}

fn trouble(path: &Path, error: &str) -> String {
    format!(
        "cannot write {}: {error}; the run continues, but the rest of it is not recorded",
        printable_path(path)
    )
}
