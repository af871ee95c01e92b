//! Reads a recording from a given position, on a separate thread.
//!
//! Law: the receiver never waits for the thread. If the receiver is slow, the thread waits; if the receiver is dropped,
//! the thread ends soon after.

use std::{
    io::{self, BufReader, Read},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, TryRecvError, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use teetap_inspect::{DecodedEvent, Decoder, Snapshots};
use teetap_proxy::{
    io::files::open_regular,
    session::{Level, Time},
};
use teetap_rules::Filter;
use teetap_wire::def::Registry;

use super::Recording;
use crate::{IndexedPlace, Item, ReadError, Run};

/// Bytes per read of the file.
const BLOCK: usize = 256 << 10;

/// Maximum number of items in a batch.
const BATCH: usize = 512;

/// Maximum number of waiting batches.
const WAITING: usize = 16;

/// Time after which an incomplete batch is sent.
const SOON: Duration = Duration::from_millis(30);

/// A recording to read.
#[derive(Clone, Debug)]
pub struct Source {
    /// Path of a regular file.
    pub path: PathBuf,
    /// Message definitions for decoding.
    pub registry: &'static Registry,
    /// Newest snapshots, for the screen.
    pub snapshots: Snapshots,
    /// Time of the first packet, in nanoseconds since 1970; 0 until it is known.
    pub begin: Arc<AtomicU64>,
}

/// An item for the screen.
#[derive(Debug)]
pub enum Found {
    /// Start of a run: the time in nanoseconds since 1970, and the run if teetap recorded it.
    Start(u64, Option<Box<Run>>),
    /// An event.
    Event(Arc<DecodedEvent>),
    /// A log line of the program.
    Log(Time, Level, String),
    /// A gap with this number of missing events.
    Gap(u64),
}

/// Several items, and the offset at which they were read.
#[derive(Debug, Default)]
pub struct Batch {
    /// Number of bytes read before the items.
    pub offset: u64,
    /// Items, in order.
    pub items: Vec<Found>,
    /// Set if the reading ended after these items: at the end of the recording, or with the error.
    pub end: Option<Result<(), ReadError>>,
}

/// A reading in progress.
#[derive(Debug)]
pub struct Reader {
    batches: Receiver<Batch>,
    read: Arc<AtomicU64>,
    stopped: Arc<AtomicBool>,
}

impl Reader {
    /// Starts a thread that reads from `place` on. With a filter, only events that pass the filter are returned.
    ///
    /// # Errors
    /// The system has no threads left.
    pub fn start(source: Source, place: IndexedPlace, filter: Option<Filter>) -> io::Result<Self> {
        let (sender, batches) = sync_channel(WAITING);
        let read = Arc::new(AtomicU64::new(place.offset));
        let stopped = Arc::new(AtomicBool::new(false));
        let work = Work {
            sender,
            read: Arc::clone(&read),
            stopped: Arc::clone(&stopped),
            is_filtered: filter.is_some(),
        };
        thread::Builder::new()
            .name("reader".into())
            .spawn(move || work.run(&source, &place, filter))?;
        Ok(Self {
            batches,
            read,
            stopped,
        })
    }

    /// Returns the next batch; `None` if none is ready.
    pub fn next(&self) -> Option<Batch> {
        match self.batches.try_recv() {
            Ok(batch) => Some(batch),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Batch {
                offset: self.read(),
                items: Vec::new(),
                end: Some(Ok(())),
            }),
        }
    }

    /// Returns the number of bytes read so far.
    pub fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// Counts bytes as they are read.
struct Counted<R> {
    input: R,
    /// Number of remaining bytes of the repeated file header, which are not counted.
    head: u64,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        let head = self.head.min(read as u64);
        self.head -= head;
        self.read.fetch_add(read as u64 - head, Ordering::Relaxed);
        Ok(read)
    }
}

/// Opens a recording at a place.
fn open(
    source: &Source,
    place: &IndexedPlace,
    read: &Arc<AtomicU64>,
) -> Result<Recording<impl io::BufRead + use<>>, ReadError> {
    let failed = |error| ReadError::System {
        offset: place.offset,
        error,
    };
    let file = open_regular(&source.path).map_err(|error| failed(error.into()))?;
    let input = Counted {
        input: place.open(file).map_err(failed)?,
        head: place.head(),
        read: Arc::clone(read),
    };
    Recording::after(place.packets, BufReader::with_capacity(BLOCK, input))
}

/// Returns the time to add to times after a start. Captures of other programs have no start of a run, so that the times
/// of a part begin at 0.
fn shift(source: &Source, wall: u64, run: Option<&Run>) -> Duration {
    if run.is_some() {
        return Duration::ZERO;
    }
    match source
        .begin
        .compare_exchange(0, wall, Ordering::Relaxed, Ordering::Relaxed)
    {
        Ok(_) => Duration::ZERO,
        Err(begin) => Duration::from_nanos(wall.saturating_sub(begin)),
    }
}

/// Returns the start of a recording: the time, and the run if teetap recorded it.
///
/// # Errors
/// See [`ReadError`].
pub fn beginning(source: &Source) -> Result<(u64, Option<Run>), ReadError> {
    let mut recording = open(source, &IndexedPlace::start(), &Arc::default())?;
    while let Some(item) = recording.read()? {
        if let Item::Start { wall, run } = item {
            shift(source, wall, run.as_ref());
            return Ok((wall, run));
        }
    }
    Ok((0, None))
}

/// Returns the time of the first item after a place that has a time; `None` at the end of the recording.
///
/// # Errors
/// See [`ReadError`].
pub(super) fn first_time(source: &Source, place: &IndexedPlace) -> Result<Option<Time>, ReadError> {
    times(source, place, &mut |_| false)
}

/// Returns the time of the last item after a place; `None` if there is none.
pub(super) fn last_time(source: &Source, place: &IndexedPlace) -> Option<Time> {
    let mut last = None;
    // Reads up to damage, if there is any.
    let _damage = times(source, place, &mut |time| {
        last = Some(time);
        true
    });
    last
}

/// Reads items while `more` returns true for their times. Returns the time for which it returned false; `None` at the
/// end.
fn times(
    source: &Source,
    place: &IndexedPlace,
    more: &mut dyn FnMut(Time) -> bool,
) -> Result<Option<Time>, ReadError> {
    let mut recording = open(source, place, &Arc::default())?;
    let mut shift = Duration::ZERO;
    while let Some(item) = recording.read()? {
        let time = match &item {
            Item::Start { wall, run } => {
                shift = self::shift(source, *wall, run.as_ref());
                continue;
            }
            Item::Event(event) => event.at,
            Item::Log { at, .. } | Item::Gap { at, .. } => *at,
        };
        if !more(time + shift) {
            return Ok(Some(time + shift));
        }
    }
    Ok(None)
}

/// State of the thread.
struct Work {
    sender: SyncSender<Batch>,
    read: Arc<AtomicU64>,
    stopped: Arc<AtomicBool>,
    is_filtered: bool,
}

impl Work {
    fn run(self, source: &Source, place: &IndexedPlace, filter: Option<Filter>) {
        let mut decoder = Decoder::new(source.registry);
        decoder.measure_items();
        decoder.ignore_items();
        match filter {
            Some(filter) => decoder.show_only(filter),
            None => decoder.share_snapshots(source.snapshots.clone()),
        }
        let mut batch = Batch {
            offset: place.offset,
            ..Batch::default()
        };
        let end = self.read_all(source, place, &mut decoder, &mut batch);
        if !self.stopped.load(Ordering::Relaxed) {
            batch.end = Some(end);
            // The screen may have been closed.
            let _closed = self.sender.send(batch);
        }
    }

    fn read_all(
        &self,
        source: &Source,
        place: &IndexedPlace,
        decoder: &mut Decoder,
        batch: &mut Batch,
    ) -> Result<(), ReadError> {
        let mut recording = open(source, place, &self.read)?;
        let mut shift = Duration::ZERO;
        let mut sent = Instant::now();
        while let Some(item) = recording.read()? {
            if self.stopped.load(Ordering::Relaxed) {
                return Ok(());
            }
            if let Item::Start { wall, run } = &item {
                shift = self::shift(source, *wall, run.as_ref());
            }
            if let Item::Event(event) = &item {
                while let Some(due) = decoder.due(event.at + shift) {
                    batch.items.push(Found::Event(Arc::new(due)));
                }
            }
            batch.items.extend(self.found(item, shift, decoder));
            let is_due = batch.items.len() >= BATCH || !batch.items.is_empty() && sent.elapsed() >= SOON;
            if is_due {
                let next = Batch {
                    offset: self.read.load(Ordering::Relaxed),
                    ..Batch::default()
                };
                if self.sender.send(std::mem::replace(batch, next)).is_err() {
                    return Ok(());
                }
                sent = Instant::now();
            }
        }
        Ok(())
    }

    fn found(&self, item: Item, shift: Duration, decoder: &mut Decoder) -> Option<Found> {
        Some(match item {
            Item::Start { wall, run } => {
                decoder.restart();
                Found::Start(wall, run.map(Box::new))
            }
            Item::Event(mut event) => {
                event.at = event.at + shift;
                let decoded = decoder.decode(event);
                let is_wanted = !self.is_filtered || decoded.matches > 0 || decoded.reading.is_none();
                if !is_wanted {
                    if let Some(reading) = decoded.reading {
                        decoder.recycle(reading);
                    }
                    return None;
                }
                Found::Event(Arc::new(decoded))
            }
            Item::Log { at, level, text } => {
                decoder.log(&text);
                Found::Log(at + shift, level, text)
            }
            Item::Gap { lost, .. } => {
                decoder.gap();
                Found::Gap(lost)
            }
        })
    }
}
