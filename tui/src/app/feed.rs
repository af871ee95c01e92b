//! Adds events, gaps and lines of the program to the parts of the state.

use std::sync::Arc;

use teetap_inspect::{DecodedEvent, Follow};
use teetap_proxy::session::{Level, Notice, State, Time, What};

use super::{App, ladder::Ladder, log::Log, meter::Meter};

impl App {
    /// Adds an event.
    pub fn push(&mut self, decoded: &Arc<DecodedEvent>) {
        if let Some(reading) = &decoded.reading {
            self.meter.count(decoded.event.at, reading);
            self.changed = true;
        }
        let may_hold = matches!(
            decoded.event.what,
            What::Session(_) | What::Notice(Notice::Held { .. } | Notice::Released { .. })
        );
        self.queue.is_stale |= may_hold;
        self.changed |= self.messages.event(decoded, self.style);
        let ties = self.follow.event(decoded);
        self.changed |= self.ladder.event(decoded, ties);
        self.changed |= self.log.event(decoded);
        self.look_at(decoded);
    }

    /// Adds an event of a recording that passes the filter. Only the list shows it.
    pub fn push_match(&mut self, decoded: &Arc<DecodedEvent>) {
        if let Some(reading) = &decoded.reading {
            self.meter.count(decoded.event.at, reading);
        }
        let known = decoded
            .event
            .session
            .and_then(|session| self.follow.session(session));
        let has_traffic = known.is_some_and(|known| known.counts.messages().next().is_some());
        // Keeps what is known of a session from all of its traffic.
        if matches!(decoded.event.what, What::Session(_)) && !has_traffic {
            self.follow.event(decoded);
        }
        self.messages.event(decoded, self.style);
        self.changed = true;
    }

    /// Removes all rows before another part of a recording is read. If `also_sessions`, also forgets everything about
    /// sessions.
    pub fn clear(&mut self, also_sessions: bool) {
        self.messages.clear();
        self.meter = Meter::default();
        if also_sessions {
            self.follow = Follow::default();
            self.ladder = Ladder::default();
            self.log = Log::default();
            self.shown = None;
            self.now = Time::ZERO;
        }
        self.sync();
        self.changed = true;
    }

    /// Shows the newest session that opens, unless the user picked another one.
    fn look_at(&mut self, decoded: &DecodedEvent) {
        let Some(session) = decoded.event.session else {
            return;
        };
        let opens = matches!(&decoded.event.what, What::Session(change) if change.state == State::Opening);
        match self.shown {
            None => self.shown = Some((session, false)),
            Some((_, false)) if opens => self.shown = Some((session, false)),
            Some(_) => {}
        }
    }

    /// Records that `lost` events were missed.
    pub fn gap(&mut self, lost: u64) {
        // The missed events may include the notice of a held message.
        self.queue.is_stale = true;
        self.follow.gap();
        self.ladder.gap(lost);
        self.log.gap(lost);
        self.messages.gap(lost);
        self.changed = true;
    }

    /// Adds a line of the program itself.
    pub fn log(&mut self, at: Time, level: Level, text: &str) {
        self.messages.log(at, level, text);
        self.log.line(at, level, text);
        self.changed = true;
    }
}
