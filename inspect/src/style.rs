//! Which lines are shown, and how.

use teetap_wire::def::Secrets;

use crate::subscribers::Slot;

/// How much of each datagram is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Messages, sessions and notices.
    #[default]
    Messages,
    /// Also a line per datagram.
    Datagrams,
    /// Also the bytes of each datagram.
    Bytes,
}

/// Whose messages are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Viewer {
    /// The messages that pass the filter of the run.
    #[default]
    Run,
    /// All messages.
    Everything,
    /// The messages that pass the filter of a subscription.
    Subscriber(Slot),
}

/// The weight of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A message, a datagram, or its bytes.
    Traffic,
    /// A state change of a session.
    Session,
    /// Something is probably wrong, including traffic with a warning or an error.
    Warning,
    /// A notice that is not a warning.
    Info,
}

/// Which lines are shown, and how. The default is text with messages, sessions and notices.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// True for JSON lines instead of text.
    pub json: bool,
    /// True to show only sessions, warnings and the summary.
    pub quiet: bool,
    /// True to show only messages, without sessions and notices.
    pub matches_only: bool,
    /// How much of each datagram is shown.
    pub verbosity: Verbosity,
    /// Whose messages are shown.
    pub viewer: Viewer,
    /// True to show the items of snapshots.
    pub items: bool,
    /// True to show the changes of a snapshot since the previous snapshot, false to show the changes since its base.
    pub since: bool,
    /// True to show the numbers of datagrams in a capture.
    pub frames: bool,
    /// How secret fields are shown.
    pub secrets: Secrets,
}

impl Style {
    /// Returns true if a line of this kind is shown.
    #[must_use]
    pub(crate) const fn shows(self, kind: Kind) -> bool {
        match kind {
            Kind::Warning => true,
            Kind::Session => !self.matches_only,
            Kind::Traffic => self.matches_only || !self.quiet,
            Kind::Info => !self.matches_only && !self.quiet,
        }
    }
}
