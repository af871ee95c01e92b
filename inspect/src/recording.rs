//! What a recording holds, and why it cannot be read.

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
    /// Its seed.
    pub seed: u64,
    /// The server as the user wrote it.
    pub target: String,
    /// What that resolved to.
    pub server: SocketAddr,
    /// Where the proxy listened.
    pub listen: SocketAddr,
}

/// What a recording holds.
#[derive(Debug)]
pub enum Item {
    /// A run begins, or the recording does.
    Start {
        /// Nanoseconds since 1970.
        wall: u64,
        /// What is known of the run; `None` in captures of others.
        run: Option<Run>,
    },
    /// Something that happened.
    Event(Event),
    /// Something that the program said.
    Log {
        /// When.
        at: Time,
        /// How loud.
        level: Level,
        /// What.
        text: String,
    },
    /// Events are missing here.
    Gap {
        /// When that was noticed.
        at: Time,
        /// How many.
        lost: u64,
    },
}

/// What a recording held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets, whatever they are.
    pub packets: u64,
    /// Sessions.
    pub sessions: u64,
    /// What clients sent.
    pub c2s: Traffic,
    /// What servers sent.
    pub s2c: Traffic,
    /// UDP datagrams that are none of this protocol.
    pub foreign: u64,
    /// Packets that are no UDP datagrams.
    pub other: u64,
    /// Parts of fragmented packets, which are not put together.
    pub fragments: u64,
    /// Packets with headers that are cut off or contradict themselves.
    pub broken: u64,
    /// Packets of the server leg of one of our captures without our options.
    pub doubled: u64,
    /// Events that are missing.
    pub lost: u64,
    /// Time of the last event.
    pub until: Time,
}

/// Why a recording cannot be read, or not any further. What comes before it has been given out.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// What the operating system said.
    #[error("cannot read any further than byte {offset}: {error}")]
    System {
        /// Bytes read before.
        offset: u64,
        /// What it said.
        error: io::Error,
    },
    /// It is something else.
    #[error("this is not a recording: {0}")]
    Unknown(&'static str),
    /// It ends in the middle of something.
    #[error("the recording breaks off: what begins at byte {0} is not all there")]
    Cut(u64),
    /// Something in it cannot be.
    #[error("the recording is damaged at byte {offset}: {text}")]
    Damaged {
        /// Where the damaged part begins.
        offset: u64,
        /// What is wrong.
        text: String,
    },
}

impl ReadError {
    /// Something at this byte cannot be.
    pub fn damaged(offset: u64, text: impl Into<String>) -> Self {
        Self::Damaged {
            offset,
            text: text.into(),
        }
    }
}
