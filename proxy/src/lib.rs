//! The core of teetap.
//!
//! Two halves with one border between them:
//!
//! * [`session`] is the sans-IO session core. It is driven like a state machine: [`session::Hub::handle`] once for
//!   everything that happened, then [`session::Hub::poll`] until it gives nothing more, then sleep until
//!   [`session::Hub::deadline`]. Time, the secret that tokens are made of, rules and commands are inputs, so the
//!   same inputs give the same outputs, byte for byte.
//! * `io` (cargo feature `io`, on by default) is the only code that touches sockets and clocks.

pub mod session;

#[cfg(feature = "io")]
pub mod io;
