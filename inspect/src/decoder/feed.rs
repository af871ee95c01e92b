//! Decodes the events of a run in order.

use std::sync::Arc;

use teetap_proxy::{
    io::Stage,
    session::{Event, EventKind, Notice, SessionId, State, Time},
};

use super::Decoder;
use crate::{
    DecodedEvent, Reading,
    joins::Join,
    track::{OpenAtEnd, REFUSED, Unanswered},
};

impl Decoder {
    /// Decodes the next event. Skips the parts that no watcher needs.
    #[must_use]
    pub fn decode(&mut self, event: Event) -> DecodedEvent {
        self.look_for_subscribers();
        let (before, saves) = (self.matches(), self.select.saves);
        let began = self.began(event.session);
        let (mut player, mut open_at_end, mut unanswered) = (None, None, Vec::new());
        let mut other_map = None;
        let reading = match &event.what {
            EventKind::Session(change) => {
                if let Some(session) = event.session {
                    player = self.player(session);
                    if matches!(change.state, State::Closing | State::Closed) {
                        open_at_end = self.open_at_end(session, event.at).map(Box::new);
                        unanswered = self.unanswered(session, event.at);
                        let is_refused = change.reason.as_deref() == Some(REFUSED.as_bytes());
                        other_map = is_refused.then(|| self.streams().other_map(session)).flatten();
                    }
                    self.on_session(event.at, session, change);
                }
                None
            }
            EventKind::Datagram(datagram) => Reading::of_datagram(event.at, event.session, datagram, self),
            EventKind::Connless(connless) => Reading::of_connless(event.at, connless, self),
            EventKind::Notice(Notice::RulesSet { rules }) => {
                self.set_rules(rules);
                None
            }
            EventKind::Notice(Notice::Hole) => {
                self.gap_in(event.session);
                None
            }
            EventKind::Notice(notice) => {
                if let (Notice::PeerSilent { side, .. }, Some(session)) = (notice, event.session) {
                    self.streams().silence_is_known(session, *side);
                }
                if let (Notice::Restart, Some(session)) = (notice, event.session) {
                    self.streams().renumber(session);
                }
                self.on_notice(&event);
                None
            }
            EventKind::Answer(_) => None,
        };
        self.joins.event(&event);
        let matches = self.matches() - before;
        let is_opening = matches!(&event.what, EventKind::Session(change) if change.state == State::Opening);
        let since = began
            .filter(|_| !is_opening)
            .or_else(|| self.began(event.session));
        let slots = reading.as_ref().map_or(0, Reading::subscribers);
        let subscribers = self.selected_by(slots);
        DecodedEvent {
            event,
            reading,
            since,
            player,
            selected: matches > 0 || !self.is_choosy(),
            subscribers,
            matches,
            saves: self.select.saves > saves,
            ending: self.ending().cloned(),
            joined: self.joins.take_ended(),
            open_at_end,
            unanswered,
            other_map,
        }
    }

    /// Returns the last datagrams and the unacked messages of a session; `None` if the session is unknown.
    pub(crate) fn open_at_end(&mut self, session: SessionId, at: Time) -> Option<OpenAtEnd> {
        self.streams().open_at_end(session, at)
    }

    /// Returns what the peers of a session have never answered.
    pub(crate) fn unanswered(&mut self, session: SessionId, at: Time) -> Vec<Unanswered> {
        self.streams().unanswered(session, at)
    }

    /// Returns the next event that a timeout causes before `before`: a stalled login or a silent peer. Must be called
    /// until it returns `None` before an event of the time `before` is decoded.
    #[must_use]
    pub fn due(&mut self, before: Time) -> Option<DecodedEvent> {
        let silent = self.streams().silent_before(before);
        let first = silent.map_or(before, |silent| before.min(Time(silent.0 + 1)));
        let event = match self.joins.due(first) {
            Some(event) => event,
            None => silent.and_then(|_| self.streams().silent())?,
        };
        Some(self.decode(event))
    }

    /// Ends a recording at the time `at`. Returns the joins that are still in progress.
    #[must_use]
    pub fn finish(&mut self, at: Time) -> Vec<Arc<Join>> {
        self.joins.finish(at)
    }
}

impl Stage for Decoder {
    type Made = DecodedEvent;

    fn event(&mut self, event: Event) -> DecodedEvent {
        let decoded = self.decode(event);
        if let Some(judge) = self.judge() {
            judge.event(&decoded);
        }
        decoded
    }

    fn gap(&mut self) {
        Self::gap(self);
        if let Some(judge) = self.judge() {
            judge.gap();
        }
    }

    fn due(&mut self, before: Time) -> Option<DecodedEvent> {
        let decoded = Self::due(self, before)?;
        if let Some(judge) = self.judge() {
            judge.event(&decoded);
        }
        Some(decoded)
    }

    fn size(made: &DecodedEvent) -> usize {
        let reading = made.reading.as_ref().map_or(0, Reading::held);
        size_of::<DecodedEvent>() - size_of::<Event>() + reading
    }
}
