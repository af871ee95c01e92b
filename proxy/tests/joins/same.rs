//! A run of each pair with all kinds of events: three clients over networks that lose and reorder, strangers,
//! restarts, rules, link lines, commands and closes. Each second has a line with its counts and a checksum
//! over all that the proxy sent and reported, so that an unintended change of behaviour is noticed.
//!
//! After an intended change: `INSTA_UPDATE=always cargo test -p teetap-proxy --test joins same`, and check at
//! which second the runs begin to differ.

use std::{
    fmt::Write as _,
    sync::{Arc, Mutex},
};

use teetap_kit::{
    link::{Conditions, SECOND},
    peer::{Options, Peer, Policy, Server},
    world::{HubObserver, Middle, World, client_addr, config, route, transcript},
};
use teetap_proxy::session::{Command, CommandId, Config, EventKind, Hub, Input, Output, Time, UpstreamId};
use teetap_repeatable::Checksum;
use teetap_rules::Program;
use teetap_wire::{Dir, Side};

use crate::facts::registry;
use crate::stage::{GREETING, Pair};

/// Rules and link lines of every kind. Sequence numbers repeat every 1024 messages.
const RULES: &str = r#"
early: drop when c2s and vital and pkt.seq in {5 9}
hold until c2s and vital and pkt.seq == 30 max 2s when s2c and vital and pkt.seq == 26
paused: pause max 900ms when c2s and vital and pkt.seq in {12 16 20 24}
delay 30ms unordered when c2s and not vital and t > 4s
dup 2 when c2s and vital and pkt.seq == 14
lose 2 times when s2c and pkt.seq in {14 21}
reorder 2 when c2s and not vital and t <= 4s
drop when s2c and vital chance 10%
swap when c2s and vital every 3 until 7s
dup 2 gap 25ms when c2s and vital every 11
inject s2c sv_chat{client_id: -1, message: "tick"} when c2s and vital every 9
reply sv_motd when c2s and vital every 13
log "{pkt.seq}", mark seen when s2c and vital every 17
corrupt 2 bits when c2s and not vital chance 30%
drop when c2s and not vital skip 3 max 1 per 2s from 5s
expect s2c within 40ms when c2s and vital every 15
stall 300ms when s2c and vital and pkt.seq == 40
link both delay 15ms jitter 8ms pareto loss 2% dup 1% reorder 3% corrupt 1%
link s2c rate 400kbit queue 8kB from 1s
"#;

/// Rules for control messages, which replace the others.
const LATER: &str = r#"
set close.reason = "another one" when c2s and close
delay 100ms when c2s and connect
dup when s2c and ctrl and not close
link both loss gemodel 1% 30% delay 30ms
"#;

/// A server browser request of 0.6, and a request of 0.7 with a token that the proxy did not give.
const BROWSE: &[u8] = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffgie3\x07";
const BROWSE_7: &[u8] = b"\x21\x01\x02\x03\x04\xff\xff\xff\xff\xff\xff\xff\xffgie3\x05";

/// Counts of one second of a run.
#[derive(Clone, Copy, Debug)]
struct Second {
    to_server: u32,
    to_clients: u32,
    events: u32,
    notices: u32,
    sum: Checksum,
}

impl Second {
    const NOTHING: Self = Self {
        to_server: 0,
        to_clients: 0,
        events: 0,
        notices: 0,
        sum: Checksum::EMPTY,
    };
}

/// The seconds so far.
type Seconds = Arc<Mutex<Vec<Second>>>;

#[derive(Debug)]
struct Diary(Seconds);

impl HubObserver for Diary {
    fn input(&mut self, at: Time, _: &Input<'_>) {
        let second = usize::try_from(at.0 / SECOND).unwrap();
        let mut seconds = self.0.lock().unwrap();
        let len = seconds.len().max(second + 1);
        seconds.resize(len, Second::NOTHING);
    }

    fn output(&mut self, output: &Output<'_>) {
        let mut seconds = self.0.lock().unwrap();
        let now = seconds.last_mut().unwrap();
        match output {
            Output::ToServer { upstream, bytes } => {
                now.to_server += 1;
                now.sum.add(&upstream.0.to_le_bytes());
                now.sum.add(bytes);
            }
            Output::ToClient {
                listener,
                addr,
                bytes,
            } => {
                now.to_clients += 1;
                now.sum.add(format!("{} {addr}", listener.0).as_bytes());
                now.sum.add(bytes);
            }
            Output::Event(event) => {
                now.events += 1;
                let text = match &event.what {
                    EventKind::Notice(notice) => {
                        now.notices += 1;
                        format!("{} {notice}", event.at)
                    }
                    _ => transcript(event),
                };
                now.sum.add(text.as_bytes());
            }
            other => now.sum.add(format!("{other:?}").as_bytes()),
        }
    }
}

fn world(pair: Pair, seed: u64) -> (World, Seconds) {
    let config = Config {
        heals: true,
        ..config(seed, None, true)
    };
    let policy = Policy {
        options: Options::endless(),
        greeting: vec![GREETING.to_vec()],
        ..Policy::default()
    };
    let middle = Middle::Hub(Box::new(Hub::new(config, route())));
    let conditions = Conditions::bad(0.04);
    let mut world = World::new(middle, Server::new(pair.server, policy, seed), conditions, seed);
    let seconds = Seconds::default();
    world.witness = Some(Box::new(Diary(Arc::clone(&seconds))));
    for number in 0..3 {
        world.add(client(pair, seed + number, 0), conditions, seed + number);
    }
    (world, seconds)
}

fn client(pair: Pair, seed: u64, now: u64) -> Peer {
    let options = Options {
        limits: false,
        ..Options::saying(b"hello")
    };
    let mut peer = Peer::client(pair.client, options, seed);
    peer.connect(now);
    peer
}

/// Sends messages from both sides.
fn talk(world: &mut World, round: u32) {
    let now = world.now;
    for client in &mut world.clients {
        let text = format!("from {}, {round}", client.addr);
        client.peer.send_vital(text.as_bytes(), now);
        client.peer.send_nonvital(b"now and then", now);
        client.peer.flush(now);
    }
    for (addr, peer) in world.server.peers_mut() {
        peer.send_vital(format!("to {addr}, {round}").as_bytes(), now);
        peer.flush(now);
    }
}

fn program(source: &str) -> Option<Arc<Program>> {
    match Program::compile(source, registry()) {
        Ok((program, _)) => Some(Arc::new(program)),
        Err(errors) => panic!("rules: {errors:?}"),
    }
}

fn command(world: &mut World, id: u64, command: Command) {
    world.input(Input::Command {
        id: CommandId(id),
        command,
    });
}

/// Carries out the commands, restarts and closes of a round.
fn special(world: &mut World, pair: Pair, round: u32) {
    let session = world.hub().and_then(|hub| hub.session_of(client_addr(0)));
    let stranger = client_addr(7);
    let id = u64::from(round);
    match (round, session) {
        (3, _) => world.stranger_sends(stranger, BROWSE),
        (4, _) => world.stranger_sends(stranger, BROWSE_7),
        (6, _) => world.stranger_sends(stranger, b"\x10\0\0\x09"),
        (7, _) => world.stranger_sends(stranger, b"\x10\0\0\x01TKEN\xff\xff\xff\xff"),
        (10, _) => world.input(Input::Program(program(RULES))),
        (12..=40, Some(_)) if round.is_multiple_of(7) => command(world, id, Command::List { session }),
        (15, _) => world.server_sends(UpstreamId(1), b"\x10\0\0\x04forged\0"),
        (20, Some(session)) => command(world, id, Command::Resync { session }),
        (25 | 50, Some(session)) => {
            let dir = if round == 50 { Dir::S2c } else { Dir::C2s };
            let (vital, data) = (round == 50, b"one more".as_slice().into());
            command(
                world,
                id,
                Command::Inject {
                    session,
                    dir,
                    vital,
                    data,
                },
            );
        }
        (28 | 44, _) => {
            let rule = RULES
                .lines()
                .find(|line| line.starts_with("link s2c"))
                .unwrap()
                .into();
            command(
                world,
                id,
                Command::ToggleNamed {
                    rule,
                    enabled: round == 44,
                },
            );
        }
        (32, _) => {
            let rule = "early".into();
            command(world, id, Command::ToggleNamed { rule, enabled: false });
        }
        (35, _) => {
            let now = world.now;
            world.clients[2].peer = client(pair, 99, now);
        }
        (55, _) => world.input(Input::Program(program(LATER))),
        (60, _) => {
            let now = world.now;
            world.clients[1].peer.close("enough", now);
        }
        (70, _) => {
            let now = world.now;
            world.clients[1].peer = client(pair, 100, now);
        }
        (76, Some(_)) => {
            let (side, reason) = (Some(Side::Client), b"out".as_slice().into());
            command(
                world,
                id,
                Command::Close {
                    session,
                    side,
                    reason,
                },
            );
        }
        (80, _) => world.input(Input::Program(None)),
        (90, _) => world.input(Input::Shutdown { reason: b"the end" }),
        _ => {}
    }
}

#[test]
fn runs_stay_the_same() {
    for pair in Pair::ALL {
        let (mut world, seconds) = world(pair, 20);
        for round in 0..92 {
            talk(&mut world, round);
            special(&mut world, pair, round);
            world.run(SECOND / 5);
        }
        drop(world);
        let mut text = String::new();
        for (at, second) in seconds.lock().unwrap().iter().enumerate() {
            let Second {
                to_server,
                to_clients,
                events,
                notices,
                sum,
            } = second;
            let _infallible = writeln!(
                text,
                "second {at}: {to_server} datagrams to the server, {to_clients} to clients, {events} events, {notices} of them notices; {:016x}",
                sum.value()
            );
        }
        insta::assert_snapshot!(format!("{:?}-to-{:?}", pair.client, pair.server), text);
    }
}
