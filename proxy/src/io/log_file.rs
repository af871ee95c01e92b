//! Files of JSON lines about a run, the input log and the journal. The data thread queues entries, and a
//! separate thread encodes and writes them.
//!
//! Law: the data thread never waits and never wakes the writer, which polls the queue. The size of the queue
//! in bytes is limited. If it overflows or the disk fails, the file ends with a line that says so, and the
//! run continues. The file always contains the beginning of the run, in complete lines.

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

/// Maximum bytes of entries that wait for the writer: a second of a flood, minutes of a game.
const QUEUE: usize = 64 << 20;

/// Interval at which the writer polls for entries.
const TICK: Duration = Duration::from_millis(10);

/// Number of polls for entries between two checks that the file is still at its path.
const FILE_EVERY: u32 = 50;

/// Minimum bytes of lines in a block that is written without polling for more.
const BLOCK: usize = 256 << 10;

/// Maximum bytes of the last line. If the file cannot grow, complete lines are removed for it.
const ROOM: u64 = 512;

/// An entry of a log.
pub(in crate::io) trait LogEntry: Send + 'static {
    /// The kind of the log.
    const LOG: Log;

    /// Returns the approximate size in memory, in bytes. It depends only on the contents of the entry.
    fn weight(&self) -> usize;

    /// Returns true if the last line counts the entry.
    fn is_counted(&self) -> bool {
        true
    }

    /// Returns the contents of the entry's line.
    fn line(&self) -> impl Serialize;

    /// Returns the last line: the fault that ended the log before the run, if any, and the number of counted
    /// entries.
    fn last(fault: Option<&Fault>, count: u64) -> impl Serialize;
}

/// Appends a line. Escapes hidden characters in texts, because the rules may have been written by a
/// stranger.
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

/// A log to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    /// The file, which must not exist yet.
    pub path: PathBuf,
    /// Version of teetap.
    pub version: &'static str,
}

/// An error in creating a log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// A file with that name exists.
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

/// The sending end of the queue, on the data thread. Dropping it completes the log.
#[derive(Debug)]
pub(in crate::io) struct LogSender<E> {
    /// `None` if the log has ended before the run.
    sender: Option<Sender<E>>,
    shared: Arc<Shared>,
    limit: usize,
}

/// The thread of the writer.
#[derive(Debug)]
pub struct Writing {
    thread: JoinHandle<()>,
    faults: Faults,
}

/// A handle that reports if a log has ended before the run; cheap to clone.
#[derive(Clone, Debug)]
pub struct Faults(Log, Arc<Shared>);

/// The state that both ends share.
#[derive(Debug, Default)]
struct Shared {
    /// Bytes of queued entries.
    queued: AtomicUsize,
    /// The first fault; later faults are consequences of it.
    fault: OnceLock<Fault>,
    is_reported: AtomicBool,
    /// The path, if the file is no longer there.
    moved: OnceLock<PathBuf>,
    is_move_reported: AtomicBool,
}

/// The reason why a log ends before the run.
#[derive(Clone, Debug)]
pub(in crate::io) enum Fault {
    QueueFull,
    /// The error of the operating system.
    WriteFailed(String),
    /// The data thread panicked.
    Crashed,
}

/// Creates a file that only its owner can read and write, writes the first line and starts the writer.
///
/// # Errors
/// See [`LogError`]. No thread is started then.
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
    /// Returns both ends of a queue of at most `limit` bytes.
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

    /// Returns false if the log has ended before the run.
    pub(in crate::io) const fn is_open(&self) -> bool {
        self.sender.is_some()
    }

    /// Queues an entry. Ends the log if the queue is full.
    pub(in crate::io) fn push(&mut self, entry: E) {
        let Some(sender) = &self.sender else { return };
        let weight = entry.weight();
        let queued = self.shared.queued.fetch_add(weight, Ordering::Relaxed);
        if queued.saturating_add(weight) > self.limit {
            self.shared.fault(Fault::QueueFull);
            self.sender = None;
        } else if sender.send(entry).is_err() {
            // The writer has given up, and has reported the reason.
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
    /// Returns a handle that reports if the log has ended before the run.
    #[must_use]
    pub(super) fn faults(&self) -> Faults {
        self.faults.clone()
    }

    /// Waits until all lines are written. The sender must be dropped, or about to be.
    pub fn finish(self) {
        if self.thread.join().is_err() {
            let Faults(_, shared) = &self.faults;
            shared.fault(Fault::WriteFailed("the writer crashed: a bug in teetap".into()));
        }
    }
}

impl Faults {
    /// Returns why the log has ended before the run, or that its file is no longer there; each once.
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
            Self::QueueFull => f.write_str("entries were produced faster than they could be written"),
            Self::WriteFailed(error) => write!(f, "a write failed: {error}"),
            Self::Crashed => f.write_str("teetap crashed"),
        }
    }
}

/// State of the writer's thread.
struct Writer {
    file: File,
    path: PathBuf,
    /// Size of the file in bytes.
    written: u64,
    /// Lines that are not written yet.
    block: Vec<u8>,
    /// Number of counted lines in file and block.
    count: u64,
    /// The latest lines in the file, from the last line after which [`ROOM`] bytes are left.
    lines: VecDeque<WrittenLine>,
}

/// A line in the file.
struct WrittenLine {
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

    /// Writes entries until the sender is dropped or writing fails, and then the last line.
    fn run<E: LogEntry>(mut self, receiver: Receiver<E>, shared: &Shared) {
        let result = self.drain(&receiver, shared).and_then(|()| {
            self.line(&E::last(shared.fault.get(), self.count), false)?;
            self.write()
        });
        // From now on the sender fails.
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

    /// Appends a line to the block.
    fn line(&mut self, line: &impl Serialize, is_counted: bool) -> io::Result<()> {
        append(&mut self.block, line)?;
        self.count += u64::from(is_counted);
        let end = self.written + self.block.len() as u64;
        self.lines.push_back(WrittenLine { end, is_counted });
        Ok(())
    }

    /// Writes the block, or as much of it as the file can hold.
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

    /// Truncates a file that cannot grow at the end of a line, so that there is room for the last line. If
    /// even that fails, the log has no last line and counts as incomplete, too.
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
