//! Writing a journal: the scribe is the data thread's end, a thread of its own is the other.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufWriter, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::PathBuf,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{self, Receiver, Sender, TryRecvError},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use serde::Serialize;
use teetap_rules::Decision;

use super::line::{DecisionLine, End, Header, Line, RulesLine, VERSION, seconds};
use crate::session::Time;

/// Decisions that may wait for the writer.
const QUEUE: usize = 1 << 20;

/// The interval at which the writer looks for decisions.
const TICK: Duration = Duration::from_millis(10);

/// A journal that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The file, which must not exist yet.
    pub path: PathBuf,
    /// The version of the program.
    pub version: &'static str,
}

/// An error of creating a journal.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// Something has that name already.
    #[error("{0} exists: a journal overwrites nothing, name another file")]
    Exists(PathBuf),
    /// The file cannot be created or written.
    #[error("cannot write the journal {path}: {error}", path = path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
}

/// The end that the data thread holds. Dropping it completes the journal.
#[derive(Debug)]
pub(in crate::io) struct Scribe {
    /// `None` once the journal has ended before the run.
    sender: Option<Sender<Entry>>,
    shared: Arc<Shared>,
}

/// An entry of the queue.
#[derive(Debug)]
enum Entry {
    Decision(Decision),
    Rules(Time, Option<String>),
}

/// The writer's thread.
#[derive(Debug)]
pub(in crate::io) struct Writing {
    thread: JoinHandle<()>,
    shared: Arc<Shared>,
}

/// A handle that reports when a journal has ended before the run; cheap to clone.
#[derive(Clone, Debug)]
pub struct Faults(Arc<Shared>);

/// The state that both ends share.
#[derive(Debug, Default)]
struct Shared {
    queued: AtomicUsize,
    /// The reason why the journal ends before the run.
    fault: OnceLock<String>,
    is_reported: AtomicBool,
}

/// Creates the file, readable and writable by its owner alone, writes its first line and starts the writer.
///
/// # Errors
/// See [`TargetError`]; nothing runs then.
pub(in crate::io) fn start(
    target: &Target,
    seed: u64,
    rules: &str,
) -> Result<(Scribe, Writing), TargetError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => TargetError::Exists(target.path.clone()),
        _ => TargetError::Create {
            path: target.path.clone(),
            error,
        },
    };
    let file = OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(&target.path)
        .map_err(failed)?;
    let mut writer = Writer {
        file: BufWriter::new(file),
        decisions: 0,
    };
    let header = Header {
        journal: VERSION,
        version: target.version.to_owned(),
        seed,
        rules: rules.to_owned(),
    };
    writer
        .line(&header)
        .and_then(|()| writer.flush())
        .map_err(failed)?;
    let (sender, receiver) = mpsc::channel();
    let shared = Arc::new(Shared::default());
    let of_writer = Arc::clone(&shared);
    let thread = thread::Builder::new()
        .name("journal".into())
        .spawn(move || writer.run(receiver, &of_writer))
        .map_err(failed)?;
    let scribe = Scribe {
        sender: Some(sender),
        shared: Arc::clone(&shared),
    };
    Ok((scribe, Writing { thread, shared }))
}

impl Scribe {
    /// Writes decisions down.
    pub(in crate::io) fn decisions(&mut self, decisions: Vec<Decision>) {
        for decision in decisions {
            self.push(Entry::Decision(decision));
        }
    }

    /// Writes down that other rules are set.
    pub(in crate::io) fn rules(&mut self, at: Time, rules: Option<&str>) {
        self.push(Entry::Rules(at, rules.map(str::to_owned)));
    }

    fn push(&mut self, entry: Entry) {
        let Some(sender) = &self.sender else { return };
        if self.shared.queued.fetch_add(1, Ordering::Relaxed) >= QUEUE {
            self.shared.fault("more came than could be written".to_owned());
            self.sender = None;
        } else if sender.send(entry).is_err() {
            // The writer has given up, and has reported why.
            self.sender = None;
        }
    }
}

impl Writing {
    /// Returns a handle that reports when the journal has ended before the run.
    pub(in crate::io) fn faults(&self) -> Faults {
        Faults(Arc::clone(&self.shared))
    }

    /// Waits until everything is written; the scribe must be gone, or be going.
    pub(in crate::io) fn finish(self) {
        if self.thread.join().is_err() {
            self.shared
                .fault("the writer crashed: a bug in teetap".to_owned());
        }
    }
}

impl Faults {
    /// Returns why the journal has ended before the run, once.
    #[must_use]
    pub fn news(&self) -> Option<String> {
        let fault = self.0.fault.get()?;
        (!self.0.is_reported.swap(true, Ordering::Relaxed)).then(|| fault.clone())
    }
}

impl Shared {
    /// The first fault is the one that counts.
    fn fault(&self, why: String) {
        let _later_ones_follow_from_it = self.fault.set(why);
    }
}

/// The state of the writer's thread.
struct Writer {
    file: BufWriter<File>,
    decisions: u64,
}

impl Writer {
    fn run(mut self, receiver: Receiver<Entry>, shared: &Shared) {
        let result = self.drain(&receiver, shared).and_then(|()| {
            let end = shared
                .fault
                .get()
                .cloned()
                .unwrap_or_else(|| "complete".to_owned());
            let decisions = self.decisions;
            self.line(&End { end, decisions })?;
            self.flush()
        });
        if let Err(error) = result {
            shared.fault(error.to_string());
        }
    }

    fn drain(&mut self, receiver: &Receiver<Entry>, shared: &Shared) -> io::Result<()> {
        loop {
            match receiver.try_recv() {
                Ok(entry) => {
                    shared.queued.fetch_sub(1, Ordering::Relaxed);
                    self.entry(entry)?;
                }
                Err(TryRecvError::Empty) => {
                    self.flush()?;
                    thread::sleep(TICK);
                }
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
        }
    }

    fn entry(&mut self, entry: Entry) -> io::Result<()> {
        match entry {
            Entry::Decision(decision) => {
                self.decisions += 1;
                self.line(&Line::Decision(DecisionLine::new(&decision)))
            }
            Entry::Rules(at, rules) => {
                let t = seconds(at.0);
                self.line(&Line::Rules(RulesLine { t, rules }))
            }
        }
    }

    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.file, line)?;
        self.file.write_all(b"\n")
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
