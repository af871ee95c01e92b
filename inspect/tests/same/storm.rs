//! Runs the core between scripted clients and servers, and disturbs them at random.

use std::{collections::BTreeMap, net::SocketAddr, num::NonZeroU32, time::Duration};

use teetap_kit::{
    codec::{self, NO_TOKEN, control},
    link::{Conditions, Hop, MS, Random, SECOND},
    world::{client_addr, config, listen_addr, route, upstream_addr},
};
use teetap_peer::{Client, ClientConfig, Map, MapFile, Message, Server, ServerConfig, Variant, token};
use teetap_proxy::session::{
    Command, CommandId, Config, Event, EventKind, Events, HeldId, Hub, Input, ListenerId, Output, SessionId,
    Speaks, Time, UpstreamId,
};
use teetap_wire::{Dir, Side};

use crate::{outputs::Outputs, rules::program};

/// Duration of a run in microseconds.
const LENGTH: u64 = 40 * SECOND;

/// Time between two steps in microseconds.
const STEP: u64 = 5 * MS;

/// Number of clients in a run at any time.
const CLIENTS: usize = 4;

/// Maximum number of earlier datagrams kept for replays.
const REMEMBERED: usize = 64;

/// First datagrams of sessions and datagrams of the server browser, valid and invalid.
const STRANGE: [&[u8]; 12] = [
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffgie3\x07",
    b"\x21\x01\x02\x03\x04\xff\xff\xff\xff\xff\xff\xff\xffgie3\x05",
    b"xe\x01\x02\x00\x00\xff\xff\xff\xffgie3\x09",
    b"\x10\0\0\x09",
    b"\x10\0\0\x01TKEN\xff\xff\xff\xff",
    b"\x10\0\0\x01\xff\xff\xff\xff",
    b"\x10\0\0\x01",
    b"\x10\0\0\x04bye\0",
    b"\x04\0\0\x01\x02\x03\x04\x01\x05\x06\x07\x08",
    b"\x04\0\0\xff\xff\xff\xff\x05",
    b"\x80\x10\0\0\x01",
    b"",
];

/// The variants of the CONNECT packets of a flood.
const CONNECTS: [codec::Variant; 4] = [
    codec::Variant::V6,
    codec::Variant::V65,
    codec::Variant::Ddnet,
    codec::Variant::V7,
];

/// The peers and the disturbances of a run.
#[derive(Clone, Copy)]
pub(crate) struct Setting {
    pub(crate) seed: u64,
    pub(crate) clients: &'static [Variant],
    pub(crate) server: &'static [Variant],
    /// Probability of a disturbance per step.
    pub(crate) disturbance: f64,
    /// True if peers restart without a CLOSE, and datagrams that no peer sent arrive.
    pub(crate) hostile: bool,
    /// True if many unknown addresses sometimes send a CONNECT, and restarted servers speak other variants.
    pub(crate) floods: bool,
}

/// A client, and the network between it and the core.
struct Player {
    client: Client,
    addr: SocketAddr,
    up: Hop<Vec<u8>>,
    down: Hop<Vec<u8>>,
}

/// The state of a run.
pub(crate) struct Storm {
    setting: Setting,
    random: Random,
    now: u64,
    hub: Hub,
    server: Server,
    players: Vec<Player>,
    up: Hop<(SocketAddr, Vec<u8>)>,
    down: Hop<(SocketAddr, Vec<u8>)>,
    sockets: BTreeMap<SocketAddr, UpstreamId>,
    seen: Vec<Vec<u8>>,
    commands: u64,
    events: Vec<Event>,
    outputs: Outputs,
}

/// Returns a network with this probability of loss, half of it of duplicates, and a jitter in milliseconds.
const fn network(loss: f64, jitter: u64) -> Conditions {
    Conditions {
        delay: 15 * MS,
        jitter: jitter * MS,
        loss,
        duplicate: loss / 2.0,
    }
}

fn server(setting: Setting, generation: u64) -> Server {
    let data: Vec<u8> = (0..3000u32).map(|at| at.to_le_bytes()[0]).collect();
    let map = MapFile::new(data, None).expect("a map of this size");
    let mut variants = setting.server.to_vec();
    if setting.floods {
        let first = usize::try_from(generation % 3).expect("a small number");
        variants.rotate_left(first);
        variants.truncate(2);
    }
    Server::new(ServerConfig {
        variants,
        motd: "a message\nof the day".to_owned(),
        map: match generation % 2 {
            0 => Map::new("small", map.clone(), map),
            _ => Map::dm1(),
        },
        challenges: setting.seed.is_multiple_of(2),
        slots: 3,
        ..ServerConfig::new(setting.seed ^ generation)
    })
}

impl Storm {
    pub(crate) fn new(setting: Setting) -> Self {
        let seed = setting.seed;
        let config = Config {
            heals: seed.is_multiple_of(3),
            events: Events::All,
            ..config(seed, Some(Duration::from_secs(8)), true)
        };
        let mut storm = Self {
            setting,
            random: Random::new(seed),
            now: 0,
            hub: Hub::new(config, route()),
            server: server(setting, 0),
            players: Vec::new(),
            up: Hop::new(network(0.0, 0), seed),
            down: Hop::new(network(0.0, 0), !seed),
            sockets: BTreeMap::new(),
            seen: Vec::new(),
            commands: 0,
            events: Vec::new(),
            outputs: Outputs::new(),
        };
        for number in 0..CLIENTS {
            let player = storm.player(number);
            storm.players.push(player);
        }
        storm
    }

    /// Returns a new client at the address with this number.
    fn player(&mut self, number: usize) -> Player {
        let seed = self.random.bits();
        let variants = self.setting.clients;
        let variant = variants[self.pick(variants.len())];
        let name = format!("tee {}", seed % 100);
        Player {
            client: Client::new(ClientConfig {
                clan: "clan".to_owned(),
                password: "hunter2".to_owned(),
                ..ClientConfig::new(variant, token(seed, "client"), name)
            }),
            addr: client_addr(number),
            up: Hop::new(network(0.02, 20), seed),
            down: Hop::new(network(0.02, 20), !seed),
        }
    }

    fn pick(&mut self, len: usize) -> usize {
        let number = self.random.below(len as u64);
        usize::try_from(number).expect("a small number")
    }

    /// Plays the run. Returns its events and outputs.
    pub(crate) fn play(mut self) -> (Vec<Event>, Outputs) {
        while self.now < LENGTH {
            self.now += STEP;
            self.step();
            if self.now.is_multiple_of(SECOND) {
                self.outputs.due(Time(self.now));
                self.outputs.end_second();
            }
        }
        self.input(Input::Shutdown { reason: b"the end" });
        self.outputs.end_second();
        (self.events, self.outputs)
    }

    fn step(&mut self) {
        let now = Duration::from_micros(self.now);
        if self.random.chance(self.setting.disturbance) {
            self.disturb();
        }
        for player in &mut self.players {
            player.client.tick(now);
            while player.client.poll_event().is_some() {}
        }
        self.server.tick(now);
        while self.server.poll_event().is_some() {}
        self.collect();
        self.deliver();
        while self.hub.deadline().is_some_and(|at| at.0 <= self.now) {
            self.input(Input::Timeout);
        }
    }

    /// Puts the pending datagrams of all peers on the network.
    fn collect(&mut self) {
        for player in &mut self.players {
            while let Some(bytes) = player.client.poll_transmit() {
                self.seen.push(bytes.clone());
                player.up.send(bytes, self.now);
            }
        }
        while let Some((to, bytes)) = self.server.poll_transmit() {
            self.seen.push(bytes.clone());
            self.down.send((to, bytes), self.now);
        }
        let surplus = self.seen.len().saturating_sub(REMEMBERED);
        self.seen.drain(..surplus);
    }

    fn deliver(&mut self) {
        let now = Duration::from_micros(self.now);
        let mut arrived = Vec::new();
        for player in &mut self.players {
            while let Some(bytes) = player.down.receive(self.now) {
                player.client.handle(now, &bytes);
            }
            while let Some(bytes) = player.up.receive(self.now) {
                arrived.push((player.addr, bytes));
            }
        }
        for (addr, bytes) in arrived {
            self.client_sends(addr, &bytes);
        }
        while let Some((from, bytes)) = self.up.receive(self.now) {
            self.server.handle(now, from, &bytes);
        }
        while let Some((to, bytes)) = self.down.receive(self.now) {
            if let Some(upstream) = self.sockets.get(&to).copied() {
                self.input(Input::FromServer {
                    upstream,
                    bytes: &bytes,
                });
            }
        }
    }

    fn client_sends(&mut self, addr: SocketAddr, bytes: &[u8]) {
        let listener = ListenerId::FIRST;
        self.input(Input::FromClient {
            listener,
            addr,
            bytes,
        });
    }

    fn input(&mut self, input: Input<'_>) {
        self.hub.handle(Time(self.now), input);
        self.drain();
    }

    /// Carries out the outputs of the core.
    fn drain(&mut self) {
        let (mut opened, mut listens) = (Vec::new(), Vec::new());
        while let Some(output) = self.hub.poll() {
            if !matches!(output, Output::Event(_)) {
                self.outputs.sent(self.now, &output);
            }
            match output {
                Output::OpenUpstream { upstream, .. } => opened.push(upstream),
                Output::CloseUpstream(upstream) => {
                    self.sockets.remove(&upstream_addr(upstream));
                }
                Output::OpenListener { listener, .. } => listens.push(listener),
                Output::ToServer { upstream, bytes } => {
                    self.up.send((upstream_addr(upstream), bytes.to_vec()), self.now);
                }
                Output::ToClient { addr, bytes, .. } => {
                    if let Some(player) = self.players.iter_mut().find(|player| player.addr == addr) {
                        player.down.send(bytes.to_vec(), self.now);
                    }
                }
                Output::Event(mut event) => {
                    let ends = match &mut event.what {
                        EventKind::Datagram(datagram) => Some(&mut datagram.ends),
                        EventKind::Connless(connless) => Some(&mut connless.ends),
                        _ => None,
                    };
                    if let Some(ends) = ends {
                        ends.local = ends.upstream.map(upstream_addr);
                    }
                    self.outputs.event(&event);
                    self.events.push(*event);
                }
            }
        }
        for listener in listens {
            let local = listen_addr(listener);
            self.input(Input::ListenerOpened { listener, local });
        }
        for upstream in opened {
            if self.random.chance(0.02) {
                let (error, exhausted) = ("no room", self.random.chance(0.5));
                self.input(Input::UpstreamFailed {
                    upstream,
                    error,
                    exhausted,
                });
            } else {
                let local = upstream_addr(upstream);
                self.sockets.insert(local, upstream);
                self.input(Input::UpstreamOpened { upstream, local });
            }
        }
    }

    /// Causes a random disturbance, if its kind is enabled in this run.
    fn disturb(&mut self) {
        let now = Duration::from_micros(self.now);
        let number = self.pick(CLIENTS);
        let what = self.random.below(60);
        if !self.setting.hostile && matches!(what, 28..=40 | 52) {
            return;
        }
        match what {
            0..=15 => {
                let line = ["hello", "gg \u{202e}", "what a \"long\" line", "/info"][self.pick(4)];
                let _not_connected = self.players[number].client.say(now, line);
            }
            16..=25 => self.server.say(now, "a line of the server"),
            26 => self.secret(number),
            27 => {
                let _not_connected = self.players[number].client.ping(now);
            }
            28 | 29 => self.players[number].client.close(now, "bye"),
            30 | 31 => self.players[number] = self.player(number),
            32 if self.setting.floods || self.random.chance(0.2) => {
                self.server.shut_down(now);
                self.collect();
                let generation = self.random.bits();
                self.server = server(self.setting, generation);
            }
            33 => {
                let id = i32::try_from(self.pick(4)).expect("a small number");
                self.server.close(now, id, "kicked");
            }
            34..=38 => self.replay(number),
            39 | 40 => {
                let strange = STRANGE[self.pick(STRANGE.len())];
                let place = self.pick(CLIENTS + 2);
                self.client_sends(client_addr(place), strange);
            }
            41 if self.random.chance(0.3) => {
                let given = program(self.random.below(7));
                self.input(Input::Program(given));
            }
            42..=50 => self.command(),
            51 => {
                let upstream = UpstreamId(u32::try_from(self.pick(8)).expect("a small number"));
                let error = "connection refused";
                self.input(Input::Unreachable { upstream, error });
            }
            52 => {
                let mut known = || [None, Some(true), Some(false)][self.pick(3)];
                let speaks = Speaks {
                    six: known(),
                    seven: known(),
                };
                self.input(Input::Probed(speaks));
            }
            53 => {
                let conditions = [network(0.0, 0), network(0.05, 40), network(0.2, 120)][self.pick(3)];
                self.up.conditions = conditions;
                self.players[number].up.conditions = conditions;
                self.players[number].down.conditions = conditions;
            }
            54 if self.setting.floods => self.flood(),
            _ => {}
        }
    }

    /// Sends a CONNECT of one variant from many addresses.
    fn flood(&mut self) {
        let (first, variant) = (self.random.bits(), self.pick(CONNECTS.len()));
        for number in 0..400 {
            let [.., high, low] = (first ^ number).to_be_bytes();
            let addr = SocketAddr::from(([10, 2, high, low], 9000));
            let token = self.random.token();
            let connect = control::connect(CONNECTS[variant], token, NO_TOKEN);
            self.client_sends(addr, &connect);
        }
    }

    /// Lets a client send an rcon password and an rcon command.
    fn secret(&mut self, number: usize) {
        let now = Duration::from_micros(self.now);
        let client = &mut self.players[number].client;
        for (name, field) in [("rcon_auth", "password"), ("rcon_cmd", "cmd")] {
            let message = Message::new(client.proto(), name, [(field, "hunter2".into())]);
            let _not_connected = client.send(now, &message.expect("a message of every protocol"));
        }
    }

    /// Sends an earlier datagram again, possibly damaged, from a client's address or the server's.
    fn replay(&mut self, number: usize) {
        if self.seen.is_empty() {
            return;
        }
        let at = self.pick(self.seen.len());
        let mut bytes = self.seen[at].clone();
        match self.random.below(4) {
            0 if !bytes.is_empty() => {
                let at = self.pick(bytes.len());
                bytes[at] ^= 1 << self.random.below(8);
            }
            1 => bytes.truncate(self.pick(bytes.len() + 1)),
            2 => bytes.push(0),
            _ => {}
        }
        if self.random.chance(0.5) {
            return self.client_sends(client_addr(number), &bytes);
        }
        let sockets: Vec<_> = self.sockets.values().copied().collect();
        if !sockets.is_empty() {
            let upstream = sockets[self.pick(sockets.len())];
            self.input(Input::FromServer {
                upstream,
                bytes: &bytes,
            });
        }
    }

    /// Sends a user's command to the core.
    fn command(&mut self) {
        self.commands += 1;
        let sessions: Vec<SessionId> = (0..CLIENTS)
            .filter_map(|number| self.hub.session_of(client_addr(number)))
            .collect();
        let session = match sessions.len() {
            0 => SessionId(1),
            len => sessions[self.pick(len)],
        };
        let dir = [Dir::C2s, Dir::S2c][self.pick(2)];
        let held = self.held().unwrap_or((dir, HeldId(NonZeroU32::MIN)));
        let command = match self.random.below(12) {
            0 => Command::List {
                session: Some(session),
            },
            1 => Command::List { session: None },
            2 => Command::Resync { session },
            3 | 4 => Command::Inject {
                session,
                dir,
                vital: self.random.chance(0.5),
                data: b"\x30one more\0".as_slice().into(),
            },
            5 => Command::ReleaseOne {
                session,
                dir: held.0,
                held: held.1,
            },
            6 => Command::Drop {
                session,
                dir: held.0,
                held: held.1,
            },
            7 => Command::Edit {
                session,
                dir: held.0,
                held: held.1,
                data: b"\x30another\0".as_slice().into(),
            },
            8 | 9 => Command::ToggleNamed {
                rule: ["early", "paused", "link both delay 5ms", "nobody"][self.pick(4)].into(),
                enabled: self.random.chance(0.5),
            },
            10 => Command::ToggleLine {
                line: 0,
                enabled: self.random.chance(0.5),
            },
            _ if self.random.chance(0.2) => Command::Close {
                session: Some(session),
                side: [None, Some(Side::Client), Some(Side::Server)][self.pick(3)],
                reason: b"closed by hand".as_slice().into(),
            },
            _ => Command::Release {
                session,
                key: self.random.below(4),
            },
        };
        let id = CommandId(self.commands);
        self.input(Input::Command { id, command });
    }

    /// Returns the direction and the id of a held message that the last reply to a command lists.
    fn held(&self) -> Option<(Dir, HeldId)> {
        self.events
            .iter()
            .rev()
            .take(200)
            .find_map(|event| match &event.what {
                EventKind::Answer(answer) => {
                    let held = answer.held.as_deref().and_then(<[_]>::first);
                    held.map(|held| (held.dir, held.held))
                }
                _ => None,
            })
    }
}
