//! The last line that a client prints.

use std::{
    io::{self, BufRead, BufReader, Read},
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use teetap_inspect::joins::STOPPED;
use teetap_wire::printable;

/// Prefixes of lines that a runtime prints after the error of its program.
const TRAILERS: [&str; 2] = ["Node.js v", "note: run with `RUST_BACKTRACE="];

/// Maximum bytes kept of a line.
const LONGEST: usize = 240;

/// Maximum wait for the end of the output after the processes of the client have ended.
const PATIENCE: Duration = Duration::from_millis(500);

/// Output of a client, read by a thread of its own.
#[derive(Debug)]
pub(super) struct Printed {
    last: Arc<Mutex<Option<String>>>,
    reader: JoinHandle<()>,
}

impl Printed {
    /// Starts to read the output of the client.
    pub(super) fn read(output: impl Read + Send + 'static) -> io::Result<Self> {
        let last = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&last);
        let keep = move |line| *kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(line);
        let reader = thread::Builder::new()
            .name("printed".into())
            .spawn(move || read_lines(output, keep))?;
        Ok(Self { last, reader })
    }

    /// Returns the last line that may explain an error. Waits for the end of the output, but at most [`PATIENCE`],
    /// since a process that outlives the client may keep the output open.
    pub(super) fn last(self) -> Option<String> {
        let end = Instant::now() + PATIENCE;
        while !self.reader.is_finished() && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
        self.last.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Calls `keep` with every line that may explain an error.
fn read_lines(output: impl Read, mut keep: impl FnMut(String)) {
    let mut reader = BufReader::new(output);
    let mut line = Vec::new();
    while let Some(is_whole) = read_line(&mut reader, &mut line, LONGEST) {
        let text = printable(line.trim_ascii_end());
        if is_worth_showing(&text) {
            let cut = if is_whole { "" } else { "..." };
            keep(format!("{}{cut}", text.trim()));
        }
    }
}

/// Returns true for a line that may explain an error. Excludes stack frames, lines of runtimes, and lines about the end
/// of the run.
fn is_worth_showing(line: &str) -> bool {
    let is_frame = line.starts_with(char::is_whitespace) && line.trim_start().starts_with("at ");
    let is_trailer = TRAILERS.iter().any(|start| line.starts_with(start));
    line.contains(char::is_alphanumeric) && !is_frame && !is_trailer && !line.contains(STOPPED)
}

/// Reads the next line, truncated to `most` bytes. Returns true if the line is whole, `None` at the end of the output.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>, most: usize) -> Option<bool> {
    line.clear();
    let mut is_whole = true;
    loop {
        let part = match reader.fill_buf() {
            Ok(part) => part,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => &[],
        };
        if part.is_empty() {
            return (!line.is_empty()).then_some(is_whole);
        }
        let end = part.iter().position(|byte| *byte == b'\n');
        let text = part.get(..end.unwrap_or(part.len())).unwrap_or_default();
        let room = most.saturating_sub(line.len());
        is_whole &= text.len() <= room;
        line.extend(text.iter().take(room));
        let len = end.map_or(part.len(), |end| end + 1);
        reader.consume(len);
        if end.is_some() {
            return Some(is_whole);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(text: &[u8]) -> Option<String> {
        let mut last = None;
        read_lines(text, |line| last = Some(line));
        last
    }

    #[test]
    fn the_last_line_that_says_something_is_kept() {
        let text = "starting\nError: no\x1b[2J answer\r\n\nleft: teetap was stopped\n";
        assert_eq!(
            last(text.as_bytes()).as_deref(),
            Some("Error: no\u{fffd}[2J answer")
        );
        assert_eq!(last(b""), None);
        assert_eq!(last(b"no end").as_deref(), Some("no end"));
        let node = "/c.js:3\n  throw new Error('no');\n  ^\n\nError: no\n    at main (/c.js:3:9)\n\nNode.js v20.20.2\n";
        assert_eq!(last(node.as_bytes()).as_deref(), Some("Error: no"));
        let rust = "thread 'main' panicked at c.rs:2:5:\nno answer\nnote: run with `RUST_BACKTRACE=1` environment variable\n";
        assert_eq!(last(rust.as_bytes()).as_deref(), Some("no answer"));
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_and_takes_no_memory() {
        let text = format!("{}\nnext\n", "x".repeat(3_000_000));
        let mut reader = text.as_bytes();
        let mut line = Vec::new();
        assert_eq!(read_line(&mut reader, &mut line, LONGEST), Some(false));
        assert_eq!(line.len(), LONGEST);
        assert_eq!(read_line(&mut reader, &mut line, LONGEST), Some(true));
        assert_eq!(line, b"next");
        let long = "x".repeat(3_000_000);
        assert_eq!(last(long.as_bytes()), Some(format!("{}...", "x".repeat(LONGEST))));
    }

    #[test]
    fn output_that_a_process_keeps_open_is_not_waited_for() {
        let (reader, mut writer) = io::pipe().unwrap();
        let printed = Printed::read(reader).unwrap();
        io::Write::write_all(&mut writer, b"Error: no\n").unwrap();
        let begun = Instant::now();
        assert_eq!(printed.last().as_deref(), Some("Error: no"));
        assert!(begun.elapsed() < Duration::from_secs(20), "it waited for the end");
    }
}
