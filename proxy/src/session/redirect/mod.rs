//! Redirects: a client that the server sends to another port stays connected through the proxy.
//!
//! DDNet's `redirect` sends a client to another port of the host to which it connected, and that is the
//! proxy's host. So the proxy replaces the port with the port of its own listen socket for the intended
//! server. Servers also redirect to their own port, to make a client connect again.

mod listeners;
mod message;
mod waiting;

pub(crate) use listeners::Listeners;
pub(crate) use message::{may_be_redirect, redirected, redirects};
pub(crate) use waiting::{PendingRedirect, Resolved};

#[cfg(test)]
mod tests;
