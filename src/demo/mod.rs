//! `teetap demo`: an embedded server and two bots, one of 0.7 and one of DDNet's 0.6, that play through the proxy on
//! loopback, so that the main job is seen working with nothing installed.
//!
//! [`run()`] is the whole of it; [`run::DemoServer`] and [`run::play`] are its halves. The peers are those of
//! [`teetap_peer`]; here is what they play ([`bot`]), and their sockets and time ([`mod@run`]).

mod bot;
mod player;
mod report;
mod run;
mod server;

#[cfg(test)]
mod tests;

pub(crate) use report::Report;
pub(crate) use run::run;
