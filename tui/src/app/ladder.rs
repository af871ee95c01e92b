//! The ladder: the datagrams of each session and their relations to earlier datagrams.
//!
//! Law: bounded by bytes for all sessions together; the oldest datagrams are dropped first. Events are shared with the
//! history of the message list, so that common events need no additional memory.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::Range,
    sync::Arc,
};

use teetap_inspect::{
    DecodedEvent, Message, Transits,
    follow::{Missing, Ties},
};
use teetap_proxy::session::{EventKind, Origin, SessionId, Time};
use teetap_wire::{Dir, Note, Seq, Severity, def::Frequency};

use super::{cursor::Moves as _, filter::Filtering, history::cost, tail::Tail};

/// Maximum bytes of events that are kept.
const LIMIT: usize = 16 << 20;

/// A line of the ladder.
#[derive(Clone, Debug)]
pub(crate) enum LadderLine {
    /// A datagram.
    Datagram(Arc<DecodedEvent>, Ties),
    /// Vital messages that were not received before the next datagram.
    Missing(Time, Dir, Missing),
    /// A change of the session, or a notice.
    Change(Arc<DecodedEvent>),
    /// A gap: this many events were missed.
    Gap(u64),
}

/// Lines of one session.
#[derive(Debug, Default)]
struct LadderLines {
    /// Number of the first line.
    first: u64,
    list: VecDeque<LadderLine>,
    /// Numbers of the lines that are shown.
    shown: VecDeque<u64>,
    /// Number of shown lines that were dropped, which is the row of the first shown line.
    shown_first: u64,
}

/// Lines of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Ladder {
    sessions: BTreeMap<u32, LadderLines>,
    /// Session and bytes of each line, in the order in which the lines were added.
    order: VecDeque<(u32, usize)>,
    bytes: usize,
    /// True to show datagrams that only bring inputs, snapshots and acks, too.
    has_noise: bool,
    /// Filter of the datagrams.
    filter: Option<Filtering>,
    /// Selected row and visible part.
    pub(crate) tail: Tail,
}

impl Ladder {
    /// Adds an event. Returns true if it has a line here.
    pub(crate) fn event(&mut self, decoded: &Arc<DecodedEvent>, ties: Ties) -> bool {
        let Some(SessionId(id)) = decoded.event.session else {
            return false;
        };
        match &decoded.event.what {
            EventKind::Datagram(datagram) => {
                if let Some(missing) = ties.missing {
                    let step = LadderLine::Missing(decoded.event.at, datagram.dir, missing);
                    self.push(id, step, size_of::<LadderLine>());
                }
                let bytes = size_of::<LadderLine>() + cost(decoded);
                self.push(id, LadderLine::Datagram(Arc::clone(decoded), ties), bytes);
            }
            EventKind::Session(_) | EventKind::Notice(_) => {
                let bytes = size_of::<LadderLine>() + size_of::<DecodedEvent>();
                self.push(id, LadderLine::Change(Arc::clone(decoded)), bytes);
            }
            EventKind::Connless(_) | EventKind::Answer(_) => return false,
        }
        true
    }

    /// Records that `lost` events were missed.
    pub(crate) fn gap(&mut self, lost: u64) {
        let ids: Vec<u32> = self.sessions.keys().copied().collect();
        for id in ids {
            self.push(id, LadderLine::Gap(lost), size_of::<LadderLine>());
        }
    }

    fn push(&mut self, id: u32, step: LadderLine, bytes: usize) {
        let is_shown = is_wanted(&step, self.has_noise, self.filter.as_mut());
        let steps = self.sessions.entry(id).or_default();
        if is_shown {
            steps.shown.push_back(steps.first + steps.list.len() as u64);
        }
        steps.list.push_back(step);
        self.order.push_back((id, bytes));
        self.bytes += bytes;
        while self.bytes > LIMIT
            && let Some((id, bytes)) = self.order.pop_front()
        {
            self.bytes -= bytes;
            if let Some(steps) = self.sessions.get_mut(&id) {
                steps.list.pop_front();
                if steps.shown.front() == Some(&steps.first) {
                    steps.shown.pop_front();
                    steps.shown_first += 1;
                }
                steps.first += 1;
                if steps.list.is_empty() {
                    self.sessions.remove(&id);
                }
            }
        }
    }

    /// Removes all lines. Keeps the choices of the user.
    pub(crate) fn clear(&mut self) {
        let mut filter = self.filter.take();
        if let Some(filter) = &mut filter {
            filter.restart();
        }
        *self = Self {
            has_noise: self.has_noise,
            filter,
            ..Self::default()
        };
    }

    /// Chooses again which lines are shown. Keeps the selected line of `session`, or the nearest one.
    fn choose(&mut self, session: Option<SessionId>) {
        let selected = session.and_then(|session| Some((session, self.selected(session)?)));
        if let Some(filter) = &mut self.filter {
            filter.restart();
        }
        for steps in self.sessions.values_mut() {
            let (has_noise, filter) = (self.has_noise, &mut self.filter);
            let numbered = (steps.first..).zip(&steps.list);
            let shown = numbered.filter(|(_, step)| is_wanted(step, has_noise, filter.as_mut()));
            steps.shown = shown.map(|(number, _)| number).collect();
            steps.shown_first = 0;
        }
        self.tail.last();
        if let Some((session, number)) = selected {
            self.go_to(session, number);
        }
    }

    /// Shows or hides datagrams that only bring inputs, snapshots and acks. Returns true if they are shown now.
    pub(crate) fn toggle_noise(&mut self, session: Option<SessionId>) -> bool {
        self.has_noise = !self.has_noise;
        self.choose(session);
        self.has_noise
    }

    /// Sets or removes the filter.
    pub(crate) fn set_filter(&mut self, filter: Option<Filtering>, session: Option<SessionId>) {
        self.filter = filter;
        self.choose(session);
    }

    /// Switches the filter on or off. Returns true if it is on now; `None` if there is none.
    pub(crate) fn toggle_filter(&mut self, session: Option<SessionId>) -> Option<bool> {
        let filter = self.filter.as_mut()?;
        let on = !filter.is_on();
        filter.switch(on);
        self.choose(session);
        Some(on)
    }

    /// Returns the filter.
    #[must_use]
    pub(crate) const fn filter(&self) -> Option<&Filtering> {
        self.filter.as_ref()
    }

    /// Returns true if datagrams that only bring inputs, snapshots and acks are shown.
    #[must_use]
    pub(crate) const fn has_noise(&self) -> bool {
        self.has_noise
    }

    /// Returns the rows of a session: the places of the lines that are shown.
    #[must_use]
    pub(crate) fn rows(&self, session: SessionId) -> Range<u64> {
        let steps = self.sessions.get(&session.0);
        steps.map_or(0..0, |steps| {
            steps.shown_first..steps.shown_first + steps.shown.len() as u64
        })
    }

    /// Returns the number of lines of a session that are not shown.
    #[must_use]
    pub(crate) fn hidden(&self, session: SessionId) -> usize {
        let steps = self.sessions.get(&session.0);
        steps.map_or(0, |steps| steps.list.len() - steps.shown.len())
    }

    /// Returns the number of the line in this row of a session.
    #[must_use]
    pub(crate) fn number(&self, session: SessionId, row: u64) -> Option<u64> {
        let steps = self.sessions.get(&session.0)?;
        let index = usize::try_from(row.checked_sub(steps.shown_first)?).ok()?;
        steps.shown.get(index).copied()
    }

    /// Returns the number of the selected line; `None` if the newest row is followed.
    #[must_use]
    pub(crate) fn selected(&self, session: SessionId) -> Option<u64> {
        self.number(session, self.tail.selected()?)
    }

    /// Selects a line, or the nearest shown line before it.
    pub(crate) fn go_to(&mut self, session: SessionId, number: u64) {
        if let Some(steps) = self.sessions.get(&session.0) {
            let after = steps.shown.partition_point(|shown| *shown <= number);
            self.tail
                .select(steps.shown_first + after.saturating_sub(1) as u64);
        }
    }

    /// Returns the range of line numbers of a session.
    #[must_use]
    pub(crate) fn numbers(&self, session: SessionId) -> Range<u64> {
        let steps = self.sessions.get(&session.0);
        steps.map_or(0..0, |steps| steps.first..steps.first + steps.list.len() as u64)
    }

    /// Returns a line of a session.
    #[must_use]
    pub(crate) fn get(&self, session: SessionId, number: u64) -> Option<&LadderLine> {
        let steps = self.sessions.get(&session.0)?;
        let index = usize::try_from(number.checked_sub(steps.first)?).ok()?;
        steps.list.get(index)
    }

    /// Returns the newest line of any session that repeats a message whose first copy is known.
    #[must_use]
    pub(crate) fn newest_resend(&self) -> Option<(SessionId, u64)> {
        let newest = self.sessions.iter().filter_map(|(id, steps)| {
            let numbered = steps.list.iter().enumerate().rev();
            let mut resends = numbered.filter_map(|(index, step)| {
                let at = step.resend()?;
                Some((at, SessionId(*id), steps.first + index as u64))
            });
            resends.next()
        });
        let (_, session, number) = newest.max_by_key(|(at, ..)| *at)?;
        Some((session, number))
    }

    /// Returns the last line above this one that repeats a message whose first copy is known.
    #[must_use]
    pub(crate) fn resend_above(&self, session: SessionId, number: u64) -> Option<u64> {
        let mut above = (self.numbers(session).start..number).rev();
        above.find(|number| {
            self.get(session, *number)
                .is_some_and(|step| step.resend().is_some())
        })
    }

    /// Returns the first line below this one that repeats a message whose first copy is known.
    #[must_use]
    pub(crate) fn resend_below(&self, session: SessionId, number: u64) -> Option<u64> {
        let mut below = number + 1..self.numbers(session).end;
        below.find(|number| {
            self.get(session, *number)
                .is_some_and(|step| step.resend().is_some())
        })
    }

    /// Returns the line with the first copy of a message that this line repeats.
    #[must_use]
    pub(crate) fn original(&self, session: SessionId, number: u64) -> Option<u64> {
        let step = self.get(session, number)?;
        let LadderLine::Datagram(decoded, ties) = step else {
            return None;
        };
        let (dir, at) = (dir(decoded)?, decoded.event.at);
        let mut firsts = ties.resends.iter();
        let (seq, first) = firsts.find_map(|resend| Some((resend.seq, resend.first?)))?;
        let mut before = (self.numbers(session).start..number).rev();
        before.find(|number| match self.get(session, *number) {
            Some(LadderLine::Datagram(other, _)) => {
                other.event.at == first
                    && first < at
                    && self::dir(other) == Some(dir)
                    && numbers(other).any(|known| known == seq)
            }
            _ => false,
        })
    }
}

/// Returns true if a line is shown.
fn is_wanted(step: &LadderLine, has_noise: bool, filter: Option<&mut Filtering>) -> bool {
    let filter = filter.and_then(Filtering::history_filter);
    match step {
        LadderLine::Datagram(decoded, ties) => {
            // A filter sees each datagram, since it may count them.
            let passes = filter.is_none_or(|filter| filter.pass(&decoded.event).contains(&true));
            passes && (has_noise || !is_noise(decoded, ties))
        }
        LadderLine::Missing(..) => filter.is_none(),
        LadderLine::Change(_) | LadderLine::Gap(_) => true,
    }
}

/// Returns true for a datagram that only brings acks and messages that are sent many times a second, to which nothing
/// happened.
fn is_noise(decoded: &DecodedEvent, ties: &Ties) -> bool {
    let is_lost = Transits::of_event(&decoded.event.what).is_some_and(|transits| transits.are_lost());
    let Some(reading) = decoded.reading.as_ref().filter(|_| !is_lost) else {
        return false;
    };
    let is_odd = |notes: &[Note]| notes.iter().any(|note| note.code.severity() >= Severity::Warning);
    let is_plain = |message: &Message| {
        let is_continuous = message
            .def
            .is_some_and(|def| def.frequency == Frequency::Continuous);
        let is_own = matches!(message.handling.origin, Origin::Peer | Origin::Proxy);
        is_continuous
            && is_own
            && message.handling.rules.is_empty()
            && message.outcome().is_none()
            && !is_odd(&message.notes)
    };
    ties.resends.is_empty()
        && reading.error.is_none()
        && !is_odd(&reading.notes)
        && reading.messages.iter().all(is_plain)
}

impl LadderLine {
    /// Returns the event; `None` for a line without one.
    #[must_use]
    pub(crate) const fn event(&self) -> Option<&Arc<DecodedEvent>> {
        match self {
            Self::Datagram(decoded, _) | Self::Change(decoded) => Some(decoded),
            Self::Missing(..) | Self::Gap(_) => None,
        }
    }

    /// Returns the time of a datagram that repeats a message whose first copy is known; `None` for other lines.
    fn resend(&self) -> Option<Time> {
        match self {
            Self::Datagram(decoded, ties) if ties.resends.iter().any(|resend| resend.first.is_some()) => {
                Some(decoded.event.at)
            }
            _ => None,
        }
    }

    /// Returns true if both datagrams contain the same vital message in the same direction.
    #[must_use]
    pub(crate) fn shares_message(&self, other: &Self) -> bool {
        let (Self::Datagram(one, _), Self::Datagram(two, _)) = (self, other) else {
            return false;
        };
        dir(one) == dir(two) && numbers(one).any(|seq| numbers(two).any(|other| other == seq))
    }
}

/// Returns the direction of a datagram; `None` for other events.
fn dir(decoded: &DecodedEvent) -> Option<Dir> {
    match &decoded.event.what {
        EventKind::Datagram(datagram) => Some(datagram.dir),
        _ => None,
    }
}

/// Returns the sequence numbers that the sender gave to the messages of a datagram.
fn numbers(decoded: &DecodedEvent) -> impl Iterator<Item = Seq> + '_ {
    let messages = decoded.reading.iter().flat_map(|reading| &reading.messages);
    messages.filter_map(|message| message.transport.seq)
}
