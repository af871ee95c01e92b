//! Writing the log: [`Recorder`] is the data thread's end, a thread of its own is the other.
//!
//! Law: the recorder never waits and never wakes the writer, which looks on its own tick. An entry is begun before the
//! core has its input, so that an input that crashes the core is in the log.

use std::{
    collections::VecDeque,
    fs::{File, OpenOptions},
    io::{self, Write as _},
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

use super::{End, Entry, Happened, Header, Reason, Wanted};
use crate::session::{Input, Output, Time};

/// Bytes of entries that may wait for the writer: a second of a flood, minutes of a game.
const QUEUE: usize = 64 << 20;

/// The interval at which the writer looks for entries.
const TICK: Duration = Duration::from_millis(10);

/// Bytes of lines that are written at once.
const BLOCK: usize = 256 << 10;

/// Bytes that the last line needs at most; whole lines are given up for it where the file takes no more.
const ROOM: u64 = 512;

/// A log that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputLog {
    /// The file, which must not exist yet.
    pub path: PathBuf,
    /// Version of the program.
    pub version: &'static str,
}

/// An error of creating a log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Something has that name already.
    #[error("{0} exists: an input log overwrites nothing, name another file")]
    Exists(PathBuf),
    /// The file cannot be created or written.
    #[error("cannot write the input log {path}: {error}", path = path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
}

/// The end that the data thread holds. Dropping it completes the log.
#[derive(Debug)]
pub struct Recorder {
    /// `None` once the log has ended before the run.
    sender: Option<Sender<Entry>>,
    /// The input that the core has now.
    open: Option<Entry>,
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
pub struct Faults(Arc<Shared>);

/// The state that both ends share.
#[derive(Debug, Default)]
struct Shared {
    /// Bytes of entries in the queue.
    queued: AtomicUsize,
    /// The reason why the log ends before the run.
    fault: OnceLock<Fault>,
    is_reported: AtomicBool,
}

#[derive(Clone, Debug)]
enum Fault {
    QueueFull,
    WriteFailed(String),
    Crashed,
}

/// Creates the file, readable and writable by its owner alone, writes its first line and starts the writer.
///
/// # Errors
/// See [`LogError`]; nothing runs then.
pub fn start(log: &InputLog, header: &Header) -> Result<(Recorder, Writing), LogError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => LogError::Exists(log.path.clone()),
        _ => LogError::Create {
            path: log.path.clone(),
            error,
        },
    };
    let file = OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(0o600)
        .open(&log.path)
        .map_err(failed)?;
    let mut writer = Writer::new(file);
    writer
        .line(header)
        .and_then(|()| writer.write())
        .map_err(failed)?;
    let (recorder, receiver) = Recorder::new(QUEUE);
    let faults = Faults(Arc::clone(&recorder.shared));
    let shared = Arc::clone(&recorder.shared);
    let thread = thread::Builder::new()
        .name("input-log".into())
        .spawn(move || writer.run(receiver, &shared))
        .map_err(failed)?;
    Ok((recorder, Writing { thread, faults }))
}

impl Recorder {
    fn new(limit: usize) -> (Self, Receiver<Entry>) {
        let (sender, receiver) = mpsc::channel();
        let recorder = Self {
            sender: Some(sender),
            open: None,
            shared: Arc::default(),
            limit,
        };
        (recorder, receiver)
    }

    /// The core is about to be handed an input.
    pub fn begin(&mut self, at: Time, input: &Input<'_>) {
        // Still open = the core crashed on it and the panic was caught.
        self.end();
        if self.sender.is_some() {
            self.open = Some(Entry {
                at: at.0,
                input: Happened::from(input),
                outputs: Vec::new(),
            });
        }
    }

    /// The core wants something done.
    pub fn output(&mut self, output: &Output<'_>) {
        if let Some(open) = &mut self.open
            && let Some(wanted) = Wanted::of(output)
        {
            open.outputs.push(wanted);
        }
    }

    /// The core wants nothing more.
    pub fn end(&mut self) {
        let (Some(entry), Some(sender)) = (self.open.take(), &self.sender) else {
            return;
        };
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

impl Drop for Recorder {
    fn drop(&mut self) {
        if thread::panicking() {
            self.shared.fault(Fault::Crashed);
        }
        self.end();
    }
}

impl Writing {
    /// Returns a handle that reports when the log has ended before the run.
    #[must_use]
    pub fn faults(&self) -> Faults {
        self.faults.clone()
    }

    /// Waits until everything is written; the recorder must be gone, or be going.
    pub fn finish(self) {
        if self.thread.join().is_err() {
            self.faults
                .0
                .fault(Fault::WriteFailed("the writer crashed: a bug in teetap".into()));
        }
    }
}

impl Faults {
    /// Returns why the log has ended before the run, once.
    #[must_use]
    pub fn news(&self) -> Option<String> {
        let fault = self.0.fault.get()?;
        (!self.0.is_reported.swap(true, Ordering::Relaxed)).then(|| fault.end(0).to_string())
    }
}

impl Shared {
    /// The first fault is the one that counts.
    fn fault(&self, fault: Fault) {
        let _later_ones_follow_from_it = self.fault.set(fault);
    }
}

impl Fault {
    fn end(&self, inputs: u64) -> End {
        let (reason, error) = match self {
            Self::QueueFull => (Reason::QueueFull, None),
            Self::WriteFailed(error) => (Reason::WriteFailed, Some(error.clone())),
            Self::Crashed => (Reason::Crashed, None),
        };
        End {
            reason,
            inputs,
            error,
        }
    }
}

/// The state of the writer's thread.
struct Writer {
    file: File,
    /// Bytes in the file.
    written: u64,
    /// Lines that are not in the file yet.
    block: Vec<u8>,
    /// Lines in file and block, the first one included.
    lines: u64,
    /// The ends of the latest lines in the file: all after the last one that leaves [`ROOM`], and that one.
    ends: VecDeque<u64>,
}

/// The last line.
#[derive(Serialize)]
struct Last {
    end: End,
}

impl Writer {
    fn new(file: File) -> Self {
        Self {
            file,
            written: 0,
            block: Vec::new(),
            lines: 0,
            ends: VecDeque::new(),
        }
    }

    /// Writes what comes until nothing more can come, or nothing more can be written.
    fn run(mut self, receiver: Receiver<Entry>, shared: &Shared) {
        let result = self.drain(&receiver, shared).and_then(|()| {
            let complete = End {
                reason: Reason::Complete,
                inputs: self.inputs(),
                error: None,
            };
            let fault = shared.fault.get();
            let end = fault.map_or(complete, |fault| fault.end(self.inputs()));
            self.line(&Last { end })?;
            self.write()
        });
        // From now on the recorder has no receiver.
        drop(receiver);
        if let Err(error) = result {
            let fault = Fault::WriteFailed(error.to_string());
            shared.fault(fault.clone());
            self.give_up(&fault);
        }
    }

    fn drain(&mut self, receiver: &Receiver<Entry>, shared: &Shared) -> io::Result<()> {
        loop {
            let missing = loop {
                if self.block.len() >= BLOCK {
                    break None;
                }
                match receiver.try_recv() {
                    Ok(entry) => {
                        shared.queued.fetch_sub(entry.weight(), Ordering::Relaxed);
                        self.line(&entry)?;
                    }
                    Err(missing) => break Some(missing),
                }
            };
            self.write()?;
            match missing {
                None => {}
                Some(TryRecvError::Empty) => thread::sleep(TICK),
                Some(TryRecvError::Disconnected) => return Ok(()),
            }
        }
    }

    fn inputs(&self) -> u64 {
        self.lines.saturating_sub(1)
    }

    /// Adds a line to the block.
    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.block, line)?;
        self.block.push(b'\n');
        self.lines += 1;
        self.ends.push_back(self.written + self.block.len() as u64);
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
        while self.ends.get(1).is_some_and(|end| end + ROOM <= self.written) {
            self.ends.pop_front();
        }
        Ok(())
    }

    /// The file takes no more: cuts it at the end of a line, so that the last one has room. Where even that fails the
    /// log is found without a last line, and counts as cut too.
    fn give_up(&mut self, fault: &Fault) {
        self.block.clear();
        while self.ends.len() > 1 && self.ends.back().is_some_and(|end| end + ROOM > self.written) {
            self.ends.pop_back();
            self.lines -= 1;
        }
        let end = fault.end(self.inputs());
        let kept = self.ends.back().copied().unwrap_or_default();
        let _without_a_last_line = self
            .file
            .set_len(kept)
            .and_then(|()| self.line(&Last { end }))
            .and_then(|()| self.write());
    }
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
