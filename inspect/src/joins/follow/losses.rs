//! Datagrams that link lines lost during a join.

use std::fmt;

use teetap_proxy::session::Time;
use teetap_wire::Dir;

/// Number of datagrams that link lines lost during a join, and the first of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Losses {
    pub(super) count: u32,
    dir: Dir,
    /// Ordinal of the first lost datagram in its direction; 0 if the datagram was not sent by a peer.
    ordinal: u64,
    at: Time,
}

impl Losses {
    /// Starts a count of 0. `dir`, `ordinal` and `at` describe the first lost datagram.
    pub(super) const fn begin(dir: Dir, ordinal: u64, at: Time) -> Self {
        Self {
            count: 0,
            dir,
            ordinal,
            at,
        }
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            count,
            dir,
            ordinal,
            at,
        } = self;
        let s = if *count == 1 { "" } else { "s" };
        write!(f, "the link lost {count} datagram{s}, the first ")?;
        match ordinal {
            0 => write!(f, "of the proxy, {dir}, ")?,
            _ => write!(f, "{dir} datagram {ordinal}, ")?,
        }
        write!(f, "at {:.3} s", at.as_secs_f64())
    }
}
