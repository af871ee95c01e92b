//! The contents of a recording and the errors of reading it.

use std::{io, net::SocketAddr};
use teetap_wire::PerDir;

use serde::{Deserialize, Serialize};
use teetap_proxy::session::{Event, Level, Time, Traffic};

/// Metadata of the run that wrote a section of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Version of teetap.
    pub version: String,
    /// Start of the run, in nanoseconds since 1970.
    pub wall: u64,
    /// The seed of the run's random numbers.
    pub seed: u64,
    /// The server as the user wrote it.
    pub target: String,
    /// The address that `target` resolved to.
    pub server: SocketAddr,
    /// The address on which the proxy listened.
    pub listen: SocketAddr,
}

/// An item of a recording.
#[derive(Debug)]
pub enum Item {
    /// The start of a run or of the recording.
    Start {
        /// Wall-clock time of the start, in nanoseconds since 1970.
        wall: u64,
        /// The run; `None` for captures of other programs.
        run: Option<Run>,
    },
    /// An event.
    Event(Event),
    /// A line of teetap's own log.
    Log {
        /// Time since the start.
        at: Time,
        /// The level of the line.
        level: Level,
        /// The line.
        text: String,
    },
    /// A gap in the recording.
    Gap {
        /// Time at which the recorder noticed the gap.
        at: Time,
        /// Number of events missing from the recording.
        lost: u64,
    },
}

/// Totals of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of packets of any kind.
    pub packets: u64,
    /// Number of sessions.
    pub sessions: u64,
    /// Traffic sent, in each direction.
    pub traffic: PerDir<Traffic>,
    /// Number of UDP datagrams of other protocols.
    pub foreign: u64,
    /// Number of packets that are not UDP datagrams.
    pub other: u64,
    /// Number of parts of fragmented packets, which are not reassembled.
    pub fragments: u64,
    /// Number of packets with headers that are cut off or contradict themselves.
    pub broken: u64,
    /// Number of packets of the server leg in a teetap capture that has lost its options.
    pub doubled: u64,
    /// Number of missing events.
    pub lost: u64,
    /// Time of the last event.
    pub until: Time,
}

/// The error that stopped the reading of a recording. All items before it have been returned.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// An error of the operating system.
    #[error("cannot read past byte {offset}: {error}")]
    System {
        /// Number of bytes read before the error.
        offset: u64,
        /// The error.
        error: io::Error,
    },
    /// The file is not a recording.
    #[error("this is not a recording: {0}")]
    Unknown(&'static str),
    /// The recording ends in the middle of an item.
    #[error("the recording is truncated: the item at byte {0} is incomplete")]
    Cut(u64),
    /// An item is invalid.
    #[error("the recording is damaged at byte {offset}: {text}")]
    Damaged {
        /// Offset of the first byte of the invalid item.
        offset: u64,
        /// The cause.
        text: String,
    },
}

impl ReadError {
    /// Returns the error for an invalid item at this offset.
    pub fn damaged(offset: u64, text: impl Into<String>) -> Self {
        Self::Damaged {
            offset,
            text: text.into(),
        }
    }
}
