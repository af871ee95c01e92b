//! A server that ends and starts again at its address, without knowing any client. Its clients get a CLOSE or
//! time out, and join again through the same proxy.

use teetap_kit::{
    codec::Variant,
    link::{MS, SECOND},
    peer::{Policy, Server, State},
};
use teetap_proxy::session::{Input, Notice};

use crate::stage::{GREETING, Pair, Stage, closed, pair};

/// Starts a new server program: without slots, with other tokens.
fn start(stage: &mut Stage, seed: u64) {
    stage.world.server = Server::new(stage.pair.server, Policy::greets(GREETING), seed);
}

/// Restarts the client's program and checks that it plays within some seconds.
fn joins_again(stage: &mut Stage) {
    stage.restart();
    // Without tokens the proxy waits until the server is silent, too.
    stage.run(if stage.pair.is_tokenless() {
        6 * SECOND
    } else {
        3 * SECOND
    });
    stage.assert_plays();
    stage.run(20 * SECOND);
    stage.assert_plays();
    assert_eq!(stage.world.hub().unwrap().sessions(), 1, "{:?}", stage.pair);
    assert_eq!(stage.world.sockets.len(), 1, "{:?}", stage.pair);
    assert_eq!(stage.world.server.counters.rejoins, 0, "{:?}", stage.pair);
    assert_eq!(stage.world.server.counters.opened, 1, "{:?}", stage.pair);
}

#[test]
fn clients_of_a_server_that_ends_in_order_join_again() {
    for pair in Pair::ALL {
        let mut stage = Stage::joined(pair, 1);
        let now = stage.world.now;
        stage.slot().close("Server shutdown", now);
        stage.run(100 * MS);
        assert_eq!(*stage.client().state(), closed("Server shutdown"), "{pair:?}");
        assert!(stage.online.is_empty(), "{pair:?}: the proxy did not see it");
        start(&mut stage, 99);
        joins_again(&mut stage);
    }
}

#[test]
fn clients_of_a_server_that_crashed_find_out_and_join_again() {
    for pair in Pair::ALL {
        let mut stage = Stage::joined(pair, 2);
        // Not 100 s, which is DDNet's timeout.
        stage.client().options.patience = Some(10 * SECOND);
        start(&mut stage, 99);
        // The server was not running for a moment.
        let upstream = stage.world.sockets[0];
        let error = "connection refused";
        stage.world.input(Input::Unreachable { upstream, error });
        let mut waited = 0;
        while !stage.client().is_over() {
            stage.say();
            stage.run(SECOND);
            waited += 1;
            assert!(waited < 15, "{pair:?}: {:?}", stage.client().state().clone());
        }
        assert!(matches!(stage.client().state(), State::Dead(_)), "{pair:?}");
        let notices = stage.notices();
        let reported = |wanted: fn(&Notice) -> bool| notices.iter().any(wanted);
        assert!(
            reported(|notice| matches!(notice, Notice::UpstreamUnreachable { .. }))
                && reported(|notice| matches!(notice, Notice::UpstreamSilent { .. })),
            "{pair:?}: {notices:?}"
        );
        assert_eq!(stage.world.server.counters.opened, 0, "{pair:?}");
        joins_again(&mut stage);
    }
}

/// The player does not wait for the client to time out.
#[test]
fn a_client_joins_again_at_once() {
    for pair in Pair::ALL {
        for silence in [0, 100 * MS, 3 * SECOND] {
            let mut stage = Stage::joined(pair, 3);
            start(&mut stage, 99);
            stage.run(silence);
            joins_again(&mut stage);
        }
    }
}

/// A restarted client that names the same token in each CONNECT looks like a client that repeats its CONNECT. Only the
/// silence of the client and of its server before the CONNECT distinguishes them.
#[test]
fn a_client_with_its_old_token_joins_again_once_both_were_silent() {
    for (server_silent, client_silent, is_in) in [
        (5, 5, true),
        (5, 2, true),
        (5, 1, false),
        (4, 4, false),
        (0, 8, true),
    ] {
        let mut stage = Stage::joined(pair(Variant::V65, Variant::V65), 3);
        let mut peers = [
            &mut stage.world.server.policy.options,
            &mut stage.world.clients[0].peer.options,
        ];
        peers.iter_mut().for_each(|options| options.limits = false);
        let begun = stage.world.now;
        let longest = SECOND * server_silent.max(client_silent);
        let (mut is_server_away, mut is_client_away) = (false, false);
        while stage.world.now < begun + longest {
            let left = begun + longest - stage.world.now;
            if left <= SECOND * server_silent && !is_server_away {
                start(&mut stage, 99);
                is_server_away = true;
            }
            if left <= SECOND * client_silent && !is_client_away {
                stage.vanish();
                is_client_away = true;
            }
            stage.say();
            stage.run(SECOND / 10);
        }
        if !is_server_away {
            start(&mut stage, 99);
        }
        let now = stage.world.now;
        stage.client().connect(now);
        stage.run(SECOND / 2);
        let plays = stage.plays();
        stage.equal(plays, is_in, format_args!("{server_silent} {client_silent}"));
    }
}
