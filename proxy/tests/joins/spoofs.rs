//! Datagrams that another sender sends with the client's address never end its session.

use teetap_kit::{
    codec::{Chunk, Datagram, NO_TOKEN, Variant, control},
    link::{MS, Random, SECOND},
};

use crate::stage::{Pair, Stage};

fn random_bytes(random: &mut Random, len: u64) -> Vec<u8> {
    (0..len).map(|_| random.bits().to_be_bytes()[0]).collect()
}

/// Something that a stranger can make: he knows the client's address, but no token.
fn spoof(random: &mut Random, tokenless: bool) -> Vec<u8> {
    let token = random.token();
    let variant = Variant::ALL[usize::try_from(random.below(5)).unwrap()];
    let ack = u16::try_from(random.below(1024)).unwrap();
    let seen = (variant != Variant::V6).then_some(token);
    // Without tokens every data and control packet with a fitting ack is the client's own.
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
            // What is connless goes to the server browser's relays.
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

/// Strangers that send CONNECT while the client joins delay it at most.
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

/// A CLOSE without a token, sent again and again in the client's name, keeps out only sessions without tokens: their servers
/// obey it too.
#[test]
fn a_close_without_a_token_keeps_no_client_with_tokens_out() {
    for pair in Pair::ALL.into_iter().filter(|pair| !pair.is_tokenless()) {
        let mut stage = Stage::new(pair, 1);
        // The session opens for a while: the server is far away.
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
