//! A client: its handshake, its join, its inputs and its end.
//!
//! Law: the join runs by itself, as in the games, except at the steps of the script. Everything else is up to the
//! caller: received messages become events, and chat, pings and closing are commands.

mod config;
mod event;
mod game;
mod handshake;
mod join;

use std::collections::VecDeque;
use std::time::Duration;

use teetap_wire::{Proto, Token};

use crate::connection::{Connection, Counters, Received, SendError, Tokens};
use crate::map::Download;
use crate::message::{Message, text};
use crate::script::{Step, Stops};
use game::Game;
use handshake::{Answer, Handshake};

pub use config::ClientConfig;
pub use event::{ClientEvent, End};
pub use game::Input;

#[derive(Debug)]
enum Phase {
    Handshake(Handshake),
    Online(Box<Connection>),
    Over,
}

/// A client.
#[derive(Debug)]
pub struct Client {
    config: ClientConfig,
    phase: Phase,
    stops: Stops,
    started: Option<Duration>,
    game: Game,
    download: Option<Download>,
    /// True from the time when the client sends `enter_game` until the server changes the map.
    has_entered: bool,
    has_joined: bool,
    input: Input,
    input_at: Duration,
    /// Token of the connection, and its counters after its end.
    token: Option<Token>,
    counters: Counters,
    out: VecDeque<Vec<u8>>,
    events: VecDeque<ClientEvent>,
}

impl Client {
    /// Creates a client that connects at its first [`Client::tick`].
    #[must_use]
    pub fn new(config: ClientConfig) -> Self {
        Self {
            phase: Phase::Handshake(Handshake::new(config.variant, config.token)),
            stops: Stops::default(),
            started: None,
            game: Game::new(config.variant.proto()),
            download: None,
            has_entered: false,
            has_joined: false,
            input: Input::default(),
            input_at: Duration::ZERO,
            token: None,
            counters: Counters::default(),
            out: VecDeque::new(),
            events: VecDeque::new(),
            config,
        }
    }

    /// Handles a datagram of the server.
    pub fn handle(&mut self, now: Duration, datagram: &[u8]) {
        match &mut self.phase {
            Phase::Over => {}
            Phase::Handshake(handshake) => match handshake.handle(now, datagram) {
                Answer::Nothing => {}
                Answer::Step(step) => self.perform(now, step),
                Answer::Online(tokens, accepts) => self.go_online(now, tokens, accepts),
                Answer::Refused(reason) => self.end(End::Refused(reason)),
            },
            Phase::Online(connection) => match connection.handle(now, datagram) {
                Received::Dropped | Received::Control => {}
                Received::Closed(reason) => self.end(End::Closed(reason)),
                Received::Messages(messages) => {
                    for message in messages {
                        if !self.is_over() {
                            self.message(now, message);
                        }
                    }
                }
            },
        }
    }

    /// Runs the timers. Call it at [`Client::deadline`], or more often.
    pub fn tick(&mut self, now: Duration) {
        let started = *self.started.get_or_insert(now);
        match &mut self.phase {
            Phase::Over => {}
            Phase::Handshake(handshake) => {
                let is_late = |patience| now.saturating_sub(started) > patience;
                if self.config.patience.is_some_and(is_late) {
                    self.end(End::Failed("no answer from the server".to_owned()));
                } else if let Some(step) = handshake.due(now) {
                    self.perform(now, step);
                }
            }
            Phase::Online(connection) => match connection.tick(now) {
                Err(reason) => self.end(End::Failed(reason.to_owned())),
                Ok(()) if self.game.is_running() && now >= self.input_at => {
                    self.input_at = now + self.config.input_every;
                    self.perform(now, Step::Input);
                }
                Ok(()) => {}
            },
        }
    }

    /// Returns the time of the next [`Client::tick`]; `None` if the connection has ended or no timer is running.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        match &self.phase {
            Phase::Over => None,
            Phase::Handshake(handshake) => {
                let started = self.started.unwrap_or_default();
                let limit = self
                    .config
                    .patience
                    .map(|patience| started + patience + Duration::from_nanos(1));
                handshake.deadline().into_iter().chain(limit).min()
            }
            Phase::Online(connection) => {
                let input = Some(self.input_at).filter(|_| self.game.is_running());
                input.into_iter().chain([connection.deadline()]).min()
            }
        }
    }

    /// Returns the next datagram to send; `None` if there is none.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        if let Phase::Online(connection) = &mut self.phase {
            self.out.extend(std::iter::from_fn(|| connection.poll_transmit()));
        }
        self.out.pop_front()
    }

    /// Returns the next event; `None` if there is none. Events are kept until they are returned, so call it until it
    /// returns `None`.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.events.pop_front()
    }

    /// Sends a message.
    ///
    /// # Errors
    /// Returns a [`SendError`] before and after the connection, or if the message is larger than a chunk. A full
    /// buffer ends the connection, as in the games.
    pub fn send(&mut self, now: Duration, message: &Message) -> Result<(), SendError> {
        let Phase::Online(connection) = &mut self.phase else {
            return Err(SendError::NotConnected);
        };
        let sent = connection.send(now, message);
        if sent == Err(SendError::OutOfBuffer) {
            self.give_up(now, &SendError::OutOfBuffer.to_string());
        }
        sent
    }

    /// Sends a line of chat to all players.
    ///
    /// # Errors
    /// Returns a [`SendError`] as [`Client::send`] does.
    pub fn say(&mut self, now: Duration, line: &str) -> Result<(), SendError> {
        let message = [("message", text(line))];
        let to_all = [("mode", 1.into()), ("target", (-1).into())];
        let to_all = to_all.into_iter().filter(|_| self.proto() == Proto::V7);
        let message = Message::known(self.proto(), "cl_say", message.into_iter().chain(to_all));
        self.send(now, &message)
    }

    /// Requests a `ping_reply`.
    ///
    /// # Errors
    /// Returns a [`SendError`] as [`Client::send`] does.
    pub fn ping(&mut self, now: Duration) -> Result<(), SendError> {
        self.send(now, &Message::known(self.proto(), "ping", []))
    }

    /// Sets the controls that the next inputs contain.
    pub fn set_input(&mut self, input: Input) {
        self.input = input;
    }

    /// Sends a datagram unchanged, outside the connection.
    pub fn transmit(&mut self, datagram: Vec<u8>) {
        self.out.push_back(datagram);
    }

    /// Releases the oldest step at which the client stopped: the client behaves as usual at this step, now and
    /// whenever the step is due again. Returns the step; `None` if the client did not stop.
    pub fn proceed(&mut self, now: Duration) -> Option<Step> {
        let step = self.stops.release()?;
        self.perform(now, step);
        Some(step)
    }

    /// Closes the connection for a reason. During its handshake, the client ends without sending anything.
    pub fn close(&mut self, now: Duration, reason: &str) {
        match &mut self.phase {
            Phase::Over => return,
            Phase::Handshake(_) => {}
            Phase::Online(connection) => connection.close(now, reason),
        }
        self.end(End::Left);
    }

    /// Returns true if the connection has ended. The last datagrams may not have been sent yet.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// Returns true if the client is in the game.
    #[must_use]
    pub fn has_joined(&self) -> bool {
        self.has_joined
    }

    /// Returns the protocol of the connection: the protocol of the variant, or 0.6 without tokens if the server has
    /// no tokens.
    #[must_use]
    pub fn proto(&self) -> Proto {
        match &self.phase {
            Phase::Online(connection) => connection.proto(),
            _ => self.config.variant.proto(),
        }
    }

    /// Returns the token of the datagrams that the client sends; `None` before the connection, or if it has no
    /// tokens.
    #[must_use]
    pub fn token(&self) -> Option<Token> {
        self.token
    }

    /// Returns the counters of the connection.
    #[must_use]
    pub fn counters(&self) -> Counters {
        match &self.phase {
            Phase::Online(connection) => connection.counters(),
            _ => self.counters,
        }
    }

    /// Returns the number of inputs sent.
    #[must_use]
    pub fn inputs(&self) -> u64 {
        self.game.inputs()
    }

    /// Returns the tick of the snapshot that the next input acks; -1 if the client has none.
    #[must_use]
    pub fn acked(&self) -> i32 {
        self.game.acked()
    }

    /// Returns the number of players in the newest snapshot.
    #[must_use]
    pub fn players(&self) -> usize {
        self.game.players()
    }

    fn go_online(&mut self, now: Duration, tokens: Tokens, accepts: bool) {
        self.token = tokens.sent;
        self.game = Game::new(tokens.proto);
        self.phase = Phase::Online(Box::new(Connection::new(tokens, now)));
        self.events.push_back(ClientEvent::Online);
        if accepts {
            self.perform(now, Step::Accept);
        }
        self.perform(now, Step::Info);
    }

    /// Closes the connection because it cannot continue.
    fn give_up(&mut self, now: Duration, reason: &str) {
        if let Phase::Online(connection) = &mut self.phase {
            connection.close(now, reason);
        }
        self.end(End::Failed(reason.to_owned()));
    }

    fn end(&mut self, end: End) {
        if let Phase::Online(connection) = &mut self.phase {
            self.out.extend(std::iter::from_fn(|| connection.poll_transmit()));
            self.counters = connection.counters();
        }
        self.phase = Phase::Over;
        self.events.push_back(ClientEvent::Ended(end));
    }
}
