//! Clients without tokens at servers that require a proof of their address: 0.6.5's legacy handshake and
//! DDNet's `sv_vanilla_antispoof` hide a number in the messages of a join. The proxy changes nothing until
//! the server acks the client.

use std::sync::{Arc, Mutex, MutexGuard};

use teetap_kit::{
    codec::{Variant, control},
    link::{Conditions, MS, SECOND},
    peer::{Policy, game},
    rules::{BOTH, made, program},
    world::{HubObserver, hub},
};
use teetap_proxy::session::{Input, Notice, Output, Time};
use teetap_rules::{Decide, Fate, Message, Shared, Verdict};
use teetap_wire::Dir;

use crate::stage::{GREETING, PAUSE, Pair, Stage, has, pair};

/// Client and server of every such join.
const PAIRS: [Pair; 5] = [
    pair(Variant::V6, Variant::V65),
    pair(Variant::Ddnet, Variant::V65),
    pair(Variant::V6, Variant::Ddnet),
    pair(Variant::V65, Variant::Ddnet),
    pair(Variant::V6, Variant::D7),
];

/// The effect of the hub on the datagrams of the join.
#[derive(Debug, Default)]
struct Seen {
    /// The datagram that was the last input, and whether a client sent it.
    last: Option<(bool, Vec<u8>)>,
    /// True once the server has acked the client.
    is_over: bool,
    /// True if the server, and in `has_begun` the client, has sent messages since the client last began to
    /// join.
    is_challenged: bool,
    has_begun: bool,
    crossed: usize,
    /// Number of data packets that were not forwarded immediately.
    kept: usize,
    /// Datagrams that were sent without being equal to the last input.
    made: Vec<Vec<u8>>,
}

impl Seen {
    /// Returns true while nothing may be changed: until the client begins, and after the server sent the
    /// number that proves it.
    fn is_guarded(&self) -> bool {
        !self.is_over && (self.is_challenged || !self.has_begun)
    }
}

#[derive(Debug)]
struct Eye(Arc<Mutex<Seen>>);

impl HubObserver for Eye {
    fn input(&mut self, _: Time, input: &Input<'_>) {
        let seen = &mut *self.0.lock().unwrap();
        let (by_client, bytes) = match input {
            Input::FromClient { bytes, .. } => (true, *bytes),
            Input::FromServer { bytes, .. } => (false, *bytes),
            _ => return,
        };
        if let Some((_, last)) = seen.last.take() {
            seen.kept += usize::from(seen.is_guarded() && control::message(&last).is_none());
        }
        match control::message(bytes) {
            None if by_client => seen.has_begun = true,
            None => seen.is_challenged = true,
            Some(_) => {}
        }
        seen.is_over |= !by_client && (bytes[0] & 3 > 0 || bytes[1] > 0);
        seen.last = Some((by_client, bytes.to_vec()));
    }

    fn output(&mut self, output: &Output<'_>) {
        let seen = &mut *self.0.lock().unwrap();
        let (to_client, bytes) = match output {
            Output::ToClient { bytes, .. } => (true, *bytes),
            Output::ToServer { bytes, .. } => (false, *bytes),
            _ => return,
        };
        // The handshake of either leg, and the CLOSE for a session that another one replaces.
        let answer = if to_client {
            control::CONNECT_ACCEPT
        } else {
            control::CONNECT
        };
        let is_own =
            matches!(control::message(bytes), Some(message) if [answer, control::CLOSE].contains(&message));
        if seen
            .last
            .take_if(|(by_client, last)| *by_client != to_client && last == bytes)
            .is_some()
        {
            seen.crossed += 1;
        } else if seen.is_guarded() && !is_own {
            seen.made.push(bytes.to_vec());
        }
    }
}

/// Rules that would drop every message of the join.
struct Meddle(Arc<Mutex<Vec<Vec<u8>>>>);

impl Decide for Meddle {
    fn decide(&mut self, message: &Message<'_>, _: &mut Shared) -> Verdict {
        self.0.lock().unwrap().push(message.data.to_vec());
        let id = game::system(message.data).map(|(id, _)| id);
        if id.is_some_and(|id| (game::MAP_CHANGE..=game::INPUT).contains(&id)) {
            Verdict::from_fate(Fate::Drop)
        } else {
            Verdict::PASS
        }
    }
}

struct Join {
    stage: Stage,
    seen: Arc<Mutex<Seen>>,
    decided: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Join {
    /// Returns a client that begins to join, with rules that would drop messages if `meddles`.
    fn new(pair: Pair, seed: u64, meddles: bool) -> Self {
        let policy = Policy {
            challenges: true,
            ..Policy::default()
        };
        let mut stage = Stage::with(pair, seed, policy, hub(seed, None, true));
        let (seen, decided) = (Arc::default(), Arc::default());
        stage.world.witness = Some(Box::new(Eye(Arc::clone(&seen))));
        if meddles {
            let decided = Arc::clone(&decided);
            let rules = program(BOTH, move |_| Meddle(Arc::clone(&decided)));
            stage.world.input(Input::Program(rules));
        }
        Self { stage, seen, decided }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    /// Returns true if both sides are in session and the client has received the message that the server
    /// sends after the proof.
    fn is_in(&self) -> bool {
        let slots: Vec<_> = self.stage.world.server.peers().collect();
        let client = &self.stage.world.clients[0].peer;
        client.is_online() && has(client, GREETING) && matches!(slots[..], [(_, slot)] if slot.is_online())
    }

    fn assert_plays(&mut self) {
        self.stage.check(self.is_in(), "not in session");
        let talks = self.stage.talks(3 * SECOND);
        self.stage.check(talks, "no talk");
        self.stage.equal(self.stage.online.len(), 1, "sessions online");
    }

    fn assert_untouched(&self) {
        let seen = self.seen();
        assert!(seen.made.is_empty(), "{:?}: {:02x?}", self.stage.pair, seen.made);
    }

    fn inject(&mut self, dir: Dir, text: &str) {
        let session = self.stage.session().unwrap();
        self.stage.world.inject(session, made(dir, text));
    }
}

#[test]
fn a_client_proves_itself_and_plays() {
    for pair in PAIRS {
        let mut join = Join::new(pair, 1, false);
        join.stage.run(2 * SECOND);
        for _ in 0..20 {
            join.assert_plays();
            join.stage.run(PAUSE);
        }
        join.assert_untouched();
        let seen = join.seen();
        assert!(
            seen.is_over && seen.kept == 0 && seen.crossed > 20,
            "{pair:?}: {seen:?}"
        );
        join.stage
            .equal(join.stage.times(&Notice::LegacyJoin), 1, "labels");
        assert_eq!(join.stage.world.server.counters.opened, 1);
        assert_eq!(join.stage.ever_online, 1);
    }
}

/// Rules wait until the join is over; then they act.
#[test]
fn rules_touch_nothing_before_the_server_acks_the_client() {
    for pair in PAIRS {
        let mut join = Join::new(pair, 2, true);
        while !join.seen().is_over {
            let decided = join.decided.lock().unwrap().len();
            assert_eq!(decided, 0, "{pair:?}");
            if join.is_in() {
                join.stage.say();
            }
            join.stage.step();
            join.stage
                .check(join.stage.world.now < 10 * SECOND, "the join is not over");
        }
        join.assert_plays();
        join.assert_untouched();
        let armed = [Dir::C2s, Dir::S2c].map(|dir| Notice::Renumbered { dir });
        let notices = join.stage.notices();
        assert!(
            armed.iter().all(|armed| notices.contains(armed)),
            "{pair:?}: {notices:?}"
        );
        // The inputs continue and are dropped now, so the rules act; other messages pass.
        join.stage.run(SECOND);
        let decided = join.decided.lock().unwrap();
        assert!(
            decided.iter().any(|data| game::acked_tick(data).is_some()),
            "{pair:?}"
        );
        drop(decided);
        join.assert_plays();
    }
}

#[test]
fn nothing_is_injected_before_the_server_acks_the_client() {
    for pair in PAIRS {
        let mut join = Join::new(pair, 3, false);
        let mut tried = 0;
        while !join.seen().is_over {
            if join.stage.session().is_some() {
                join.inject(Dir::S2c, "too early");
                join.inject(Dir::C2s, "too early");
                tried += 2;
            }
            if join.is_in() {
                join.stage.say();
            }
            join.stage.step();
            join.stage
                .check(join.stage.world.now < 10 * SECOND, "the join is not over");
        }
        join.assert_untouched();
        let refused = |why: &'static str| join.stage.times(&Notice::InjectRefused { why: why.into() });
        let (early, joining) = (
            refused("the session is not online"),
            refused("the join without tokens is not complete"),
        );
        assert!(
            early + joining == tried && joining > 0,
            "{pair:?}: {early}, {joining} of {tried}"
        );
        join.assert_plays();
        join.inject(Dir::S2c, "in time");
        join.inject(Dir::C2s, "in time");
        join.stage.run(SECOND);
        assert!(
            has(join.stage.client(), b"in time") && has(join.stage.slot(), b"in time"),
            "{pair:?}"
        );
        assert!(!has(join.stage.client(), b"too early") && !has(join.stage.slot(), b"too early"));
        join.assert_plays();
    }
}

/// The number is sent once. A client that loses it connects again, as without the proxy.
#[test]
fn a_client_proves_itself_on_a_bad_line() {
    let (mut attempts, mut lost) = (0, 0);
    for pair in PAIRS {
        for seed in 0..40 {
            let mut join = Join::new(pair, seed, seed % 2 == 0);
            join.stage.world.set_conditions(Conditions::bad(0.1));
            let mut begun = 0;
            attempts += 1;
            while !(join.is_in() && join.seen().is_over) {
                if join.is_in() && join.stage.world.now.is_multiple_of(PAUSE) {
                    join.stage.say();
                }
                if join.stage.world.now - begun > 12 * SECOND {
                    join.stage.restart();
                    (join.seen().is_challenged, join.seen().has_begun) = (false, false);
                    begun = join.stage.world.now;
                    attempts += 1;
                }
                join.stage.step();
                let now = join.stage.world.now;
                join.stage.check(now < 200 * SECOND, format_args!("seed {seed}"));
            }
            join.assert_untouched();
            lost += join.stage.world.up.lost + join.stage.world.down.lost;
            join.stage.world.set_conditions(Conditions::GOOD);
            join.stage.run(2 * SECOND);
            join.assert_plays();
        }
    }
    println!("{attempts} attempts, {lost} lost");
    assert!(
        attempts < 2 * 40 * PAIRS.len() && lost > 100,
        "{attempts} attempts, {lost} lost"
    );
}

/// A server without tokens repeats its answer until the client continues; that is no legacy join.
#[test]
fn a_slow_client_of_0_6_4_is_no_legacy_join() {
    let mut stage = Stage::new(pair(Variant::V6, Variant::V6), 1);
    stage.world.clients[0].up.conditions.delay = 700 * MS;
    stage.run(5 * SECOND);
    assert!(stage.plays());
    stage.equal(stage.times(&Notice::LegacyJoin), 0, "labels");
}

/// Acks wrap to 0 every 1024 messages, but the join stays over.
#[test]
fn a_join_is_over_for_good() {
    let mut stage = Stage::joined(pair(Variant::V6, Variant::V6), 1);
    while stage.client().numbers().0 != 0 {
        stage.say();
        stage.run(30 * MS);
    }
    // The next message of the server acks it.
    stage.run(2 * SECOND);
    assert_eq!((stage.client().numbers().0, stage.client().unacked()), (0, 0));
    let session = stage.session().unwrap();
    stage.world.inject(session, made(Dir::S2c, "in time"));
    stage.run(SECOND);
    assert!(has(stage.client(), b"in time"), "{:?}", stage.notices());
}
