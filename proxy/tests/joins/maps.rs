//! A new map in the middle of the game. There is no handshake, only messages, up to the maximum number of
//! unacked messages of a slot.

use teetap_kit::{
    link::{Conditions, MS, SECOND},
    peer::Peer,
    rules::pass_all,
};
use teetap_proxy::session::{Input, Notice};
use teetap_wire::Dir;

use crate::stage::{Pair, Stage};

/// Number of pieces of the map, and the size of each in bytes.
const PIECES: usize = 120;
const PIECE: usize = 890;

fn piece(number: usize) -> Vec<u8> {
    let mut piece = format!("piece {number} ").into_bytes();
    let number = u8::try_from(number).unwrap();
    piece.extend((piece.len()..PIECE).map(|at| at.to_le_bytes()[0] ^ number));
    piece
}

fn count(peer: &Peer, start: &str) -> usize {
    let delivered = peer.delivered.iter();
    delivered
        .filter(|message| message.data.starts_with(start.as_bytes()))
        .count()
}

/// The server names a new map, the client requests it piece by piece, some ahead, and is back in the game.
fn change_map(stage: &mut Stage) {
    let pair = stage.pair;
    let now = stage.world.now;
    let (before, session) = (stage.client().delivered.len(), stage.session());
    let slot = stage.slot();
    slot.send_vital(b"a new map", now);
    slot.flush(now);
    let (mut requested, mut given) = (0, 0);
    while count(stage.slot(), "ready") == 0 {
        let now = stage.world.now;
        let got = count(stage.client(), "piece ");
        let has_changed = count(stage.client(), "a new map") > 0;
        while has_changed && requested < PIECES && requested < got + 16 {
            stage
                .client()
                .send_vital(format!("ask {requested}").as_bytes(), now);
            requested += 1;
        }
        if got == PIECES && requested == PIECES {
            stage.client().send_vital(b"ready", now);
            requested += 1;
        }
        stage.client().flush(now);
        let wanted = count(stage.slot(), "ask ");
        while given < wanted && stage.slot().has_room(PIECE) {
            assert!(stage.slot().send_vital(&piece(given), now));
            given += 1;
        }
        stage.slot().flush(now);
        // Non-vital messages are sent in between.
        stage.slot().send_nonvital(b"snapshot", now);
        stage.slot().flush(now);
        stage.step();
        assert!(
            now < 400 * SECOND,
            "{pair:?}: {got} pieces\n{}",
            stage.transcript().len()
        );
    }
    let vitals = stage.client().delivered.split_off(before).into_iter();
    let vitals: Vec<Vec<u8>> = vitals
        .filter(|message| message.vital)
        .map(|message| message.data)
        .collect();
    let expected = std::iter::once(b"a new map".to_vec()).chain((0..PIECES).map(piece));
    assert!(vitals.iter().eq(expected.collect::<Vec<_>>().iter()), "{pair:?}");
    assert_eq!(stage.session(), session, "{pair:?}");
}

#[test]
fn a_client_follows_to_a_new_map() {
    for pair in Pair::ALL {
        for (loss, rules) in [(0.0, false), (0.05, false), (0.05, true)] {
            let mut stage = Stage::joined(pair, 4);
            stage.client().options.limits = false;
            stage.slot().options.limits = false;
            stage.world.network.sent = None;
            if rules {
                stage.world.input(Input::Program(pass_all()));
            }
            if loss > 0.0 {
                stage.world.set_conditions(Conditions {
                    delay: 10 * MS,
                    ..Conditions::bad(loss)
                });
            }
            change_map(&mut stage);
            stage.world.set_conditions(Conditions::GOOD);
            stage.run(20 * SECOND);
            assert!(stage.talks(SECOND), "{pair:?} {loss} {rules}");
            assert_eq!(stage.ever_online, 1, "{pair:?}");
            let armed = stage.notices().contains(&Notice::Renumbered { dir: Dir::S2c });
            assert_eq!(armed, rules, "{pair:?}");
            assert_eq!(stage.world.server.counters.rejoins, 0, "{pair:?}");
        }
    }
}
