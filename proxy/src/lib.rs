//! The session core of teetap, and the code that drives it.
//!
//! The crate has two halves:
//!
//! * [`session`] is the sans-IO session core. It is driven like a state machine: [`session::Hub::handle`] once for
//!   everything that happened, then [`session::Hub::poll`] until it gives nothing more, then sleep until
//!   [`session::Hub::deadline`]. Time, the secret that tokens are made of, message definitions, rules and
//!   commands are inputs, so the same inputs give the same outputs, byte for byte.
//! * `io` (cargo feature `io`, on by default) is the only code that touches sockets and clocks.
//!
//! # Limits
//!
//! Memory and sockets are bounded, whatever peers and unknown senders send:
//!
//! | what | at most | then |
//! |---|---|---|
//! | sessions that are not online: joining, refused, just closed | 256, and 32 of one address (loopback exempt) | those that linger after their end give way, then the oldest |
//! | sessions online | as many as the server lets in | |
//! | a client that does not come, or stops repeating its CONNECT | 10 s, 5 s | closed |
//! | a client that sends nothing | 120 s | closed |
//! | candidates beside a session | 1 | the newer one stays |
//! | TOKEN requests of 0.7 | no session and no socket; 256 tokens remembered, 4 of one address | the oldest is forgotten |
//! | relays of the server browser | 64, one socket each, 10 s idle | the idlest is closed |
//! | listen sockets for the ports that `redirect` names | 8 beside the first, kept to the end | the message passes as it is, with a warning |
//! | datagrams that wait for such a socket | 1 of a session | lost, as on a bad line |
//! | requests that wait for a server's token | 4 of one relay, 5 s | the oldest is forgotten |
//! | unacked messages towards a peer, waiting ones | 400; 300 or 24 KiB | not acked to their sender, which sends them again |
//! | waiting ones with those that rules made | 1200 or 96 KiB | what rules make is left out |
//! | a datagram | 1400 bytes of it are read, sent on and kept in events | the rest is cut off, as no receiver would see it |
//! | a reason in CLOSE | 1024 bytes | cut off |
//! | pairs of addresses in a capture that is shown | 4096, 120 s idle | the idlest is closed |
//! | datagrams of a capture that wait until it is clear what they are | 4096, 5 s | what is likely is taken |
//! | a block or packet of a capture | 4 MiB | the capture is damaged |
//! | events on their way to watchers | 64 MiB | dropped and counted |
//! | events kept for watchers | 16 384 | the oldest are dropped and counted |
//! | snapshots that a watcher knows | 2 MiB of a session, 128 MiB and 4096 sessions | the oldest; the session that was silent longest, whose next ones are of an unknown base |
//! | snapshots that rules know, if a condition needs them | 2 MiB of a session that is online | the oldest |
//!
//! One session has one socket, so there are never more than 256 + 64 + 8 beside those of players.
//!
//! # Datagrams that are never sent on
//!
//! * Datagrams that a leg refuses: a wrong or missing token, too short, cannot be decompressed, and in
//!   renumbered directions an ack outside the window. The event has a note. Where a direction is untouched a wrong ack
//!   passes with a note and the peer refuses it, as without the proxy; CLOSE with a wrong ack never passes.
//! * To a client of 0.6: the mark of 0.7 (`0x04` in a connected datagram, version bits `01` in a connless one). DDNet
//!   16.4's client crashes on it. A TOKEN request in the name of a client that plays in 0.6 is not answered for the same
//!   reason.
//! * To 0.6.4 and 0.6.5: a payload that their receivers would copy past the end of a buffer (more than 1394 and 1390
//!   bytes).
//! * To an address that has not proved itself: more than came in with the one datagram that is answered, its own or the
//!   server's.
//!
//! The proxy cannot stop a peer with the right token from sending anything, a bad snapshot included; and without
//! tokens (0.6.4, fallbacks to it) any sender with a peer's address and a guess of its ack counts as that peer.

pub mod session;
pub mod words;

#[cfg(feature = "io")]
pub mod io;
