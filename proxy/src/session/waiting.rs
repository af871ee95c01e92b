//! A held message as displayed by commands and notices.

use teetap_wire::{Dir, Proto};

use super::{datagram::HeldId, ids::SessionId, time::Time};

/// A message that the proxy holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldMessage {
    /// The session.
    pub session: SessionId,
    /// The direction.
    pub dir: Dir,
    /// The protocol of the session.
    pub proto: Proto,
    /// Number of the message in its session and direction.
    pub held: HeldId,
    /// True if the message is vital.
    pub vital: bool,
    /// The rule that holds the message, by its name or text; `None` if the message only waits for earlier
    /// ones.
    pub rule: Option<Box<str>>,
    /// The time at which the message is sent without a command; `None` if it is sent as soon as possible.
    pub until: Option<Time>,
    /// True if the bytes of the message were replaced.
    pub edited: bool,
    /// Message id and fields.
    pub data: Box<[u8]>,
}

/// The reason why a message is no longer held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum ReleaseReason {
    /// A command released it.
    Released,
    /// The maximum time has passed, so the message is sent.
    Timeout,
    /// A command dropped it.
    Dropped,
}
