//! The changes that the proxy itself makes to messages, without any rule.
//!
//! Law: only bytes of a message, never its number, so nothing has to be renumbered for it, and every copy of a message
//! is rewritten to the same bytes.

use teetap_wire::{Proto, def::Registry};

use super::{
    redirect::{Listeners, redirected},
    resync::without_ack,
};

/// The definitions and sockets that changes depend on.
#[derive(Clone, Copy)]
pub(crate) struct Means<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) listeners: &'a Listeners,
}

/// The change to a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rewrites {
    /// Nothing.
    None,
    /// Redirects name listen sockets of the proxy.
    Redirects,
    /// Inputs say that the client has no snapshot.
    Acks,
}

impl Rewrites {
    /// The message as it is to be; `None` = it stays as it is.
    pub(crate) fn edit(self, proto: Proto, data: &[u8], means: Means<'_>) -> Option<Vec<u8>> {
        match self {
            Self::None => None,
            Self::Redirects => redirected(proto, data, means.listeners),
            Self::Acks => without_ack(means.registry, proto, data),
        }
    }
}
