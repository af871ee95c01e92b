//! `-w FILE`: what a run is recorded to, and how.
//!
//! The ending of the name says which format; the file is checked, opened and locked before anything starts.

use std::{
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use teetap_capture::{
    Encode, Encoder, FileError, ReadError, Recorded, Recording, RecordingFile, Run, end_of_pcapng,
    jsonl::{JsonLines, end_of_json_lines},
    recorder,
};
use teetap_inspect::{Decoder, Form, row};
use teetap_proxy::{
    io::{Bus, Clock, Seen, Watcher},
    session::{Level, Time},
};
use teetap_wire::def::{Registry, Secrets};

use crate::{exit::Failure, output::Start};

/// A file to record to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    path: PathBuf,
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    PcapNg,
    JsonLines,
}

/// One that is open and misses nothing from now on.
#[derive(Debug)]
pub(crate) struct Prepared {
    file: RecordingFile,
    format: Format,
    watcher: Watcher,
}

/// One that is being made.
#[derive(Debug)]
pub(crate) struct Running {
    path: PathBuf,
    format: Format,
    recording: Recording,
}

/// What became of it.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) path: PathBuf,
    /// `None` when the recorder crashed.
    pub(crate) recorded: Option<Recorded>,
}

/// The last words of a run, in both formats.
pub(crate) struct LastWords<'a> {
    pub(crate) at: Time,
    pub(crate) text: &'a str,
    pub(crate) json: &'a [u8],
}

impl Wanted {
    /// By the ending of a name.
    ///
    /// # Errors
    /// The text of the refusal.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let path = PathBuf::from(text);
        let is = |ending: &str| {
            path.extension()
                .is_some_and(|found| found.eq_ignore_ascii_case(ending))
        };
        let format = match (is("pcapng"), is("jsonl")) {
            (true, _) => Format::PcapNg,
            (_, true) => Format::JsonLines,
            _ => {
                return Err(
                    "the name ends in .pcapng (for tshark and teetap) or in .jsonl (JSON lines)".to_owned(),
                );
            }
        };
        Ok(Self { path, format })
    }

    /// Opens the file and begins to watch.
    ///
    /// # Errors
    /// When it is somebody else's, or cannot be written.
    pub(crate) fn prepare(&self, bus: &Bus) -> Result<Prepared, Failure> {
        let find_end = match self.format {
            Format::PcapNg => end_of_pcapng,
            Format::JsonLines => {
                end_of_json_lines as fn(&mut BufReader<&File>) -> Result<Option<u64>, ReadError>
            }
        };
        let file = RecordingFile::open(&self.path, find_end).map_err(refused)?;
        Ok(Prepared {
            file,
            format: self.format,
            watcher: bus.watch(),
        })
    }
}

impl Prepared {
    /// Writes the beginning and goes on by itself. And what there is to say about it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn start(
        self,
        start: &Start,
        clock: Clock,
        registry: &'static Registry,
    ) -> Result<(Running, Vec<(Level, String)>), Failure> {
        let Self {
            file,
            format,
            watcher,
        } = self;
        let path = file.path().to_owned();
        let mut said = Vec::new();
        if file.cut() > 0 {
            let text = format!(
                "{} ended in the middle of something: its last {} bytes were cut off",
                path.display(),
                file.cut()
            );
            said.push((Level::Warning, text));
        }
        if file.is_appended() {
            said.push((
                Level::Info,
                format!("going on with the recording {}", path.display()),
            ));
        }
        let encode: Box<dyn Encode> = match format {
            Format::PcapNg => {
                let mut decoder = Decoder::new(registry, Secrets::Hide, Form::Gist);
                Box::new(Encoder::new(
                    run(start),
                    Box::new(move |seen| gist(seen, &mut decoder)),
                ))
            }
            Format::JsonLines => Box::new(JsonLines::new(run(start), registry)),
        };
        let recording = recorder::start(file, encode, watcher, clock).map_err(refused)?;
        let running = Running {
            path,
            format,
            recording,
        };
        Ok((running, said))
    }
}

impl Running {
    /// Something that the program says.
    pub(crate) fn log(&self, at: Time, level: Level, text: &str) {
        self.recording.log(at, level, text);
    }

    /// Why it is not complete, once.
    pub(crate) fn news(&self) -> Option<String> {
        let error = self.recording.faults().news()?;
        Some(trouble(&self.path, &error))
    }

    /// Writes what is still to be written; then what became of it, and `last` for the last words.
    pub(crate) fn finish(self) -> (Outcome, Finished) {
        let shared = self.recording.faults();
        let done = self.recording.finish();
        let outcome = Outcome {
            path: self.path,
            recorded: done.as_ref().map(recorder::Done::recorded),
        };
        let finished = Finished {
            // What failed with the last events.
            news: shared.news().map(|error| trouble(&outcome.path, &error)),
            done,
            format: self.format,
        };
        (outcome, finished)
    }
}

/// A recording that lacks only the last words.
pub(crate) struct Finished {
    /// Why it is not complete, if that has not been said.
    pub(crate) news: Option<String>,
    done: Option<recorder::Done>,
    format: Format,
}

impl Finished {
    /// Writes them.
    pub(crate) fn last_words(self, words: &LastWords<'_>) {
        match (self.done, self.format) {
            (Some(done), Format::PcapNg) => {
                // Whoever shows it says who speaks.
                let text = words.text.strip_prefix("teetap: ").unwrap_or(words.text);
                done.last_words(words.at, Level::Info, text);
            }
            (Some(done), Format::JsonLines) => done.last_bytes(words.json),
            (None, _) => {}
        }
    }
}

/// The comment of a packet.
pub(crate) fn gist(seen: &Seen, decoder: &mut Decoder) -> String {
    match seen {
        Seen::Event(event) => return row::gist(event, decoder),
        Seen::Gap(_) => decoder.gap(),
        Seen::Snapshots(snapshots) => decoder.on_snapshots(snapshots),
    }
    String::new()
}

fn trouble(path: &Path, error: &str) -> String {
    format!(
        "{} could not be written any further: {error}; the run goes on, what comes from now on is not recorded",
        path.display()
    )
}

pub(crate) fn run(start: &Start) -> Run {
    Run {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        wall: nanoseconds(start.wall),
        seed: start.seed,
        target: start.target.clone(),
        server: start.server,
        listen: start.listen,
    }
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

fn refused(error: FileError) -> Failure {
    match error {
        FileError::Create { .. } => Failure::network(error),
        _ => Failure::usage(error),
    }
}
