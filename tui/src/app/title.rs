//! Facts about the run for the first line of the screen.

use std::time::{SystemTime, UNIX_EPOCH};

/// Facts about the run for the first line of the screen.
#[derive(Clone, Debug)]
pub struct Title {
    /// Server, as the user wrote it.
    pub target: String,
    /// Address that clients on this machine connect to; empty for a recording.
    pub connect: String,
    /// Start time of the run.
    pub start: SystemTime,
    /// True if a recording is being written.
    pub recording: bool,
    /// Seed of the run; `None` for a recording by another program.
    pub seed: Option<u64>,
}

impl Title {
    /// Returns the sentence for a view that has nothing to show yet.
    #[must_use]
    pub(crate) fn invitation(&self, nothing: &str) -> String {
        match &*self.connect {
            "" => format!("{nothing} in this part of the recording"),
            connect => format!("{nothing} yet: in the game console type   connect {connect}"),
        }
    }
}

impl Default for Title {
    fn default() -> Self {
        Self {
            target: String::new(),
            connect: String::new(),
            start: UNIX_EPOCH,
            recording: false,
            seed: None,
        }
    }
}
