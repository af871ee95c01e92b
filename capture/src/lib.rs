//! Captures: recordings of datagrams, written for other programs to read, and read from any program.
//!
//! # Written
//!
//! pcapng with two interfaces, the client leg and the server leg of the proxy: times in nanoseconds, Ethernet, IP and
//! UDP with right checksums, one packet for every received datagram and one for every sent one. On the client leg
//! they are between client and listen address, on the server leg between the proxy's socket and the server. The
//! comment of a packet summarizes its messages and the actions on them. Missed events are a drop count of the next
//! packet and a note before it; session states and notices are notes too (interface statistics with a comment). A
//! local-use option holds the rest, so that `open` shows the file as the run was.
//!
//! Each run is a section. A recording of teetap is appended to; any other file is never changed.
//!
//! The probe at the start and the exchange of tokens before a 0.7 request of the server browser are not recorded.
//!
//! # Read
//!
//! pcap and pcapng of any program: Ethernet with VLAN tags, Linux cooked (both), loopback, raw; IPv4 and IPv6; UDP.
//! Fragments are counted, not reassembled: datagrams of the game fit a packet. Hostile files cost no memory, and
//! everything before a damage is returned.
//!
//! Files are read by hand, not with the crate `pcap-file` (3.0.0-rc.3), because it does not stand the same damage. Its reader
//! allocates 8 MB, reports a file that breaks off and a block larger than that buffer as the same error, and its parser alone
//! needs every block whole in memory, also those that are skipped here. An interface whose name is not UTF-8, whose reserved
//! field is set or that has an option of a wrong size ends the reading, and so does a time before 1970; the number of
//! interfaces is not bounded. The tests read with that crate and with tcpdump what is written here.
//!
//! # Scrubbed
//!
//! [`scrub`] writes a copy of a recording without secrets, texts of peers and addresses.

mod encode;
mod frame;
mod index;
pub mod jsonl;
pub mod observe;
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
pub use index::{Index, Place};
pub use playback::{Format, Playback};
pub use recorder::{Done, Encode, FileError, FindEnd, Recorded, Recording, RecordingFile, end_of_pcapng};
pub use target::Target;
pub use teetap_inspect::recording::{Item, ReadError, Run, Tally};
