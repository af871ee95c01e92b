//! The kinds of servers and clients, for scenarios that run with several.

use std::net::SocketAddr;

use anyhow::Result;

use super::{DdnetClient, DdnetServer, NpmBot, Player, Server, TeeworldsClient, TeeworldsServer};

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Game {
    /// DDNet 16.4.
    Ddnet,
    /// Teeworlds 0.7.5.
    Seven,
}

impl Game {
    /// Starts a server with `settings` (console lines) after the shared settings.
    pub fn start(self, settings: &[&str]) -> Result<Box<dyn Server>> {
        Ok(match self {
            Self::Ddnet => Box::new(DdnetServer::start(settings)?),
            Self::Seven => Box::new(TeeworldsServer::start(settings)?),
        })
    }
}

/// A kind of client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// DDNet 16.4, in 0.6.
    Ddnet,
    /// The npm package, in DDNet's 0.6.
    Npm,
    /// Teeworlds 0.7.5.
    Seven,
    /// Teeworlds 0.7.5 without a display; it cannot act.
    Offscreen,
}

impl Client {
    /// Starts a client that connects to `server`.
    pub fn start(self, name: &str, server: SocketAddr) -> Result<Box<dyn Player>> {
        Ok(match self {
            Self::Ddnet => Box::new(DdnetClient::start(name, server)?),
            Self::Npm => Box::new(NpmBot::start(name, server)?),
            Self::Seven => Box::new(TeeworldsClient::on_display(name, server)?),
            Self::Offscreen => Box::new(TeeworldsClient::offscreen(name, server)?),
        })
    }

    /// Starts a client and waits until it is in the game.
    pub fn join(self, name: &str, server: SocketAddr) -> Result<Box<dyn Player>> {
        let player = self.start(name, server)?;
        player.wait_joined()?;
        Ok(player)
    }

    /// Returns the `proto` of the client's sessions.
    pub fn proto(self) -> &'static str {
        match self {
            Self::Ddnet | Self::Npm => "ddnet",
            Self::Seven | Self::Offscreen => "0.7",
        }
    }
}
