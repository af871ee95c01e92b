//! Messages of real peers, decoded by teetap and by an independent decoder: every field must be equal.
//!
//! Covers the recorded sessions, and live games of real servers and clients through the built binary.

mod captures;
mod compare;
mod distinct;
mod known;
mod live;
mod oracle;
mod output;
mod tokens;
mod vectors;
