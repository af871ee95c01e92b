//! Facts about a run at its start and at its end.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use teetap_capture::{Recorded, Run};
use teetap_proxy::{io::Ended, session::Time};

use crate::exit::Exit;

/// Facts at the start.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) seed: u64,
    /// As the user wrote it.
    pub(crate) target: String,
    pub(crate) server: SocketAddr,
    pub(crate) listen: SocketAddr,
    /// Where clients of this machine connect to: differs from `listen` when that is every address.
    pub(crate) connect: SocketAddr,
    pub(crate) wall: SystemTime,
}

/// Facts at the end.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    pub(crate) at: Time,
    /// `None` when the data thread crashed.
    pub(crate) ended: Option<Ended>,
    /// Events that this output missed.
    pub(crate) lost: u64,
    /// Datagrams that the kernel dropped before they were read.
    pub(crate) kernel_drops: u64,
    pub(crate) seed: u64,
    pub(crate) exit: Exit,
    /// Exit code of the command of `run`.
    pub(crate) cmd_exit: Option<i32>,
    pub(crate) recording: Option<Outcome>,
}

/// Facts at the start of a printed recording.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opened<'a> {
    pub(crate) file: &'a Path,
    /// When it begins.
    pub(crate) wall: SystemTime,
    /// The run, in recordings of teetap.
    pub(crate) run: Option<&'a Run>,
}

/// The outcome of a recording.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) path: PathBuf,
    /// `None` when the recorder crashed.
    pub(crate) recorded: Option<Recorded>,
}

impl Start {
    /// Returns what a recording holds of it.
    pub(crate) fn recorded(&self) -> Run {
        Run {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            wall: nanoseconds(self.wall),
            seed: self.seed,
            target: self.target.clone(),
            server: self.server,
            listen: self.listen,
        }
    }
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
