//! Indexes a recording on a separate thread, and finds positions by time.

use std::{
    io::{self, BufReader},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use teetap_proxy::{io::files::open_regular, session::Time};

use super::from::{self, Source};
use crate::{Format, Index, IndexedPlace};

/// Bytes per read of the file.
const BLOCK: usize = 256 << 10;

/// Places found so far.
#[derive(Debug)]
struct Known {
    places: Vec<IndexedPlace>,
    /// Number of bytes that were indexed.
    indexed: u64,
    /// Time of the last event; `None` until it is known.
    until: Option<Time>,
}

/// The positions in a recording from which reading can start.
#[derive(Debug)]
pub struct Places {
    known: Arc<Mutex<Known>>,
    stopped: Arc<AtomicBool>,
    source: Source,
}

impl Places {
    /// Starts to index the recording.
    ///
    /// # Errors
    /// The system has no threads left.
    pub fn start(source: Source, format: Format) -> io::Result<Self> {
        let places = vec![IndexedPlace::start()];
        let known = Arc::new(Mutex::new(Known {
            places,
            indexed: 0,
            until: None,
        }));
        let stopped = Arc::new(AtomicBool::new(false));
        let (shared, over, of) = (Arc::clone(&known), Arc::clone(&stopped), source.clone());
        thread::Builder::new()
            .name("index".into())
            .spawn(move || look(&of, format, &shared, &over))?;
        Ok(Self {
            known,
            stopped,
            source,
        })
    }

    /// Returns the number of bytes that were indexed, and the time of the last event once it is known.
    #[must_use]
    pub fn state(&self) -> (u64, Option<Time>) {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        (known.indexed, known.until)
    }

    /// Returns the last indexed position at or before a byte offset.
    #[must_use]
    pub fn before(&self, offset: u64) -> IndexedPlace {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let after = known.places.partition_point(|place| place.offset <= offset);
        let place = after.checked_sub(1).and_then(|at| known.places.get(at));
        place.cloned().unwrap_or_else(IndexedPlace::start)
    }

    /// Returns the last indexed position at or before a time. Assumes that times increase.
    #[must_use]
    pub fn of_time(&self, time: Time) -> IndexedPlace {
        let places = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.places.clone()
        };
        let is_before = |place: &IndexedPlace| {
            let first = from::first_time(&self.source, place);
            first.ok().flatten().is_some_and(|first| first <= time)
        };
        let after = places.partition_point(is_before);
        let place = after.checked_sub(1).and_then(|at| places.get(at));
        place.cloned().unwrap_or_else(IndexedPlace::start)
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// Finds all places, then the time of the last event. Finds none if the file cannot be read, which the reader reports.
fn look(source: &Source, format: Format, known: &Mutex<Known>, stopped: &AtomicBool) {
    let Ok(file) = open_regular(&source.path) else {
        return;
    };
    let mut index = Index::new(BufReader::with_capacity(BLOCK, file), format);
    let mut last = IndexedPlace::start();
    while let Ok(Some(place)) = index.next_place() {
        if stopped.load(Ordering::Relaxed) {
            return;
        }
        last.clone_from(&place);
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        known.indexed = place.offset;
        known.places.push(place);
    }
    let until = from::last_time(source, &last);
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    known.indexed = u64::MAX;
    known.until = until;
}
