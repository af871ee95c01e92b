//! Clients that wait at any step of the handshake, for as long as their server allows.

use std::collections::BTreeSet;

use teetap_kit::{
    codec::{Chunk, Datagram, NO_TOKEN, Token, Variant, control},
    link::{MS, SECOND},
    peer::Policy,
    world::{Middle, Place, hub},
};
use teetap_proxy::session::{EventKind, State};

use crate::stage::{HELLO, Pair, Stage, has};

/// The waits in seconds: around the times after which servers and proxies give up, and longer than all of
/// them.
const WAITS: [u64; 9] = [4, 6, 9, 14, 20, 40, 110, 200, 2000];

/// The result of a handshake.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    /// The control messages that the client received.
    answers: BTreeSet<u8>,
    is_heard: bool,
}

/// A client that sends the datagrams of a script.
struct Slow {
    stage: Stage,
    /// The last place on the way of the server's answers.
    place: Place,
    /// The packet layout of the session.
    format: Variant,
    own: Token,
    /// The token that the client sends.
    server: Token,
}

impl Slow {
    fn new(pair: Pair, middle: Middle) -> Self {
        let place = match middle {
            Middle::Wire => Place::FromServer,
            _ => Place::ToClient,
        };
        let mut stage = Stage::with(pair, 31, Policy::default(), middle);
        stage.vanish();
        Self {
            stage,
            place,
            format: pair.client,
            own: *b"mine",
            server: NO_TOKEN,
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.stage.world.client_sends(0, bytes);
        self.stage.run(100 * MS);
        self.learn();
    }

    /// Reads the server's token and the packet layout from its answers.
    fn learn(&mut self) {
        let sent = self.stage.world.network.sent.as_deref().unwrap_or_default();
        for answer in sent.iter().filter(|sent| sent.place == self.place) {
            let tail = answer.bytes.last_chunk::<4>().copied();
            match (control::message(&answer.bytes), self.stage.pair.client) {
                (Some(control::TOKEN), _) => self.server = tail.unwrap_or(NO_TOKEN),
                (Some(control::CONNECT_ACCEPT), Variant::V65) if answer.bytes[0] & 0x08 != 0 => {
                    self.server = tail.unwrap_or(NO_TOKEN);
                }
                (Some(control::CONNECT_ACCEPT), Variant::Ddnet) if answer.bytes.len() > 4 => {
                    self.server = tail.unwrap_or(NO_TOKEN);
                }
                (Some(control::CONNECT_ACCEPT), Variant::V65 | Variant::Ddnet) => self.format = Variant::V6,
                _ => {}
            }
        }
    }

    fn token(&self) -> Option<Token> {
        (self.format != Variant::V6).then_some(self.server)
    }

    /// Sends the step of the handshake with this number. Returns false after the last step.
    fn step(&mut self, number: usize) -> bool {
        let is_seven = self.stage.pair.client.is_seven();
        let bytes = match (number, is_seven) {
            (0, true) => control::token_request(self.own),
            (1, true) => control::connect(Variant::V7, self.own, self.server),
            (0, false) => control::connect(self.stage.pair.client, self.own, NO_TOKEN),
            (1, false) if self.format == Variant::V65 => return true,
            (1, false) => control::accept(self.token()),
            (2 | 3, _) => {
                let seq = u16::try_from(number - 1).unwrap();
                let text = if number == 2 { HELLO } else { b"more" };
                let chunks = vec![Chunk::new(Some(seq), text.to_vec())];
                Datagram::of_chunks(self.format, 0, self.token(), chunks).build()
            }
            _ => return false,
        };
        self.send(&bytes);
        true
    }

    fn outcome(&self) -> Outcome {
        let sent = self.stage.world.network.sent.as_deref().unwrap_or_default();
        let answers = sent.iter().filter(|sent| sent.place == self.place);
        Outcome {
            answers: answers
                .filter_map(|answer| control::message(&answer.bytes))
                .collect(),
            is_heard: self
                .stage
                .world
                .server
                .peers()
                .any(|(_, slot)| has(slot, b"more")),
        }
    }
}

/// Runs a handshake with a wait of `wait` microseconds before a step.
fn handshake(pair: Pair, waits_before: usize, wait: u64, middle: Middle) -> (Outcome, Slow) {
    let mut slow = Slow::new(pair, middle);
    for number in 0.. {
        if number == waits_before {
            slow.stage.run(wait);
        }
        if !slow.step(number) {
            break;
        }
    }
    (slow.outcome(), slow)
}

#[test]
fn a_client_that_waits_gets_as_far_as_directly() {
    let (mut joined, mut failed) = (0, 0);
    for pair in Pair::ALL {
        for before in 1..=3 {
            for wait in WAITS {
                // The proxy's tokens for 0.7 are valid for 32 s, and a server's for at most as long.
                if pair.client.is_seven() && before == 1 && (32..).contains(&wait) {
                    continue;
                }
                let run = |middle| handshake(pair, before, wait * SECOND, middle);
                let (direct, _) = run(Middle::Wire);
                let (through, slow) = run(hub(31, None, true));
                slow.stage
                    .equal(&through, &direct, format_args!("{wait} s before step {before}"));
                match through.is_heard {
                    true => joined += 1,
                    false => failed += 1,
                }
            }
        }
    }
    assert!(joined > 100 && failed > 50, "{joined} joined, {failed} failed");
}

/// The session of the first answer to CONNECT is forgotten, and the ACCEPT opens a new session.
#[test]
fn an_accept_of_ddnet_is_never_too_late() {
    let (outcome, slow) = handshake(Pair::ALL[4], 1, 3600 * SECOND, hub(31, None, true));
    assert!(outcome.is_heard, "{outcome:?}");
    let opened =
        slow.stage.world.events.iter().filter(
            |event| matches!(&event.what, EventKind::Session(change) if change.state == State::Opening),
        );
    assert_eq!(opened.count(), 2, "sessions");
    // A token that was not given to anybody opens no session.
    let mut slow = Slow::new(Pair::ALL[4], hub(31, None, true));
    slow.step(0);
    slow.stage.run(3600 * SECOND);
    slow.server = slow.server.map(|byte| !byte);
    slow.step(1);
    assert_eq!(slow.stage.session(), None, "sessions");
}

/// The sessions of clients that send nothing for 12 s after the answer may be ended for other clients, so
/// that they keep nobody out.
#[test]
fn late_clients_give_way() {
    let mut stage = Stage::joined(Pair::ALL[4], 1);
    let addr = |net: u8, number: u8| std::net::SocketAddr::from(([10, net, 0, number], 1000));
    let connect = control::connect(Variant::Ddnet, NO_TOKEN, NO_TOKEN);
    let lives = |stage: &mut Stage, net| {
        let hub = stage.world.hub().unwrap();
        let addrs = (0..=u8::MAX).map(|number| addr(net, number));
        addrs.filter(|addr| hub.session_of(*addr).is_some()).count()
    };
    for (net, wait, expected) in [(1, 0, [256, 0]), (2, 8, [256, 0]), (3, 6, [0, 256])] {
        stage.run(wait * SECOND);
        for number in 0..=u8::MAX {
            stage.world.stranger_sends(addr(net, number), &connect);
            if number % 64 == 0 {
                stage.run(20 * MS);
            }
        }
        stage.run(SECOND);
        let count = [lives(&mut stage, 1), lives(&mut stage, net)];
        assert_eq!(count[0], expected[0], "{net}: first ones");
        assert!(net == 1 || count[1] == expected[1], "{net}: {count:?}");
    }
    stage.assert_plays();
}
