//! Peers of the Teeworlds and DDNet network protocol, for scripts.

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
