//! A demo: an embedded server and two bots, one of 0.7 and one of DDNet's 0.6, that play through a proxy on loopback, so that the
//! main job is seen working with nothing installed.
//!
//! [`run()`] is the whole of it, on tokio. The peers are those of [`teetap_peer`]; here is what they play, and their sockets and
//! time.

mod bot;
mod player;
mod report;
mod run;
mod server;

#[cfg(test)]
mod tests;

pub use report::Report;
pub use run::run;
