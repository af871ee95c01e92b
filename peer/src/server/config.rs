//! The settings of a server.

use crate::Variant;
use crate::map::Map;
use crate::script::Script;

/// The settings of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// The secret that its tokens are made of.
    pub secret: u64,
    /// The variants that it serves. A client with tokens of another 0.6 is served without tokens, if those are served.
    /// With [`Variant::Ddnet7`] it accepts 0.7 as DDNet does, else as Teeworlds.
    pub variants: Vec<Variant>,
    /// True if clients without tokens have to prove their address by the tick that they ack, as with
    /// `sv_allow_old_clients` of 0.6.5.
    pub challenges: bool,
    /// Maximum number of clients, 1 to 16.
    pub slots: i32,
    /// Name, for clients of 0.7.
    pub name: String,
    /// Message of the day.
    pub motd: String,
    /// The map.
    pub map: Map,
    /// The steps of joins at which the server does something else.
    pub script: Script,
}

/// Maximum number of clients: all variants can name 16 (0.6.5 protocol.h, `MAX_CLIENTS`).
pub(super) const MAX_CLIENTS: i32 = 16;

impl ServerConfig {
    /// Creates the settings of a server of 16 clients that serves every variant, with the map `dm1`, which it does not serve.
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
