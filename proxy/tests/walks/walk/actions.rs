//! The actions of a walk.

use std::{net::SocketAddr, num::NonZeroU32};

use teetap_kit::{
    codec::Variant,
    hostile::Shown,
    link::{Conditions, Random},
    peer::{Options, Peer, Policy, Server},
    rules::compiled,
    world::{Place, client_addr, listen_addr},
};
use teetap_proxy::session::{
    Command, CommandId, EventKind, Events, HeldId, Input, ListenerId, SessionId, Speaks, UpstreamId,
};
use teetap_rules::RuleId;
use teetap_wire::{Dir, Side};

use super::{Mode, Walk, proto};
use crate::{
    hostile::{self, STRANGE},
    messages::message,
    rules::program,
};

impl Walk {
    /// Takes a random action.
    pub(super) fn act(&mut self) {
        let now = self.world.now;
        let number = self.below(2);
        let roll = match (self.mode, self.random.below(100)) {
            (Mode::Handshakes, 0..=35) => {
                self.one(&[0, 18, 36, 36, 39, 39, 40, 43, 45, 46, 65, 65, 69, 82, 82, 82])
            }
            (Mode::Talk, 36..=45) => self.one(&[0, 18, 80]),
            (_, roll) => roll,
        };
        match roll {
            0..=17 => self.client_talks(number),
            18..=35 => self.server_talks(),
            36..=38 => self.restart(number, self.client),
            39 => {
                let variant = self.one(&Variant::ALL);
                self.restart(number, variant);
            }
            40 | 41 => self.world.clients[number].peer.close("bye", now),
            42 => self.world.clients[number].peer = Peer::client(self.client, Options::default(), 1),
            43 | 44 => {
                if let Some((_, slot)) = self.world.server.peers_mut().next() {
                    slot.close("kicked", now);
                }
            }
            45 => self.world.server = Server::new(self.server, Policy::greets(b"again"), now),
            46..=50 => self.conditions(number),
            51..=56 => {
                let program = program(&mut self.random);
                self.world.input(Input::Program(program));
            }
            57..=64 => self.odd(number),
            65..=68 => self.replay(number),
            69..=71 => self.strange(),
            72 => self.flood(),
            73 | 74 => self.follow(number),
            75 | 76 => self.listeners(),
            77 => {
                let upstream = UpstreamId(u32::try_from(self.random.below(4)).unwrap());
                let error = "connection refused";
                self.world.input(Input::Unreachable { upstream, error });
            }
            78 => {
                let known = [None, Some(true), Some(false)];
                let (six, seven) = (self.one(&known), self.one(&known));
                self.world.input(Input::Probed(Speaks { six, seven }));
            }
            79 => {
                let events = self.one(&[Events::All, Events::All, Events::Odd, Events::Nothing]);
                self.world.hub().unwrap().watch(events);
            }
            82 => self.answer(),
            83 => self.browse(),
            _ => self.command(number),
        }
    }

    fn restart(&mut self, number: usize, variant: Variant) {
        let mut peer = self.peer(variant);
        peer.connect(self.world.now);
        self.world.clients[number].peer = peer;
    }

    /// Lets a client send up to three messages in one datagram.
    fn client_talks(&mut self, number: usize) {
        let now = self.world.now;
        for _ in 0..=self.random.below(3) {
            let peer = &mut self.world.clients[number].peer;
            let proto = proto(peer.variant());
            let data = match self.random.below(8) {
                0 => self.snapshots.ack(proto),
                _ => message(&mut self.random, proto, Dir::C2s),
            };
            say(peer, &data, &mut self.random, now);
        }
        self.world.clients[number].peer.flush(now);
    }

    /// Lets the server send up to three messages to each client.
    fn server_talks(&mut self) {
        let now = self.world.now;
        let count = self.random.below(3);
        let others = self.world.others.values_mut().flat_map(Server::peers_mut);
        for (_, peer) in self.world.server.peers_mut().chain(others) {
            for _ in 0..=count {
                let proto = proto(peer.format());
                let data = match self.random.below(6) {
                    0 => self.snapshots.next(&mut self.random, proto),
                    _ => message(&mut self.random, proto, Dir::S2c),
                };
                say(peer, &data, &mut self.random, now);
            }
            peer.flush(now);
        }
    }

    /// Changes the network on one hop or on all.
    fn conditions(&mut self, number: usize) {
        let dead = Conditions {
            loss: 1.0,
            ..Conditions::GOOD
        };
        let conditions = self.one(&[Conditions::GOOD, dead, Conditions::bad(0.2)]);
        let client = &mut self.world.clients[number];
        match self.random.below(6) {
            0 => client.up.conditions = conditions,
            1 => client.down.conditions = conditions,
            2 => self.world.up.conditions = conditions,
            3 => self.world.down.conditions = conditions,
            _ => self.world.set_conditions(Conditions::GOOD),
        }
    }

    /// Sends a forged datagram of the client or of the server. It has a valid token, but any ack and sequence numbers.
    fn odd(&mut self, number: usize) {
        if self.random.chance(0.5) {
            let shown = Shown::of_peer(&self.world.clients[number].peer);
            let bytes = hostile::odd(&mut self.random, shown);
            return self.world.client_sends(number, &bytes);
        }
        let shown: Vec<_> = self
            .world
            .server
            .peers()
            .map(|(addr, peer)| (addr, Shown::of_peer(peer)))
            .collect();
        if shown.is_empty() {
            return;
        }
        let (addr, shown) = self.one(&shown);
        let bytes = hostile::odd(&mut self.random, shown);
        self.server_sends(addr, &bytes);
    }

    fn server_sends(&mut self, addr: SocketAddr, bytes: &[u8]) {
        let upstream = UpstreamId(u32::from(addr.port() - 20_000));
        if self.world.sockets.contains(&upstream) {
            self.world.server_sends(upstream, bytes);
        }
    }

    /// Sends an earlier datagram again, possibly damaged.
    fn replay(&mut self, number: usize) {
        let sent = self.world.network.sent.as_ref().unwrap();
        let from_peers = sent
            .iter()
            .filter(|sent| matches!(sent.place, Place::FromClient | Place::FromServer));
        let sent: Vec<_> = from_peers.cloned().collect();
        if sent.is_empty() {
            return;
        }
        let mut chosen = sent[self.below(sent.len())].clone();
        match self.random.below(6) {
            0 if !chosen.bytes.is_empty() => {
                let at = self.below(chosen.bytes.len());
                chosen.bytes[at] ^= 1 << self.random.below(8);
            }
            1 => chosen.bytes.truncate(self.below(chosen.bytes.len() + 1)),
            2 => chosen.bytes.resize(self.one(&[1395, 1400, 1401]), 0x55),
            _ => {}
        }
        match chosen.place {
            Place::FromServer => self.server_sends(chosen.addr, &chosen.bytes),
            _ => self.world.client_sends(number, &chosen.bytes),
        }
    }

    /// Sends a datagram without a session from the address of a client or of a stranger, or to a relay of the browser.
    fn strange(&mut self) {
        let bytes = self.one(&STRANGE).to_vec();
        let addr = client_addr(self.below(4));
        match self.random.below(4) {
            0 => {
                let variant = self.one(&Variant::ALL);
                let connect = hostile::connect(&mut self.random, variant);
                self.world.stranger_sends(addr, &connect);
            }
            1 => {
                let sockets = self.world.sockets.clone();
                if !sockets.is_empty() {
                    let upstream = self.one(&sockets);
                    self.world.server_sends(upstream, &bytes);
                }
            }
            _ => self.world.stranger_sends(addr, &bytes),
        }
    }

    /// Answers as a server of any variant on an open socket, with tokens that were sent to the server.
    fn answer(&mut self) {
        let sent = self.world.network.sent.as_ref().unwrap();
        let last = sent.iter().rev().find(|sent| sent.place == Place::ToServer);
        if let Some((addr, request)) = last.map(|sent| (sent.addr, sent.bytes.clone())) {
            let bytes = hostile::answer(&mut self.random, &request);
            self.server_sends(addr, &bytes);
        }
    }

    /// Sends requests of server browsers from many addresses.
    fn browse(&mut self) {
        let request = self.one(&[STRANGE[0], STRANGE[2], STRANGE[4]]);
        let count = self.one(&[3, 3, 3, 70]);
        for number in 0..count {
            let addr = SocketAddr::from(([10, 3, 0, number], 9000));
            self.world.stranger_sends(addr, request);
        }
    }

    /// Sends a CONNECT of one variant from many addresses, now and then with rules for it.
    pub(super) fn flood(&mut self) {
        let variant = self.one(&Variant::ALL);
        let count = if self.is_flooded {
            300
        } else {
            self.one(&[3, 3, 20])
        };
        if self.random.chance(0.4) {
            let program = compiled("drop when ctrl.connect_accept every 3").unwrap();
            self.world.input(Input::Program(Some(program)));
        }
        for number in 0..count {
            let [high, low] = u16::to_be_bytes(number);
            let addr = SocketAddr::from(([10, 2, high, low], 9000));
            let connect = hostile::connect(&mut self.random, variant);
            self.world.stranger_sends(addr, &connect);
        }
    }

    /// Lets a client connect to a listen socket that a redirect has requested.
    fn follow(&mut self, number: usize) {
        let wanted = self.world.wanted_listeners.clone();
        if wanted.is_empty() {
            return;
        }
        let (listener, _) = self.one(&wanted);
        self.world.clients[number].listener = self.one(&[listener, ListenerId::FIRST]);
        let variant = self.world.clients[number].peer.variant();
        if self.random.chance(0.7) {
            self.restart(number, variant);
        }
    }

    /// Stops or starts opening requested listen sockets immediately, or reports the result of one.
    fn listeners(&mut self) {
        let wanted = self.world.wanted_listeners.clone();
        if wanted.is_empty() || self.random.chance(0.4) {
            self.world.listens = !self.world.listens;
            return;
        }
        let (listener, _) = self.one(&wanted);
        if self.random.chance(0.5) {
            let local = listen_addr(listener);
            self.world.input(Input::ListenerOpened { listener, local });
        } else {
            let error = "no port";
            self.world.input(Input::ListenerFailed { listener, error });
        }
    }

    /// Returns the held message that was reported or listed last.
    fn held(&self) -> Option<(Dir, HeldId)> {
        self.world
            .events
            .iter()
            .rev()
            .find_map(|event| match &event.what {
                EventKind::Answer(answer) => {
                    let held = answer.held.as_deref().and_then(<[_]>::first);
                    held.map(|held| (held.dir, held.held))
                }
                EventKind::Datagram(datagram) => {
                    let held = datagram.placed.iter().find_map(|placed| placed.held);
                    held.map(|held| (datagram.dir, held))
                }
                _ => None,
            })
    }

    /// Sends a random command to the core.
    fn command(&mut self, number: usize) {
        self.commands += 1;
        let session = self.world.hub().unwrap().session_of(client_addr(number));
        let session = session.unwrap_or(SessionId(1));
        let drawn = self.one(&[Dir::C2s, Dir::S2c]);
        let (dir, held) = self.held().unwrap_or((drawn, HeldId(NonZeroU32::MIN)));
        let proto = proto(self.client);
        let enabled = self.random.chance(0.4);
        let command = match self.random.below(14) {
            0 => Command::List {
                session: self.one(&[None, Some(session)]),
            },
            1 => Command::Resync { session },
            2 | 3 => Command::Inject {
                session,
                dir: drawn,
                vital: self.random.chance(0.7),
                data: message(&mut self.random, proto, drawn).into(),
            },
            4 | 5 => Command::ReleaseOne { session, dir, held },
            6 => Command::Drop { session, dir, held },
            7 => Command::Edit {
                session,
                dir,
                held,
                data: message(&mut self.random, proto, dir).into(),
            },
            8 => Command::ToggleNamed {
                rule: self
                    .one(&["early", "paused", "link both delay 30ms", "nobody"])
                    .into(),
                enabled,
            },
            9 => Command::ToggleLine {
                line: self.one(&[0, 0, 0, 1]),
                enabled,
            },
            10 | 11 => Command::Toggle {
                rule: RuleId(self.one(&[0, 0, 1, 2])),
                enabled,
            },
            12 if self.random.chance(0.5) => Command::Close {
                session: self.one(&[None, Some(session), Some(session)]),
                side: self.one(&[None, Some(Side::Client), Some(Side::Server)]),
                reason: b"closed by hand".as_slice().into(),
            },
            _ => Command::Release {
                session,
                key: self.random.below(3),
            },
        };
        let id = CommandId(self.commands);
        self.world.input(Input::Command { id, command });
    }
}

/// Queues a message, mostly as a vital one.
fn say(peer: &mut Peer, data: &[u8], random: &mut Random, now: u64) {
    let most = if peer.format().is_seven() { 1388 } else { 1023 };
    let data = &data[..data.len().min(most)];
    if !peer.is_online() || !peer.has_room(data.len()) {
        return;
    }
    if random.chance(0.7) {
        peer.send_vital(data, now);
    } else {
        peer.send_nonvital(data, now);
    }
}
