//! Findings of a run or a recording: oddities grouped by session and peer, and ranked by importance.
//!
//! ```text
//! event ── decoder ──> reading ──> Judge::event ──┐
//!          oddities of a session ─> Judge::report ┴─> Findings: causes first, losses last
//! ```
//!
//! Law: the judge does no I/O, and its memory is bounded. It keeps at most [`MOST`] findings and [`SESSIONS`] sessions,
//! and only counts further oddities. A datagram without notes costs a check of empty lists, a repeated oddity costs an
//! increment, and text is built once per kind of oddity, peer and session.
//!
//! | file | contents |
//! |---|---|
//! | `notes.rs` | findings from the notes of datagrams |
//! | `report.rs` | findings that no single datagram shows |
//! | `end.rs` | how a session ended |
//! | `entries.rs` | storage of the findings of the current run |
//! | `finding_code.rs` | the kinds of findings, their severity and role |
//! | `finding.rs` | a finding, its first occurrence and its description |
//! | `peers.rs` | the release of each peer |
//! | `known.rs` | which findings are reported or ignored |
//! | `rank.rs` | the ranking of findings |
//! | `reaction.rs` | what the release of a receiver does |
//! | `live.rs` | the findings of a live run |

#[cfg(test)]
mod content_tests;
mod end;
mod entries;
#[cfg(test)]
mod entries_tests;
#[cfg(test)]
mod faulty_tests;
mod finding;
mod finding_code;
#[cfg(test)]
mod habit_tests;
#[cfg(test)]
mod handshake_tests;
mod known;
mod live;
#[cfg(test)]
mod map_tests;
#[cfg(test)]
mod network_tests;
mod notes;
pub(crate) mod peers;
mod rank;
mod reaction;
mod report;
#[cfg(test)]
mod table_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod unanswered_tests;

use teetap_proxy::session::{Event, EventKind, Time};
use teetap_wire::def::Secrets;

pub use entries::{MOST, SESSIONS};
pub use finding::{Finding, Occurrence};
pub use finding_code::{FindingCode, Role, Topic};
pub use known::{IgnoreError, Ignored, UnknownTopic, Wanted, named};
pub use live::SharedJudge;
pub use peers::{Culprit, PeerRelease};
pub use rank::{Counts, Findings};
pub use report::Report;

use crate::{DecodedEvent, Decoder, Stated, joins::Join, recording::Item};

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

    /// Decodes and records an item of a recording, after the decoder's own events that were due before it. Passes the
    /// event of the item to `done` so that its memory can be reused.
    pub fn record(&mut self, item: Item, decoder: &mut Decoder, done: impl FnOnce(Event)) {
        self.record_watched(item, decoder, &mut |_| {}, done);
    }

    /// Records an item like [`Self::record`], and shows what was decoded to `watch`.
    pub fn record_watched(
        &mut self,
        item: Item,
        decoder: &mut Decoder,
        watch: &mut dyn FnMut(Watched<'_>),
        done: impl FnOnce(Event),
    ) {
        match item {
            Item::Start { .. } => {
                self.finish_watched(decoder, watch);
                self.restart();
                decoder.restart();
            }
            Item::Event(event) => {
                while let Some(due) = decoder.due(event.at) {
                    self.event(&due);
                }
                let decoded = decoder.decode(event);
                watch(Watched::Event(&decoded, decoder.stated()));
                self.event(&decoded);
                if let Some(reading) = decoded.reading {
                    decoder.recycle(reading);
                }
                done(decoded.event);
            }
            Item::Gap { .. } => {
                decoder.gap();
                self.gap();
            }
            Item::Log { text, .. } => decoder.log(&text),
        }
    }

    /// Ends a recording: records the decoder's events that are still due, and the joins that are still in progress.
    pub fn finish(&mut self, decoder: &mut Decoder) {
        self.finish_watched(decoder, &mut |_| {});
    }

    /// Ends a recording like [`Self::finish`], and shows the joins to `watch`.
    pub fn finish_watched(&mut self, decoder: &mut Decoder, watch: &mut dyn FnMut(Watched<'_>)) {
        while let Some(due) = decoder.due(self.last) {
            self.event(&due);
        }
        for join in decoder.finish(self.last) {
            watch(Watched::Joined(&join));
            self.joined(&join, None);
        }
        self.never_closed(decoder);
    }

    /// Records a fully decoded event.
    pub fn event(&mut self, decoded: &DecodedEvent) {
        let event = &decoded.event;
        self.last = self.last.max(event.at);
        if let Some(join) = &decoded.joined {
            self.joined(join, decoded.other_map.as_ref());
        }
        match (&event.what, &decoded.reading) {
            (EventKind::Datagram(datagram), Some(reading)) => self.datagram(&Seen {
                at: event.at,
                session: event.session,
                datagram,
                reading,
            }),
            (EventKind::Connless(connless), Some(reading)) => self.connless(event.at, connless, reading),
            (EventKind::Session(change), _) => {
                self.ended(decoded, change);
                self.entries.change(event.session, change);
            }
            (EventKind::Notice(notice), _) => self.notice(event, notice),
            _ => {}
        }
    }

    /// Starts the next run of the recording. Findings so far are kept; session ids start anew.
    fn restart(&mut self) {
        self.before.extend(self.current());
        self.run = self.run.saturating_add(1);
        self.entries.clear();
        self.last = Time::ZERO;
    }

    /// Records that events are missing from the recording or were lost before they were decoded.
    const fn gap(&mut self) {
        self.missed = true;
    }

    /// Returns the findings of all runs, ranked.
    #[must_use]
    pub fn findings(&self) -> Findings {
        let all = self.before.iter().cloned().chain(self.current());
        let (mut ends, list): (Vec<_>, _) = all.partition(|finding| finding.role == Role::End);
        ends.sort_by_key(|end| (end.run, end.first.at));
        Findings {
            list: Findings::rank(list),
            ends,
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

/// What a judge of a recording has decoded.
#[derive(Debug)]
pub enum Watched<'a> {
    /// An event, with the version that the server has stated so far. A join that ended with it is in the event.
    Event(&'a DecodedEvent, &'a Stated),
    /// A join that was in progress at the end of a run.
    Joined(&'a Join),
}

impl Default for Judge {
    fn default() -> Self {
        Self::new(Secrets::Hide, Stated::default())
    }
}
