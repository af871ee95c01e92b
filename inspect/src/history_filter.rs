//! Filters events that were already decoded: first the events of a history, then new events.
//!
//! Law: a history filter tracks its own contexts, so that the filter can be changed at any time. Events must be passed
//! in order. A history without its beginning is handled like a recording without its beginning.

use std::fmt;

use teetap_proxy::session::{Event, EventKind};
use teetap_rules::Filter;
use teetap_wire::def::Registry;

use crate::{Decoder, Reading};

/// A filter that tracks the state of sessions itself.
pub struct HistoryFilter {
    decoder: Decoder,
}

impl HistoryFilter {
    /// Creates a filter that has seen nothing.
    #[must_use]
    pub fn new(filter: Filter, registry: &'static Registry) -> Self {
        let mut decoder = Decoder::new(registry);
        decoder.ignore_gists();
        decoder.ignore_sessions();
        decoder.ignore_items();
        decoder.show_only(filter);
        Self { decoder }
    }

    /// Records the next event. Returns for each of its messages whether it passes, in the order of a reading; for a
    /// datagram without messages, whether the datagram passes. Returns nothing if nothing passes.
    pub fn pass(&mut self, event: &Event) -> Vec<bool> {
        let decoder = &mut self.decoder;
        let reading = match &event.what {
            EventKind::Session(change) => {
                if let Some(session) = event.session {
                    decoder.on_session(event.at, session, change);
                }
                None
            }
            EventKind::Datagram(datagram) => Reading::of_datagram(event.at, event.session, datagram, decoder),
            EventKind::Connless(connless) => Reading::of_connless(event.at, connless, decoder),
            EventKind::Notice(_) | EventKind::Answer(_) => None,
        };
        let Some(reading) = reading else {
            return Vec::new();
        };
        let mut passes: Vec<bool> = reading
            .messages
            .iter()
            .map(|message| message.visibility.shown)
            .collect();
        if passes.is_empty() {
            passes.push(reading.shown);
        }
        decoder.recycle(reading);
        passes
    }

    /// Records that events are missing.
    pub fn gap(&mut self) {
        self.decoder.gap();
    }
}

impl fmt::Debug for HistoryFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HistoryFilter").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use teetap_proxy::session::{Datagram, Origin, Time};
    use teetap_wire::{Dir, Proto};

    use super::*;

    /// Returns a datagram event from a client; used with the 0.7 messages `ready`, `cl_kill` and `con_ready`.
    fn event(chunks: &[(Option<u16>, &[u8])]) -> Event {
        let bytes: &'static [u8] = crate::testing::chunks(1, false, chunks).leak();
        let datagram = Datagram::new(Dir::C2s, Proto::V7, Origin::Peer, bytes, [bytes].into_iter());
        Event {
            at: Time(1),
            session: Some(teetap_proxy::session::SessionId(1)),
            what: EventKind::Datagram(datagram),
        }
    }

    #[test]
    fn each_message_passes_or_not_and_what_came_before_counts() {
        let registry = Registry::builtin();
        let history_filter =
            |text: &str| HistoryFilter::new(Filter::parse(text, registry).unwrap().0, registry);
        let both = event(&[(Some(1), b"\x25"), (None, b"\x38")]);
        assert_eq!(history_filter("cl_kill").pass(&both), [false, true]);
        assert!(history_filter("sv_chat").pass(&both).is_empty());
        let mut third = history_filter("count(cl_kill) == 3");
        let passed: Vec<Vec<bool>> = (0..4).map(|_| third.pass(&both).to_vec()).collect();
        // True from the third `cl_kill` until just before the fourth.
        assert_eq!(passed, [vec![], vec![], vec![false, true], vec![true, false]]);
    }
}
