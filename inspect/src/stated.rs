//! The version that the server of a run states to browsers or to the probe.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use teetap_proxy::io::probe::stated_version;

use crate::judge::peers::reported;

/// The version stated by the server, shared by all parts that name its release; cheap to clone.
///
/// In a live run it is from the probe, in a recording from the log line of the probe. In both, and in captures, it is
/// also from replies to browsers.
#[derive(Clone, Debug, Default)]
pub struct Stated(Arc<Mutex<Versions>>);

/// The versions stated so far.
#[derive(Debug, Default)]
enum Versions {
    #[default]
    None,
    One(String),
    /// Several releases. A capture may have several servers, so it is unknown which of them is meant.
    Several,
}

impl Stated {
    /// Records the version in a reply of the server.
    pub fn learn(&self, version: &str) {
        let mut known = self.versions();
        match &*known {
            Versions::None => *known = Versions::One(version.to_owned()),
            // A DDNet server states its release to 0.7 browsers in a different form.
            Versions::One(before) if reported(before) == reported(version) => {}
            Versions::One(_) | Versions::Several => *known = Versions::Several,
        }
    }

    /// Parses a log line of a recording. Records the version if it is the line about the probe.
    pub(crate) fn learn_from_log(&self, line: &str) {
        if let Some(version) = stated_version(line) {
            self.learn(version);
        }
    }

    /// Forgets the version, because another run begins.
    pub(crate) fn forget(&self) {
        *self.versions() = Versions::None;
    }

    /// Calls `make` with the stated version; `None` if none or several were stated.
    pub(crate) fn with<T>(&self, make: impl FnOnce(Option<&str>) -> T) -> T {
        make(match &*self.versions() {
            Versions::One(version) => Some(version),
            Versions::None | Versions::Several => None,
        })
    }

    fn versions(&self) -> MutexGuard<'_, Versions> {
        // The value is always consistent, so it stays usable if a thread panicked while it held the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
