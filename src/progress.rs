//! How far the reading of a long recording is: one line on stderr, drawn again and again while somebody looks.
//!
//! Law: only on a terminal, and never in the way: whoever prints lines there erases it first ([`Progress::erase`]), and at the
//! end nothing of it is left. Whatever is read is watched where it is read, so that stretches in which nothing is found
//! count too. It never fails: what cannot be drawn is not drawn.

use std::{
    cell::Cell,
    fs::File,
    io::{self, IsTerminal as _, Read, Write as _},
    os::fd::AsFd,
    rc::Rc,
    time::{Duration, Instant},
};

/// Nothing is drawn of what takes no longer.
const PATIENCE: Duration = Duration::from_millis(300);
/// From one drawing to the next.
const PAUSE: Duration = Duration::from_millis(100);
/// What a terminal that does not tell has.
const COLUMNS: usize = 80;

/// The line. Clones are of the same one.
#[derive(Clone, Debug)]
pub(crate) struct Progress(Rc<State>);

#[derive(Debug)]
struct State {
    begun: Instant,
    /// Bytes of the whole file; `None` when nobody knows.
    size: Option<u64>,
    read: Cell<u64>,
    /// What a filter has let through.
    matches: Cell<Option<u64>>,
    /// When to draw next.
    next: Cell<Instant>,
    /// Characters that stand there.
    drawn: Cell<usize>,
}

/// A file that is read.
#[derive(Debug)]
pub(crate) struct Watched<R> {
    input: R,
    progress: Option<Progress>,
}

impl Progress {
    /// Of a file that is going to be read; `None` where nobody would see it.
    pub(crate) fn of(file: &File) -> Option<Self> {
        if !io::stderr().is_terminal() {
            return None;
        }
        let metadata = file.metadata().ok();
        let size = metadata
            .filter(std::fs::Metadata::is_file)
            .map(|found| found.len());
        let begun = Instant::now();
        Some(Self(Rc::new(State {
            begun,
            size,
            read: Cell::new(0),
            matches: Cell::new(None),
            next: Cell::new(begun + PATIENCE),
            drawn: Cell::new(0),
        })))
    }

    /// What a filter has let through so far.
    pub(crate) fn matched(&self, matches: u64) {
        self.0.matches.set(Some(matches));
    }

    /// Takes the line away; it comes again, unless this was the last one.
    pub(crate) fn erase(&self) {
        self.0.erase();
    }

    /// More bytes were read.
    fn advance(&self, bytes: u64) {
        let state = &*self.0;
        state.read.set(state.read.get() + bytes);
        let now = Instant::now();
        if now < state.next.get() {
            return;
        }
        state.next.set(now + PAUSE);
        let line = line(&Figures {
            read: state.read.get(),
            size: state.size,
            took: now.duration_since(state.begun),
            matches: state.matches.get(),
        });
        let columns = columns(io::stderr()).unwrap_or(COLUMNS);
        // One that reaches the last column might be wrapped, and would not be overwritten.
        let line: String = line.chars().take(columns.saturating_sub(1)).collect();
        let before = state.drawn.replace(line.len());
        put(&format!("\r{line:before$}"));
    }
}

impl State {
    fn erase(&self) {
        let drawn = self.drawn.replace(0);
        if drawn > 0 {
            put(&format!("\r{:drawn$}\r", ""));
        }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.erase();
    }
}

impl<R> Watched<R> {
    pub(crate) fn new(input: R, progress: Option<Progress>) -> Self {
        Self { input, progress }
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        if let Some(progress) = &self.progress {
            progress.advance(read as u64);
        }
        Ok(read)
    }
}

/// What there is to say.
struct Figures {
    read: u64,
    size: Option<u64>,
    took: Duration,
    matches: Option<u64>,
}

/// Plain ASCII, without an end.
fn line(figures: &Figures) -> String {
    let Figures {
        read,
        size,
        took,
        matches,
    } = *figures;
    let megabytes = |bytes: u64| bytes / 1_000_000;
    let mut line = format!("teetap: {}", megabytes(read));
    if let Some(size) = size.filter(|size| *size > 0) {
        // A file may grow while it is read.
        let percent = (u128::from(read) * 100 / u128::from(size)).min(100);
        line += &format!(" of {} MB, {percent} %", megabytes(size));
    } else {
        line += " MB";
    }
    let speed = u128::from(read) / took.as_micros().max(1);
    line += &format!(", {speed} MB/s");
    match matches {
        None => {}
        Some(1) => line += ", 1 match",
        Some(matches) => line += &format!(", {matches} matches"),
    }
    line
}

/// The columns of a terminal; `None` if it is none, or does not tell.
pub(crate) fn columns(terminal: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(terminal).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

fn put(text: &str) {
    let mut stderr = io::stderr().lock();
    let _nobody_looks = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_far_and_how_fast() {
        let mut figures = Figures {
            read: 412_900_000,
            size: Some(1_024_000_000),
            took: Duration::from_secs(2),
            matches: None,
        };
        assert_eq!(line(&figures), "teetap: 412 of 1024 MB, 40 %, 206 MB/s");
        figures.matches = Some(1);
        assert_eq!(line(&figures), "teetap: 412 of 1024 MB, 40 %, 206 MB/s, 1 match");
        figures.size = None;
        figures.matches = Some(0);
        assert_eq!(line(&figures), "teetap: 412 MB, 206 MB/s, 0 matches");
        let odd = [(0, Some(0)), (u64::MAX, Some(1)), (7, None)].map(|(read, size)| {
            line(&Figures {
                read,
                size,
                took: Duration::ZERO,
                matches: None,
            })
        });
        assert_eq!(odd[0], "teetap: 0 MB, 0 MB/s");
        assert!(odd[1].contains(" of 0 MB, 100 %, "), "{}", odd[1]);
        assert_eq!(odd[2], "teetap: 0 MB, 7 MB/s");
    }
}
