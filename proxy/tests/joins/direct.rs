//! A handshake has the same outcome through the proxy as without it.

use teetap_kit::{
    codec::control,
    link::SECOND,
    peer::Policy,
    world::{Loss, Middle, Place, Sent, hub},
};

use crate::spoofs::pairs;
use crate::stage::{HELLO, Pair, Stage, has};

/// The outcome of a handshake, as the peers see it.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    client_is_online: bool,
    /// True if the server received the client's first message.
    is_heard: bool,
    talks: bool,
    rejoins: u64,
}

/// Lets a client join directly and through the proxy, while `act` interferes. Returns both outcomes with
/// their stages.
fn both(
    pair: Pair,
    challenges: bool,
    prepare: impl Fn(&mut Stage),
    act: impl Fn(&mut Stage, u64),
) -> [(Outcome, Stage); 2] {
    [Middle::Wire, hub(31, None, true)].map(|middle| {
        let policy = Policy {
            challenges,
            ..Policy::default()
        };
        let mut stage = Stage::with(pair, 31, policy, middle);
        prepare(&mut stage);
        for tick in 0..800 {
            act(&mut stage, tick);
            stage.step();
        }
        let is_heard = stage.world.server.peers().any(|(_, slot)| has(slot, HELLO));
        let talks = stage.talks(2 * SECOND);
        let outcome = Outcome {
            client_is_online: stage.client().is_online(),
            is_heard,
            talks,
            rejoins: stage.world.server.counters.rejoins,
        };
        (outcome, stage)
    })
}

fn is_alike(what: &str, [(direct, _), (through, stage)]: [(Outcome, Stage); 2]) -> bool {
    stage.check(
        direct == through,
        format_args!("{what}: directly {direct:?}, but {through:?}"),
    );
    direct.talks
}

/// The loss of a message that is sent once has the same effect on both joins. The loss of a repeated
/// message has no effect on either.
#[test]
fn a_loss_costs_as_much_as_directly() {
    let (mut joined, mut failed) = (0, 0);
    for (pair, challenges) in pairs() {
        for place in [Place::FromClient, Place::FromServer] {
            for message in [
                control::CONNECT,
                control::CONNECT_ACCEPT,
                control::ACCEPT,
                control::TOKEN,
            ] {
                // The proxy answers TOKEN requests without the server, and needs the server's token.
                if place == Place::FromServer && message == control::TOKEN {
                    continue;
                }
                for times in 1..=3 {
                    let loss = |stage: &mut Stage| {
                        stage.world.network.losses.push(Loss {
                            place,
                            message,
                            times,
                        });
                    };
                    let what = format!("{challenges} {place:?} {message} lost {times} times");
                    match is_alike(&what, both(pair, challenges, loss, |_, _| ())) {
                        true => joined += 1,
                        false => failed += 1,
                    }
                }
            }
        }
    }
    assert!(joined > 100 && failed > 10, "{joined} {failed}");
}

/// Returns the first datagram of the client with this control message.
fn sent_by_client(stage: &Stage, message: u8) -> Option<Vec<u8>> {
    let sent = stage.world.network.sent.as_deref().unwrap_or_default();
    let is_wanted =
        |sent: &&Sent| sent.place == Place::FromClient && control::message(&sent.bytes) == Some(message);
    sent.iter().find(is_wanted).map(|sent| sent.bytes.clone())
}

#[test]
fn a_copy_does_what_it_does_directly() {
    for (pair, challenges) in pairs() {
        for message in [control::CONNECT, control::ACCEPT] {
            for tick in [4, 8, 12, 20, 40, 300] {
                let act = |stage: &mut Stage, now: u64| {
                    if now == tick
                        && let Some(bytes) = sent_by_client(stage, message)
                    {
                        stage.world.client_sends(0, &bytes);
                    }
                };
                let what = format!("{challenges} copy of {message} at {tick}");
                is_alike(&what, both(pair, challenges, |_| (), act));
            }
        }
    }
}

/// The client receives exactly the answers to CONNECT that the server sends.
#[test]
fn the_client_gets_as_many_answers_as_directly() {
    for (pair, challenges) in pairs() {
        // The client's data is lost, so that it only connects.
        let act = |stage: &mut Stage, _: u64| {
            if stage.client().is_online() {
                stage.world.clients[0].up.conditions.loss = 1.0;
            }
        };
        let [direct, through] = both(pair, challenges, |_| (), act).map(|(_, stage)| {
            (
                stage.count(Place::FromServer, control::CONNECT_ACCEPT),
                stage.count(Place::ToClient, control::CONNECT_ACCEPT),
            )
        });
        assert_eq!(direct.0, through.0, "{pair:?} {challenges}");
        assert_eq!(through.0, through.1, "{pair:?} {challenges}");
    }
}

/// Replaces the token that a CONNECT names.
fn name(bytes: &mut [u8], byte: u8) {
    if let Some(token) = bytes.get_mut(8..12) {
        token.fill(byte);
    }
}

/// A malformed CONNECT is forwarded to the server, and the server decides what to do with it.
#[test]
fn odd_forms_of_connect_are_taken_as_directly() {
    for (pair, challenges) in pairs() {
        for (name, change) in [
            ("ack 5", (|bytes: &mut Vec<u8>| bytes[1] = 5) as fn(&mut Vec<u8>)),
            ("a chunk", |bytes| bytes[2] = 1),
            ("shorter", |bytes| {
                bytes.pop();
            }),
            ("half", |bytes| bytes.truncate(bytes.len() / 2 + 2)),
            ("the resend flag", |bytes| {
                bytes[0] |= if bytes[0] & 0x04 != 0 { 0x08 } else { 0x40 };
            }),
            ("a spare bit", |bytes| {
                bytes[0] |= match bytes.len() {
                    _ if bytes[0] & 0x04 != 0 => 0x40,
                    12 => 0x08,
                    516.. => 0x04,
                    _ => 0,
                };
            }),
            ("longer", |bytes| bytes.extend([0; 9])),
            ("token 00000000", |bytes| name(bytes, 0)),
            ("token ffffffff", |bytes| name(bytes, 0xff)),
            ("no token", |bytes| {
                bytes.truncate(if bytes[0] & 0x04 != 0 { 8 } else { 4 });
            }),
        ] {
            let [direct, through] = [Middle::Wire, hub(31, None, true)].map(|middle| {
                let policy = Policy {
                    challenges,
                    ..Policy::default()
                };
                let mut stage = Stage::with(pair, 31, policy, middle);
                // The client's own CONNECT is lost; changed copies are sent instead.
                stage.world.network.losses.push(Loss {
                    place: Place::FromClient,
                    message: control::CONNECT,
                    times: 1000,
                });
                let mut sent = 0;
                for tick in 0..300 {
                    stage.step();
                    let own = sent_by_client(&stage, control::CONNECT);
                    if let Some(mut odd) = own.filter(|_| sent < 3 && tick % 50 == 0) {
                        change(&mut odd);
                        stage.world.client_sends(0, &odd);
                        sent += 1;
                    }
                }
                let received = stage.count(Place::ToClient, control::CONNECT_ACCEPT);
                (stage.count(Place::FromServer, control::CONNECT_ACCEPT), received)
            });
            assert_eq!(direct.0, through.0, "{pair:?} {challenges} {name}");
            assert_eq!(through.0, through.1, "{pair:?} {challenges} {name}");
        }
    }
}
