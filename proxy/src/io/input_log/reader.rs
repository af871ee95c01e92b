//! Reads a log line by line.

use std::{
    fmt,
    io::{self, BufRead, Read as _},
};

use serde::Deserialize;
use teetap_wire::def::DefError;

use super::{End, Entry, Header, LoggedInput, LoggedOutput, ProgramError, Reason, VERSION, header::OLDEST};

/// Maximum size in bytes of a line. The longest lines are far shorter: a proxy with the maximum number
/// of sessions writes them when it shuts down.
const LONGEST: u64 = 256 << 20;

/// Reads a log: an iterator over its entries, each with the number of its line.
#[derive(Debug)]
pub struct Reader<R> {
    log: R,
    header: Header,
    /// Lines read so far.
    lines: u64,
    line: Vec<u8>,
    end: Option<End>,
    cut: Option<Cut>,
}

/// How an incomplete log ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The log ends in the middle of this line.
    InLine(u64),
    /// The log has no last line.
    NoEnd,
    /// The log has a last line with a reason other than the end of the run.
    Because(End),
}

/// An error in reading or repeating a log.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The error of the operating system.
    #[error("cannot read the input log: {0}")]
    System(#[from] io::Error),
    /// The file is not an input log.
    #[error("not an input log: its first line is not the header of an input log ({0})")]
    NotALog(String),
    /// The log has a version that cannot be read.
    #[error("cannot read an input log of version {0}: this teetap reads {OLDEST} to {VERSION}")]
    Version(u32),
    /// A line is damaged.
    #[error("line {line} of the input log is damaged: {text}")]
    Damaged {
        /// The number of the line, from 1.
        line: u64,
        /// A description of the error.
        text: String,
    },
    /// The custom definitions of the run have these errors, of which the first is shown.
    #[error("cannot read the definitions in line 1 of the input log: {}", .0.first().map(ToString::to_string).unwrap_or_default())]
    Definitions(Vec<DefError>),
    /// A program in the log cannot be compiled.
    #[error("cannot compile the program in line {line} of the input log: {error}")]
    Program {
        /// Number of the line, from 1.
        line: u64,
        /// The error.
        error: ProgramError,
    },
}

/// The field of the first line that every version has.
#[derive(Deserialize)]
struct Version {
    input_log: u32,
}

/// Any line except the first.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    t: Option<u64>,
    #[serde(rename = "in")]
    input: Option<LoggedInput>,
    out: Option<Vec<LoggedOutput>>,
    end: Option<End>,
}

impl<R: BufRead> Reader<R> {
    /// Opens a log and reads its first line.
    ///
    /// # Errors
    /// [`ReadError::System`], [`ReadError::NotALog`], [`ReadError::Version`].
    pub fn open(mut log: R) -> Result<Self, ReadError> {
        let mut line = Vec::new();
        if !read_line(&mut log, &mut line)? {
            return Err(ReadError::NotALog("it has no line end".into()));
        }
        let not = |error: serde_json::Error| ReadError::NotALog(error.to_string());
        let version: Version = serde_json::from_slice(&line).map_err(not)?;
        if !(OLDEST..=VERSION).contains(&version.input_log) {
            return Err(ReadError::Version(version.input_log));
        }
        Ok(Self {
            log,
            header: serde_json::from_slice(&line).map_err(not)?,
            lines: 1,
            line,
            end: None,
            cut: None,
        })
    }

    /// Returns the first line.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns how an incomplete log ends; `None` for a complete log, and before the last entry is read.
    #[must_use]
    pub(crate) fn cut(&self) -> Option<&Cut> {
        self.cut.as_ref()
    }

    fn entry(&mut self) -> Result<Option<(u64, Entry)>, ReadError> {
        self.line.clear();
        let whole = read_line(&mut self.log, &mut self.line)?;
        if self.line.is_empty() {
            self.cut = match &self.end {
                None => Some(Cut::NoEnd),
                Some(end) if end.reason == Reason::Complete => None,
                Some(end) => Some(Cut::Because(end.clone())),
            };
            return Ok(None);
        }
        self.lines += 1;
        if self.end.is_some() {
            return Err(self.damaged("the line follows the end line"));
        }
        if !whole {
            self.cut = Some(Cut::InLine(self.lines));
            return Ok(None);
        }
        let line: Line = serde_json::from_slice(&self.line).map_err(|error| self.damaged(error))?;
        match line {
            Line {
                t: Some(at),
                input: Some(input),
                out: Some(outputs),
                end: None,
            } => Ok(Some((self.lines, Entry { at, input, outputs }))),
            Line {
                t: None,
                input: None,
                out: None,
                end: Some(end),
            } => {
                self.end = Some(end);
                self.entry()
            }
            _ => Err(self.damaged("the line is neither an input nor the end")),
        }
    }

    fn damaged(&self, text: impl fmt::Display) -> ReadError {
        ReadError::Damaged {
            line: self.lines,
            text: text.to_string(),
        }
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<(u64, Entry), ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.entry().transpose()
    }
}

/// Appends a line. Returns true if the line is complete. Appends nothing at the end of the file.
fn read_line(log: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    log.take(LONGEST).read_until(b'\n', line)?;
    Ok(line.last() == Some(&b'\n'))
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InLine(line) => write!(f, "it ends in the middle of line {line}"),
            Self::NoEnd => f.write_str("it has no end line"),
            Self::Because(end) => end.fmt(f),
        }
    }
}
