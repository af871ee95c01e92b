//! `teetap demo`: an embedded server and two bots, one of 0.7 and one of DDNet's 0.6, that play through the proxy on
//! loopback, so that the main job is seen working with nothing installed.
//!
//! [`run()`] is the whole of it; [`run::DemoServer`] and [`run::play`] are its halves. The peers ([`endpoint`], [`server`],
//! [`bot`]) have no sockets and no clock. They are written against the protocol, not against the proxy: they share
//! with it only the wire crate.

mod bot;

mod persona;
mod report;
mod run;
mod server;
mod slot;

#[cfg(test)]
mod tests;

pub(crate) use report::Report;
pub(crate) use run::run;
