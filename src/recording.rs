//! The recording of a run: `-w FILE`.
//!
//! The file is checked, opened and locked before anything starts.

use std::path::{Path, PathBuf};

use teetap_capture::{FileError, Recording, RecordingFile, Run, Target, recorder};
use teetap_inspect::DecodedEvent;
use teetap_proxy::{
    io::{Bus, Clock, Watcher},
    session::{Level, Time},
};

use crate::{exit::Failure, run::Outcome};

/// An open file and a watcher that misses nothing from now on.
#[derive(Debug)]
pub(crate) struct Prepared {
    target: Target,
    file: RecordingFile,
    watcher: Watcher<DecodedEvent>,
}

/// A recording in progress.
#[derive(Debug)]
pub(crate) struct Running {
    path: PathBuf,
    recording: Recording,
}

impl Prepared {
    /// Opens the file and begins to watch.
    pub(crate) fn open(target: &Target, bus: &Bus<DecodedEvent>) -> Result<Self, Failure> {
        Ok(Self {
            file: target.open().map_err(refused)?,
            target: target.clone(),
            watcher: bus.watch(),
        })
    }

    /// Writes the start and lets the recorder run. Returns log lines about the file, too.
    pub(crate) fn start(self, run: Run, clock: Clock) -> Result<(Running, Vec<(Level, String)>), Failure> {
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
                path.display(),
                file.cut()
            );
            lines.push((Level::Warning, text));
        }
        if file.is_appended() {
            lines.push((
                Level::Info,
                format!("appending to the recording {}", path.display()),
            ));
        }
        let encode = target.encoder(run);
        let recording = recorder::start(file, encode, watcher, clock).map_err(refused)?;
        Ok((Running { path, recording }, lines))
    }
}

impl Running {
    /// Records a log line of the program.
    pub(crate) fn log(&self, at: Time, level: Level, text: &str) {
        self.recording.log(at, level, text);
    }

    /// Returns why the recording is incomplete, once.
    pub(crate) fn news(&self) -> Option<String> {
        let error = self.recording.faults().news()?;
        Some(trouble(&self.path, &error))
    }

    /// Writes what the watcher still has. Returns the outcome, and the recording for its summary.
    pub(crate) fn finish(self) -> (Outcome, Finished) {
        let shared = self.recording.faults();
        let done = self.recording.finish();
        let outcome = Outcome {
            path: self.path,
            recorded: done.as_ref().map(recorder::Done::recorded),
        };
        let finished = Finished {
            // A failure of the last events.
            news: shared.news().map(|error| trouble(&outcome.path, &error)),
            done,
        };
        (outcome, finished)
    }
}

/// A recording that lacks only its summary.
pub(crate) struct Finished {
    /// The reason why it is incomplete, if that has not been reported.
    pub(crate) news: Option<String>,
    done: Option<recorder::Done>,
}

impl Finished {
    /// Writes the summary.
    pub(crate) fn summary(self, at: Time, text: &str, json: &[u8]) {
        if let Some(done) = self.done {
            // `open` prints the name of the program itself.
            done.summary(at, text.strip_prefix("teetap: ").unwrap_or(text), json);
        }
    }
}

fn trouble(path: &Path, error: &str) -> String {
    format!(
        "cannot write {}: {error}; the run continues, but the rest of it is not recorded",
        path.display()
    )
}

fn refused(error: FileError) -> Failure {
    match error {
        FileError::Create { .. } => Failure::network(error),
        _ => Failure::usage(error),
    }
}
