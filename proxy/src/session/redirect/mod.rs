//! Redirects: a client that the server sends to another port stays behind the proxy.
//!
//! DDNet's `redirect` sends a client to another port of the host that it dialled, which is the proxy's. So that the
//! client stays behind it, the port is replaced: by that of the listen socket in front of the server that was meant.
//! Servers redirect to their own port too, for a client to connect again.

mod listeners;
mod message;
mod waiting;

pub(crate) use listeners::Listeners;
pub(crate) use message::{may_be_redirect, redirected, redirects};
pub(crate) use waiting::{Resolved, Waiting};

#[cfg(test)]
mod tests;
