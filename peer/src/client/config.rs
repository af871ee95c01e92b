//! The settings of a client.

use std::time::Duration;

use teetap_wire::Token;

use crate::Variant;
use crate::script::Script;

/// Interval of inputs while the controls do not change (0.6.5 client.cpp, `Update`).
const INPUT: Duration = Duration::from_millis(40);

/// The settings of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientConfig {
    /// Variant of the client. A client of 0.6 continues without tokens if the server has none.
    pub variant: Variant,
    /// The client's own token, in the variants that have one. [`token`](crate::token) derives one.
    pub token: Token,
    /// Name of the player, up to 15 bytes.
    pub name: String,
    /// Clan of the player, up to 11 bytes.
    pub clan: String,
    /// Password for the server.
    pub password: String,
    /// DDNet: the release, as a number and as a text.
    pub release: (i32, String),
    /// Names of the maps that the client has. It downloads other maps.
    pub maps: Vec<String>,
    /// Interval of inputs.
    pub input_every: Duration,
    /// Maximum duration of the handshake. `None` if the client never gives up.
    pub patience: Option<Duration>,
    /// The actions of the client at the steps of its join.
    pub script: Script,
}

impl ClientConfig {
    /// Creates the settings of a client that has the map `dm1` and behaves as a game.
    pub fn new(variant: Variant, token: Token, name: impl Into<String>) -> Self {
        Self {
            variant,
            token,
            name: name.into(),
            clan: String::new(),
            password: String::new(),
            release: (16_040, "DDNet 16.4".to_owned()),
            maps: vec!["dm1".to_owned()],
            input_every: INPUT,
            patience: match variant {
                // 0.7.5 waits for 5 s for the token and then for 10 s, DDNet for `conn_timeout`. 0.6 never gives up.
                Variant::V7 => Some(Duration::from_secs(15)),
                Variant::Ddnet7 => Some(Duration::from_secs(100)),
                _ => None,
            },
            script: Script::default(),
        }
    }
}
