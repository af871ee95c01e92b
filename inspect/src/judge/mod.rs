//! Findings of a run or a recording: oddities grouped by peer, with the first place of each, ranked.
//!
//! ```text
//! event ── decoder ──> reading ──> Judge::event ──┐
//!          oddities of a session ─> Judge::report ┴─> Findings: causes first, losses last
//! ```
//!
//! Law: pure and bounded. A datagram without notes costs only a look at its note lists, and a repeated oddity only a
//! counter; text is built once per kind, peer and session. At most [`MOST`] findings and [`SESSIONS`] sessions are
//! kept; oddities beyond that are only counted.
//!
//! | file | contents |
//! |---|---|
//! | `notes.rs` | findings from the notes of datagrams |
//! | `report.rs` | findings that no single datagram shows |
//! | `entries.rs` | findings while they are collected |
//! | `finding_code.rs` | the kinds of findings, their severity and role |
//! | `finding.rs` | a finding, its place and its description |
//! | `peers.rs` | the release of each peer |
//! | `known.rs` | which findings are reported or ignored |
//! | `rank.rs` | the ranking of findings |
//! | `live.rs` | the findings of a live run |

mod entries;
#[cfg(test)]
mod faulty_tests;
mod finding;
mod finding_code;
mod known;
mod live;
#[cfg(test)]
mod network_tests;
mod notes;
pub(crate) mod peers;
mod rank;
mod report;
#[cfg(test)]
mod tests;

use teetap_proxy::session::{Event, Time, What};
use teetap_wire::def::Secrets;

pub use entries::{MOST, SESSIONS};
pub use finding::{Finding, Place};
pub use finding_code::{FindingCode, Role, Topic};
pub use known::{Ignored, Wanted, named};
pub use live::Live;
pub use peers::{By, Program};
pub use rank::{Counts, Findings};
pub use report::Report;

use crate::{DecodedEvent, Decoder, Stated, recording::Item};

use self::{entries::Entries, notes::Seen};

/// Collects the findings of a run or a recording.
#[derive(Debug)]
pub struct Judge {
    /// Number of the current run in the recording, from 1; 0 before the first run begins.
    run: u32,
    /// The oddities of the current run.
    entries: Entries,
    /// The findings of earlier runs.
    before: Vec<Finding>,
    missed: bool,
    /// Time of the last event.
    last: Time,
    /// The version stated by the server.
    stated: Stated,
    secrets: Secrets,
}

impl Judge {
    /// Creates a judge that shows or hides secrets in its sentences. `stated` is shared with the decoder.
    #[must_use]
    pub const fn new(secrets: Secrets, stated: Stated) -> Self {
        Self {
            run: 0,
            entries: Entries::new(),
            before: Vec::new(),
            missed: false,
            last: Time::ZERO,
            stated,
            secrets,
        }
    }

    /// Decodes and records an item of a recording, preceded by the events that were due before it. Returns its event
    /// for reuse.
    pub fn take(&mut self, item: Item, decoder: &mut Decoder) -> Option<Event> {
        match item {
            Item::Start { .. } => {
                self.finish(decoder);
                self.restart();
                decoder.restart();
            }
            Item::Event(event) => {
                while let Some(due) = decoder.due(event.at) {
                    self.event(&due);
                }
                let decoded = decoder.decode(event);
                self.event(&decoded);
                if let Some(reading) = decoded.reading {
                    decoder.recycle(reading);
                }
                return Some(decoded.event);
            }
            Item::Gap { .. } => {
                decoder.gap();
                self.gap();
            }
            Item::Log { text, .. } => decoder.log(&text),
        }
        None
    }

    /// Records the events that were due at the end of a recording, and the joins that have not ended.
    pub fn finish(&mut self, decoder: &mut Decoder) {
        while let Some(due) = decoder.due(self.last) {
            self.event(&due);
        }
        for join in decoder.finish(self.last) {
            self.joined(&join);
        }
    }

    /// Records an event that was decoded whole.
    pub fn event(&mut self, decoded: &DecodedEvent) {
        let event = &decoded.event;
        self.last = self.last.max(event.at);
        if let Some(join) = &decoded.joined {
            self.joined(join);
        }
        match (&event.what, &decoded.reading) {
            (What::Datagram(datagram), Some(reading)) => self.datagram(&Seen {
                at: event.at,
                session: event.session,
                datagram,
                reading,
            }),
            (What::Connless(connless), Some(reading)) => self.connless(event.at, connless, reading),
            (What::Session(change), _) => {
                self.closed(event, change);
                self.entries.change(event.session, change);
            }
            (What::Notice(notice), _) => self.notice(event, notice),
            _ => {}
        }
    }

    /// Starts another run of the recording, which has sessions of its own.
    pub fn restart(&mut self) {
        self.before.extend(self.current());
        self.run = self.run.saturating_add(1);
        self.entries.clear();
        self.last = Time::ZERO;
    }

    /// Records that events were missed.
    pub const fn gap(&mut self) {
        self.missed = true;
    }

    /// Returns the findings of all runs, ranked.
    #[must_use]
    pub fn findings(&self) -> Findings {
        let mut list = self.before.clone();
        list.extend(self.current());
        Findings {
            list: Findings::rank(list),
            unlisted: self.entries.unlisted(),
            missed: self.missed,
        }
    }

    /// Returns the findings of the current run.
    fn current(&self) -> Vec<Finding> {
        self.stated.with(|version| {
            let findings = self.entries.findings(self.run.max(1), version);
            findings.collect()
        })
    }
}

impl Default for Judge {
    fn default() -> Self {
        Self::new(Secrets::Hide, Stated::default())
    }
}
