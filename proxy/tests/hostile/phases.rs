//! All kinds of hostile datagrams, from both sides, in every phase.

use teetap_kit::{
    codec::{NO_TOKEN, Variant},
    hostile::{self, looks_seven},
    link::MS,
};
use teetap_wire::Side;

use crate::stage::{PAIRS, Phase, Stage};

/// Sends datagrams, with pauses in which the peers continue. Checks that the datagrams had no lasting
/// effect.
fn survives(pair: (Variant, Variant), phase: Phase, from: Side, datagrams: impl Fn(&Stage) -> Vec<Vec<u8>>) {
    let mut stage = Stage::at(pair, phase);
    let session = stage.session();
    for (number, bytes) in datagrams(&stage).iter().enumerate() {
        stage.throw(from, bytes);
        if number % 64 == 63 && phase.is_online() {
            stage.run(20 * MS);
        }
    }
    assert!(stage.world.sockets.len() <= 2 + 64, "{pair:?} {phase:?} {from}");
    stage.recover(phase);
    if phase.is_online() {
        assert_eq!(stage.session(), session, "{pair:?} {phase:?} {from}");
        assert_eq!(
            stage.world.server.counters.rejoins, 0,
            "{pair:?} {phase:?} {from}"
        );
    }
}

fn in_every_phase(from: Side, datagrams: impl Fn(&Stage, Phase) -> Vec<Vec<u8>>) {
    for pair in PAIRS {
        for phase in Phase::ALL {
            // Before a tokenless server has answered, any datagram of it means that there is a slot. The
            // proxy needs this rule if the single CONNECTACCEPT of a DDNet server was lost. It costs no
            // security, since a sender that can spoof the server could send the CONNECTACCEPT as well.
            let tokenless = matches!(pair.0, Variant::V6 | Variant::V65);
            if from == Side::Server && phase == Phase::Opening && tokenless {
                continue;
            }
            survives(pair, phase, from, |stage| datagrams(stage, phase));
        }
    }
}

/// Returns the datagrams of a stranger who knows both addresses but no token.
fn of_a_stranger(stage: &Stage, phase: Phase, from: Side) -> Vec<Vec<u8>> {
    let shown = stage.shown(from);
    let last = stage.last_from(from);
    let mut datagrams = hostile::every_first_byte();
    // Truncated datagrams that end early enough are valid. Without a token a receiver cannot tell them from
    // the peer's own.
    if shown.token.is_some() && phase.is_online() {
        datagrams.extend(hostile::truncated(&last));
        datagrams.extend(hostile::oversized(&last));
        datagrams.extend(hostile::wrong_tokens(shown));
        datagrams.extend(hostile::of_every_variant(shown, [1, 2, 3, 4]));
        datagrams.extend(hostile::of_every_variant(shown, NO_TOKEN));
    }
    datagrams.extend(hostile::oversized(&[0x00, 0xee, 1]));
    datagrams.extend(hostile::oversized(&[0x10, 0xee, 0, 0xaa]));
    datagrams.push(Vec::new());
    // In 0.6 the client's program is unknown while the session is half open: a TOKEN request is answered.
    let half_open = matches!(phase, Phase::Opening | Phase::Answered);
    if half_open && !stage.client.is_seven() {
        datagrams.retain(|bytes| !looks_seven(bytes));
    }
    datagrams
}

#[test]
fn a_stranger_as_the_client() {
    in_every_phase(Side::Client, |stage, phase| {
        of_a_stranger(stage, phase, Side::Client)
    });
}

#[test]
fn a_stranger_as_the_server() {
    in_every_phase(Side::Server, |stage, phase| {
        of_a_stranger(stage, phase, Side::Server)
    });
}

/// Peers with the right token that are broken, or whose datagrams an attacker reads and spoofs.
fn on_both_sides(datagrams: impl Fn(&Stage, Side) -> Vec<Vec<u8>>) {
    for pair in PAIRS {
        for phase in [Phase::Online, Phase::Renumbered] {
            for from in [Side::Client, Side::Server] {
                survives(pair, phase, from, |stage| datagrams(stage, from));
            }
        }
    }
}

#[test]
fn every_ack() {
    on_both_sides(|stage, from| hostile::every_ack(stage.shown(from)));
}

#[test]
fn every_close_with_a_bad_ack() {
    on_both_sides(|stage, from| hostile::every_close(stage.shown(from)));
}

#[test]
fn every_sequence_number() {
    on_both_sides(|stage, from| hostile::every_number(stage.shown(from)));
}

#[test]
fn compressed_bombs() {
    on_both_sides(|stage, from| hostile::bombs(stage.shown(from)));
}

#[test]
fn truncated_and_oversized() {
    on_both_sides(|stage, from| {
        let last = stage.last_from(from);
        [hostile::truncated(&last), hostile::oversized(&last)].concat()
    });
}

#[test]
fn malformed_with_the_right_token() {
    on_both_sides(|stage, from| hostile::malformed(stage.shown(from)));
}

/// The token of the other leg, and the token of the other direction, are not valid here.
#[test]
fn tokens_of_the_other_leg() {
    on_both_sides(|stage, from| {
        let (shown, other) = (stage.shown(from), stage.shown(from.other()));
        match (shown.token, other.token) {
            (Some(own), Some(other)) if own != other => hostile::of_every_variant(shown, other),
            _ => Vec::new(),
        }
    });
}
