//! Which lines of an event are shown.

use teetap_wire::def::Secrets;

use crate::{Kind, Verbosity};

/// How to print.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// JSON lines instead of text.
    pub json: bool,
    /// Only sessions, warnings and the summary.
    pub quiet: bool,
    /// No sessions and notices, only messages.
    pub matches_only: bool,
    /// How much is shown of a datagram.
    pub verbosity: Verbosity,
    /// How secret fields are shown.
    pub secrets: Secrets,
}

impl Style {
    /// Returns true if a line of this kind is shown.
    #[must_use]
    pub fn shows(self, kind: Kind) -> bool {
        if self.matches_only {
            // What is left of them is what matched; the rest is no traffic.
            return true;
        }
        match kind {
            Kind::Warning | Kind::Session => true,
            Kind::Traffic | Kind::Info => !self.quiet,
        }
    }
}
