//! Captures: recordings of datagrams, written for other programs to read, and read whoever wrote them.
//!
//! # Written
//!
//! pcapng with two interfaces, the client leg and the server leg of the proxy: times in nanoseconds, Ethernet, IP and UDP
//! with right checksums, one packet for every datagram that was received and one for every one that was sent. On the client leg
//! they are between client and listen address, on the server leg between our own socket and the server. The comment of a
//! packet says what it was and what was done with it. Missed events are a drop count of the next packet and a note before it;
//! states of sessions and notices are notes too (blocks of interface statistics with a comment). What only teetap can read is
//! in an option of its own, so that the file is shown again as the run was.
//!
//! Each run is a section; a file of ours is gone on with, one of anybody else's is never touched.
//!
//! What is not in it: the probe at the start, and the exchange of tokens that a 0.7 request of the server browser needs
//! towards the server.
//!
//! # Read
//!
//! pcap and pcapng of anybody: Ethernet with VLAN tags, Linux cooked (both), loopback, raw; IPv4 and IPv6; UDP. Parts of
//! fragmented packets are counted, not put together: what the game sends fits a packet. Hostile files cost no memory, and
//! what comes before any damage is given out.
//!
//! Files are read by hand, not with the crate `pcap-file` (3.0.0-rc.3), because it does not stand the same damage. Its reader
//! allocates 8 MB, reports a file that breaks off and a block larger than that buffer as the same error, and its parser alone
//! needs every block whole in memory, also those that are skipped here. An interface whose name is not UTF-8, whose reserved
//! field is set or that has an option of a wrong size ends the reading, and so does a time before 1970; the number of
//! interfaces is not bounded. The tests read with that crate and with tcpdump what is written here.
//!
//! # Made fit to be shown
//!
//! [`scrub`] writes a recording once more, without secrets and addresses.

mod encode;
mod frame;
mod gist;
pub mod jsonl;
pub mod observe;
pub mod own;
mod pcap;
mod pcapng;
mod playback;
pub mod recorder;
pub mod scrub;
mod source;
mod target;

pub use encode::{Encoder, Gist};
pub use playback::{Format, Playback};
pub use recorder::{Done, Encode, FileError, FindEnd, Recorded, Recording, RecordingFile, end_of_pcapng};
pub use target::Target;
pub use teetap_inspect::recording::{Item, ReadError, Run, Tally};
