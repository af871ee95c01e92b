//! The recorder: a watcher that writes events to a file, on a separate thread.
//!
//! Law: the data thread never waits for the recorder and never wakes it. The recorder lags by at most its own tick and
//! the tick of the bus, so a crash loses at most the last 25 ms. If the file cannot be written, the run continues: the
//! error is reported once, and the missing packets are counted.

mod file;

use std::{
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use teetap_inspect::DecodedEvent;
use teetap_proxy::{
    io::{Clock, Seen, Watcher},
    session::{Event, EventKind, Level, Notice, Time},
};

pub(crate) use file::end_of_pcapng;
pub use file::{FileError, RecordingFile};

/// Interval between two polls of the bus.
const TICK: Duration = Duration::from_millis(20);

/// Number of polls between two checks of the file's path.
const FILE_EVERY: u32 = 50;

/// Bytes per write.
const BLOCK: usize = 256 << 10;

/// Encoder for a format of recordings.
pub trait Encode: Send {
    /// Appends the start of a run.
    fn start(&mut self, out: &mut Vec<u8>);

    /// Appends an event or a gap.
    fn seen(&mut self, seen: &Seen<DecodedEvent>, now: Time, out: &mut Vec<u8>);

    /// Appends a log line of the program.
    fn log(&mut self, at: Time, level: Level, text: &str, out: &mut Vec<u8>);

    /// Appends the summary of the run. `json` is the same summary as a JSON line.
    fn summary(&mut self, at: Time, text: &str, _json: &[u8], out: &mut Vec<u8>) {
        self.log(at, Level::Info, text, out);
    }
}

/// A recording in progress.
#[derive(Debug)]
pub struct Recording {
    thread: JoinHandle<CompletedRecording>,
    shared: Arc<Shared>,
    logs: mpsc::Sender<(Time, Level, String)>,
}

/// A handle that reports write errors; cheap to clone.
#[derive(Clone, Debug)]
pub struct Faults(Arc<Shared>);

/// A recording that is complete except for its summary.
pub struct CompletedRecording {
    writer: Writer,
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
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    fault: OnceLock<String>,
    is_reported: AtomicBool,
    /// True if the file is no longer at its path.
    is_gone: AtomicBool,
}

/// State of the recorder's thread.
struct Writer {
    file: RecordingFile,
    encode: Box<dyn Encode>,
    block: Vec<u8>,
    /// Ends of the complete events in the block, and the number of packets in each.
    ends: Vec<usize>,
    packets: Vec<u64>,
    recorded: Recorded,
    shared: Arc<Shared>,
}

/// Writes the start of the run and starts the thread.
///
/// # Errors
/// An error of the operating system; there is no recording then.
pub fn start(
    mut file: RecordingFile,
    mut encode: Box<dyn Encode>,
    watcher: Watcher<DecodedEvent>,
    clock: Clock,
) -> Result<Recording, FileError> {
    file.keep()?;
    let path = file.path().to_owned();
    let failed = |error| FileError::Create { path, error };
    let shared = Arc::<Shared>::default();
    let mut block = Vec::new();
    encode.start(&mut block);
    let mut writer = Writer {
        file,
        encode,
        ends: vec![block.len()],
        packets: vec![0],
        block,
        recorded: Recorded::default(),
        shared: Arc::clone(&shared),
    };
    writer.write();
    if let Some(fault) = shared.fault.get() {
        return Err(failed(io::Error::other(fault.clone())));
    }
    let (logs, lines) = mpsc::channel();
    let thread = thread::Builder::new()
        .name("recorder".into())
        .spawn(move || writer.run(watcher, &lines, clock))
        .map_err(failed)?;
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

impl Faults {
    /// Returns the first write error, once.
    #[must_use]
    pub fn news(&self) -> Option<String> {
        let fault = self.0.fault.get()?;
        (!self.0.is_reported.swap(true, Ordering::Relaxed)).then(|| fault.clone())
    }

    /// Returns true, once, if the file was deleted or moved.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.0.is_gone.swap(false, Ordering::Relaxed)
    }
}

impl CompletedRecording {
    /// Returns the outcome.
    #[must_use]
    pub fn recorded(&self) -> Recorded {
        self.writer.recorded.clone()
    }

    /// Writes the summary of the run, as text or as a JSON line.
    pub fn summary(mut self, at: Time, text: &str, json: &[u8]) {
        let Writer { encode, block, .. } = &mut self.writer;
        encode.summary(at, text, json, block);
        self.writer.ends.push(self.writer.block.len());
        self.writer.packets.push(0);
        self.writer.write();
    }
}

impl Writer {
    fn run(
        mut self,
        mut watcher: Watcher<DecodedEvent>,
        lines: &mpsc::Receiver<(Time, Level, String)>,
        clock: Clock,
    ) -> CompletedRecording {
        let mut looks = 0;
        let mut was_gone = false;
        loop {
            // Loaded before the last poll, so that no event is left.
            let is_last = self.shared.stop.load(Ordering::Acquire);
            while let Some(seen) = watcher.poll() {
                self.record(&seen, clock.now());
            }
            for (at, level, text) in lines.try_iter() {
                self.encode.log(at, level, &text, &mut self.block);
                self.end_of(0);
            }
            self.write();
            looks = (looks + 1) % FILE_EVERY;
            if (looks == 0 || is_last) && !was_gone && self.file.is_gone() {
                was_gone = true;
                self.shared.is_gone.store(true, Ordering::Relaxed);
            }
            if is_last {
                self.recorded.lost = watcher.lost();
                return CompletedRecording { writer: self };
            }
            thread::sleep(TICK);
        }
    }

    fn record(&mut self, seen: &Seen<DecodedEvent>, now: Time) {
        let packets = match seen {
            Seen::Event(decoded) => packets_of(&decoded.event),
            Seen::Gap(_) => 0,
        };
        if self.shared.fault.get().is_some() {
            self.recorded.missing += packets;
            return;
        }
        self.encode.seen(seen, now, &mut self.block);
        self.end_of(packets);
    }

    /// Ends an event with this number of packets.
    fn end_of(&mut self, packets: u64) {
        self.ends.push(self.block.len());
        self.packets.push(packets);
        if self.block.len() >= BLOCK {
            self.write();
        }
    }

    fn write(&mut self) {
        if self.shared.fault.get().is_none() && !self.block.is_empty() {
            let (whole, error) = match self.file.write(&self.block, &self.ends) {
                Ok(()) => (self.ends.len(), None),
                Err((whole, error)) => (whole, Some(error)),
            };
            let (written, missing) = self.packets.split_at(whole.min(self.packets.len()));
            self.recorded.packets += written.iter().sum::<u64>();
            self.recorded.missing += missing.iter().sum::<u64>();
            if let Some(error) = error {
                let _the_first_counts = self.shared.fault.set(error.to_string());
            }
        }
        self.block.clear();
        self.ends.clear();
        self.packets.clear();
    }
}

/// Returns the number of packets of an event.
fn packets_of(event: &Event) -> u64 {
    let packets = match &event.what {
        EventKind::Datagram(datagram) => usize::from(datagram.received().is_some()) + datagram.sent().count(),
        EventKind::Connless(connless) => 1 + usize::from(connless.sent.is_some()),
        EventKind::Notice(Notice::UnknownSender { bytes, .. }) => usize::from(!bytes.is_empty()),
        EventKind::Session(_) | EventKind::Notice(_) | EventKind::Answer(_) => 0,
    };
    packets as u64
}

#[cfg(test)]
mod tests;
