//! A server that accepts every variant on one socket, with enough of a game for a client to join and play.
//!
//! Law: tokens are derived from a secret and the address. A slot belongs to an address and port; before there is a
//! slot, `greeting.rs` answers. The server runs a small world by itself, except at the steps of its script.

mod challenge;
mod config;
mod greeting;
mod slot;
mod snapshots;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use teetap_wire::{Proto, Seq, control};

use crate::connection::{Received, SendError, control_datagram};
use crate::message::{Delivered, Message, text};
use crate::script::{Behavior, Step};
use crate::token::token;
use crate::world;
use config::MAX_CLIENTS;
use greeting::{FirstReply, Kind, Welcome, greet};
use slot::{Effect, Slot};

pub use config::ServerConfig;
pub use slot::{ClientState, ClientView};

/// Length of a tick: there are 50 ticks per second.
const TICK: Duration = Duration::from_millis(20);
/// Interval at which a server repeats that it has accepted a client, until the client sends data.
const REPEAT: Duration = Duration::from_millis(500);

/// Something that happened to a client of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerEvent {
    /// A client got a slot.
    Connected(ClientView),
    /// A client sent a message. The server has not acted upon it yet.
    Message {
        /// The client id.
        client: i32,
        /// The received message.
        message: Delivered,
    },
    /// A client entered the game.
    Entered {
        /// The client id.
        client: i32,
    },
    /// The server stopped at a step of its script.
    Stopped {
        /// The client id.
        client: i32,
        /// The step of the script.
        step: Step,
    },
    /// A client left, or the server closed its connection.
    Left {
        /// The client as it was at its end.
        client: ClientView,
        /// The reason from the CLOSE, or for the end of the connection.
        reason: String,
    },
}

/// A server.
#[derive(Debug)]
pub struct Server {
    config: ServerConfig,
    slots: BTreeMap<i32, Slot>,
    tick: i32,
    out: VecDeque<(SocketAddr, Vec<u8>)>,
    events: VecDeque<ServerEvent>,
}

impl Server {
    /// Creates a server without clients.
    #[must_use]
    pub fn new(config: ServerConfig) -> Self {
        Self {
            config,
            slots: BTreeMap::new(),
            tick: 0,
            out: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Handles a datagram of a client.
    pub fn handle(&mut self, now: Duration, from: SocketAddr, datagram: &[u8]) {
        let known = self.slots.iter_mut().find(|(_, slot)| slot.address == from);
        let Some((&id, slot)) = known else {
            return self.greet(now, from, datagram);
        };
        match slot.connection.handle(now, datagram) {
            Received::Dropped | Received::Control => {}
            Received::Closed(reason) => self.remove(now, id, &reason),
            Received::Messages(messages) => {
                slot.accept_at = None;
                for message in messages {
                    self.message(now, id, message);
                }
            }
        }
    }

    /// Runs timers, the world and snapshots. Call it at [`Server::deadline`], or more often.
    pub fn tick(&mut self, now: Duration) {
        for id in self.slots.keys().copied().collect::<Vec<_>>() {
            let Some(slot) = self.slots.get_mut(&id) else {
                continue;
            };
            if slot.accept_at.is_some_and(|at| now >= at) {
                slot.accept_at = Some(now + REPEAT);
                self.perform(now, id, Step::ConnectAccept);
            }
            let Some(slot) = self.slots.get_mut(&id) else {
                continue;
            };
            if let Some(reason) = slot.failed {
                slot.connection.close(now, reason);
                self.remove(now, id, reason);
            } else if let Err(reason) = slot.connection.tick(now) {
                self.remove(now, id, reason);
            }
        }
        let due = i32::try_from(now.as_millis() / TICK.as_millis()).unwrap_or(i32::MAX);
        if due > self.tick {
            self.tick = due;
            self.play(now);
        }
    }

    /// Returns the time of the next [`Server::tick`]; `None` if there is no client.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        let world = TICK.saturating_mul(self.tick.saturating_add(1).cast_unsigned());
        let slots = self.slots.values().map(|slot| match slot.state {
            ClientState::InGame => world,
            // A failed connection is closed at the next tick.
            _ if slot.failed.is_some() => Duration::ZERO,
            _ => slot
                .accept_at
                .unwrap_or(Duration::MAX)
                .min(slot.connection.deadline()),
        });
        slots.min()
    }

    /// Returns the next datagram to send, with its destination; `None` if there is none.
    pub fn poll_transmit(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        self.out.pop_front().or_else(|| {
            self.slots
                .values_mut()
                .find_map(|slot| Some((slot.address, slot.connection.poll_transmit()?)))
        })
    }

    /// Returns the next event; `None` if there is none. Events are kept until they are returned, so call it until it
    /// returns `None`.
    pub fn poll_event(&mut self) -> Option<ServerEvent> {
        self.events.pop_front()
    }

    /// Sends a message to a client.
    ///
    /// # Errors
    /// Returns a [`SendError`] if there is no such client, or if its connection cannot transfer the message. A full
    /// buffer ends the connection at the next tick.
    pub fn send(&mut self, now: Duration, client: i32, message: &Message) -> Result<(), SendError> {
        let slot = self.slots.get_mut(&client).ok_or(SendError::NotConnected)?;
        slot.send(now, message)
    }

    /// Sends a line of chat to all players, as the server itself.
    pub fn say(&mut self, now: Duration, line: &str) {
        self.broadcast(now, |proto| world::chat(proto, -1, line));
    }

    /// Releases the oldest step at which the server stopped for a client: the server behaves as usual at this step,
    /// now and whenever the step is due again. Returns the step; `None` if the server did not stop for this client.
    pub fn proceed(&mut self, now: Duration, client: i32) -> Option<Step> {
        let step = self.slots.get_mut(&client)?.stops.release()?;
        self.perform(now, client, step);
        Some(step)
    }

    /// Closes the connection of a client for a reason, and frees its slot. Returns false if there is no such client.
    pub fn close(&mut self, now: Duration, client: i32, reason: &str) -> bool {
        let slot = self.slots.get_mut(&client);
        let is_there = slot.map(|slot| slot.connection.close(now, reason)).is_some();
        self.remove(now, client, reason);
        is_there
    }

    /// Closes every connection, but keeps the clients in the list.
    pub fn shut_down(&mut self, now: Duration) {
        for slot in self.slots.values_mut() {
            slot.connection.close(now, "Server shutdown");
        }
    }

    /// Returns true if no client is connected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Returns the clients, in the order of their ids.
    pub fn clients(&self) -> impl Iterator<Item = ClientView> + '_ {
        self.slots.iter().map(|(id, slot)| slot.view(*id))
    }

    /// Handles a datagram from an address without a slot.
    fn greet(&mut self, now: Duration, from: SocketAddr, datagram: &[u8]) {
        match greet(&self.config, token(self.config.secret, from), datagram) {
            FirstReply::Nothing => {}
            FirstReply::Answers(step, answers) => {
                // There is no client yet whose step could be released, so any action only omits the answer.
                if self.config.script.action(step).is_none() {
                    self.out.extend(answers.into_iter().map(|answer| (from, answer)));
                }
            }
            FirstReply::Welcome(welcome) => self.welcome(now, from, &welcome, datagram),
        }
    }

    /// Assigns a slot to a client.
    fn welcome(&mut self, now: Duration, from: SocketAddr, welcome: &Welcome, datagram: &[u8]) {
        let slots = 0..self.config.slots.min(MAX_CLIENTS);
        let Some(id) = slots.into_iter().find(|id| !self.slots.contains_key(id)) else {
            let mut payload = Vec::new();
            control::close(b"This server is full", &mut payload);
            let tokens = &welcome.tokens;
            let full = control_datagram(tokens.proto, tokens.sent, Seq::ZERO, &payload);
            return self.out.push_back((from, full));
        };
        let given = token(self.config.secret, from);
        let connection = welcome.connection(now);
        let mut slot = Slot::new(from, welcome.variant, given, connection, 400 + 100 * id);
        slot.accept = welcome.accept();
        slot.accept_at = (welcome.kind == Kind::Pending).then_some(now + REPEAT);
        self.events.push_back(ServerEvent::Connected(slot.view(id)));
        self.slots.insert(id, slot);
        match welcome.kind {
            Kind::Pending | Kind::Accepted => self.perform(now, id, Step::ConnectAccept),
            Kind::Online(false) => {}
            Kind::Online(true) => self.handle(now, from, datagram),
            // The client knows only the map of the challenge so far.
            Kind::Challenged => {
                if let Some(slot) = self.slots.get_mut(&id) {
                    slot.state = ClientState::Connecting;
                }
                self.perform(now, id, Step::MapChange);
            }
        }
    }

    fn message(&mut self, now: Duration, id: i32, message: Delivered) {
        let Some(slot) = self.slots.get_mut(&id) else {
            return;
        };
        let effect = slot.message(now, self.tick, &message);
        self.events
            .push_back(ServerEvent::Message { client: id, message });
        match effect {
            Effect::Nothing => {}
            Effect::Step(step) => self.perform(now, id, step),
            Effect::Enter => self.enter(now, id),
            Effect::Say(text) => self.broadcast(now, |proto| world::chat(proto, id, &text)),
        }
    }

    /// Sends the messages of a step to a client, unless the script has an action for it.
    fn perform(&mut self, now: Duration, id: i32, step: Step) {
        let Some(slot) = self.slots.get_mut(&id) else {
            return;
        };
        match slot.stops.turn(&self.config.script, step) {
            Behavior::Usual => slot.carry_out(now, &self.config, step),
            Behavior::Nothing(true) => self.events.push_back(ServerEvent::Stopped { client: id, step }),
            Behavior::Nothing(false) => {}
            Behavior::Send(messages) => messages.iter().for_each(|message| slot.send_own(now, message)),
        }
    }

    fn enter(&mut self, now: Duration, id: i32) {
        let others: Vec<_> = playing(&mut self.slots)
            .map(|(id, slot)| (*id, slot.tee.clone()))
            .collect();
        let Some(slot) = self.slots.get_mut(&id) else {
            return;
        };
        let tee = slot.tee.clone();
        slot.state = ClientState::InGame;
        self.events.push_back(ServerEvent::Entered { client: id });
        if slot.proto() == Proto::V7 {
            let players = i32::try_from(others.len() + 1).unwrap_or(MAX_CLIENTS);
            slot.send_own(
                now,
                &world::server_info(&self.config.name, self.config.map.name(), players),
            );
            let rules = [("score_limit", 20.into()), ("match_current", 1.into())];
            slot.send_own(now, &Message::known(Proto::V7, "sv_game_info", rules));
            for (other, tee) in &others {
                slot.send_own(now, &world::client_info(*other, false, tee));
            }
            slot.send_own(now, &world::client_info(id, true, &tee));
        }
        // A 0.6 client learns the name from a snapshot. A 0.7 client announces new players by itself.
        let line = format!("'{}' entered and joined the game", tee.name);
        for (other, slot) in playing(&mut self.slots) {
            if slot.proto() != Proto::V7 {
                slot.send_own(now, &world::chat(slot.proto(), -1, &line));
            } else if *other != id {
                slot.send_own(now, &world::client_info(id, false, &tee));
            }
        }
    }

    fn remove(&mut self, now: Duration, id: i32, reason: &str) {
        let Some(mut slot) = self.slots.remove(&id) else {
            return;
        };
        while let Some(datagram) = slot.connection.poll_transmit() {
            self.out.push_back((slot.address, datagram));
        }
        if slot.state == ClientState::InGame {
            let line = format!("'{}' has left the game ({reason})", slot.tee.name);
            self.broadcast(now, |proto| match proto {
                Proto::V7 => {
                    let left = [("client_id", id.into()), ("reason", text(reason))];
                    Message::known(proto, "sv_client_drop", left)
                }
                _ => world::chat(proto, -1, &line),
            });
        }
        self.events.push_back(ServerEvent::Left {
            client: slot.view(id),
            reason: reason.to_owned(),
        });
    }

    fn broadcast(&mut self, now: Duration, message: impl Fn(Proto) -> Message) {
        for (_, slot) in playing(&mut self.slots) {
            slot.send_own(now, &message(slot.proto()));
        }
    }

    /// Runs one tick of the world, and sends its snapshots.
    fn play(&mut self, now: Duration) {
        let mut tees = BTreeMap::new();
        for (id, slot) in playing(&mut self.slots) {
            slot.tee.walk();
            tees.insert(*id, slot.tee.clone());
        }
        for (id, slot) in playing(&mut self.slots) {
            if !slot.snapshots.is_due(self.tick) {
                continue;
            }
            let snapshot = world::snapshot(slot.proto(), self.tick, &tees, *id);
            match slot.stops.turn(&self.config.script, Step::Snapshot) {
                Behavior::Usual => {
                    for message in slot.snapshots.push(self.tick, snapshot) {
                        slot.send_own(now, &message);
                    }
                }
                Behavior::Nothing(true) => self.events.push_back(ServerEvent::Stopped {
                    client: *id,
                    step: Step::Snapshot,
                }),
                Behavior::Nothing(false) => {}
                Behavior::Send(messages) => messages.iter().for_each(|message| slot.send_own(now, message)),
            }
        }
    }
}

/// Returns the clients that are in the game.
fn playing(slots: &mut BTreeMap<i32, Slot>) -> impl Iterator<Item = (&i32, &mut Slot)> {
    slots
        .iter_mut()
        .filter(|(_, slot)| slot.state == ClientState::InGame)
}
