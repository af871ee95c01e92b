//! A bot that plays: a client that walks, talks, pings, and quits with a reason.
//!
//! Law: the bot uses no socket and no clock. It judges nothing; it only reports the messages that it received. It
//! starts to talk when it sees another player, so that every line can be received, and stops a quarter of its playing
//! time before it quits.

use std::time::Duration;

use teetap_peer::{Action, Client, ClientConfig, ClientEvent, Delivered, End, Input, Script, Step, token};
use teetap_wire::Dir;
use teetap_wire::snap::Fate;

use super::player::Player;
use super::report::BotReport;

/// Maximum wait for the handshake, and for another player.
const PATIENCE: Duration = Duration::from_secs(15);
/// Time between two lines of chat.
const TALK: Duration = Duration::from_millis(400);
/// Time between two pings.
const PING: Duration = Duration::from_secs(1);

/// A client that plays, with its timers and its report.
#[derive(Debug)]
pub(super) struct Bot {
    player: Player,
    client: Client,
    /// Time to play after it has met another player.
    duration: Duration,
    started: Option<Duration>,
    met: Option<Duration>,
    talk_at: Duration,
    ping_at: Duration,
    pinged: Option<Duration>,
    report: BotReport,
}

impl Bot {
    /// Returns a bot that has sent nothing yet. Its token is derived from the secret.
    pub(super) fn new(player: Player, secret: u64, duration: Duration) -> Self {
        let mut config = ClientConfig::new(player.variant, token(secret, player.name), player.name);
        "demo".clone_into(&mut config.clan);
        config.release.1.push_str(", demo");
        config.input_every = player.input_every;
        // The bot has its own timeout, and only the map of the demo.
        config.patience = None;
        config.script = Script::new().at(Step::RequestMapData, Action::Stop);
        Self {
            player,
            client: Client::new(config),
            duration,
            started: None,
            met: None,
            talk_at: Duration::ZERO,
            ping_at: Duration::ZERO,
            pinged: None,
            report: BotReport::new(player.variant.proto(), player.name),
        }
    }

    /// Returns true if the bot only has its last datagrams to send.
    pub(super) fn is_over(&self) -> bool {
        self.client.is_over()
    }

    /// Returns the report of the bot so far.
    pub(super) fn report(&self) -> &BotReport {
        &self.report
    }

    /// Returns the next datagram to send.
    pub(super) fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.client.poll_transmit()
    }

    /// Handles a datagram of the server.
    pub(super) fn handle(&mut self, now: Duration, datagram: &[u8]) {
        self.client.handle(now, datagram);
        self.events(now);
    }

    /// Runs timers and plays.
    pub(super) fn tick(&mut self, now: Duration) {
        let started = *self.started.get_or_insert(now);
        let late = now.saturating_sub(started) > PATIENCE;
        if late && self.report.token.is_none() {
            return self.quit(now, "no answer from the server", false);
        }
        let direction = if now.as_secs().is_multiple_of(2) { 1 } else { -1 };
        self.client.set_input(Input {
            direction,
            target: (200 * direction, -40),
            ..Input::default()
        });
        self.client.tick(now);
        self.events(now);
        if late && self.met.is_none() {
            self.quit(now, "no other player came", false);
        } else {
            self.play(now);
        }
        self.events(now);
    }

    fn events(&mut self, now: Duration) {
        while let Some(event) = self.client.poll_event() {
            match event {
                ClientEvent::Online => self.report.token = self.client.token(),
                ClientEvent::Message(message) => self.message(now, &message),
                ClientEvent::Snapshot { fate, .. } => self.snapshot(now, fate),
                ClientEvent::Stopped(_) => self.quit(now, "unknown map", false),
                ClientEvent::Ended(end) => self.end(end),
                ClientEvent::Map(_) | ClientEvent::Joined => {}
            }
        }
        self.report.counters = self.client.counters();
        self.report.inputs = self.client.inputs();
    }

    fn message(&mut self, now: Duration, message: &Delivered) {
        let Some(message) = message.read(self.player.variant.proto(), Dir::S2c) else {
            return;
        };
        match message.name() {
            "input_timing" => self.report.timings += 1,
            "ping_reply" => {
                if let Some(sent) = self.pinged.take() {
                    self.report.pongs += 1;
                    self.report.slowest_pong = self.report.slowest_pong.max(now.saturating_sub(sent));
                }
            }
            // Client -1 is the server.
            "sv_chat" if message.int("client_id").is_some_and(|client| client >= 0) => {
                self.report.chat_received.extend(message.text("message"));
            }
            _ => {}
        }
    }

    fn snapshot(&mut self, now: Duration, fate: Fate) {
        match fate {
            Fate::Kept => {}
            Fate::Late | Fate::Again => return,
            Fate::NoBase => {
                self.report.baseless += 1;
                return;
            }
            Fate::Broken | Fate::BadCrc => {
                self.report.damaged += 1;
                return;
            }
        }
        if self.met.is_none() && self.client.players() > 1 {
            self.met = Some(now);
            self.talk_at = now;
        }
        self.report.snapshots += 1;
        self.report.joined = self.report.snapshots >= 2;
    }

    fn play(&mut self, now: Duration) {
        if !self.report.joined || self.is_over() {
            return;
        }
        if now >= self.ping_at {
            self.ping_at = now + PING;
            self.report.pings += 1;
            self.pinged = Some(now);
            // If the connection ends here, an event states the reason.
            let _ended = self.client.ping(now);
        }
        let Some(met) = self.met else { return };
        let played = now.saturating_sub(met);
        if played >= self.duration {
            self.quit(now, self.player.farewell, true);
        } else if now >= self.talk_at && played < self.duration * 3 / 4 {
            self.talk_at = now + TALK;
            let line = format!("line {} of {}", self.report.chat_sent.len() + 1, self.player.name);
            let _ended = self.client.say(now, &line);
            self.report.chat_sent.push(line);
        }
    }

    fn quit(&mut self, now: Duration, reason: &str, finished: bool) {
        if self.is_over() {
            return;
        }
        self.client.close(now, reason);
        self.report.finished = finished;
        reason.clone_into(&mut self.report.ended);
    }

    fn end(&mut self, end: End) {
        self.report.ended = match end {
            End::Left => return,
            End::Refused(reason) => format!("refused by the server: {reason}"),
            End::Closed(reason) => format!("closed by the server: {reason}"),
            End::Failed(reason) => reason,
        };
    }
}
