//! Recordings without secrets, texts of peers and addresses, to be shown to others.
//!
//! # What is replaced
//!
//! * Every value that the definitions mark as secret (passwords, rcon commands, codes), by as many `*`.
//! * Every text that a peer wrote (chat, broadcasts, votes, names of players, clans and servers, lines of the remote console,
//!   reasons of CLOSE), by as many `*`, unless [`Keep::text`] is set. Texts that a program or its installation
//!   determines stay: versions, names of maps and game types, commands with their help.
//! * Every IP address and every MAC address, by a placeholder that stays the same throughout the file: 192.0.2.1 to
//!   192.0.2.254, then 240.0.0.1 and so on; 2001:db8::1 and so on; 02:00:00:00:00:01 and so on. Ports stay, and so do loopback
//!   addresses, which are the same everywhere.
//! * Bytes without a definition: those after the last known field, and unknown messages. They become `*`, unless
//!   [`Keep::unknown`] is set.
//! * Texts of rules and of the user: rules, their names, marks and reports, reasons of `close`, expressions, command lines
//!   and paths, unless [`Keep::text`] is set. Log lines of the program stay where they are one of its sentences. Secrets that
//!   the traffic shows are replaced in all of these texts, too.
//! * Text beside the packets: comments, names of hosts, interfaces and programs. None of it is copied; the comments
//!   of captures written by teetap are written anew.
//!
//! # What is left out
//!
//! Packets whose secrets could not be found: other protocols, parts of fragmented packets, datagrams that were not
//! recorded whole or cannot be read. They are counted ([`Scrubbed`]).
//!
//! # What stays
//!
//! Every message at its place and with its length, sequence numbers, tokens (they end with their session, and a
//! report about tokens needs them), times, and snapshots: those of 0.6 hold names of players, as ints whose sum is
//! checked. A compressed packet with a replacement is compressed again and may have another length, which the headers
//! around it follow. A checksum that was right is right again, a wrong one stays wrong, an unused one stays unused.
//!
//! Law: it streams, and only bytes that were decoded get into the output: files are written anew, not patched.
//! Scrubbing a scrubbed recording changes nothing.

mod addresses;
mod datagram;
mod event;
mod file;
mod frame;
mod hole;
mod mask;
mod message;
mod notice;
mod opened;
mod own;
mod sentence;
mod stream;
#[cfg(test)]
mod tests;
mod text;

use teetap_wire::{
    Scratch,
    def::{Decoded, Registry},
};

use teetap_inspect::Decoder;

use addresses::Addresses;

pub use file::{Capture, ScrubError};
pub use opened::Opened;
pub use text::Secrets;

/// The placeholder of a byte: not the first byte of a longer int, so that a reader sees only what was there.
const PLACEHOLDER: u8 = b'*';

/// Bytes that stay on request; by default all of them are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Keep {
    /// Bytes that no definition explains.
    pub unknown: bool,
    /// Texts of peers. Their secrets are replaced all the same.
    pub text: bool,
}

/// Counts of replacements, and of packets left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scrubbed {
    /// Datagrams in the output; in captures of teetap each counts once received and once per copy sent.
    pub packets: u64,
    /// Values that the definitions mark as secret.
    pub secrets: u64,
    /// IP addresses with a placeholder.
    pub addresses: u64,
    /// Texts of peers, rules and the user.
    pub texts: u64,
    /// Messages that are unknown, or not known to their end.
    pub unknown: u64,
    /// Packets that are not UDP.
    pub other: u64,
    /// UDP datagrams of other protocols.
    pub foreign: u64,
    /// Parts of fragmented packets.
    pub fragments: u64,
    /// Packets with headers that are cut off or contradict themselves.
    pub broken: u64,
    /// Datagrams that were not recorded whole.
    pub cut: u64,
    /// Datagrams that cannot be read, or belong to nothing.
    pub unreadable: u64,
    /// Datagrams of recordings written by teetap that cannot be read: they are `*` in the output.
    pub blanked: u64,
    /// Packets left out because there were too many addresses.
    pub crowded: u64,
}

impl Scrubbed {
    /// Returns the number of packets that are not in the output.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.other + self.foreign + self.fragments + self.broken + self.cut + self.unreadable + self.crowded
    }
}

/// Replaces secrets, texts and addresses.
#[derive(Debug)]
pub struct Scrubber {
    registry: &'static Registry,
    keep: Keep,
    addresses: Addresses,
    /// Names of the servers of the runs.
    hosts: Vec<Box<str>>,
    secrets: Secrets,
    tally: Scrubbed,
    decoded: Decoded,
    /// Holes of the current message.
    holes: Vec<hole::Hole>,
    scratch: Scratch,
    clear: Vec<u8>,
}

impl Scrubber {
    /// Makes a scrubber with these definitions.
    #[must_use]
    pub fn new(registry: &'static Registry, keep: Keep) -> Self {
        Self {
            registry,
            keep,
            addresses: Addresses::default(),
            hosts: Vec::new(),
            secrets: Secrets::default(),
            tally: Scrubbed::default(),
            decoded: Decoded::new(),
            holes: Vec::new(),
            scratch: Scratch::new(),
            clear: Vec::new(),
        }
    }

    /// Returns a decoder for the lines beside scrubbed packets. It names no players: those of 0.6 stay in snapshots.
    #[must_use]
    pub fn decoder(&self) -> Decoder {
        let mut decoder = Decoder::new(self.registry);
        if !self.keep.text {
            decoder.ignore_gists();
            decoder.ignore_names();
        }
        decoder
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
