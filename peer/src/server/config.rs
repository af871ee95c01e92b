//! The settings of a server.

use crate::Variant;
use crate::map::Map;
use crate::script::Script;

/// The settings of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// Secret from which tokens are derived.
    pub secret: u64,
    /// The variants that the server accepts. A client of 0.6 whose tokens are not among them is accepted without
    /// tokens if [`Variant::V6`] is, or if `challenges` is true. With [`Variant::Ddnet7`], the server accepts 0.7 as
    /// DDNet does, otherwise as Teeworlds does.
    pub variants: Vec<Variant>,
    /// True if clients without tokens must prove their address by the tick that they ack, as with
    /// `sv_allow_old_clients` of 0.6.5.
    pub challenges: bool,
    /// Maximum number of clients, 1 to 16.
    pub slots: i32,
    /// Name of the server, for clients of 0.7.
    pub name: String,
    /// Message of the day.
    pub motd: String,
    /// Map of the server.
    pub map: Map,
    /// The actions of the server at the steps of each join.
    pub script: Script,
}

/// Maximum number of clients that all variants support (0.6.5 protocol.h, `MAX_CLIENTS`).
pub(super) const MAX_CLIENTS: i32 = 16;

impl ServerConfig {
    /// Creates the settings of a server with 16 slots that accepts every variant. Its map is `dm1`, which clients
    /// cannot download.
    #[must_use]
    pub fn new(secret: u64) -> Self {
        Self {
            secret,
            variants: vec![Variant::V6, Variant::V65, Variant::Ddnet, Variant::V7],
            challenges: false,
            slots: MAX_CLIENTS,
            name: "unnamed server".to_owned(),
            motd: String::new(),
            map: Map::dm1(),
            script: Script::default(),
        }
    }
}
