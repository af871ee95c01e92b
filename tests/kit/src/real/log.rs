//! The output of a peer, line by line, with the arrival time of each line.
//!
//! Law: no line is lost, and no wait returns the same line twice. A wait for a line that can no longer arrive,
//! because the peer has ended, fails immediately and shows the end of the log. Lines are not interpreted; the
//! launcher of a peer may keep only some of them.

use std::io::{BufRead as _, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use regex::Regex;

/// Number of log lines that an error shows.
const TAIL: usize = 40;

/// One printed line.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The time at which it was read from the pipe; the peers flush each line.
    pub at: Instant,
    /// The text without its line end; bytes that are not UTF-8 are replaced.
    pub text: String,
}

/// A position in a log: the lines before it have been seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark(usize);

/// The growing log of one peer; clones share it.
#[derive(Clone, Debug)]
pub struct Log {
    name: Arc<str>,
    shared: Arc<(Mutex<State>, Condvar)>,
}

#[derive(Debug, Default)]
struct State {
    lines: Vec<Entry>,
    skipped: u64,
    open_pipes: usize,
}

impl Log {
    /// Creates an empty log of the peer `name` (as errors show it).
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            shared: Arc::default(),
        }
    }

    /// Reads `pipe` to its end on a separate thread.
    pub fn follow(&self, pipe: impl Read + Send + 'static) {
        self.follow_some(pipe, |_| true);
    }

    /// Same as [`Log::follow`], but only counts lines that `keeps` rejects: a long-running program may print many.
    pub(crate) fn follow_some(&self, pipe: impl Read + Send + 'static, keeps: fn(&str) -> bool) {
        self.state().open_pipes += 1;
        let log = self.clone();
        thread::spawn(move || {
            let mut reader = BufReader::new(pipe);
            let mut raw = Vec::new();
            // A read error means the same as the end: the peer has closed its side of the pipe.
            while reader.read_until(b'\n', &mut raw).is_ok_and(|read| read > 0) {
                let text = String::from_utf8_lossy(&raw).trim_end().to_owned();
                raw.clear();
                if !keeps(&text) {
                    log.state().skipped += 1;
                    continue;
                }
                log.state().lines.push(Entry {
                    at: Instant::now(),
                    text,
                });
                log.shared.1.notify_all();
            }
            log.state().open_pipes -= 1;
            log.shared.1.notify_all();
        });
    }

    /// Returns the first line of the whole log that matches `pattern`, waiting up to `patience` for it.
    pub fn wait_for(&self, pattern: &str, patience: Duration) -> Result<Entry> {
        self.wait_after(Mark(0), pattern, patience)
    }

    /// Same as [`Log::wait_for`], but only lines after `mark` count.
    pub fn wait_after(&self, mark: Mark, pattern: &str, patience: Duration) -> Result<Entry> {
        let regex = Regex::new(pattern).with_context(|| format!("pattern {pattern:?}"))?;
        let deadline = Instant::now() + patience;
        let mut seen = mark.0;
        let mut state = self.state();
        loop {
            if let Some(line) = state
                .lines
                .iter()
                .skip(seen)
                .find(|line| regex.is_match(&line.text))
            {
                return Ok(line.clone());
            }
            seen = seen.max(state.lines.len());
            let left = deadline.saturating_duration_since(Instant::now());
            let ended = state.open_pipes == 0;
            if ended || left.is_zero() {
                let why = if ended { "ended" } else { "did not come to it" };
                let tail = tail(&state.lines);
                bail!(
                    "{} {why}: no line matches {pattern:?} after {patience:?}; its log ends with\n{tail}",
                    self.name
                );
            }
            state = self
                .shared
                .1
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }

    /// Returns the number of lines after `mark` that match `pattern` so far.
    pub(crate) fn count_after(&self, mark: Mark, pattern: &str) -> Result<usize> {
        let regex = Regex::new(pattern).with_context(|| format!("pattern {pattern:?}"))?;
        let state = self.state();
        let lines = state.lines.iter().skip(mark.0);
        Ok(lines.filter(|line| regex.is_match(&line.text)).count())
    }

    /// Waits until the peer has closed all its output, so that the log is complete.
    pub fn drain(&self, patience: Duration) -> Result<()> {
        let deadline = Instant::now() + patience;
        let mut state = self.state();
        while state.open_pipes > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                bail!("the output of {} is still open after {patience:?}", self.name);
            }
            state = self
                .shared
                .1
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        Ok(())
    }

    /// Returns the position after the newest line.
    pub fn mark(&self) -> Mark {
        Mark(self.state().lines.len())
    }

    /// Returns all lines so far.
    pub fn lines(&self) -> Vec<Entry> {
        self.state().lines.clone()
    }

    /// Returns the lines so far that match `pattern` and none of the patterns in `but`.
    pub fn matching<'a>(&self, pattern: &str, but: impl IntoIterator<Item = &'a str>) -> Result<Vec<String>> {
        let wanted = Regex::new(pattern).with_context(|| format!("pattern {pattern:?}"))?;
        let but = but
            .into_iter()
            .map(|pattern| Regex::new(pattern).with_context(|| format!("pattern {pattern:?}")));
        let but = but.collect::<Result<Vec<Regex>>>()?;
        let state = self.state();
        let lines = state.lines.iter().map(|line| &line.text);
        let lines =
            lines.filter(|text| wanted.is_match(text) && !but.iter().any(|pattern| pattern.is_match(text)));
        Ok(lines.cloned().collect())
    }

    /// Returns the number of lines that were not kept.
    pub fn skipped(&self) -> u64 {
        self.state().skipped
    }

    /// Returns true if a line so far contains `text`.
    pub fn contains(&self, text: &str) -> bool {
        self.state().lines.iter().any(|line| line.text.contains(text))
    }

    /// Returns the last lines, for an error message.
    pub fn tail(&self) -> String {
        tail(&self.state().lines)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tail(lines: &[Entry]) -> String {
    let last = lines.iter().skip(lines.len().saturating_sub(TAIL));
    last.map(|line| format!("    {}\n", line.text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn finds_a_line_and_honours_the_mark() {
        let log = Log::new("peer");
        log.follow(&b"one\ntwo\none\n"[..]);
        assert_eq!(log.wait_for("^one$", LONG).unwrap().text, "one");
        log.wait_after(Mark(1), "^one$", LONG).unwrap();
        assert!(log.wait_after(Mark(2), "two", SHORT).is_err());
        assert!(log.contains("tw") && !log.contains("three"));
    }

    #[test]
    fn gives_the_lines_of_a_kind() {
        let log = Log::new("peer");
        log.follow(&b"an error\nfine\nan error of no importance\n"[..]);
        log.drain(LONG).unwrap();
        assert_eq!(log.matching("error", ["no importance$"]).unwrap(), ["an error"]);
        assert!(log.matching("(", []).is_err());
    }

    #[test]
    fn lines_that_are_not_kept_are_counted() {
        let log = Log::new("peer");
        log.follow_some(&b"one\ntwo\none\n"[..], |line| line != "one");
        log.drain(LONG).unwrap();
        assert_eq!(log.lines().len(), 1);
        assert!(log.contains("two") && log.skipped() == 2);
    }

    #[test]
    fn an_ended_log_is_not_waited_for() {
        let log = Log::new("peer");
        log.follow(&b"bye\n"[..]);
        let error = log.wait_for("never", LONG).unwrap_err().to_string();
        assert!(error.contains("ended") && error.contains("bye"), "{error}");
    }
}
