//! The result of a demo: the reports of both bots and of the server, and the failures in them.

use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use teetap_peer::{ClientView, Counters};
use teetap_wire::{Proto, Token};

/// The reports of the bots and the server of a demo.
#[derive(Debug, Clone)]
pub struct Report {
    pub(super) bots: Vec<BotReport>,
    /// All players that the server saw.
    pub(super) players: Vec<PlayerReport>,
}

/// The report of a bot.
#[derive(Debug, Clone)]
pub(super) struct BotReport {
    pub(super) name: String,
    pub(super) proto: Proto,
    /// The server's token as the bot received it; its datagrams carry this token.
    pub(super) token: Option<Token>,
    /// True once the bot was in the game and received snapshots.
    pub(super) joined: bool,
    /// Lines of chat that the bot sent.
    pub(super) chat_sent: Vec<String>,
    /// Lines of chat of all players, including the bot, in order.
    pub(super) chat_received: Vec<String>,
    /// Number of snapshots that were complete and had the right crc.
    pub(super) snapshots: u64,
    /// Number of snapshots that could not be read or had a wrong crc.
    pub(super) damaged: u64,
    /// Number of snapshots whose base the bot no longer had.
    pub(super) baseless: u64,
    /// Number of inputs sent.
    pub(super) inputs: u64,
    /// Number of inputs whose timing the server reported.
    pub(super) timings: u64,
    pub(super) pings: u64,
    pub(super) pongs: u64,
    /// Longest time from a ping to its answer.
    pub(super) slowest_pong: Duration,
    pub(super) counters: Counters,
    /// Reason for which the bot's connection ended.
    pub(super) ended: String,
    /// True if the bot ended because its playing time was over.
    pub(super) finished: bool,
}

/// The report of the server about a player.
#[derive(Debug, Clone)]
pub(super) struct PlayerReport {
    pub(super) name: String,
    pub(super) proto: Proto,
    /// Source address of the player's datagrams.
    pub(super) address: SocketAddr,
    /// Token that the server gave the player.
    pub(super) given: Token,
    /// Number of inputs received.
    pub(super) inputs: u64,
    pub(super) counters: Counters,
    /// Reason why the player left; `None` if the player is still connected.
    pub(super) left: Option<String>,
}

impl BotReport {
    /// Returns the report of a bot that has seen nothing yet.
    pub(super) fn new(proto: Proto, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            proto,
            token: None,
            joined: false,
            chat_sent: Vec::new(),
            chat_received: Vec::new(),
            snapshots: 0,
            damaged: 0,
            baseless: 0,
            inputs: 0,
            timings: 0,
            pings: 0,
            pongs: 0,
            slowest_pong: Duration::ZERO,
            counters: Counters::default(),
            ended: String::new(),
            finished: false,
        }
    }
}

impl PlayerReport {
    /// Returns the report about a client; `left` is the reason why it left.
    pub(super) fn new(client: ClientView, left: Option<String>) -> Self {
        Self {
            name: client.name,
            proto: client.variant.proto(),
            address: client.address,
            given: client.token,
            inputs: client.inputs,
            counters: client.counters,
            left,
        }
    }
}

impl Report {
    /// Returns the failures, one line each; empty if there are none. `proxied` is true if a proxy with its own tokens
    /// was between the bots and the server, so that the bots and the server must have seen different tokens.
    #[must_use]
    pub fn failures(&self, proxied: bool) -> Vec<String> {
        let mut failures = Vec::new();
        for bot in &self.bots {
            let mut fail = |text: String| failures.push(format!("{}: {text}", bot.name));
            if !bot.joined {
                fail(format!("did not join ({})", bot.ended));
                continue;
            }
            if !bot.finished {
                fail(format!("ended early: {}", bot.ended));
            }
            if bot.damaged > 0 {
                fail(format!("{} damaged snapshots", bot.damaged));
            }
            if bot.timings == 0 {
                fail("no input was answered".to_owned());
            }
            if bot.pongs == 0 {
                fail("no ping was answered".to_owned());
            }
            for other in &self.bots {
                let received = bot
                    .chat_received
                    .iter()
                    .filter(|line| other.chat_sent.contains(line));
                if other.chat_sent.is_empty() || !received.eq(&other.chat_sent) {
                    fail(format!(
                        "did not receive the chat of {}, each line once and in order",
                        other.name
                    ));
                }
            }
            let mut same = self.players.iter().filter(|player| player.name == bot.name);
            let (Some(player), None) = (same.next(), same.next()) else {
                fail("the server did not see exactly one player of this name".to_owned());
                continue;
            };
            if player.left.as_deref() != Some(bot.ended.as_str()) {
                fail(format!(
                    "the server recorded the quit \"{}\" as {:?}",
                    bot.ended, player.left
                ));
            }
            if proxied && bot.token == Some(player.given) {
                fail("sends the server's own token: no proxy replaced it".to_owned());
            }
        }
        failures
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for bot in &self.bots {
            let token = bot
                .token
                .map_or_else(|| "none".to_owned(), |token| token.to_string());
            writeln!(
                f,
                "{} ({}): {}, token {token}, {} snapshots ({} damaged), {} of {} inputs answered, {} of {} pings (slowest {:.1} ms)",
                bot.name,
                bot.proto,
                if bot.joined { "joined" } else { "did not join" },
                bot.snapshots,
                bot.damaged,
                bot.timings,
                bot.inputs,
                bot.pongs,
                bot.pings,
                bot.slowest_pong.as_secs_f64() * 1000.0,
            )?;
            writeln!(
                f,
                "  sent {} lines of chat, received {}; {} chunks resent, {} gaps; ended: {}",
                bot.chat_sent.len(),
                bot.chat_received.len(),
                bot.counters.resent,
                bot.counters.gaps,
                bot.ended
            )?;
        }
        for player in &self.players {
            writeln!(
                f,
                "server: {} ({}) from {}, token {}, {} inputs, {} chunks resent, {}",
                player.name,
                player.proto,
                player.address,
                player.given,
                player.inputs,
                player.counters.resent,
                player
                    .left
                    .as_deref()
                    .map_or_else(|| "still there".to_owned(), |why| format!("left: {why}")),
            )?;
        }
        Ok(())
    }
}
