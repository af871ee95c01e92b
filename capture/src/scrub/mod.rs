//! Recordings that can be published: without secrets and addresses.
//!
//! # What is replaced
//!
//! * Every value that the definitions call secret (passwords, rcon commands, codes), by as many `*`.
//! * Every text that a peer wrote (chat, broadcasts, votes, names of players, clans and servers, lines of the remote console,
//!   reasons of CLOSE), by as many `*`, unless it is to stay ([`Keep::text`]). Texts that a program or its installation
//!   determines stay: versions, names of maps and game types, commands with their help.
//! * Every IP address and every MAC address, by a placeholder that stays the same throughout the file: 192.0.2.1 to
//!   192.0.2.254, then 240.0.0.1 and so on; 2001:db8::1 and so on; 02:00:00:00:00:01 and so on. Ports stay, and so do loopback
//!   addresses, which are the same everywhere.
//! * What is not understood: bytes behind the last known field, messages without a definition. A definition that does not exist
//!   marks no secret. They become `*` too, unless they are to stay ([`Keep::unknown`]).
//! * What people and programs have written beside the packets: comments, names of hosts, interfaces and programs. Nothing of
//!   it is carried over; the comments of our own captures are made anew of what is left.
//!
//! # What is left out
//!
//! Packets in which a secret could not be found: no UDP, other protocols, parts of fragmented packets, datagrams that were
//! not recorded whole or cannot be read. They are counted ([`Scrubbed`]).
//!
//! # What stays
//!
//! Every message at its place and with its length, sequence numbers, tokens (they end with their session, and to see whether
//! they are right is what one looks at them for), times, and snapshots: those of 0.6 hold names of players, as ints whose sum is checked. A compressed packet in which something
//! was replaced is compressed again and may have another length, which the headers around it follow. A checksum that was
//! right is right again, one that was wrong stays wrong, one that is not used stays so.
//!
//! Law: it streams, and nothing of the input gets into the output that was not read and found harmless: files are written
//! anew, not patched. What was scrubbed is scrubbed to the same bytes.

mod addresses;
mod datagram;
mod event;
mod file;
mod frame;
mod hole;
mod message;
mod own;
mod stream;
#[cfg(test)]
mod tests;
mod text;

use teetap_wire::{
    Scratch,
    def::{Decoded, Registry},
};

use addresses::Addresses;

pub use file::{Capture, ScrubError};

/// The byte in place of every replaced byte: not even the start of an int, so that no reader takes it for more than it was.
const PLACEHOLDER: u8 = b'*';

/// Bytes that stay on request; by default all of them are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Keep {
    /// Bytes that no definition explains.
    pub unknown: bool,
    /// Texts of peers. Their secrets are replaced all the same.
    pub text: bool,
}

/// The counts of what was replaced, and what was left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scrubbed {
    /// Datagrams in the output; in captures of teetap each counts where it came in and where it left.
    pub packets: u64,
    /// Values that the definitions call secret.
    pub secrets: u64,
    /// Different IP addresses that have a placeholder.
    pub addresses: u64,
    /// Texts of peers.
    pub texts: u64,
    /// Messages that are not known, or not to their end.
    pub unknown: u64,
    /// Packets that are not UDP datagrams.
    pub other: u64,
    /// UDP datagrams that are none of this protocol.
    pub foreign: u64,
    /// Parts of fragmented packets.
    pub fragments: u64,
    /// Packets with headers that are cut off or contradict themselves.
    pub broken: u64,
    /// Datagrams that were not recorded whole.
    pub cut: u64,
    /// Datagrams that cannot be read, or belong to nothing.
    pub unreadable: u64,
    /// Datagrams of our own recordings that cannot be read: they are there, as `*`.
    pub blanked: u64,
    /// Packets left out because there were more addresses than are kept apart.
    pub crowded: u64,
}

impl Scrubbed {
    /// Packets that are not in the output.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.other + self.foreign + self.fragments + self.broken + self.cut + self.unreadable + self.crowded
    }
}

/// Replaces secrets and addresses.
#[derive(Debug)]
pub struct Scrubber {
    registry: &'static Registry,
    keep: Keep,
    addresses: Addresses,
    /// Names of servers that were connected to.
    hosts: Vec<Box<str>>,
    tally: Scrubbed,
    decoded: Decoded,
    /// The ranges to replace in a message.
    holes: Vec<hole::Hole>,
    scratch: Scratch,
    clear: Vec<u8>,
}

impl Scrubber {
    /// With these definitions.
    #[must_use]
    pub fn new(registry: &'static Registry, keep: Keep) -> Self {
        Self {
            registry,
            keep,
            addresses: Addresses::default(),
            hosts: Vec::new(),
            tally: Scrubbed::default(),
            decoded: Decoded::new(),
            holes: Vec::new(),
            scratch: Scratch::new(),
            clear: Vec::new(),
        }
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn tally(&self) -> Scrubbed {
        Scrubbed {
            addresses: self.addresses.count(),
            ..self.tally
        }
    }
}
