//! Scrubs recordings so that they can be shown to others: removes secrets, texts of peers and addresses.
//!
//! # What is replaced
//!
//! * Every value that the definitions mark as secret (passwords, rcon commands, codes), by one `*` for each character.
//! * Every text that a peer wrote (chat, broadcasts, votes, names of players, clans and servers, lines of the remote
//!   console, reasons of CLOSE), by one `*` for each character, unless [`Keep::text`] is set. Texts that a program or
//!   its installation determines stay: versions, names of maps and game types, commands with their help.
//! * Every IP address and every MAC address, by a placeholder that is the same throughout the file: 192.0.2.1 to
//!   192.0.2.254, then 240.0.0.1 and so on; 2001:db8::1 and so on; 02:00:00:00:00:01 and so on. Ports stay, and so do
//!   loopback addresses, which are the same everywhere.
//! * Bytes without a definition: bytes after the last known field, and unknown messages. They become `*`, unless
//!   [`Keep::unknown`] is set.
//! * Texts of rules and of the user: rules, their names, marks and reports, reasons of `close`, expressions, command
//!   lines and paths, unless [`Keep::text`] is set. Log lines of the program stay if they are one of its sentences.
//!   Secrets that the traffic shows are replaced in all of these texts, too.
//! * Text outside the packets: comments, names of hosts, interfaces and programs. None of it is copied. Captures by
//!   teetap get new comments.
//!
//! # What is omitted
//!
//! Packets whose secrets cannot be found: other protocols, parts of fragmented packets, truncated datagrams, and
//! datagrams that cannot be read. They are counted ([`Scrubbed`]).
//!
//! # What stays
//!
//! Every message with its position and length, sequence numbers, tokens (they end with their session, and a report
//! about tokens needs them), times, and snapshots. Snapshots of 0.6 contain names of players as ints, which are part of
//! a checksum. A compressed packet with a replacement is compressed again and may have another length, to which the
//! headers around it are adapted. Checksums stay valid, wrong or unused, as they were.
//!
//! Law: the recording is streamed, and the output contains only bytes that were decoded and encoded again; the file is
//! never copied and patched. Scrubbing a scrubbed recording changes nothing.

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

/// Placeholder of a byte. As an int it ends with this byte, so that a reader of ints never reads beyond it.
const PLACEHOLDER: u8 = b'*';

/// Bytes that stay on request. By default all of them are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Keep {
    /// Bytes without a definition.
    pub unknown: bool,
    /// Texts of peers, except for secrets in them.
    pub text: bool,
}

/// Counts of replacements and of omitted packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scrubbed {
    /// Datagrams in the output. In captures of teetap each counts once as received and once per sent copy.
    pub packets: u64,
    /// Values that the definitions mark as secret.
    pub secrets: u64,
    /// IP addresses that were replaced.
    pub addresses: u64,
    /// Texts of peers, rules and the user.
    pub texts: u64,
    /// Messages that are unknown or only partly known.
    pub unknown: u64,
    /// Packets that are not UDP.
    pub other: u64,
    /// UDP datagrams of other protocols.
    pub foreign: u64,
    /// Parts of fragmented packets.
    pub fragments: u64,
    /// Packets with truncated or inconsistent headers.
    pub broken: u64,
    /// Datagrams that were truncated by the recording.
    pub cut: u64,
    /// Datagrams that cannot be read, or belong to no event.
    pub unreadable: u64,
    /// Unreadable datagrams of recordings written by teetap, which become `*`.
    pub blanked: u64,
    /// Packets omitted because there were too many addresses.
    pub crowded: u64,
}

impl Scrubbed {
    /// Returns the number of packets omitted from the output.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.other + self.foreign + self.fragments + self.broken + self.cut + self.unreadable + self.crowded
    }
}

/// Replaces secrets, texts and addresses in recordings.
#[derive(Debug)]
pub struct Scrubber {
    registry: &'static Registry,
    keep: Keep,
    addresses: Addresses,
    /// Names of the runs' servers.
    hosts: Vec<Box<str>>,
    secrets: Secrets,
    tally: Scrubbed,
    decoded: Decoded,
    /// Holes in the current message.
    holes: Vec<hole::Hole>,
    scratch: Scratch,
    clear: Vec<u8>,
}

impl Scrubber {
    /// Returns a scrubber with these definitions.
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

    /// Returns a decoder for the comments of scrubbed packets. It shows no player names, since the snapshots of 0.6
    /// still contain them.
    #[must_use]
    fn decoder(&self) -> Decoder {
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
