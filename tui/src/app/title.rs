//! The facts of the run that the first line shows.

use std::time::{SystemTime, UNIX_EPOCH};

/// The facts of the run that the first line shows.
#[derive(Clone, Debug)]
pub struct Title {
    /// The server, as the user wrote it.
    pub target: String,
    /// The address that clients of this machine connect to; empty for a recording.
    pub connect: String,
    /// The start of the run.
    pub start: SystemTime,
    /// A recording is being written.
    pub recording: bool,
    /// The seed of the run; `None` for a recording of another program.
    pub seed: Option<u64>,
}

impl Title {
    /// Returns the sentence for a view that has nothing to show yet.
    #[must_use]
    pub fn invitation(&self, nothing: &str) -> String {
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
