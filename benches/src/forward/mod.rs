//! The plain forwarders with which teetap is compared. Each runs as its own process.
//!
//! Law: the forwarders know addresses but not the protocol, and have an upstream socket for every client, as a proxy
//! must.

mod batching;
mod minimal;
mod naive;
mod sockets;

use std::net::SocketAddr;

use anyhow::Result;
use clap::ValueEnum;

/// The kind of forwarder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// As little work as can be done with a system call for each datagram.
    Minimal,
    /// The same with many datagrams for each system call: the practical limit.
    Batching,
    /// The first version most people would write with tokio.
    Naive,
}

/// Forwards until the process is ended.
pub(crate) fn run(kind: Kind, listen: SocketAddr, target: SocketAddr) -> Result<()> {
    match kind {
        Kind::Minimal => minimal::run(listen, target),
        Kind::Batching => batching::run(listen, target),
        Kind::Naive => naive::run(listen, target),
    }
}
