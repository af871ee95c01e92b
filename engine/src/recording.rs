//! The recording of a run: `-w FILE`.
//!
//! The file is checked, opened and locked before the run starts.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use teetap_capture::{
    Destination, FileError, FlightPlan, Recorded, Recording, Run, Target, Trouble, recorder,
};
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
    plan: Plan,
    watcher: Watcher<DecodedEvent>,
}

/// What is recorded.
#[derive(Debug)]
enum Plan {
    /// The whole run.
    Whole(Destination),
    /// The last minutes of the run.
    Flight(FlightPlan),
}

/// Settings of a flight recorder, which records only the last minutes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// Time before the end of the run, or before a match, that is recorded.
    pub keep: Duration,
    /// True to write a new file after each event that has [`DecodedEvent::saves`], false to write one file at the end.
    pub on_match: bool,
}

/// Result of a recording.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Path of the file; of the last file if matches begin files.
    pub path: PathBuf,
    /// True if the path leads to a recording, which other commands can read.
    pub is_file: bool,
    /// `None` if the recorder crashed.
    pub recorded: Option<Recorded>,
}

/// A recording in progress.
#[derive(Debug)]
pub struct Running {
    path: PathBuf,
    is_pipe: bool,
    recording: Recording,
}

impl Prepared {
    /// Opens the file and starts to watch. Records the whole run, or only the last minutes if `flight` is set.
    pub fn open(target: &Target, flight: Option<Flight>, bus: &Bus<DecodedEvent>) -> Result<Self, FileError> {
        let plan = match flight {
            None => Plan::Whole(target.open()?),
            Some(Flight { keep, on_match }) => Plan::Flight(target.open_flight(keep, on_match)?),
        };
        Ok(Self {
            plan,
            target: target.clone(),
            watcher: bus.watch_all(BACKLOG),
        })
    }

    /// Writes the start of the run and starts the recorder. Also returns log lines about the file.
    pub fn start(self, run: Run, clock: Clock) -> Result<(Running, Vec<(Level, String)>), FileError> {
        let Self {
            target,
            plan,
            watcher,
        } = self;
        let (path, lines, is_pipe) = match &plan {
            Plan::Whole(file) => (file.path().to_owned(), about(file), file.is_pipe()),
            Plan::Flight(plan) => {
                let lines = plan.file().map(about).unwrap_or_default();
                (plan.path().to_owned(), lines, false)
            }
        };
        let encode = target.encoder(run);
        let recording = match plan {
            Plan::Whole(file) => recorder::start(file, encode, watcher, clock)?,
            Plan::Flight(plan) => recorder::start_flight(plan, encode, watcher, clock)?,
        };
        let running = Running {
            path,
            is_pipe,
            recording,
        };
        Ok((running, lines))
    }
}

/// Returns log lines about an open file.
fn about(file: &Destination) -> Vec<(Level, String)> {
    let path = printable_path(file.path());
    let mut lines = Vec::new();
    if file.cut() > 0 {
        let text = format!(
            "{path} is incomplete at its end: its last {} bytes were cut off",
            file.cut()
        );
        lines.push((Level::Warning, text));
    }
    if file.was_open() {
        let text = format!("{path} could be read by other users; now it cannot");
        lines.push((Level::Warning, text));
    }
    if file.is_appended() {
        lines.push((Level::Info, format!("appending to the recording {path}")));
    }
    lines
}

impl Running {
    /// Records a log line of the program.
    pub fn log(&self, at: Time, level: Level, text: &str) {
        self.recording.log(at, level, text);
    }

    /// Returns new lines about the recording: why it is incomplete, that its file is gone, and files that a match began.
    pub fn news(&self) -> Vec<(Level, String)> {
        news(&self.recording.faults(), &self.path)
    }

    /// Returns true if the recording is written to a pipe that no program reads any more.
    pub fn has_lost_reader(&self) -> bool {
        self.recording.faults().has_lost_reader()
    }

    /// Writes the remaining events. Returns the outcome, and the recording for its summary.
    pub fn finish(self) -> (Outcome, Finished) {
        let shared = self.recording.faults();
        let done = self.recording.finish();
        let recorded = done.as_ref().map(recorder::CompletedRecording::recorded);
        let saved = recorded.as_ref().and_then(|recorded| recorded.saved.clone());
        let is_file = !self.is_pipe && saved.as_ref().is_none_or(|(count, _)| *count > 0);
        let outcome = Outcome {
            path: saved.map_or(self.path, |(_, last)| last),
            is_file,
            recorded,
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
    /// Lines about the recording that were not reported yet, such as why it is incomplete.
    pub news: Vec<(Level, String)>,
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

fn news(faults: &recorder::Faults, path: &Path) -> Vec<(Level, String)> {
    let mut lines = faults.lines();
    let error = faults.news().map(|error| trouble(path, &error));
    let gone = || {
        let path = printable_path(path);
        format!(
            "the recording {path} was deleted or moved; the run continues and records to the file that was there"
        )
    };
    let warning = error.or_else(|| faults.is_gone().then(gone));
    lines.extend(warning.map(|text| (Level::Warning, text)));
    lines
}

fn trouble(path: &Path, trouble: &Trouble) -> String {
    let path = printable_path(path);
    match trouble {
        Trouble::Write(error) => {
            format!("cannot write {path}: {error}; the run continues, but the rest of it is not recorded")
        }
        Trouble::ReaderLeft => format!("the reader of {path} has gone: the rest of the run is not recorded"),
        Trouble::Unread => format!("no program has read {path}: the run is not recorded"),
        Trouble::Stalled => {
            format!("the reader of {path} has stopped reading: the end of the run is not recorded")
        }
    }
}
