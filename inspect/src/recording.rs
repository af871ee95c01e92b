//! The contents of a recording, and the errors of reading one.

use std::{io, net::SocketAddr};

use serde::{Deserialize, Serialize};
use teetap_proxy::session::{Event, Level, Time, Traffic};

/// The run that wrote a section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Version of teetap.
    pub version: String,
    /// Start of the run, nanoseconds since 1970.
    pub wall: u64,
    /// The seed of the run.
    pub seed: u64,
    /// The server as the user wrote it.
    pub target: String,
    /// The address that it resolved to.
    pub server: SocketAddr,
    /// The address on which the proxy listened.
    pub listen: SocketAddr,
}

/// An item of a recording.
#[derive(Debug)]
pub enum Item {
    /// The start of a run, or of the recording.
    Start {
        /// Nanoseconds since 1970.
        wall: u64,
        /// The run; `None` in captures of other programs.
        run: Option<Run>,
    },
    /// An event.
    Event(Event),
    /// A line of the program's own log.
    Log {
        /// Time since the start.
        at: Time,
        /// The level of the line.
        level: Level,
        /// The line.
        text: String,
    },
    /// A gap: events are missing here.
    Gap {
        /// Time at which the gap was noticed.
        at: Time,
        /// Number of missing events.
        lost: u64,
    },
}

/// Counts of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets of any kind.
    pub packets: u64,
    /// Sessions.
    pub sessions: u64,
    /// Traffic from clients.
    pub c2s: Traffic,
    /// Traffic from servers.
    pub s2c: Traffic,
    /// UDP datagrams of other protocols.
    pub foreign: u64,
    /// Packets that are not UDP datagrams.
    pub other: u64,
    /// Parts of fragmented packets, which are not joined.
    pub fragments: u64,
    /// Packets with headers that are cut off or contradict themselves.
    pub broken: u64,
    /// Packets of the server leg in a teetap capture that lost its options.
    pub doubled: u64,
    /// Missing events.
    pub lost: u64,
    /// Time of the last event.
    pub until: Time,
}

/// An error that ends the reading of a recording. Items before it have been returned.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// An error of the operating system.
    #[error("cannot read any further than byte {offset}: {error}")]
    System {
        /// Bytes read before.
        offset: u64,
        /// The error.
        error: io::Error,
    },
    /// The file is not a recording.
    #[error("this is not a recording: {0}")]
    Unknown(&'static str),
    /// The recording ends in the middle of an item.
    #[error("the recording breaks off: what begins at byte {0} is not all there")]
    Cut(u64),
    /// An item is invalid.
    #[error("the recording is damaged at byte {offset}: {text}")]
    Damaged {
        /// First byte of the invalid item.
        offset: u64,
        /// The cause.
        text: String,
    },
}

impl ReadError {
    /// An invalid item at this byte.
    pub fn damaged(offset: u64, text: impl Into<String>) -> Self {
        Self::Damaged {
            offset,
            text: text.into(),
        }
    }
}
