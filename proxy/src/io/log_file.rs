//! Files of JSON lines about a run, the input log and the journal: the data thread puts entries into a queue, a thread
//! of its own encodes and writes them.
//!
//! Law: the data thread never waits and never wakes the writer, which looks on its own tick. The queue is bounded by bytes.
//! Where it overflows or the disk fails, the file ends with a line that says so, and the run goes on. The file always holds
//! a beginning of the run, in whole lines.

use std::{
    collections::VecDeque,
    fmt,
    fs::File,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc::{self, Receiver, Sender, TryRecvError},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use serde::Serialize;
use teetap_wire::{printable_json, printable_path};

use super::{files::create_new, moved::is_moved};

/// Bytes of entries that may wait for the writer: a second of a flood, minutes of a game.
const QUEUE: usize = 64 << 20;

/// The interval at which the writer looks for entries.
const TICK: Duration = Duration::from_millis(10);

/// The number of looks at the entries between two looks at the file.
const FILE_EVERY: u32 = 50;

/// Bytes of lines that are written at once.
const BLOCK: usize = 256 << 10;

/// Bytes that the last line needs at most; whole lines are given up for it where the file takes no more.
const ROOM: u64 = 512;

/// An entry of a log.
pub(in crate::io) trait LogEntry: Send + 'static {
    /// The name of the log.
    const LOG: Log;

    /// Returns the size in memory, roughly, in bytes; always the same for the same entry.
    fn weight(&self) -> usize;

    /// Returns true if the last line counts the entry.
    fn is_counted(&self) -> bool {
        true
    }

    /// Returns the line of the entry.
    fn line(&self) -> impl Serialize;

    /// Returns the last line: the fault that ended the log before the run, if one did, and the number of entries in it.
    fn last(fault: Option<&Fault>, count: u64) -> impl Serialize;
}

/// Appends an entry as a line. Rules may be of a stranger: hidden characters in texts are escaped.
pub(super) fn append(block: &mut Vec<u8>, line: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string(line)?;
    block.extend_from_slice(printable_json(&text).as_bytes());
    block.push(b'\n');
    Ok(())
}

/// A kind of log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    /// The inputs of the core.
    Inputs,
    /// The decisions of rules and link lines.
    Journal,
}

/// A log that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    /// The file, which must not exist yet.
    pub path: PathBuf,
    /// The version of the program.
    pub version: &'static str,
}

/// An error of creating a log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Something has that name already.
    #[error("{path} exists: {log} overwrites nothing, name another file", path = printable_path(path), log = log.with_article())]
    Exists {
        /// The log.
        log: Log,
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be created or written.
    #[error("cannot write the {log} {path}: {error}", path = printable_path(path))]
    Create {
        /// The log.
        log: Log,
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
}

/// The end of the queue that the data thread holds. Dropping it completes the log.
#[derive(Debug)]
pub(in crate::io) struct LogSender<E> {
    /// `None` once the log has ended before the run.
    sender: Option<Sender<E>>,
    shared: Arc<Shared>,
    limit: usize,
}

/// The writer's thread.
#[derive(Debug)]
pub struct Writing {
    thread: JoinHandle<()>,
    faults: Faults,
}

/// A handle that reports when a log has ended before the run; cheap to clone.
#[derive(Clone, Debug)]
pub struct Faults(Log, Arc<Shared>);

/// The state that both ends share.
#[derive(Debug, Default)]
struct Shared {
    /// Bytes of entries in the queue.
    queued: AtomicUsize,
    /// The first fault; later ones follow from it.
    fault: OnceLock<Fault>,
    is_reported: AtomicBool,
    /// The path, once the file is no longer there.
    moved: OnceLock<PathBuf>,
    is_move_reported: AtomicBool,
}

/// The reason why a log ends before the run.
#[derive(Clone, Debug)]
pub(in crate::io) enum Fault {
    QueueFull,
    /// The error of the operating system.
    WriteFailed(String),
    /// The data thread died of a bug.
    Crashed,
}

/// Creates the file, readable and writable by its owner alone, writes its first line and starts the writer.
///
/// # Errors
/// See [`LogError`]; nothing runs then.
pub(in crate::io) fn start<E: LogEntry>(
    path: &Path,
    header: &impl Serialize,
) -> Result<(LogSender<E>, Writing), LogError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => LogError::Exists {
            log: E::LOG,
            path: path.to_owned(),
        },
        _ => LogError::Create {
            log: E::LOG,
            path: path.to_owned(),
            error,
        },
    };
    let file = create_new(path).map_err(failed)?;
    let mut writer = Writer::new(file, path);
    writer
        .line(header, false)
        .and_then(|()| writer.write())
        .map_err(failed)?;
    let (sender, receiver) = LogSender::new(QUEUE);
    let shared = Arc::clone(&sender.shared);
    let faults = sender.faults();
    let thread = thread::Builder::new()
        .name(E::LOG.name().replace(' ', "-"))
        .spawn(move || writer.run(receiver, &shared))
        .map_err(failed)?;
    Ok((sender, Writing { thread, faults }))
}

impl Log {
    const fn name(self) -> &'static str {
        match self {
            Self::Inputs => "input log",
            Self::Journal => "journal",
        }
    }

    const fn with_article(self) -> &'static str {
        match self {
            Self::Inputs => "an input log",
            Self::Journal => "a journal",
        }
    }
}

impl fmt::Display for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl<E: LogEntry> LogSender<E> {
    /// Creates both ends of a queue of at most `limit` bytes.
    fn new(limit: usize) -> (Self, Receiver<E>) {
        let (sender, receiver) = mpsc::channel();
        let sender = Self {
            sender: Some(sender),
            shared: Arc::default(),
            limit,
        };
        (sender, receiver)
    }

    fn faults(&self) -> Faults {
        Faults(E::LOG, Arc::clone(&self.shared))
    }

    /// Returns true until the log has ended before the run.
    pub(in crate::io) const fn is_open(&self) -> bool {
        self.sender.is_some()
    }

    /// Queues an entry.
    pub(in crate::io) fn push(&mut self, entry: E) {
        let Some(sender) = &self.sender else { return };
        let weight = entry.weight();
        let queued = self.shared.queued.fetch_add(weight, Ordering::Relaxed);
        if queued.saturating_add(weight) > self.limit {
            self.shared.fault(Fault::QueueFull);
            self.sender = None;
        } else if sender.send(entry).is_err() {
            // The writer has given up, and has reported why.
            self.sender = None;
        }
    }
}

impl<E> Drop for LogSender<E> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.shared.fault(Fault::Crashed);
        }
    }
}

impl Writing {
    /// Returns a handle that reports when the log has ended before the run.
    #[must_use]
    pub fn faults(&self) -> Faults {
        self.faults.clone()
    }

    /// Waits until everything is written; the data thread's end must be gone, or be going.
    pub fn finish(self) {
        if self.thread.join().is_err() {
            let Faults(_, shared) = &self.faults;
            shared.fault(Fault::WriteFailed("the writer crashed: a bug in teetap".into()));
        }
    }
}

impl Faults {
    /// Returns why the log has ended before the run, or that its file is no longer there, each once.
    #[must_use]
    pub fn news(&self) -> Option<String> {
        let Self(log, shared) = self;
        let is_new = |is_reported: &AtomicBool| !is_reported.swap(true, Ordering::Relaxed);
        if let Some(fault) = shared.fault.get()
            && is_new(&shared.is_reported)
        {
            return Some(format!("the {log} ends before the run: {fault}"));
        }
        let path = shared.moved.get().filter(|_| is_new(&shared.is_move_reported))?;
        let path = printable_path(path);
        Some(format!(
            "the {log} {path} was deleted or moved; the run continues and writes to the file that was there"
        ))
    }
}

impl Shared {
    fn fault(&self, fault: Fault) {
        let _later_ones_follow_from_it = self.fault.set(fault);
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::QueueFull => f.write_str("entries came faster than they could be written"),
            Self::WriteFailed(error) => write!(f, "it could not be written any further: {error}"),
            Self::Crashed => f.write_str("teetap crashed"),
        }
    }
}

/// The state of the writer's thread.
struct Writer {
    file: File,
    path: PathBuf,
    /// Bytes in the file.
    written: u64,
    /// Lines that are not in the file yet.
    block: Vec<u8>,
    /// Counted lines in file and block.
    count: u64,
    /// The latest lines in the file: all after the last one that leaves [`ROOM`], and that one.
    lines: VecDeque<Line>,
}

/// A line in the file.
struct Line {
    end: u64,
    is_counted: bool,
}

impl Writer {
    fn new(file: File, path: &Path) -> Self {
        Self {
            file,
            path: path.to_owned(),
            written: 0,
            block: Vec::new(),
            count: 0,
            lines: VecDeque::new(),
        }
    }

    /// Writes what comes until nothing more can come, or nothing more can be written.
    fn run<E: LogEntry>(mut self, receiver: Receiver<E>, shared: &Shared) {
        let result = self.drain(&receiver, shared).and_then(|()| {
            self.line(&E::last(shared.fault.get(), self.count), false)?;
            self.write()
        });
        // From now on the data thread's end has no receiver.
        drop(receiver);
        if let Err(error) = result {
            let fault = Fault::WriteFailed(error.to_string());
            shared.fault(fault.clone());
            self.give_up::<E>(&fault);
        }
    }

    fn drain<E: LogEntry>(&mut self, receiver: &Receiver<E>, shared: &Shared) -> io::Result<()> {
        let mut looks = 0;
        loop {
            let missing = loop {
                if self.block.len() >= BLOCK {
                    break None;
                }
                match receiver.try_recv() {
                    Ok(entry) => {
                        shared.queued.fetch_sub(entry.weight(), Ordering::Relaxed);
                        self.line(&entry.line(), entry.is_counted())?;
                    }
                    Err(missing) => break Some(missing),
                }
            };
            self.write()?;
            looks = (looks + 1) % FILE_EVERY;
            let is_last = missing == Some(TryRecvError::Disconnected);
            if (looks == 0 || is_last) && shared.moved.get().is_none() && is_moved(&self.file, &self.path) {
                let _only_here = shared.moved.set(self.path.clone());
            }
            match missing {
                None => {}
                Some(TryRecvError::Empty) => thread::sleep(TICK),
                Some(TryRecvError::Disconnected) => return Ok(()),
            }
        }
    }

    /// Adds a line to the block.
    fn line(&mut self, line: &impl Serialize, is_counted: bool) -> io::Result<()> {
        append(&mut self.block, line)?;
        self.count += u64::from(is_counted);
        let end = self.written + self.block.len() as u64;
        self.lines.push_back(Line { end, is_counted });
        Ok(())
    }

    /// Writes the block, all of it or as much as the file takes.
    fn write(&mut self) -> io::Result<()> {
        let mut rest = self.block.as_slice();
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    rest = rest.get(written..).unwrap_or_default();
                    self.written += written as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.block.clear();
        while self
            .lines
            .get(1)
            .is_some_and(|line| line.end + ROOM <= self.written)
        {
            self.lines.pop_front();
        }
        Ok(())
    }

    /// Cuts the file, which takes no more, at the end of a line, so that the last one has room. Where even that fails the
    /// log is found without a last line, and counts as cut too.
    fn give_up<E: LogEntry>(&mut self, fault: &Fault) {
        self.block.clear();
        while self.lines.len() > 1
            && self
                .lines
                .back()
                .is_some_and(|line| line.end + ROOM > self.written)
        {
            let line = self.lines.pop_back();
            self.count -= u64::from(line.is_some_and(|line| line.is_counted));
        }
        let kept = self.lines.back().map_or(0, |line| line.end);
        let _without_a_last_line = self
            .file
            .set_len(kept)
            .and_then(|()| self.line(&E::last(Some(fault), self.count), false))
            .and_then(|()| self.write());
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests choose the built-in definitions")]
#[path = "log_file_tests.rs"]
mod tests;
