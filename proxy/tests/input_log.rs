//! Runs of the virtual world on bad networks are recorded in an input log and replayed byte for byte.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "tests choose the built-in definitions")]

use std::{
    fs::File,
    io::BufReader,
    path::Path,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use teetap_kit::{
    codec::Variant,
    link::{Conditions, SECOND},
    peer::{Options, Peer, Policy, Server},
    rules::made,
    world::{HubObserver, Middle, World, client_addr, route},
};
use teetap_proxy::{
    io::input_log::{self, Compile, Compiled, Header, Recorder, Texts},
    session::{Config, Events, Hub, Input, Output, Time},
};
use teetap_rules::Program;
use teetap_wire::{Dir, def::Registry};

/// Records the inputs and outputs of the hub of a virtual world.
#[derive(Debug)]
struct Clerk(Recorder);

impl HubObserver for Clerk {
    fn input(&mut self, at: Time, input: &Input<'_>) {
        self.0.begin(at, input);
    }

    fn output(&mut self, output: &Output<'_>) {
        self.0.output(output);
    }
}

/// Three clients of a variant talk to a server over hops that lose, duplicate and reorder. Messages are
/// injected, so that the directions are renumbered, and in the end all sessions are closed.
fn lossy(variant: Variant, seed: u64, path: &Path) {
    let config = Config {
        seed,
        secret: [seed.to_le_bytes()[0]; 16],
        proto: None,
        // The peers never give up either.
        patience: Some(Duration::MAX),
        heals: true,
        events: Events::All,
        registry: Registry::builtin(),
    };
    let addrs = [route().server, route().listen];
    let header = Header::new("of this test", &config, addrs, UNIX_EPOCH);
    let (recorder, writing) = input_log::start(path, &header).unwrap();
    let conditions = Conditions::bad(0.05);
    let policy = Policy {
        options: Options::endless(),
        ..Policy::default()
    };
    let server = Server::new(variant, policy, seed);
    let mut world = World::new(
        Middle::Hub(Box::new(Hub::new(config, header.route()))),
        server,
        conditions,
        seed,
    );
    world.witness = Some(Box::new(Clerk(recorder)));
    for number in 0..3 {
        let limits = false;
        let options = Options {
            limits,
            ..Options::saying(b"hello")
        };
        let mut client = Peer::client(variant, options, seed + number);
        client.connect(0);
        world.add(client, conditions, seed + number);
    }
    for round in 0..100 {
        talk(&mut world, round);
        let session = world.hub().and_then(|hub| hub.session_of(client_addr(0)));
        if let (25 | 50, Some(session)) = (round, session) {
            let dir = if round == 50 { Dir::S2c } else { Dir::C2s };
            world.inject(session, made(dir, "one more"));
        }
        match round {
            10 => world.input(Input::Program(compiled(RULES))),
            60 => world.input(Input::Program(compiled(OTHERS))),
            90 => world.input(Input::Program(None)),
            _ => {}
        }
        world.run(SECOND / 5);
    }
    world.input(Input::Shutdown { reason: b"the end" });
    drop(world);
    writing.finish();
}

/// Rules that act on messages of every kind.
const RULES: &str = "
# Numbers come again every 1024 messages.
drop when c2s and vital and pkt.seq in {5 9 23}
hold until c2s and vital and pkt.seq == 30 max 2s when s2c and vital and pkt.seq == 26
late: delay 70ms when s2c and vital and pkt.size > 20
delay 30ms unordered when c2s and not vital and t > 4s
twice: dup 2 when c2s and vital and pkt.seq == 12
lose 2 times when s2c and pkt.seq in {14 21}
reorder 2 when c2s and not vital and t <= 4s
drop when s2c and vital chance 10%
delay 10ms..90ms unordered when c2s and not vital and t > 6s
swap when c2s and vital every 3 until 7s
dup 2 gap 25ms when c2s and vital every 11
inject s2c sv_chat{client_id: -1, message: \"tick\"} when c2s and vital every 9
reply sv_motd when c2s and vital every 13
log \"{pkt.seq}\", dup when s2c and vital every 17
inject c2s cl_say{message: \"tock\"} every 1300ms
corrupt 2 bits when c2s and not vital chance 40%
dup when s2c and vital every 7 first 4 per global
drop when c2s and not vital skip 3 max 1 per 2s from 5s
delay 20ms when c2s and vital after pkt.seq == 20 until pkt.seq > 30
link both delay 15ms jitter 8ms pareto loss 2% dup 1% reorder 3% corrupt 1%
link s2c rate 400kbit queue 8kB from 1s
";

/// The rules that replace them. The first one keeps its name.
const OTHERS: &str = "late: delay 40ms when s2c and vital
swap when c2s and vital and pkt.seq > 40
dup when s2c and vital every 7 first 4 per global
link s2c loss gemodel 1% 30% delay 30ms
";

fn compiled(source: &str) -> Option<Arc<Program>> {
    compile(source).map(Arc::new).map(Some).unwrap()
}

fn compile(source: &str) -> Compiled {
    Program::compile(source, Registry::builtin()).map(|(program, _)| program)
}

/// Sends messages from both sides.
fn talk(world: &mut World, round: u32) {
    let now = world.now;
    for client in &mut world.clients {
        client
            .peer
            .send_vital(format!("from {}, {round}", client.addr).as_bytes(), now);
        client.peer.send_nonvital(b"now and then", now);
        client.peer.flush(now);
    }
    for (addr, peer) in world.server.peers_mut() {
        peer.send_vital(format!("to {addr}, {round}").as_bytes(), now);
        peer.flush(now);
    }
}

#[test]
fn bad_networks_replay_equal_in_every_variant() {
    let variants = [
        Variant::V6,
        Variant::V65,
        Variant::Ddnet,
        Variant::V7,
        Variant::D7,
    ];
    let folder = tempfile::tempdir().unwrap();
    for (variant, seed) in variants.into_iter().zip(20..) {
        let path = folder.path().join(seed.to_string());
        lossy(variant, seed, &path);
        let check = |compile: Compile<'_>| {
            let log = BufReader::new(File::open(&path).unwrap());
            let texts = Texts {
                registry: &|_| Ok(Registry::builtin()),
                program: &|source, _| compile(source),
            };
            input_log::check(log, texts).unwrap()
        };
        let checked = check(&compile);
        assert_eq!((checked.difference, checked.cut), (None, None), "{variant:?}");
        assert!(checked.sent > 500, "{variant:?}: {}", checked.sent);
        // The run differs if any one rule is removed.
        for rule in RULES
            .lines()
            .chain(OTHERS.lines())
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            let without = check(&|source| compile(&source.replace(rule, "")));
            assert!(without.difference.is_some(), "{variant:?}: {rule}");
        }
    }
}
