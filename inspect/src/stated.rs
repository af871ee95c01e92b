//! The version that the server of a run states to browsers, to the probe or in its chat.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use teetap_proxy::io::probe::stated_version;

use crate::{Message, Reading};

/// Beginning of the chat line in which a server of DDNet states its version to each client that enters
/// (`CGameContext::OnClientEnter` in gamecontext.cpp). The form of the version is that of its info.
const CHAT: &str = "DDraceNetwork Mod. Version: ";

/// The client id of the server in chat.
const SERVER: i64 = -1;

/// The version stated by the server, shared by all parts that name its release; cheap to clone.
///
/// In a live run it is from the probe, in a recording from the log line of the probe. In both, and in captures, it is
/// also from replies to browsers and from chat.
#[derive(Clone, Debug, Default)]
pub struct Stated(Arc<Mutex<Versions>>);

/// Where a server states its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatedBy {
    /// In a reply to a browser or to the probe.
    Info,
    /// In a chat line.
    Chat,
}

/// A version stated by the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StatedVersion<'v> {
    pub text: &'v str,
    pub by: StatedBy,
}

/// The versions stated so far.
#[derive(Debug, Default)]
enum Versions {
    #[default]
    None,
    One(String, StatedBy),
    /// Several releases. A capture may have several servers, so it is unknown which of them is meant.
    Several,
}

impl Stated {
    /// Records the version in a reply of the server.
    pub fn learn(&self, version: &str) {
        self.learn_by(version, StatedBy::Info);
    }

    /// Records the version if the message is the chat line in which a server states it.
    pub(crate) fn learn_from_chat(&self, reading: &Reading, message: &Message) {
        if message.name != Some("sv_chat") || reading.int(message, "client_id") != Some(SERVER) {
            return;
        }
        let text = reading.text(message, "message");
        if let Some(version) = text.as_deref().and_then(|text| text.strip_prefix(CHAT))
            && reported(version).is_some()
        {
            self.learn_by(version, StatedBy::Chat);
        }
    }

    fn learn_by(&self, version: &str, by: StatedBy) {
        let mut known = self.versions();
        match &*known {
            Versions::None => *known = Versions::One(version.to_owned(), by),
            // A DDNet server states its release to 0.7 browsers in a different form.
            Versions::One(before, _) if reported(before) == reported(version) => {}
            Versions::One(..) | Versions::Several => *known = Versions::Several,
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
    pub(crate) fn with<T>(&self, make: impl FnOnce(Option<StatedVersion<'_>>) -> T) -> T {
        make(match &*self.versions() {
            Versions::One(text, by) => Some(StatedVersion { text, by: *by }),
            Versions::None | Versions::Several => None,
        })
    }

    fn versions(&self) -> MutexGuard<'_, Versions> {
        // The value is always consistent, so it stays usable if a thread panicked while it held the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the release named by the version in a server info, such as `0.6, 16.4` or `0.7.5`; `None` if the version
/// names none.
pub(crate) fn reported(version: &str) -> Option<String> {
    let is_number = |text: &str| {
        !text.is_empty() && text.len() < 12 && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let version = version.trim();
    match version.split_once(',') {
        Some((_, release)) => Some(release.trim())
            .filter(|release| is_number(release))
            .map(|release| format!("DDNet {release}")),
        None => (is_number(version) && version.starts_with("0.")).then(|| format!("Teeworlds {version}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_are_a_release() {
        for (version, expected) in [
            ("0.7.5", Some("Teeworlds 0.7.5")),
            (" 0.6.5 ", Some("Teeworlds 0.6.5")),
            ("0.6, 16.4", Some("DDNet 16.4")),
            ("1.0", None),
            ("", None),
            ("0.6,", None),
            ("0.7.5-beta", None),
            ("0.6, 16.4 x", None),
            ("0.12345.123", Some("Teeworlds 0.12345.123")),
            ("0.12345.1234", None),
        ] {
            assert_eq!(reported(version).as_deref(), expected, "{version:?}");
        }
    }
}
