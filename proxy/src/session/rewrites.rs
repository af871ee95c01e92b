//! Changes that the proxy itself makes to messages, without any rule.
//!
//! Law: a rewrite changes only the bytes of a message, never its sequence number, so it needs no renumbering.
//! Every copy of a message is rewritten to the same bytes.

use teetap_wire::{Proto, def::Registry};

use super::{
    redirect::{Listeners, redirected},
    resync::without_ack,
};

/// The definitions and sockets that the changes depend on.
#[derive(Clone, Copy)]
pub(crate) struct RewriteContext<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) listeners: &'a Listeners,
}

/// The kind of change to the messages of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rewrites {
    /// Nothing.
    None,
    /// Redirects name listen sockets of the proxy instead of the server's ports.
    Redirects,
    /// Inputs ack no snapshot.
    Acks,
}

impl Rewrites {
    /// Returns the rewritten message; `None` if it stays as it is.
    pub(crate) fn edit(self, proto: Proto, data: &[u8], means: RewriteContext<'_>) -> Option<Vec<u8>> {
        match self {
            Self::None => None,
            Self::Redirects => redirected(proto, data, means.listeners),
            Self::Acks => without_ack(means.registry, proto, data),
        }
    }
}
