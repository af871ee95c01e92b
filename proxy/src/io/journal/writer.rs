//! The data thread's end of a journal.

use std::path::Path;

use serde::Serialize;
use teetap_rules::{By, Decision};

use super::line::{DecisionLine, End, EntryLine, Header, JournalRecord, RulesLine, seconds};
use crate::{
    io::log_file::{self, Fault, Log, LogEntry, LogError, LogSender, Writing},
    session::Time,
};

/// A journal that is being written. Dropping it completes the journal.
#[derive(Debug)]
pub(in crate::io) struct JournalWriter(LogSender<Entry>);

/// An entry of the queue.
#[derive(Debug)]
enum Entry {
    Decision(Decision),
    Rules(Time, Option<String>),
    Entered(teetap_rules::GameEntry),
}

/// Creates the file and starts the writer.
///
/// # Errors
/// See [`LogError`]. No thread is started then.
pub(in crate::io) fn start(path: &Path, header: &Header) -> Result<(JournalWriter, Writing), LogError> {
    let (sender, writing) = log_file::start(path, header)?;
    Ok((JournalWriter(sender), writing))
}

impl JournalWriter {
    /// Records decisions.
    pub(in crate::io) fn decisions(&mut self, decisions: Vec<Decision>) {
        for decision in decisions {
            self.0.push(Entry::Decision(decision));
        }
    }

    /// Records clients that entered the game.
    pub(in crate::io) fn entries(&mut self, entries: Vec<teetap_rules::GameEntry>) {
        for entry in entries {
            self.0.push(Entry::Entered(entry));
        }
    }

    /// Records that the rules were replaced; `None` if they were removed.
    pub(in crate::io) fn rules(&mut self, at: Time, rules: Option<&str>) {
        self.0.push(Entry::Rules(at, rules.map(str::to_owned)));
    }
}

impl LogEntry for Entry {
    const LOG: Log = Log::Journal;

    fn weight(&self) -> usize {
        let texts = match self {
            Self::Decision(decision) => match &decision.by {
                By::Rule {
                    rule,
                    message,
                    actions,
                    drawn,
                    ..
                } => {
                    let corrupted = drawn.corrupted.iter().map(|bytes| 8 * bytes.len() + 24);
                    rule.len()
                        + message.len()
                        + actions.len()
                        + 8 * drawn.delays.len()
                        + corrupted.sum::<usize>()
                }
                By::Link { line, .. } => line.len(),
            },
            Self::Rules(_, rules) => rules.as_ref().map_or(0, String::len),
            Self::Entered(_) => 0,
        };
        size_of::<Self>() + texts
    }

    fn is_counted(&self) -> bool {
        matches!(self, Self::Decision(_))
    }

    fn line(&self) -> impl Serialize {
        match self {
            Self::Decision(decision) => JournalRecord::Decision(DecisionLine::new(decision)),
            Self::Rules(at, rules) => JournalRecord::Rules(RulesLine {
                t: seconds(at.0),
                rules: rules.clone(),
            }),
            Self::Entered(entry) => JournalRecord::Entered(EntryLine {
                t: seconds(entry.at),
                session: entry.session,
                entered_us: entry.after,
            }),
        }
    }

    fn last(fault: Option<&Fault>, decisions: u64) -> impl Serialize {
        let end = fault.map_or_else(|| "complete".to_owned(), Fault::to_string);
        End { end, decisions }
    }
}
