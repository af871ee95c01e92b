#![doc = include_str!("../README.md")]
//!
//! # Written
//!
//! The format is pcapng with two interfaces, the client leg and the server leg of the proxy. Times are in nanoseconds.
//! There is one packet for every received and for every sent datagram, with headers of Ethernet, IP and UDP and valid
//! checksums. Packets of the client leg are between client and listen address, packets of the server leg between the
//! proxy's socket and the server. The comment of a packet summarizes its messages and the actions on them. Missed
//! events are recorded as the drop count of the next packet, preceded by a note. Session states and notices are also
//! recorded as notes (interface statistics with a comment). A local-use option contains all other data, so that `open`
//! shows the file like the run.
//!
//! Each run is a section. A run is appended only to a recording by teetap; other files are never changed.
//!
//! The probe at the start and the exchange of tokens before a 0.7 request of the server browser are not recorded.
//!
//! # Read
//!
//! pcap and pcapng by any program: Ethernet with VLAN tags, Linux cooked (both versions), loopback, raw; IPv4 and IPv6;
//! UDP. Fragments are counted, not reassembled, since datagrams of the game fit into a packet. Memory is bounded even
//! for hostile files, and everything before a damaged part is returned.
//!
//! This crate has its own reader, because the crate `pcap-file` (3.0.0-rc.3) tolerates less damage. Its reader
//! allocates 8 MB, and reports a truncated file and a block larger than that buffer as the same error. Its parser needs
//! every block completely in memory, even blocks that are skipped here. It stops at an interface whose name is not
//! UTF-8, whose reserved field is set or that has an option of a wrong size, and at a time before 1970, and it does not
//! limit the number of interfaces. The tests read the output of this crate with `pcap-file` and with tcpdump.
//!
//! # Annotated
//!
//! [`annotate`] writes a capture of any program again, with the comments that captures of teetap have.
//!
//! # Scrubbed
//!
//! [`scrub`] writes a copy of a recording without secrets, texts of peers and addresses.

pub mod annotate;
mod encode;
mod frame;
mod index;
pub mod jsonl;
mod leg;
mod numbered;
mod observe;
pub mod own;
mod pcap;
mod pcapng;
mod playback;
pub mod reading;
pub mod recorder;
pub mod scrub;
mod source;
mod target;

pub use encode::{Encoder, Gist};
pub use index::{Index, IndexedPlace};
pub use leg::LegCapture;
pub use numbered::{NumberedError, NumberedPacket, numbered_packet};
pub use playback::{Format, Playback};
pub use recorder::{
    CompletedRecording, Destination, Encode, FileError, FlightPlan, Recorded, Recording, RecordingFile,
    Trouble,
};
pub use target::{Target, UnknownEnding};
pub use teetap_inspect::recording::{Item, ReadError, Run, Tally};
