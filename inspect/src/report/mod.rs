//! A report about a recording, as Markdown for a bug report.
//!
//! ```text
//! items as recorded ──> Collector ──> numbers, findings ──┐
//! items as shown ─────> Collector ──> texts, joins ───────┴─> page
//! items around the first finding ──> Ladder ──────────────┘
//! ```
//!
//! Texts of peers are replaced before the items come here (`capture/src/scrub/`), since only the bytes show what is a
//! text. Numbers are those of the bytes as recorded, because a datagram may have another length without its texts.
//!
//! Law: a report has at most [`page::MAX`] characters, and its memory is bounded, whatever the recording contains. No
//! text from outside is part of the Markdown syntax ([`markup`]).
//!
//! | file | contents |
//! |---|---|
//! | `bits.rs` | the bits of messages, snapshot items and headers |
//! | `margin.rs` | how early inputs reach the server |
//! | `ladder.rs` | the messages around the first finding |
//! | `markup.rs` | texts in Markdown and Mermaid |
//! | `page/` | the sections of the report |

mod bits;
mod ladder;
mod margin;
pub mod markup;
pub mod page;
mod sessions;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use teetap_proxy::session::{EventKind, Notice, SessionId, Time};
use teetap_wire::{
    Dir,
    def::{Registry, Secrets},
};

use crate::{
    DecodedEvent, Decoder, Stated,
    joins::Join,
    judge::{Findings, Judge, Watched},
    recording::Item,
};

pub use bits::{Bits, Framing, Sum};
pub use ladder::{Arrow, FoundDatagram, Ladder, Participant, Place};
pub use margin::Margins;
pub use sessions::{LegCounts, Session};

use sessions::Sessions;

/// Maximum number of joins kept.
const JOINS: usize = 20;

/// Maximum number of rules with hits.
const RULES: usize = 100;

/// Collects what a report says about a recording.
#[derive(Debug)]
pub struct Collector {
    decoder: Decoder,
    judge: Judge,
    seen: Collected,
    registry: &'static Registry,
    /// The only session of the report; `None` for all.
    only: Option<SessionId>,
}

/// What a report says about a recording.
#[derive(Debug, Default)]
pub struct Collected {
    /// The findings, the most important first.
    pub findings: Findings,
    /// The bits of all datagrams.
    pub bits: Bits,
    /// How early inputs reached the server.
    pub margins: Margins,
    /// The joins, each with the number of its run.
    pub joins: Vec<(u32, Join)>,
    /// Number of joins that are not kept.
    pub more_joins: u64,
    /// The sessions.
    pub sessions: Vec<Session>,
    /// Number of sessions that are not kept.
    pub more_sessions: u64,
    /// The rules of the last run, with the number of messages on which they acted.
    pub rules: Vec<(Box<str>, u64)>,
    /// Number of runs in the recording.
    pub runs: u32,
    /// Number of missing events.
    pub lost: u64,
    /// Time of the last event of the last run.
    pub until: Time,
    /// The sessions of the current run.
    current: Sessions,
}

impl Collector {
    /// Creates a collector for one session, or for all.
    #[must_use]
    pub fn new(registry: &'static Registry, secrets: Secrets, only: Option<SessionId>) -> Self {
        let mut decoder = Decoder::new(registry);
        decoder.ignore_gists();
        decoder.ignore_names();
        let judge = Judge::new(secrets, decoder.stated().clone());
        Self {
            decoder,
            judge,
            seen: Collected::default(),
            registry,
            only,
        }
    }

    /// Records an item of the recording.
    pub fn record(&mut self, item: Item) {
        let Self {
            decoder,
            judge,
            seen,
            registry,
            only,
        } = self;
        let is_start = matches!(item, Item::Start { .. });
        if let Item::Gap { lost, .. } = &item {
            seen.lost += lost;
            seen.gap();
        }
        let mut watch = |watched: Watched<'_>| match watched {
            Watched::Event(decoded, stated) => seen.event(decoded, stated, *only, registry),
            Watched::Joined(join) => seen.join(join, *only),
        };
        judge.record_watched(item, decoder, &mut watch, drop);
        if is_start {
            seen.restart();
        }
    }

    /// Ends the recording.
    #[must_use]
    pub fn finish(mut self) -> Collected {
        let (seen, only) = (&mut self.seen, self.only);
        let mut watch = |watched: Watched<'_>| {
            if let Watched::Joined(join) = watched {
                seen.join(join, only);
            }
        };
        self.judge.finish_watched(&mut self.decoder, &mut watch);
        self.seen.end_run();
        self.seen.findings = self.judge.findings();
        if only.is_some() {
            self.seen.findings.retain(|finding| finding.session == only);
        }
        self.seen
    }
}

impl Collected {
    /// Returns true if the report has a session.
    #[must_use]
    pub fn has_sessions(&self) -> bool {
        !self.sessions.is_empty()
    }

    fn restart(&mut self) {
        self.end_run();
        self.runs += 1;
        self.rules.clear();
        self.bits.gap();
        self.until = Time::ZERO;
    }

    fn end_run(&mut self) {
        let run = self.runs.max(1);
        let (list, more) = std::mem::take(&mut self.current).finish(run);
        self.more_sessions += more;
        for session in list {
            if self.sessions.len() < sessions::MAX {
                self.sessions.push(session);
            } else {
                self.more_sessions += 1;
            }
        }
    }

    fn gap(&mut self) {
        self.bits.gap();
        self.current.gap();
    }

    fn event(
        &mut self,
        decoded: &DecodedEvent,
        stated: &Stated,
        only: Option<SessionId>,
        registry: &'static Registry,
    ) {
        let event = &decoded.event;
        self.until = self.until.max(event.at);
        if let EventKind::Notice(Notice::RulesSet { rules }) = &event.what {
            self.rules = rules.iter().take(RULES).map(|rule| (rule.clone(), 0)).collect();
        }
        if only.is_some() && event.session != only {
            return;
        }
        if let Some(join) = &decoded.joined {
            self.join(join, only);
        }
        self.current.event(decoded, stated);
        let Some(reading) = &decoded.reading else { return };
        match &event.what {
            EventKind::Datagram(datagram) => {
                self.bits.datagram(event.session, datagram, reading, registry);
                for message in &reading.messages {
                    if datagram.dir == Dir::S2c && message.name == Some("input_timing") {
                        let left = reading.int(message, "time_left");
                        left.into_iter().for_each(|left| self.margins.add(event.at, left));
                    }
                    message.handling.rules.iter().for_each(|rule| self.hit(rule));
                }
            }
            EventKind::Connless(connless) => self.bits.connless(connless, reading),
            _ => {}
        }
    }

    fn hit(&mut self, rule: &Arc<str>) {
        let mut rules = self.rules.iter_mut();
        if let Some((_, hits)) = rules.find(|(name, _)| **name == **rule) {
            *hits += 1;
        }
    }

    fn join(&mut self, join: &Join, only: Option<SessionId>) {
        if only.is_some_and(|only| only != join.session) {
            return;
        }
        if self.joins.len() < JOINS {
            self.joins.push((self.runs.max(1), join.clone()));
        } else {
            self.more_joins += 1;
        }
    }
}
