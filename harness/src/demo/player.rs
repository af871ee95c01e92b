//! The two players of the demo.

use std::time::Duration;

use teetap_peer::Variant;

/// The protocol and habits of a bot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Player {
    pub(super) variant: Variant,
    pub(super) name: &'static str,
    /// Reason with which the bot quits.
    pub(super) farewell: &'static str,
    /// Time between two inputs: 20 to 40 ms.
    pub(super) input_every: Duration,
}

/// The two players of the demo.
pub(super) const PLAYERS: [Player; 2] = [
    Player {
        variant: Variant::V7,
        name: "seven",
        farewell: "seven has seen enough",
        input_every: Duration::from_millis(40),
    },
    Player {
        variant: Variant::Ddnet,
        name: "ddnet",
        farewell: "ddnet goes to sleep",
        input_every: Duration::from_millis(20),
    },
];
