//! A demo: an embedded server and two bots, a 0.7 bot and a DDNet 0.6 bot, that play through a proxy on loopback, so
//! that the proxy can be seen at work with nothing installed.
//!
//! [`run()`] runs the whole demo on tokio. [`teetap_peer`] implements the peers; this module adds their play, their
//! sockets and their clock.

mod bot;
mod player;
mod report;
mod run;
mod server;

#[cfg(test)]
mod tests;

pub use report::Report;
pub use run::run;
