//! Recordings that a thread reads ahead, while what it has read is looked at.
//!
//! Law: the items and their order are those of the recording. At most `BATCHES` batches of `BATCH` items wait, so the memory
//! is bounded, and the reader waits where the other side is slow. Events go back to it: memory is freed fast only where it was
//! allocated.

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

/// The items that are handed over at once.
const BATCH: usize = 128;

/// The batches that may wait.
const BATCHES: usize = 4;

/// A recording from its start to its end, read ahead or not.
pub enum Reader<R> {
    /// Each item is read when it is requested.
    Direct(Recording<R>),
    /// A thread reads ahead.
    Ahead(Box<Ahead>),
}

/// A recording that a thread reads.
pub struct Ahead {
    batches: Receiver<Batch>,
    /// The items of the last batch that are left.
    items: vec::IntoIter<Item>,
    tally: Tally,
    /// The end, once it is read.
    end: Option<Option<ReadError>>,
    /// The events that were looked at and have not gone back.
    spent: Vec<Event>,
    back: Sender<Vec<Event>>,
    thread: Option<JoinHandle<()>>,
}

/// Some items, in their order.
struct Batch {
    items: Vec<Item>,
    /// The counts after them.
    tally: Tally,
    /// The end of the recording after them, with the damage if it is one.
    end: Option<Option<ReadError>>,
}

impl<R: BufRead + Send + 'static> Reader<R> {
    /// Reads ahead. That is not for a recording that grows, whose last items would wait for more of them, nor where the reading may
    /// end early: the counts are those of all that was read.
    pub fn ahead(recording: Recording<R>) -> Self {
        let (sender, batches) = mpsc::sync_channel(BATCHES);
        let (hand, taken) = mpsc::sync_channel(1);
        // No more than the batches that were sent.
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
            // There is no such thread.
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

    /// Takes back an event that was looked at.
    pub fn done(&mut self, event: Event) {
        if let Self::Ahead(ahead) = self {
            ahead.spent.push(event);
            if ahead.spent.len() >= BATCH {
                // The reader may be done, too.
                let _gone = ahead.back.send(std::mem::take(&mut ahead.spent));
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
                // The reader ends without the end of the recording only by a panic.
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

/// Reads a recording to its end, or until the other side takes no more.
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

    /// Returns what a reader has to say about a recording, in its order.
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
        // One that ends at once, one that is cut off, a whole one.
        for len in [24, whole.len() / 2, whole.len()] {
            let bytes = || Cursor::new(whole[..len].to_vec());
            let direct = all(Reader::Direct(Recording::of(bytes()).unwrap()));
            let ahead = Reader::ahead(Recording::of(bytes()).unwrap());
            assert!(matches!(ahead, Reader::Ahead(_)));
            assert_eq!(all(ahead), direct);
            assert_eq!(direct.len() > BATCH * BATCHES, len > 24, "{len}");
        }
    }

    #[test]
    fn a_reader_that_is_left_ends() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures");
        let bytes = Cursor::new(fs::read(folder.join("rich-dd16.pcap")).unwrap());
        let Reader::Ahead(mut ahead) = Reader::ahead(Recording::of(bytes).unwrap()) else {
            panic!("no thread");
        };
        assert!(ahead.read().unwrap().is_some());
        let thread = ahead.thread.take().unwrap();
        drop(ahead);
        thread.join().unwrap();
    }
}
