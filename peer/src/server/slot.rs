//! One client of a server: its state, the messages of its join, its inputs and its snapshots.

use std::net::SocketAddr;
use std::time::Duration;

use teetap_wire::{Dir, Proto, Token};

use super::{ServerConfig, snapshots::Snapshots};
use crate::Variant;
use crate::connection::{Connection, Counters, SendError};
use crate::map::parts_for_request;
use crate::message::{Delivered, Message, Reading, text, version};
use crate::script::{Step, Stops};
use crate::world::{self, Tee};

/// Maximum numbers of characters of a name and of a clan.
const NAME: usize = 15;
const CLAN: usize = 11;

/// The progress of a client's join, as its server sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClientState {
    /// The server expects `info`.
    Auth,
    /// The client gets the map, and the server expects `ready`.
    Connecting,
    /// The server expects `cl_start_info`.
    Ready,
    /// The server expects `enter_game`.
    Entering,
    /// The client is in the game.
    InGame,
}

/// A client, as its server sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientView {
    /// The client id, from 0.
    pub id: i32,
    /// The address from which the client sends.
    pub address: SocketAddr,
    /// The variant of the client.
    pub variant: Variant,
    /// The progress of the client's join.
    pub state: ClientState,
    /// Name of the player; empty before `cl_start_info`.
    pub name: String,
    /// Token that the server derived for the address, even if the variant has no tokens.
    pub token: Token,
    /// Number of inputs received.
    pub inputs: u64,
    /// Counters of the connection.
    pub counters: Counters,
}

/// The effect of a message on the server.
#[derive(Debug)]
pub(super) enum Effect {
    Nothing,
    /// A step of the server is due.
    Step(Step),
    Enter,
    Say(String),
}

/// A client.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) address: SocketAddr,
    pub(super) variant: Variant,
    given: Token,
    pub(super) connection: Connection,
    pub(super) state: ClientState,
    pub(super) stops: Stops,
    /// Time at which the server repeats its acceptance; `None` if it does not repeat it.
    pub(super) accept_at: Option<Duration>,
    pub(super) accept: Vec<u8>,
    pub(super) tee: Tee,
    /// Number of the part of the map that was requested last, or in 0.7 of the next part.
    part: usize,
    pub(super) snapshots: Snapshots,
    intended: i32,
    inputs: u64,
    /// The reason why the server must close the connection; `None` if it need not.
    pub(super) failed: Option<&'static str>,
}

impl Slot {
    /// Creates a slot for a client after its handshake, with a tee at `x`.
    pub(super) fn new(
        address: SocketAddr,
        variant: Variant,
        given: Token,
        connection: Connection,
        x: i32,
    ) -> Self {
        Self {
            address,
            variant,
            given,
            connection,
            state: ClientState::Auth,
            stops: Stops::default(),
            accept_at: None,
            accept: Vec::new(),
            tee: Tee {
                name: String::new(),
                clan: String::new(),
                x,
                direction: 0,
                angle: 0,
            },
            part: 0,
            snapshots: Snapshots::new(variant.proto()),
            intended: 0,
            inputs: 0,
            failed: None,
        }
    }

    pub(super) fn proto(&self) -> Proto {
        self.variant.proto()
    }

    /// Queues a message.
    ///
    /// # Errors
    /// Returns a [`SendError`]. A full buffer ends the connection at the next tick.
    pub(super) fn send(&mut self, now: Duration, message: &Message) -> Result<(), SendError> {
        let sent = self.connection.send(now, message);
        if sent == Err(SendError::OutOfBuffer) {
            self.failed = Some("too weak connection (out of buffer)");
        }
        sent
    }

    /// Queues a message of the server itself. Errors are ignored: either the connection ends at the next tick, or the
    /// message was too large, which is only possible for a message of the script.
    pub(super) fn send_own(&mut self, now: Duration, message: &Message) {
        let _ends_or_too_large = self.send(now, message);
    }

    /// Handles a message. A message that does not fit the state is ignored, as in the games.
    pub(super) fn message(&mut self, now: Duration, tick: i32, message: &Delivered) -> Effect {
        use ClientState::{Auth, Connecting, Entering, InGame, Ready};
        let proto = self.proto();
        let Some(reading) = message.read(proto, Dir::C2s) else {
            return Effect::Nothing;
        };
        match (reading.name(), self.state) {
            ("info", Auth) if reading.text("version").as_deref() != Some(version(proto)) => {
                self.failed = Some("Wrong version.");
            }
            ("info", Auth) => {
                self.state = Connecting;
                return Effect::Step(Step::MapChange);
            }
            ("request_map_data", Connecting) => {
                // In 0.7, the server counts the parts itself.
                self.part = match reading.int("chunk") {
                    Some(part) if proto != Proto::V7 => usize::try_from(part).unwrap_or(usize::MAX),
                    _ => self.part,
                };
                return Effect::Step(Step::MapData);
            }
            ("ready", Connecting) => {
                self.state = Ready;
                return Effect::Step(Step::ConReady);
            }
            ("cl_start_info", Ready) => {
                self.tee.name = short(&reading, "name", NAME);
                self.tee.clan = short(&reading, "clan", CLAN);
                self.state = Entering;
                return Effect::Step(Step::ReadyToEnter);
            }
            ("enter_game", Entering) => return Effect::Enter,
            ("input", InGame) => {
                self.input(now, tick, &reading);
            }
            ("cl_say", InGame) => return reading.text("message").map_or(Effect::Nothing, Effect::Say),
            ("ping", _) => self.send_own(now, &Message::known(proto, "ping_reply", [])),
            _ => {}
        }
        Effect::Nothing
    }

    /// Sends the messages of a step.
    pub(super) fn carry_out(&mut self, now: Duration, config: &ServerConfig, step: Step) {
        let proto = self.proto();
        match step {
            Step::ConnectAccept => {
                let accept = std::mem::take(&mut self.accept);
                self.connection.control(now, &accept);
                self.accept = accept;
            }
            Step::MapChange => {
                if self.variant.is_ddnet() && proto == Proto::Ddnet {
                    let capabilities = [("version", 5.into())];
                    self.send_own(now, &Message::known(proto, "capabilities", capabilities));
                }
                self.send_own(now, &config.map.change(self.variant));
            }
            Step::MapData => {
                for part in config.map.parts(self.variant, self.part) {
                    self.send_own(now, &part);
                }
                if proto == Proto::V7 {
                    self.part += parts_for_request(self.variant);
                }
            }
            Step::ConReady => {
                let motd = [("message", text(&config.motd))];
                self.send_own(now, &Message::known(proto, "sv_motd", motd));
                self.send_own(now, &Message::known(proto, "con_ready", []));
            }
            Step::ReadyToEnter => {
                self.send_own(now, &Message::known(proto, "sv_vote_clear_options", []));
                self.send_own(now, &world::tune_params(proto));
                self.send_own(now, &Message::known(proto, "sv_ready_to_enter", []));
            }
            _ => {}
        }
    }

    /// Handles an input. Returns `None`, without any effect, if a field is missing.
    fn input(&mut self, now: Duration, tick: i32, input: &Reading<'_>) -> Option<()> {
        let (acked, intended) = (input.int("ack_snapshot")?, input.int("intended_tick")?);
        let (direction, target_x) = (input.int("input.direction")?, input.int("input.target_x")?);
        self.inputs += 1;
        self.snapshots.acked(acked);
        if intended > self.intended {
            self.intended = intended;
            self.tee.direction = direction.clamp(-1, 1);
            self.tee.angle = target_x.clamp(-800, 800);
            // Milliseconds between the arrival of the input and the tick for which it is intended.
            let left = intended.saturating_sub(tick).clamp(-1000, 1000) * 20;
            let timing = [("input_pred_tick", intended.into()), ("time_left", left.into())];
            self.send_own(now, &Message::known(self.proto(), "input_timing", timing));
        }
        Some(())
    }

    pub(super) fn view(&self, id: i32) -> ClientView {
        ClientView {
            id,
            address: self.address,
            variant: self.variant,
            state: self.state,
            name: self.tee.name.clone(),
            token: self.given,
            inputs: self.inputs,
            counters: self.connection.counters(),
        }
    }
}

/// Returns the text of a field without control characters, limited to `len` characters.
fn short(reading: &Reading<'_>, path: &str, len: usize) -> String {
    let text = reading.text(path).unwrap_or_default();
    text.chars()
        .filter(|letter| !letter.is_control())
        .take(len)
        .collect()
}
