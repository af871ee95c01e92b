//! Datagrams that another sender sends with the client's address never end its session.

use teetap_kit::{
    codec::{Chunk, Datagram, NO_TOKEN, Variant, control},
    link::{Conditions, MS, Random, SECOND},
    peer::Policy,
    world::{Middle, hub},
};

use crate::stage::{Pair, Stage, has};

fn random_bytes(random: &mut Random, len: u64) -> Vec<u8> {
    (0..len).map(|_| random.bits().to_be_bytes()[0]).collect()
}

/// Returns a datagram that a stranger can create who knows the client's address but no token.
fn spoof(random: &mut Random, tokenless: bool) -> Vec<u8> {
    let token = random.token();
    let variant = Variant::ALL[usize::try_from(random.below(5)).unwrap()];
    let ack = u16::try_from(random.below(1024)).unwrap();
    let seen = (variant != Variant::V6).then_some(token);
    // Without tokens every data and control packet with a fitting ack counts as the client's own.
    match random.below(if tokenless { 4 } else { 8 }) {
        0 => control::connect(variant, token, random.token()),
        1 => control::connect(variant, token, NO_TOKEN),
        2 => control::token_request(token),
        3 => control::connect_repeated_by_ddnet(token),
        4 => control::close(variant, ack, seen, "spoofed"),
        5 => {
            let chunk = Chunk::new(
                Some(u16::try_from(random.below(1024)).unwrap()),
                random_bytes(random, 20),
            );
            Datagram::of_chunks(variant, ack, seen, vec![chunk]).build()
        }
        6 => control::control(
            variant,
            ack,
            seen,
            random.token()[0],
            &[&random_bytes(random, 12)],
        ),
        _ => {
            let len = random.below(1400);
            let mut bytes = random_bytes(random, len);
            // Connless datagrams would be sent to the relays of the server browser.
            if let Some(first) = bytes.first_mut() {
                *first &= 0xdf;
            }
            bytes
        }
    }
}

#[test]
fn a_stranger_cannot_end_a_session() {
    for pair in Pair::ALL {
        for seed in 0..20 {
            let mut stage = Stage::joined(pair, seed);
            let session = stage.session();
            let mut random = Random::new(seed);
            for _ in 0..200 {
                let bytes = spoof(&mut random, pair.is_tokenless());
                stage.world.client_sends(0, &bytes);
                stage.run(10 * MS * random.below(4));
                stage.say();
            }
            stage.run(20 * SECOND);
            stage.check(stage.plays(), format_args!("seed {seed}"));
            stage.assert_plays();
            assert_eq!(stage.session(), session, "{pair:?} seed {seed}");
            assert_eq!(stage.ever_online, 1);
            assert_eq!(stage.world.sockets.len(), 1, "{pair:?} seed {seed}");
            assert_eq!(stage.world.server.counters.rejoins, 0);
        }
    }
}

/// Strangers that send CONNECTs while the client joins can delay the join, but not prevent it.
#[test]
fn a_stranger_cannot_keep_a_client_out() {
    for pair in Pair::ALL {
        for seed in 0..20 {
            let mut stage = Stage::new(pair, seed);
            let mut random = Random::new(seed);
            for _ in 0..10 {
                let bytes = spoof(&mut random, true);
                stage.run(10 * MS * random.below(3));
                stage.world.client_sends(0, &bytes);
            }
            stage.run(20 * SECOND);
            stage.check(stage.plays(), format_args!("seed {seed}"));
            stage.assert_plays();
        }
    }
}

/// A CLOSE without a token, sent again and again in the client's name, keeps out only clients in sessions
/// without tokens, whose servers obey it too.
#[test]
fn a_close_without_a_token_keeps_no_client_with_tokens_out() {
    for pair in Pair::ALL.into_iter().filter(|pair| !pair.is_tokenless()) {
        let mut stage = Stage::new(pair, 1);
        // The session stays half open for a while, since the server is far away.
        (stage.world.up.conditions.delay, stage.world.down.conditions.delay) = (100 * MS, 100 * MS);
        for variant in Variant::ALL.into_iter().cycle().take(150) {
            let token = matches!(variant, Variant::V7 | Variant::D7).then_some(NO_TOKEN);
            stage
                .world
                .client_sends(0, &control::close(variant, 0, token, ""));
            stage.run(20 * MS);
        }
        assert_eq!(stage.ever_online, 1, "{pair:?}\n{}", stage.transcript());
        stage.run(SECOND);
        stage.assert_plays();
    }
}

/// Returns the outcome for a client under attack, connected directly to its server and then through the proxy. Both get
/// the same datagrams at the same times.
fn compared(
    pair: Pair,
    challenges: bool,
    delay: u64,
    mut attack: impl FnMut(&mut Stage, u64),
) -> [Option<Outcome>; 2] {
    let middles = [Middle::Wire, hub(1, None, true)];
    middles.map(|middle| {
        let policy = Policy {
            challenges,
            ..Policy::default()
        };
        let mut stage = Stage::with(pair, 1, policy, middle);
        let far = Conditions {
            delay,
            ..Conditions::GOOD
        };
        stage.world.set_conditions(far);
        stage.vanish();
        for tick in 0..1200 {
            attack(&mut stage, tick);
            stage.world.step();
        }
        let client = &stage.world.clients[0].peer;
        let has_token = client.tokens().1 != NO_TOKEN && client.format() != Variant::V6;
        let [up, down] = stage.say();
        for _ in 0..200 {
            stage.world.step();
        }
        let heard = stage.world.server.peers().any(|(_, slot)| has(slot, &up));
        let talks = heard && has(&stage.world.clients[0].peer, &down);
        talks.then_some(Outcome { has_token })
    })
}

/// The state of a client that plays after an attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Outcome {
    has_token: bool,
}

/// Fails if an attack has more success through the proxy than directly. Returns true if the client plays
/// directly.
pub(crate) fn assert_no_weaker(
    pair: Pair,
    challenges: bool,
    what: &str,
    attack: impl FnMut(&mut Stage, u64),
) -> bool {
    let [direct, through] = compared(pair, challenges, 25 * MS, attack);
    assert!(
        through >= direct,
        "{pair:?} {challenges} {what}: directly {direct:?}, but {through:?}"
    );
    direct.is_some()
}

/// Number of ticks after which the client starts.
pub(crate) const STARTS: u64 = 100;

pub(crate) fn starts(stage: &mut Stage, tick: u64) {
    if tick == STARTS {
        stage.restart();
    }
}

/// Returns all pairs, and those whose servers require a proof.
pub(crate) fn pairs() -> impl Iterator<Item = (Pair, bool)> {
    let plain = Pair::ALL.into_iter().map(|pair| (pair, false));
    let challenged = [
        (Variant::V6, Variant::V65),
        (Variant::Ddnet, Variant::V65),
        (Variant::V6, Variant::Ddnet),
        (Variant::V65, Variant::Ddnet),
    ];
    plain.chain(challenged.map(|(client, server)| (Pair { client, server }, true)))
}

/// Other requests in the client's name before and while it connects.
#[test]
fn requests_in_the_name_of_a_client_are_no_worse_than_directly() {
    let mut spared = 0;
    for (pair, challenges) in pairs() {
        for variant in [Variant::V6, Variant::V65, Variant::Ddnet, Variant::V7] {
            let bytes = match variant {
                Variant::V7 => control::token_request([1, 2, 3, 4]),
                _ => control::connect(variant, [1, 2, 3, 4], NO_TOKEN),
            };
            for before in [1, 5, 20, 60] {
                let what = format!("one {variant:?} {before} ticks before");
                spared += usize::from(assert_no_weaker(pair, challenges, &what, |stage, tick| {
                    starts(stage, tick);
                    if tick + before == STARTS {
                        stage.world.client_sends(0, &bytes);
                    }
                }));
            }
            for (name, from) in [("before and while", STARTS - 20), ("while", STARTS + 2)] {
                let what = format!("many {variant:?} {name} it dials");
                let mut random = Random::new(9);
                spared += usize::from(assert_no_weaker(pair, challenges, &what, |stage, tick| {
                    starts(stage, tick);
                    if (from..STARTS + 100).contains(&tick) && tick % 2 == 0 {
                        let token = random.token();
                        let bytes = match variant {
                            Variant::V7 => control::token_request(token),
                            _ => control::connect(variant, token, NO_TOKEN),
                        };
                        stage.world.client_sends(0, &bytes);
                    }
                }));
            }
        }
    }
    assert!(spared > 200, "{spared}");
}

/// CLOSE without a token in the client's name, at any time of its join.
#[test]
fn a_close_in_the_name_of_a_client_is_no_worse_than_directly() {
    let mut spared = 0;
    for (pair, challenges) in pairs() {
        for length in [1, 3, 6, 12, 30, 200] {
            for variant in [Variant::V6, Variant::V7] {
                let what = format!("{variant:?} CLOSE for {length} ticks");
                let token = variant.is_seven().then_some(NO_TOKEN);
                spared += usize::from(assert_no_weaker(pair, challenges, &what, |stage, tick| {
                    starts(stage, tick);
                    if (STARTS..STARTS + length).contains(&tick) {
                        stage
                            .world
                            .client_sends(0, &control::close(variant, 0, token, ""));
                    }
                }));
            }
        }
    }
    assert!(spared > 80, "{spared}");
}

/// CONNECT in the name of a client whose datagrams are lost for a while.
#[test]
fn a_connect_during_silence_is_no_worse_than_directly() {
    let mut spared = 0;
    for (pair, challenges) in pairs() {
        for variant in [Variant::V6, Variant::V65, Variant::Ddnet] {
            for silence in [250, 500, 900] {
                let what = format!("{variant:?} CONNECT after {silence} ticks of silence");
                spared += usize::from(assert_no_weaker(pair, challenges, &what, |stage, tick| {
                    starts(stage, tick);
                    let silent_from = STARTS + 140;
                    let loss = if (silent_from..silent_from + silence).contains(&tick) {
                        1.0
                    } else {
                        0.0
                    };
                    stage.world.clients[0].up.conditions.loss = loss;
                    if tick == silent_from + silence - 1 {
                        stage
                            .world
                            .client_sends(0, &control::connect(variant, [1, 2, 3, 4], NO_TOKEN));
                    }
                }));
            }
        }
    }
    assert!(spared > 100, "{spared}");
}
