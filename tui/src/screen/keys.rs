//! The reader of keys, which runs on a separate thread.
//!
//! Law: the screen never waits for keys. Reading keys may block until an escape sequence is complete, and does not
//! return once the terminal is gone.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, Sender},
    },
    thread,
    time::Duration,
};

use crossterm::event::{self, Event};

use super::terminal::has_hung_up;

/// Maximum wait for a key before the thread checks whether it should end.
const WAIT: Duration = Duration::from_millis(100);

/// Keys that were pressed, and other events of the terminal.
#[derive(Debug)]
pub(super) struct Keys {
    events: Receiver<io::Result<Event>>,
    is_over: Arc<AtomicBool>,
}

impl Keys {
    /// Starts the thread.
    pub(super) fn start() -> io::Result<Self> {
        let (sender, events) = mpsc::channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        thread::Builder::new()
            .name("keys".into())
            .spawn(move || read(&sender, &over))?;
        Ok(Self { events, is_over })
    }

    /// Returns the next event; `None` if there is none.
    pub(super) fn next(&self) -> io::Result<Option<Event>> {
        self.events.try_recv().ok().transpose()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// Reads until the screen is closed, the terminal is gone, or reading fails.
fn read(events: &Sender<io::Result<Event>>, is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) && !has_hung_up(io::stdin()) {
        let event = match event::poll(WAIT) {
            Ok(true) => event::read(),
            Ok(false) => continue,
            Err(error) => Err(error),
        };
        let has_failed = event.is_err();
        if events.send(event).is_err() || has_failed {
            return;
        }
    }
}
