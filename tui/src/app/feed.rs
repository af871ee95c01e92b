//! Adds events, gaps and lines of the program to the parts of the state.

use std::sync::Arc;

use teetap_inspect::DecodedEvent;
use teetap_proxy::session::{EventKind, Level, Notice, Time};

use super::{App, log::Log, meter::Meter};

impl App {
    /// Adds an event.
    pub fn push(&mut self, decoded: &Arc<DecodedEvent>) {
        if let Some(reading) = &decoded.reading {
            self.run.meter.count(decoded.event.at, reading);
            self.terminal.changed = true;
        }
        let may_hold = matches!(
            decoded.event.what,
            EventKind::Session(_) | EventKind::Notice(Notice::Held { .. } | Notice::Released { .. })
        );
        self.queue.is_stale |= may_hold;
        self.terminal.changed |= self.messages.event(decoded, self.look.style);
        self.terminal.changed |= self.sessions.event(decoded);
        self.terminal.changed |= self.log.event(decoded);
    }

    /// Adds an event of a recording that passes the filter. Only the list shows it.
    pub(crate) fn push_match(&mut self, decoded: &Arc<DecodedEvent>) {
        if let Some(reading) = &decoded.reading {
            self.run.meter.count(decoded.event.at, reading);
        }
        self.sessions.match_event(decoded);
        self.messages.event(decoded, self.look.style);
        self.terminal.changed = true;
    }

    /// Removes all rows before another part of a recording is read. If `also_sessions`, also forgets everything about
    /// sessions.
    pub(crate) fn clear(&mut self, also_sessions: bool) {
        self.messages.clear();
        self.run.meter = Meter::default();
        if also_sessions {
            self.sessions.clear();
            self.log = Log::default();
            self.run.now = Time::ZERO;
        }
        self.sync();
        self.terminal.changed = true;
    }

    /// Records that `lost` events were missed.
    pub fn gap(&mut self, lost: u64) {
        // The missed events may include the notice of a held message.
        self.queue.is_stale = true;
        self.sessions.gap(lost);
        self.log.gap(lost);
        self.messages.gap(lost);
        self.terminal.changed = true;
    }

    /// Adds a line of the program itself.
    pub fn log(&mut self, at: Time, level: Level, text: &str) {
        // A text such as a summary may have several lines; a row is one line.
        let text = &text.replace('\n', " ");
        self.messages.log(at, level, text);
        self.log.line(at, level, text);
        self.terminal.changed = true;
    }
}
