#![doc = include_str!("../README.md")]
//!
//! Law: contains no socket, no clock and no randomness. Time, tokens and secrets are inputs, so equal inputs give
//! equal datagrams. The caller passes datagrams to `handle`, calls `tick` at the time that `deadline` returns, and
//! fetches outgoing datagrams from `poll_transmit` and events from `poll_event`. Bad input never makes a peer panic.
//!
//! | module | contents |
//! |---|---|
//! | `client` | [`Client`]: handshake, join, download of a map, snapshots, inputs |
//! | `server` | [`Server`]: handshakes without state, slots, a little world, its snapshots, chat |
//! | `connection` | one end of a connection: numbers, acks, resends, timeouts |
//! | `script` | [`Script`]: the actions of a peer in place of a [`Step`] of a join |
//! | `map` | [`Map`]: the file that a server announces and serves in parts |
//! | `message` | [`Message`] and [`Delivered`]: messages by name, of the built-in definitions |
//!
//! The peers are not a game: nothing collides, no map is read, and the prediction is a constant. They also deviate
//! from the releases if scripts need a more robust peer: a connection has the limits of Teeworlds (10 s) in every
//! variant, tokens do not change with time, a repeated ACCEPT of DDNet's 0.6 does not reset a connection, and a token
//! is checked before the ack.

#![warn(missing_docs)]

mod client;
mod connection;
mod map;
mod message;
mod script;
mod server;
#[cfg(test)]
mod tests;
mod token;
mod variant;
mod world;

pub use client::{Client, ClientConfig, ClientEvent, End, Input};
pub use connection::{Counters, SendError};
pub use map::{Downloaded, Map, MapFile, MapSizeError};
pub use message::{Delivered, Message, MessageError, Reading};
pub use script::{Action, Script, Step};
pub use server::{ClientState, ClientView, Server, ServerConfig, ServerEvent};
pub use token::token;
pub use variant::Variant;
