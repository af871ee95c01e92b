//! Peers of the Teeworlds and DDNet network protocol, for scripts.
//!
//! Law: no socket, no clock, no randomness.

pub mod endpoint;
pub mod message;
#[cfg(test)]
mod tests;
pub mod world;
