//! The lines that are shown, and how.

use teetap_wire::def::Secrets;

use crate::subscribers::Slot;

/// The part of a datagram that is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Messages, sessions, notices.
    #[default]
    Messages,
    /// And a line per datagram.
    Datagrams,
    /// And its bytes.
    Bytes,
}

/// The messages that are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Viewer {
    /// The messages that pass the filter of the run.
    #[default]
    Run,
    /// All.
    Everything,
    /// The messages that pass the filter of a subscription.
    Subscriber(Slot),
}

/// The weight of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A message, a datagram, its bytes.
    Traffic,
    /// The state of a session.
    Session,
    /// Something is probably wrong, traffic that has a note of that weight included.
    Warning,
    /// A notice.
    Info,
}

/// The lines that are shown, and how; plain lines of messages, sessions and notices by default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// JSON lines instead of text.
    pub json: bool,
    /// Only sessions, warnings and the summary.
    pub quiet: bool,
    /// No sessions and notices, only messages.
    pub matches_only: bool,
    /// The part of a datagram that is shown.
    pub verbosity: Verbosity,
    /// The messages that are shown.
    pub viewer: Viewer,
    /// The items of snapshots are shown.
    pub items: bool,
    /// The changes of a snapshot are those since the one before it, not those to its base.
    pub since: bool,
    /// The numbers of datagrams in a capture are shown.
    pub frames: bool,
    /// The form in which secret fields are shown.
    pub secrets: Secrets,
}

impl Style {
    /// Returns true if a line of this kind is shown.
    #[must_use]
    pub const fn shows(self, kind: Kind) -> bool {
        match kind {
            Kind::Warning => true,
            Kind::Session => !self.matches_only,
            Kind::Traffic => self.matches_only || !self.quiet,
            Kind::Info => !self.matches_only && !self.quiet,
        }
    }
}
