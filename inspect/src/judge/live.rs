//! The findings of a live run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use teetap_proxy::session::EventKind;
use teetap_wire::def::Secrets;

use super::{Findings, Judge, peers::Peers};
use crate::{DecodedEvent, Stated};

/// The findings of a live run, shared by its decoder and its summary; cheap to clone.
///
/// The decoder records every event here directly, so that no finding is lost if an output falls behind.
#[derive(Clone, Debug)]
pub struct SharedJudge(Arc<Mutex<Judge>>);

impl SharedJudge {
    /// Creates an empty collection that shows or hides secrets. `stated` is shared with the decoder.
    #[must_use]
    pub fn new(secrets: Secrets, stated: Stated) -> Self {
        Self(Arc::new(Mutex::new(Judge::new(secrets, stated))))
    }

    /// Records a fully decoded event.
    pub(crate) fn event(&self, decoded: &DecodedEvent) {
        if may_matter(decoded) {
            self.judge().event(decoded);
        }
    }

    /// Records that some events were lost before they were decoded.
    pub(crate) fn gap(&self) {
        self.judge().gap();
    }

    /// Returns all findings so far, ranked.
    #[must_use]
    pub fn findings(&self) -> Findings {
        self.judge().findings()
    }

    fn judge(&self) -> MutexGuard<'_, Judge> {
        // The findings stay consistent even if a thread panicked while it held the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true if an event may lead to a finding or identify a peer. All other events are skipped before the lock.
fn may_matter(decoded: &DecodedEvent) -> bool {
    match (&decoded.event.what, &decoded.reading) {
        (EventKind::Datagram(datagram), Some(reading)) => {
            !reading.notes.is_empty()
                || reading.messages.iter().any(|message| !message.notes.is_empty())
                || Peers::may_learn(datagram, reading)
        }
        (EventKind::Datagram(_) | EventKind::Connless(_), None) | (EventKind::Answer(_), _) => false,
        (EventKind::Connless(_), Some(_)) | (EventKind::Session(_) | EventKind::Notice(_), _) => true,
    }
}
