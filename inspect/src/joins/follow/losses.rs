//! Datagrams that link lines lost during a join.

use std::fmt;

use teetap_proxy::session::Time;
use teetap_wire::{Dir, counted};

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
        write!(f, "the link lost {}, the first ", counted(*count, "datagram"))?;
        match ordinal {
            0 => write!(f, "of the proxy, {dir}, ")?,
            _ => write!(f, "{dir} datagram {ordinal}, ")?,
        }
        write!(f, "at {:.3} s", at.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_losses_name_their_count_and_the_first_datagram() {
        for (count, ordinal, expected) in [
            (
                1,
                7,
                "the link lost 1 datagram, the first s2c datagram 7, at 1.500 s",
            ),
            (
                2,
                1,
                "the link lost 2 datagrams, the first s2c datagram 1, at 1.500 s",
            ),
            (
                3,
                0,
                "the link lost 3 datagrams, the first of the proxy, s2c, at 1.500 s",
            ),
        ] {
            let begun = Losses::begin(Dir::S2c, ordinal, Time(1_500_000));
            assert_eq!(begun.count, 0);
            assert_eq!(Losses { count, ..begun }.to_string(), expected);
        }
    }
}
