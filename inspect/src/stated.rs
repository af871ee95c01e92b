//! The version that the server of a run states, to browsers or to the probe of the run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use teetap_proxy::io::probe::stated_version;

use crate::judge::peers::reported;

/// The version that the server states, shared by all that name its release; cheap to clone.
///
/// Live it comes from the probe, from a recording out of the line about the probe, and from either, or a capture, out of replies to
/// browsers.
#[derive(Clone, Debug, Default)]
pub struct Stated(Arc<Mutex<Versions>>);

/// The versions that were stated so far.
#[derive(Debug, Default)]
enum Versions {
    #[default]
    None,
    One(String),
    /// Several releases. In captures there may be several servers: which one it was is not known then.
    Several,
}

impl Stated {
    /// Takes the version in a reply of the server.
    pub fn learn(&self, version: &str) {
        let mut known = self.versions();
        match &*known {
            Versions::None => *known = Versions::One(version.to_owned()),
            // A server of DDNet states its release in other words to browsers of 0.7.
            Versions::One(before) if reported(before) == reported(version) => {}
            Versions::One(_) | Versions::Several => *known = Versions::Several,
        }
    }

    /// Takes a line of the log, which may be that about the probe.
    pub(crate) fn learn_from_log(&self, line: &str) {
        if let Some(version) = stated_version(line) {
            self.learn(version);
        }
    }

    /// Forgets it: another run begins.
    pub(crate) fn forget(&self) {
        *self.versions() = Versions::None;
    }

    /// Returns what is made of the version; it is `None` where none or several were stated.
    pub(crate) fn with<T>(&self, make: impl FnOnce(Option<&str>) -> T) -> T {
        make(match &*self.versions() {
            Versions::One(version) => Some(version),
            Versions::None | Versions::Several => None,
        })
    }

    fn versions(&self) -> MutexGuard<'_, Versions> {
        // It is whole before and after each change.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
