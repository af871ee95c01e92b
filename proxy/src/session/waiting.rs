//! A held message as commands and notices see it.

use std::fmt;

use teetap_wire::{Dir, Proto};

use super::{datagram::HeldId, ids::SessionId, time::Time};
use crate::words::Words;

/// A message that the proxy holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The session.
    pub session: SessionId,
    /// The direction.
    pub dir: Dir,
    /// The protocol of the session.
    pub proto: Proto,
    /// The number in the session and direction.
    pub held: HeldId,
    /// True if it is reliable.
    pub vital: bool,
    /// The rule that holds it: the name, or the text. `None` if it waits for one before it.
    pub rule: Option<Box<str>>,
    /// The time at which it goes by itself. `None` if it goes as soon as it can.
    pub until: Option<Time>,
    /// True if its bytes were replaced.
    pub edited: bool,
    /// The id and the fields.
    pub data: Box<[u8]>,
}

/// The reason why a message is held no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gone {
    /// A command released it.
    Released,
    /// The longest time was over, so it goes on.
    Timeout,
    /// A command dropped it.
    Dropped,
}

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Released => "released",
            Self::Timeout => "timeout",
            Self::Dropped => "dropped",
        })
    }
}

impl Words for Gone {
    const ALL: &'static [Self] = &[Self::Released, Self::Timeout, Self::Dropped];
}
