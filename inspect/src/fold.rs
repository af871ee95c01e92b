//! Folds runs of snapshots, inputs and their timing into one line each.
//!
//! ```text
//!   2.417 #1  s→c -      snap_single ×38, snap_empty ×3, ticks 102066…102146
//! ```
//!
//! Law: a fold is printed before any other line of its session, so that the lines of a session stay in order. A message
//! is never folded if it has a note, or if a rule, a link line or the user changed it. In a live run, a fold covers at
//! most [`PATIENCE`].

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use teetap_proxy::session::{Datagram, EventKind, Origin, SessionId, Time};
use teetap_wire::{
    Dir, Side,
    def::{Frequency, Type},
    snap::Fate,
};

use crate::{
    DecodedEvent, EventLines, Kind, Message, Reading, Row, Style,
    lines::{About, Line},
    row::{self, Start},
};

/// Maximum time for which a live run prints nothing about folded messages.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// The time of a row.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Time since the start of the run.
    pub at: Time,
    /// Start of the session; `None` outside of sessions.
    pub since: Option<Time>,
}

impl Moment {
    /// Returns the time of an event.
    #[must_use]
    pub const fn of_event(decoded: &DecodedEvent) -> Self {
        Self {
            at: decoded.event.at,
            since: decoded.since,
        }
    }

    /// Returns the time since the start of the session, or of the run outside of sessions.
    #[must_use]
    pub fn in_session(self) -> Time {
        Time(self.at.0.saturating_sub(self.since.unwrap_or(Time::ZERO).0))
    }
}

/// The open folds of all sessions.
#[derive(Debug)]
pub struct Folds {
    /// The folds of each session: one per direction and leg.
    open: BTreeMap<u32, Vec<Fold>>,
    /// Maximum duration of a fold, for output that is watched live; `None` if unlimited.
    patience: Option<Duration>,
}

/// Folded messages of one session and direction.
#[derive(Debug)]
struct Fold {
    way: (Dir, Option<Side>),
    /// The row of the first message, which is printed if no other message is folded.
    row: Row,
    /// Names in order of their first message, with the number of messages.
    names: Vec<(&'static str, u64)>,
    /// The lowest and the highest tick.
    ticks: Option<(i64, i64)>,
    began: Time,
    last: Moment,
}

impl Folds {
    /// Creates folds that end after `patience`, if it is set.
    #[must_use]
    pub const fn new(patience: Option<Duration>) -> Self {
        Self {
            open: BTreeMap::new(),
            patience,
        }
    }

    /// Adds a line of an event to a fold. Returns false if the line is not foldable.
    pub fn add(&mut self, lines: &EventLines<'_>, line: &Line, moment: Moment, style: Style) -> bool {
        let (Some(session), EventKind::Datagram(datagram)) = (lines.event.session, &lines.event.what) else {
            return false;
        };
        let Some((reading, message)) = lines.reading.zip(plain(lines, line, datagram, style)) else {
            return false;
        };
        let Some((name, tick)) = folded(reading, message) else {
            return false;
        };
        let way = (datagram.dir, datagram.leg);
        let folds = self.open.entry(session.0).or_default();
        let Some(fold) = folds.iter_mut().find(|fold| fold.way == way) else {
            let rows = row::of_line(lines, line, style);
            let Some(row) = rows.into_iter().next() else {
                return false;
            };
            folds.push(Fold {
                way,
                row,
                names: vec![(name, 1)],
                ticks: tick.map(|tick| (tick, tick)),
                began: moment.at,
                last: moment,
            });
            return true;
        };
        match fold.names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => fold.names.push((name, 1)),
        }
        fold.ticks = match (fold.ticks, tick) {
            (Some((first, last)), Some(tick)) => Some((first.min(tick), last.max(tick))),
            (ticks, tick) => ticks.or(tick.map(|tick| (tick, tick))),
        };
        fold.last = moment;
        true
    }

    /// Ends the folds of a session. Returns their rows in order of their last messages.
    pub fn end(&mut self, session: Option<SessionId>) -> Vec<(Row, Moment)> {
        let folds = session.and_then(|SessionId(id)| Some((id, self.open.remove(&id)?)));
        folds.map_or_else(Vec::new, |(id, folds)| rows(vec![(id, folds)]))
    }

    /// Ends the folds of sessions with a fold older than the maximum duration.
    pub fn end_old(&mut self, now: Time) -> Vec<(Row, Moment)> {
        let Some(patience) = self.patience else {
            return Vec::new();
        };
        let is_old = |folds: &Vec<Fold>| folds.iter().any(|fold| fold.began + patience <= now);
        let old = self.open.extract_if(.., |_, folds| is_old(folds));
        rows(old.collect())
    }

    /// Ends all folds.
    pub fn end_all(&mut self) -> Vec<(Row, Moment)> {
        rows(std::mem::take(&mut self.open).into_iter().collect())
    }
}

/// Returns the message of a line if nothing about it is unusual.
fn plain<'e>(
    lines: &'e EventLines<'_>,
    line: &Line,
    datagram: &Datagram,
    style: Style,
) -> Option<&'e Message> {
    let About::Message { index, with_datagram } = line.about else {
        return None;
    };
    let message = lines.message(index)?;
    let is_passed = message.handling.rules.is_empty()
        && message.handling.marks.is_empty()
        && message.handling.done.word().is_none();
    let is_kept = message
        .completed
        .view()
        .is_none_or(|snapshot| snapshot.fate == Fate::Kept);
    // A delay alone is not unusual.
    let is_linked = datagram.link.iter().any(|transit| {
        transit.lost.is_some() || transit.duplicate || transit.reordered || !transit.corrupted.is_empty()
    });
    let is_plain = line.kind == Kind::Traffic
        && is_passed
        && is_kept
        && !is_linked
        && !message.transport.vital
        && matches!(message.handling.origin, Origin::Peer | Origin::Proxy)
        && lines.marks(message, with_datagram, style).is_empty();
    Some(message).filter(|_| is_plain)
}

/// Returns the name and tick of a foldable message.
fn folded(reading: &Reading, message: &Message) -> Option<(&'static str, Option<i64>)> {
    let def = message.def.filter(|def| def.frequency == Frequency::Continuous)?;
    let tick = def.fields.iter().find(|field| field.ty == Type::Tick);
    Some((
        message.name?,
        tick.and_then(|field| reading.int(message, &field.name)),
    ))
}

/// Returns the rows of the ended folds.
fn rows(ended: Vec<(u32, Vec<Fold>)>) -> Vec<(Row, Moment)> {
    let folds = ended
        .into_iter()
        .flat_map(|(id, folds)| folds.into_iter().map(move |fold| (SessionId(id), fold)));
    let mut rows: Vec<(Row, Moment)> = folds
        .map(|(id, fold)| (fold.last, fold.row(id)))
        .map(|(at, row)| (row, at))
        .collect();
    rows.sort_by_key(|(_, last)| last.at);
    rows
}

impl Fold {
    fn row(self, session: SessionId) -> Row {
        if let [(_, 1)] = *self.names {
            return self.row;
        }
        let start = Start {
            at: self.last.at,
            session: Some(session),
        };
        let (dir, leg) = self.way;
        let mut text = String::new();
        for (at, (name, count)) in self.names.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            let _never_fails = write!(text, "{comma}{name} ×{count}");
        }
        match self.ticks {
            Some((first, last)) if first != last => {
                let _never_fails = write!(text, ", ticks {first}…{last}");
            }
            Some((tick, _)) => {
                let _never_fails = write!(text, ", tick {tick}");
            }
            None => {}
        }
        start
            .draft()
            .arrow(dir, leg)
            .push(" -      ")
            .push(text)
            .row(Kind::Traffic)
    }
}
