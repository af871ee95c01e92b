//! Upstream sockets that cannot be opened at first: the network is down, or descriptors are used up.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use teetap_kit::{
    codec::{Chunk, Datagram, NO_TOKEN, Variant, control},
    link::{Conditions, MS, SECOND},
    world::HubObserver,
};
use teetap_proxy::session::{Input, Notice, Output, Time, UpstreamId};

use crate::{
    crowds::{connect_proved, deaf},
    ruled::ruled,
    stage::{Pair, Stage, has, pair},
};

/// Counts the sockets that the hub opens.
#[derive(Debug)]
struct Opened(Arc<AtomicUsize>);

impl HubObserver for Opened {
    fn input(&mut self, _: Time, _: &Input<'_>) {}

    fn output(&mut self, output: &Output<'_>) {
        if matches!(output, Output::OpenUpstream { .. }) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn a_socket_that_could_not_be_opened_is_tried_again_with_each_request() {
    for pair in Pair::ALL {
        let mut stage = Stage::healing(pair, 1);
        let opened = Arc::new(AtomicUsize::new(0));
        stage.world.witness = Some(Box::new(Opened(Arc::clone(&opened))));
        let conditions = stage.world.up.conditions;
        stage.world.up.conditions = Conditions {
            loss: 1.0,
            ..conditions
        };
        stage.run(400 * MS);
        assert_eq!(opened.load(Ordering::Relaxed), 1, "{pair:?}");
        for tries in 2..5 {
            stage.world.input(Input::UpstreamFailed {
                exhausted: false,
                upstream: UpstreamId(1),
                error: "network is unreachable",
            });
            stage.run(600 * MS);
            assert_eq!(opened.load(Ordering::Relaxed), tries, "{pair:?}");
        }
        let failed = Notice::UpstreamFailed {
            error: "network is unreachable".into(),
        };
        let reported = stage.notices().iter().filter(|notice| **notice == failed).count();
        assert_eq!(reported, 1, "{pair:?}");
        stage.world.up.conditions = conditions;
        stage.run(3 * SECOND);
        stage.assert_plays();
        assert_eq!(opened.load(Ordering::Relaxed), 4, "{pair:?}");
    }
}

/// Fails to open a socket while `most` sockets are open.
#[derive(Debug)]
struct Scarce {
    most: usize,
}

impl Scarce {
    /// Sends a CONNECT from an address, and reports failures like the operating system.
    fn connect(&self, stage: &mut Stage, addr: SocketAddr, variant: Variant) {
        stage
            .world
            .stranger_sends(addr, &control::connect(variant, [1, 2, 3, 4], NO_TOKEN));
        for _ in 0..20 {
            if stage.world.sockets.len() <= self.most {
                return;
            }
            let upstream = stage.world.sockets.pop().unwrap();
            stage.world.input(Input::UpstreamFailed {
                upstream,
                error: "too many open files",
                exhausted: true,
            });
        }
        panic!("the hub opens sockets without end");
    }
}

#[test]
fn without_descriptors_the_oldest_whose_client_has_not_come_gives_way() {
    for pair in Pair::ALL {
        let mut stage = Stage::joined(pair, 1);
        let session = stage.session();
        let scarce = Scarce { most: 4 };
        let addr = |number| SocketAddr::from(([10, 7, 0, number], 7));
        for number in 1..=6 {
            scarce.connect(&mut stage, addr(number), Variant::Ddnet);
        }
        let hub = stage.world.hub().unwrap();
        let lives = |number| hub.session_of(addr(number)).is_some();
        assert_eq!(
            (1..=6).filter(|number| lives(*number)).collect::<Vec<_>>(),
            [4, 5, 6],
            "{pair:?}"
        );
        assert_eq!(stage.session(), session, "{pair:?}");
        let sockets = stage.world.sockets.clone();
        assert_eq!(sockets.len(), 4, "{pair:?}");
        let [up, down] = stage.say();
        stage.run(SECOND);
        let mut slots = stage.world.server.peers();
        assert!(slots.any(|(_, slot)| has(slot, &up)), "{pair:?}");
        assert!(has(&stage.world.clients[0].peer, &down), "{pair:?}");
    }
}

/// A session that lingers after its CLOSE is ended before older, half-open sessions, since it no longer
/// needs its socket.
#[test]
fn without_descriptors_one_that_lingers_gives_way_first() {
    let mut stage = Stage::joined(Pair::ALL[0], 1);
    let scarce = Scarce { most: 5 };
    let addr = |number| SocketAddr::from(([10, 7, 0, number], 7));
    for number in 1..=4 {
        scarce.connect(&mut stage, addr(number), Variant::Ddnet);
    }
    for place in [4, 3] {
        let upstream = stage.world.sockets[place];
        let close = control::close(Variant::V6, 0, None, "full");
        stage.world.server_sends(upstream, &close);
    }
    for (number, left) in [
        (5, vec![1, 2, 4, 5]),
        (6, vec![1, 2, 5, 6]),
        (7, vec![2, 5, 6, 7]),
    ] {
        scarce.connect(&mut stage, addr(number), Variant::Ddnet);
        let hub = stage.world.hub().unwrap();
        let lives = |number: &u8| hub.session_of(addr(*number)).is_some();
        assert_eq!((1..=7).filter(lives).collect::<Vec<_>>(), left);
    }
}

/// Sessions of clients that have sent only a CONNECT, which may be forged, are ended before sessions of
/// clients that have sent a first packet. The session of a client that has sent its token is never ended.
#[test]
fn without_descriptors_the_least_trusted_gives_way_first() {
    let mut stage = Stage::joined(pair(Variant::V6, Variant::V6), 1);
    let addr = |number| SocketAddr::from(([10, 7, 0, number], 7));
    let connect = control::connect(Variant::V6, NO_TOKEN, NO_TOKEN);
    // If all half-open sessions are in use, a client is answered without one.
    for number in 0..=u8::MAX {
        let flood = SocketAddr::from(([10, 8, 0, number], 7));
        stage.world.stranger_sends(flood, &connect);
    }
    stage.world.stranger_sends(addr(1), &connect);
    stage.run(14 * SECOND);
    assert_eq!(stage.world.sockets.len(), 1);
    let hello = Datagram::of_chunks(Variant::V6, 0, None, vec![Chunk::new(Some(1), b"hello".to_vec())]);
    stage.world.stranger_sends(addr(1), &hello.build());
    let scarce = Scarce { most: 4 };
    for (number, left) in [
        (2, vec![1, 2]),
        (3, vec![1, 2, 3]),
        (4, vec![1, 3, 4]),
        (5, vec![1, 4, 5]),
    ] {
        scarce.connect(&mut stage, addr(number), Variant::Ddnet);
        let hub = stage.world.hub().unwrap();
        let lives = |number: &u8| hub.session_of(addr(*number)).is_some();
        assert_eq!((1..=5).filter(lives).collect::<Vec<_>>(), left);
    }
}

/// If the proxy runs out of descriptors, it closes no socket of a client that has sent the proxy's token.
#[test]
fn without_descriptors_a_proved_client_keeps_its_socket() {
    let mut stage = deaf(Pair::ALL[4]);
    let [proved, stranger] = [1, 2].map(|number| SocketAddr::from(([10, 7, 0, number], 7)));
    connect_proved(&mut stage.world, proved);
    let sockets = stage.world.sockets.clone();
    assert_eq!(sockets.len(), 2);
    Scarce { most: 2 }.connect(&mut stage, stranger, Variant::Ddnet);
    assert_eq!(stage.world.sockets, sockets);
    let hub = stage.world.hub().unwrap();
    assert!(hub.session_of(proved).is_some() && hub.session_of(stranger).is_some());
}

/// If no session can be ended, a new session waits and tries again.
#[test]
fn without_descriptors_nothing_that_plays_gives_way() {
    let mut stage = Stage::joined(Pair::ALL[4], 1);
    let session = stage.session();
    let addr = SocketAddr::from(([10, 7, 0, 1], 7));
    Scarce { most: 1 }.connect(&mut stage, addr, Variant::Ddnet);
    assert!(stage.world.hub().unwrap().session_of(addr).is_some());
    assert_eq!(stage.session(), session);
    assert_eq!(stage.world.sockets.len(), 1);
    let [_, down] = stage.say();
    stage.run(SECOND);
    assert!(has(stage.client(), &down));
}

/// A CONNECT that a rule dropped is not sent when a socket becomes free.
#[test]
fn a_dropped_connect_is_not_sent_when_a_socket_becomes_free() {
    for pair in Pair::ALL.into_iter().filter(|pair| !pair.client.is_seven()) {
        let mut stage = ruled(pair, "drop when ctrl.connect");
        let scarce = Scarce { most: 2 };
        for number in 1..=4 {
            let addr = SocketAddr::from(([10, 7, 0, number], 7));
            scarce.connect(&mut stage, addr, pair.client);
        }
        stage.run(SECOND);
        assert_eq!(stage.world.server.peers().count(), 0, "{pair:?}");
    }
}
