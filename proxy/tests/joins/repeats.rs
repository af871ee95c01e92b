//! Handshake packets that are repeated, late, reordered or lost never disturb a session.

use teetap_kit::{
    codec::{Variant, control},
    link::{Conditions, Random, SECOND},
    peer::State,
    world::{Place, Sent},
};
use teetap_proxy::session::{ListenerId, Notice};

use crate::stage::{PAUSE, Pair, Stage};

/// Maximum delay of a copy of a handshake packet.
const LATE: u64 = 3 * SECOND;

/// The network of the client's handshake: some CONNECTs and TOKEN requests are repeated up to 3 s later.
struct Echo {
    random: Random,
    seen: usize,
    copies: usize,
}

impl Echo {
    fn repeat(&mut self, stage: &mut Stage) {
        let sent = stage.world.network.sent.take().unwrap();
        for datagram in sent.iter().skip(self.seen).filter(|sent| is_knock(sent)) {
            for _ in 0..self.random.below(4) {
                let after = [0, self.random.below(LATE), LATE, LATE - self.random.below(SECOND)]
                    [usize::try_from(self.random.below(4)).unwrap()];
                stage.world.clients[0]
                    .up
                    .send_at((ListenerId::FIRST, datagram.bytes.clone()), datagram.at + after);
                self.copies += 1;
            }
        }
        self.seen = sent.len();
        stage.world.network.sent = Some(sent);
    }
}

fn is_knock(sent: &Sent) -> bool {
    let message = control::message(&sent.bytes);
    sent.place == Place::FromClient && matches!(message, Some(control::CONNECT | control::TOKEN))
}

/// Totals of all runs.
#[derive(Debug, Default)]
struct Sum {
    copies: usize,
    joins_beside: usize,
    accepts_repeated: usize,
    lost: u64,
}

fn join_under_echoes(pair: Pair, seed: u64, sum: &mut Sum) {
    // Datagrams that DDNet sends only once may be lost here.
    let mut stage = Stage::healing(pair, seed);
    stage.client().options.limits = false;
    stage.world.server.policy.options.limits = false;
    let mut echo = Echo {
        random: Random::new(seed ^ 0xec40),
        seen: 0,
        copies: 0,
    };
    let mut next_word = 0;
    while stage.world.now < 12 * SECOND {
        // DDNet's 0.7 client requests a token once, and nothing could repair its loss.
        let single = pair.client == Variant::D7 && *stage.client().state() == State::WantToken;
        let joining = !stage.client().is_online();
        let bad = if joining { 0.25 } else { 0.05 };
        let conditions = if single {
            Conditions::GOOD
        } else {
            Conditions::bad(bad)
        };
        stage.world.set_conditions(conditions);
        if stage.world.now >= next_word {
            stage.say();
            next_word = stage.world.now + PAUSE;
        }
        stage.step();
        echo.repeat(&mut stage);
        let slots = stage.world.server.peers().count() + stage.world.server.finished.len();
        stage.check(slots <= 1, format_args!("seed {seed}: {slots} slots"));
    }
    stage.world.set_conditions(Conditions::GOOD);
    let seed = format_args!("seed {seed}");
    let talks = stage.plays() && stage.talks(5 * SECOND);
    stage.check(talks, seed);
    stage.equal((stage.ever_online, stage.online.len()), (1, 1), seed);
    let counters = stage.world.server.counters;
    stage.equal((counters.rejoins, counters.opened), (0, 1), seed);
    let repeated = stage.times(&Notice::AcceptRepeated);
    if pair.has_lone_accept() {
        let accepts = stage.count(Place::ToServer, control::ACCEPT);
        stage.equal(accepts, 1 + repeated, seed);
    }
    sum.accepts_repeated += repeated;
    sum.joins_beside += stage.times(&Notice::Candidate);
    sum.copies += echo.copies;
    sum.lost += stage.world.clients[0].up.lost;
}

#[test]
fn late_and_repeated_requests_never_disturb_a_session() {
    let mut sum = Sum::default();
    for seed in 0..1000 {
        let index = usize::try_from(seed).unwrap() % Pair::ALL.len();
        join_under_echoes(Pair::ALL[index], seed, &mut sum);
    }
    println!("{sum:?}");
    assert!(
        sum.copies > 1000 && sum.joins_beside > 50 && sum.lost > 1000,
        "{sum:?}"
    );
}

/// An ack of 0 would move the window of a 0.7 client whose numbers have wrapped.
#[test]
fn a_connect_in_session_is_not_answered_by_that_session() {
    for pair in Pair::ALL.into_iter().filter(|pair| !pair.has_lone_accept()) {
        let mut stage = Stage::joined(pair, 1);
        let sent = stage.world.network.sent.clone().unwrap();
        for knock in sent
            .iter()
            .filter(|sent| control::message(&sent.bytes) == Some(control::CONNECT))
        {
            if knock.place == Place::FromClient {
                stage.world.client_sends(0, &knock.bytes);
            }
        }
        stage.run(SECOND);
        stage.assert_plays();
        assert_eq!(
            stage.count(Place::ToClient, control::CONNECT_ACCEPT),
            1,
            "{pair:?}"
        );
    }
}
