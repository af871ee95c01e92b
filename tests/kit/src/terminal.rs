//! A terminal for the program under test, and a model of its screen.

use std::{
    ffi::OsStr,
    fs::{File, OpenOptions},
    io::{self, Read as _, Write as _},
    num::NonZero,
    os::unix::ffi::OsStrExt as _,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crate::limit;
use anyhow::{Result, bail};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    pty, termios,
};

/// Time between two checks whether the window was closed.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 20_000_000,
};

/// Opens a pseudo-terminal of this size. Returns the test's end and the program's end.
pub fn open(columns: u16, rows: u16) -> io::Result<(File, File)> {
    // The program must not keep the test's end open.
    let flags = pty::OpenptFlags::RDWR | pty::OpenptFlags::NOCTTY | pty::OpenptFlags::CLOEXEC;
    let outer = pty::openpt(flags)?;
    pty::grantpt(&outer)?;
    pty::unlockpt(&outer)?;
    let name = pty::ptsname(&outer, Vec::new())?;
    let inner = OpenOptions::new()
        .read(true)
        .write(true)
        .open(OsStr::from_bytes(name.as_bytes()))?;
    termios::tcsetwinsize(&inner, size(columns, rows))?;
    Ok((File::from(outer), inner))
}

/// Changes the size of a terminal, which sends SIGWINCH to its programs.
pub fn resize(outer: &File, columns: NonZero<u16>, rows: NonZero<u16>) -> io::Result<()> {
    Ok(termios::tcsetwinsize(outer, size(columns.get(), rows.get()))?)
}

const fn size(columns: u16, rows: u16) -> termios::Winsize {
    termios::Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

/// A terminal whose screen is read as a user sees it.
#[derive(Debug)]
pub struct Terminal {
    keys: File,
    screen: Arc<Mutex<Model>>,
    is_closed: Arc<AtomicBool>,
    reader: JoinHandle<()>,
}

struct Model {
    parser: vt100::Parser,
    /// All bytes that the program wrote.
    written: Vec<u8>,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.parser.screen().contents())
    }
}

impl Terminal {
    /// Opens a terminal; the second value is the program's end.
    pub fn open(columns: NonZero<u16>, rows: NonZero<u16>) -> io::Result<(Self, File)> {
        limit::begin();
        let (keys, inner) = open(columns.get(), rows.get())?;
        let screen = Arc::new(Mutex::new(Model {
            parser: vt100::Parser::new(rows, columns, 0),
            written: Vec::new(),
        }));
        let (mut output, model) = (keys.try_clone()?, Arc::clone(&screen));
        let is_closed = Arc::new(AtomicBool::new(false));
        let closed = Arc::clone(&is_closed);
        let reader = thread::spawn(move || {
            let mut block = [0; 4096];
            while !closed.load(Ordering::Relaxed) {
                let mut polled = [PollFd::new(&output, PollFlags::IN)];
                if poll(&mut polled, Some(&LOOK)).is_ok_and(|ready| ready == 0) {
                    continue;
                }
                // Fails if no process has the terminal open.
                let Ok(read @ 1..) = output.read(&mut block) else {
                    break;
                };
                let mut model = model.lock().unwrap_or_else(PoisonError::into_inner);
                let bytes = block.get(..read).unwrap_or_default();
                model.parser.process(bytes);
                model.written.extend_from_slice(bytes);
            }
        });
        let terminal = Self {
            keys,
            screen,
            is_closed,
            reader,
        };
        Ok((terminal, inner))
    }

    /// Closes the window, so that its programs receive SIGHUP.
    pub fn close(self) {
        self.is_closed.store(true, Ordering::Relaxed);
        // A panic was printed by the thread.
        let _panicked = self.reader.join();
    }

    /// Returns the visible text.
    pub fn text(&self) -> String {
        let model = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        model.parser.screen().contents()
    }

    /// Returns all bytes that the program wrote.
    pub fn written(&self) -> Vec<u8> {
        let model = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        model.written.clone()
    }

    /// Changes the size of the terminal, which sends SIGWINCH to its programs.
    pub fn resize(&self, columns: NonZero<u16>, rows: NonZero<u16>) -> io::Result<()> {
        let mut model = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        model.parser.screen_mut().set_size(rows, columns);
        resize(&self.keys, columns, rows)
    }

    /// Returns true while the program shows its alternate screen.
    pub fn is_alternate(&self) -> bool {
        let model = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
        model.parser.screen().alternate_screen()
    }

    /// Types keys.
    pub fn press(&mut self, keys: &str) -> io::Result<()> {
        self.keys.write_all(keys.as_bytes())
    }

    /// Waits until the visible text contains `part`, and returns the whole text.
    pub fn wait_for(&self, part: &str, patience: Duration) -> Result<String> {
        self.wait_until(&format!("{part:?}"), |text| text.contains(part), patience)
    }

    /// Waits until `is_wanted` accepts the text of the screen, and returns the text.
    ///
    /// # Errors
    /// Returns an error if the text is not accepted within `patience`.
    pub fn wait_until(
        &self,
        what: &str,
        is_wanted: impl Fn(&str) -> bool,
        patience: Duration,
    ) -> Result<String> {
        let begun = Instant::now();
        loop {
            let text = self.text();
            if is_wanted(&text) {
                return Ok(text);
            }
            if begun.elapsed() > patience {
                bail!("the screen does not show {what}:\n{text}");
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}
