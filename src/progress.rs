//! The progress of reading a long recording, or of many runs: one line on stderr.
//!
//! Law: progress is drawn only on a terminal. Other lines are printed through [`Progress::suspend`], and the progress
//! line is erased at the end. Bytes are counted when they are read, so that stretches without messages count, too.

use std::{
    fs::File,
    io::{self, IsTerminal as _, Read},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle};

use crate::look::Look;

/// Time before the line is first drawn.
const PATIENCE: Duration = Duration::from_millis(300);
/// Maximum number of drawings per second.
const RATE: u8 = 10;

/// The progress line. Clones draw the same line.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    begun: Instant,
    is_drawn: Arc<AtomicBool>,
}

/// File whose reads advance the progress.
#[derive(Debug)]
pub(crate) struct Watched<R> {
    input: R,
    progress: Option<Progress>,
}

impl Progress {
    /// Returns the line for a file that will be read; `None` if stderr is not a terminal.
    pub(crate) fn for_file(file: &File) -> Option<Self> {
        // The line is drawn with control sequences.
        if !io::stderr().is_terminal() || Look::get().is_dumb {
            return None;
        }
        let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file);
        let size = metadata.map(|found| found.len()).filter(|size| *size > 0);
        let template = if size.is_some() {
            "teetap: {decimal_bytes} of {decimal_total_bytes}, {percent} %, {decimal_bytes_per_sec}{msg}"
        } else {
            "teetap: {decimal_bytes}, {decimal_bytes_per_sec}{msg}"
        };
        let bar = ProgressBar::with_draw_target(size, ProgressDrawTarget::hidden())
            .with_style(ProgressStyle::with_template(template).ok()?)
            .with_finish(ProgressFinish::AndClear);
        Some(Self {
            bar,
            begun: Instant::now(),
            is_drawn: Arc::default(),
        })
    }

    /// Returns the line for work whose steps are shown as text; `None` if stderr is not a terminal.
    pub(crate) fn of_work() -> Option<Self> {
        if !io::stderr().is_terminal() || Look::get().is_dumb {
            return None;
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
            .with_style(ProgressStyle::with_template("teetap: {wide_msg}").ok()?)
            .with_finish(ProgressFinish::AndClear);
        Some(Self {
            bar,
            begun: Instant::now(),
            is_drawn: Arc::default(),
        })
    }

    /// Shows the current step, once the work has lasted for [`PATIENCE`].
    pub(crate) fn show(&self, step: String) {
        self.bar.set_message(step);
        self.draw();
        self.bar.tick();
    }

    fn draw(&self) {
        if !self.is_drawn.load(Ordering::Relaxed) && self.begun.elapsed() >= PATIENCE {
            self.is_drawn.store(true, Ordering::Relaxed);
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(RATE));
        }
    }

    /// Shows the number of messages that passed the filter so far.
    pub(crate) fn matched(&self, matches: u64) {
        let plural = if matches == 1 { "" } else { "es" };
        self.bar.set_message(format!(", {matches} match{plural}"));
    }

    /// Hides the line while `print` runs.
    pub(crate) fn suspend<R>(&self, print: impl FnOnce() -> R) -> R {
        self.bar.suspend(print)
    }

    /// Removes the line.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn advance(&self, bytes: u64) {
        self.bar.inc(bytes);
        self.draw();
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
