//! Reads a recording ahead of its consumer, on a separate thread.
//!
//! Law: items are returned in the order of the recording. At most `BATCHES` batches of `BATCH` items are queued, so
//! that memory is bounded; when the queue is full, the thread waits for the consumer. Used events are returned to the
//! thread, because freeing memory is fast only on the thread that allocated it.

use std::{
    io::BufRead,
    panic::resume_unwind,
    sync::mpsc::{self, Receiver, Sender, SyncSender},
    thread::{self, JoinHandle},
    vec,
};

use teetap_proxy::session::Event;

use super::Recording;
use crate::{Item, ReadError, Tally};

/// Number of items in a batch.
const BATCH: usize = 128;

/// Maximum number of waiting batches.
const BATCHES: usize = 4;

/// Reads a recording from start to end, ahead or on request.
pub enum Reader<R> {
    /// Each item is read when it is requested.
    Direct(Recording<R>),
    /// A thread reads ahead.
    Ahead(Box<Ahead>),
}

/// A recording that a thread reads ahead.
pub struct Ahead {
    batches: Receiver<Batch>,
    /// Remaining items of the last batch.
    items: vec::IntoIter<Item>,
    tally: Tally,
    /// The end of the recording with its damage; `None` until it was read.
    end: Option<Option<ReadError>>,
    /// Events that the caller has finished with, to be returned to the thread.
    spent: Vec<Event>,
    back: Sender<Vec<Event>>,
    thread: Option<JoinHandle<()>>,
}

/// Several items, in order.
struct Batch {
    items: Vec<Item>,
    /// Counts after the items.
    tally: Tally,
    /// The end of the recording after the items, with the damage if there is any.
    end: Option<Option<ReadError>>,
}

impl<R: BufRead + Send + 'static> Reader<R> {
    /// Reads ahead. Do not use this for a recording that grows, whose last items would wait for a full batch, nor if
    /// the reading may end early, since the counts include everything that was read.
    pub fn ahead(recording: Recording<R>) -> Self {
        let (sender, batches) = mpsc::sync_channel(BATCHES);
        let (hand, taken) = mpsc::sync_channel(1);
        // Unbounded, but never holds more than the batches that were sent.
        let (back, spent) = mpsc::channel();
        let start = thread::Builder::new().name("reader".to_owned());
        let thread = start.spawn(move || {
            if let Ok(recording) = taken.recv() {
                read_all(recording, &sender, &spent);
            }
        });
        match hand.send(recording) {
            Ok(()) => Self::Ahead(Box::new(Ahead {
                batches,
                items: Vec::new().into_iter(),
                tally: Tally::default(),
                end: None,
                spent: Vec::new(),
                back,
                thread: thread.ok(),
            })),
            // The thread could not be started.
            Err(mpsc::SendError(recording)) => Self::Direct(recording),
        }
    }

    /// Returns the next item; `None` at the end.
    ///
    /// # Errors
    /// The recording is damaged or cannot be read. Nothing can be read after that.
    pub fn read(&mut self) -> Result<Option<Item>, ReadError> {
        match self {
            Self::Direct(recording) => recording.read(),
            Self::Ahead(ahead) => ahead.read(),
        }
    }

    /// Returns an event that the caller has finished with, for reuse.
    pub fn done(&mut self, event: Event) {
        if let Self::Ahead(ahead) = self {
            ahead.spent.push(event);
            if ahead.spent.len() >= BATCH {
                // The thread may have ended.
                let spent = std::mem::replace(&mut ahead.spent, Vec::with_capacity(BATCH));
                let _gone = ahead.back.send(spent);
            }
        }
    }

    /// Returns the counts of the datagrams and messages that were read.
    pub fn tally(&self) -> Tally {
        match self {
            Self::Direct(recording) => recording.tally(),
            Self::Ahead(ahead) => ahead.tally,
        }
    }
}

impl Ahead {
    fn read(&mut self) -> Result<Option<Item>, ReadError> {
        loop {
            if let Some(item) = self.items.next() {
                return Ok(Some(item));
            }
            if let Some(end) = &mut self.end {
                return end.take().map_or(Ok(None), Err);
            }
            let Ok(batch) = self.batches.recv() else {
                // Without the end of the recording, the thread has panicked.
                match self.thread.take().map(JoinHandle::join) {
                    Some(Err(panic)) => resume_unwind(panic),
                    _ => return Ok(None),
                }
            };
            self.items = batch.items.into_iter();
            (self.tally, self.end) = (batch.tally, batch.end);
        }
    }
}

/// Reads a recording to its end, or until the receiver is dropped.
fn read_all<R: BufRead>(
    mut recording: Recording<R>,
    batches: &SyncSender<Batch>,
    spent: &Receiver<Vec<Event>>,
) {
    loop {
        spent.try_iter().for_each(drop);
        let mut items = Vec::with_capacity(BATCH);
        let end = loop {
            match recording.read() {
                Ok(Some(item)) => items.push(item),
                Ok(None) => break Some(None),
                Err(error) => break Some(Some(error)),
            }
            if items.len() >= BATCH {
                break None;
            }
        };
        let is_end = end.is_some();
        let tally = recording.tally();
        if batches.send(Batch { items, tally, end }).is_err() || is_end {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Cursor, path::Path};

    use super::*;

    /// Returns the items and the error of a recording, in order.
    fn all(mut reader: Reader<Cursor<Vec<u8>>>) -> Vec<String> {
        let mut said = Vec::new();
        loop {
            match reader.read() {
                Ok(Some(item)) => said.push(format!("{item:?}")),
                Ok(None) => break,
                Err(error) => {
                    said.push(error.to_string());
                    break;
                }
            }
        }
        said.push(format!("{:?}", reader.tally()));
        said
    }

    #[test]
    fn reading_ahead_shows_the_same_items_counts_and_damage() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures");
        let whole = fs::read(folder.join("rich-dd16.pcap")).unwrap();
        // An empty recording, a truncated recording, and a complete recording.
        for len in [24, whole.len() / 2, whole.len()] {
            let bytes = || Cursor::new(whole[..len].to_vec());
            let direct = all(Reader::Direct(Recording::open(bytes()).unwrap()));
            let ahead = Reader::ahead(Recording::open(bytes()).unwrap());
            assert!(matches!(ahead, Reader::Ahead(_)));
            assert_eq!(all(ahead), direct);
            assert_eq!(direct.len() > BATCH * BATCHES, len > 24, "{len}");
        }
    }

    #[test]
    fn a_reader_that_is_left_ends() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures");
        let bytes = Cursor::new(fs::read(folder.join("rich-dd16.pcap")).unwrap());
        let Reader::Ahead(mut ahead) = Reader::ahead(Recording::open(bytes).unwrap()) else {
            panic!("no thread");
        };
        assert!(ahead.read().unwrap().is_some());
        let thread = ahead.thread.take().unwrap();
        drop(ahead);
        thread.join().unwrap();
    }
}
