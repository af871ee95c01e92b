//! Facts about a run at its start.

use std::{net::SocketAddr, path::Path, time::SystemTime};

use teetap_capture::Run;
use teetap_engine::recording::header;

/// Facts at the start.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) seed: u64,
    /// The server as the user wrote it.
    pub(crate) target: String,
    pub(crate) server: SocketAddr,
    pub(crate) listen: SocketAddr,
    /// Address that clients on this machine connect to; differs from `listen` if that is an unspecified address.
    pub(crate) connect: SocketAddr,
    pub(crate) wall: SystemTime,
}

/// Facts at the start of a printed recording.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened<'a> {
    pub(crate) file: &'a Path,
    /// Time at which the recording begins.
    pub(crate) wall: SystemTime,
    /// The run; `None` in recordings of other programs.
    pub(crate) run: Option<&'a Run>,
}

impl Start {
    /// Returns the facts that a recording stores.
    pub(crate) fn recorded(&self) -> Run {
        header(self.seed, &self.target, (self.server, self.listen), self.wall)
    }
}
