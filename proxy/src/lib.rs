#![doc = include_str!("../README.md")]
//!
//! The crate has two halves:
//!
//! * [`session`] is the sans-IO session core, a state machine: call [`session::Hub::handle`] once per input, then
//!   [`session::Hub::poll`] until it returns `None`, then sleep until [`session::Hub::deadline`]. Time, the secret for tokens, message
//!   definitions, rules and commands are inputs, so the same inputs produce the same outputs, byte for byte.
//! * `io` (cargo feature `io`, on by default) is the only code that touches sockets and clocks.
//!
//! # Limits
//!
//! Peers and unknown senders cannot make memory or the number of sockets grow without bound. Each limit is a
//! constant beside the code that enforces it, and `docs/src/limits.md` in the repository lists all of them
//! with their consequences. A session has one socket. Beside the sockets of online sessions there are at most
//! 768 (half-open sessions: 256 for each degree of proof of the client's address), 64 (relays of the server
//! browser) and 8 (listen ports of `redirect`).
//!
//! # Datagrams that are never forwarded
//!
//! * Datagrams that a leg refuses: the token is wrong or missing, the datagram is too short, it cannot be
//!   decompressed, or, in an armed direction, its ack is outside the window. The event has a note. In
//!   identity mode a datagram with a wrong ack is forwarded with a note, and its receiver drops it as it
//!   would without the proxy. A CLOSE with a wrong ack is never forwarded.
//! * To a client of 0.6: a datagram with the mark of 0.7 (`0x04` in a connected datagram, version bits `01`
//!   in a connless one), because DDNet 16.4's client crashes on it. For the same reason a TOKEN request is not
//!   answered if a client of 0.6 plays at the sender's address.
//! * To 0.6.4 and 0.6.5: a payload of more than 1394 and 1390 bytes, which their receivers would copy past
//!   the end of a buffer.
//! * To an unproven address: more bytes than the datagram that is being answered contained.
//!
//! The proxy cannot stop a peer with the right token from sending anything, including a bad snapshot. In a session without tokens
//! (0.6.4 and fallbacks to it) any sender that uses a peer's address and guesses its ack counts as that peer.

#[cfg(feature = "io")]
pub mod hex;
#[cfg(feature = "io")]
pub mod io;
pub mod session;
pub mod words;
