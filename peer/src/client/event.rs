//! The events of a client.

use teetap_wire::snap::Fate;

use crate::map::Downloaded;
use crate::message::Delivered;
use crate::script::Step;

/// Something that happened to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientEvent {
    /// The handshake succeeded.
    Online,
    /// A message was received. The client has not acted upon it yet.
    Message(Delivered),
    /// A map was downloaded.
    Map(Downloaded),
    /// The client is in the game: it has entered and received two snapshots.
    Joined,
    /// A snapshot was received, or the last part of one.
    Snapshot {
        /// The tick.
        tick: i32,
        /// The fate of the snapshot.
        fate: Fate,
    },
    /// The client stopped at a step of its script.
    Stopped(Step),
    /// The connection ended.
    Ended(End),
}

/// The end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The server refused the handshake, for this reason.
    Refused(String),
    /// The server closed the connection, for this reason.
    Closed(String),
    /// The client gave up, for this reason. It closed the connection, if there was one.
    Failed(String),
    /// The caller closed the connection with [`Client::close`](crate::Client::close).
    Left,
}
