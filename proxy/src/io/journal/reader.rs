//! Reads a journal.
//!
//! Law: a journal is read completely, or refused with the number of the wrong line.

use std::path::Path;

use teetap_rules::Decision;

use crate::io::{files::read_given, log_file::append};

use super::line::{DecisionLine, End, EntryLine, Header, JournalRecord, RulesLine, VERSION};

/// Maximum size of a journal in bytes.
const MAX_FILE: u64 = 256 << 20;

/// The contents of a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    /// The first line.
    pub header: Header,
    /// The decisions in their order.
    pub decisions: Vec<Decision>,
}

/// The reason why a file cannot be read as a journal.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum JournalError {
    /// The file cannot be read.
    #[error("{0}")]
    Read(String),
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
    /// The first line is not the header of a journal.
    #[error("not a journal of teetap: {0}")]
    Foreign(String),
    /// The journal has another version of the format.
    #[error("cannot read a journal of version {0}: this teetap reads version {VERSION}")]
    Version(u32),
    /// A line is wrong.
    #[error("line {line} is damaged: {why}")]
    Damaged {
        /// The number of the line, from 1.
        line: usize,
        /// The cause.
        why: String,
    },
    /// The rules were replaced during the run, after this many seconds.
    #[error("the rules changed {0:.3} s after the start, so its decisions belong to different programs")]
    RulesChanged(f64),
}

impl Journal {
    /// Reads a journal from a file.
    ///
    /// # Errors
    /// See [`JournalError`].
    pub fn read(path: &Path) -> Result<Self, JournalError> {
        let bytes = read_given(path, MAX_FILE);
        Self::parse(&bytes.map_err(|error| JournalError::Read(error.to_string()))?)
    }

    /// Parses the bytes of a journal.
    ///
    /// # Errors
    /// See [`JournalError`].
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, JournalError> {
        if bytes.is_empty() {
            return Err(JournalError::Empty);
        }
        let mut lines = (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n'));
        let (_, first) = lines.next().ok_or(JournalError::Empty)?;
        let header = header(first)?;
        let mut journal = Self {
            header,
            decisions: Vec::new(),
        };
        let mut is_ended = false;
        for (line, text) in lines {
            let damaged = |why: String| JournalError::Damaged { line, why };
            if is_ended {
                return Err(damaged("the line follows the end line".to_owned()));
            }
            if !text.ends_with(b"\n") {
                return Err(damaged("the line is cut off".to_owned()));
            }
            if let Ok(end) = serde_json::from_slice::<End>(text) {
                if end.decisions != journal.decisions.len() as u64 {
                    let (found, wanted) = (journal.decisions.len(), end.decisions);
                    return Err(damaged(format!("expected {wanted} decisions, got {found}")));
                }
                is_ended = true;
            } else if let Ok(RulesLine { t, .. }) = serde_json::from_slice(text) {
                return Err(JournalError::RulesChanged(t));
            } else if serde_json::from_slice::<EntryLine>(text).is_err() {
                let decision: DecisionLine =
                    serde_json::from_slice(text).map_err(|error| damaged(error.to_string()))?;
                let decision = decision.decision().map_err(|why| damaged(why.to_owned()))?;
                journal.decisions.push(decision);
            }
        }
        Ok(journal)
    }

    /// Returns the bytes of a journal with the same header and these decisions.
    #[must_use]
    pub fn with<'d>(&self, decisions: impl IntoIterator<Item = &'d Decision>) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut count = 0;
        let _never_fails = append(&mut bytes, &self.header);
        for decision in decisions {
            let _never_fails = append(&mut bytes, &JournalRecord::Decision(DecisionLine::new(decision)));
            count += 1;
        }
        let end = "complete".to_owned();
        let decisions = count;
        let _never_fails = append(&mut bytes, &End { end, decisions });
        bytes
    }
}

fn header(line: &[u8]) -> Result<Header, JournalError> {
    /// The version field of the first line, which every version has.
    #[derive(serde::Deserialize)]
    struct Version {
        journal: u32,
    }
    let foreign = |error: serde_json::Error| JournalError::Foreign(error.to_string());
    let Version { journal } = serde_json::from_slice(line).map_err(foreign)?;
    if journal != VERSION {
        return Err(JournalError::Version(journal));
    }
    serde_json::from_slice(line).map_err(foreign)
}
