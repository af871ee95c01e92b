//! Clients that are sent to another port by `redirect`, or to the same address by `reconnect`, stay
//! connected through the proxy.

use teetap_kit::{
    codec::{Packing, Variant, control, extended},
    huffman::Ending,
    link::{Conditions, SECOND},
    peer::{Options, Peer, Policy, Server, State as PeerState},
    world::{Place, client_addr, hub, listen_addr},
};
use teetap_proxy::session::{ClientAddr, EventKind, Input, ListenerId, Notice, UpstreamId};

use crate::stage::{GREETING, HELLO, Pair, Stage};

/// The port of the other server.
const OTHER: u16 = 8305;

/// Returns a stage with a second server beside the first.
fn joined(pair: Pair, seed: u64, options: Options) -> Stage {
    let policy = Policy {
        options,
        ..Policy::greets(GREETING)
    };
    let other = Server::new(pair.server, policy.clone(), seed + 1);
    let mut stage = Stage::with(pair, seed, policy, hub(seed, None, true));
    stage.world.others.insert(OTHER, other);
    stage.run(2 * SECOND);
    stage.assert_plays();
    stage
}

/// Sends a message of the server at this port to all of its clients.
fn says(stage: &mut Stage, port: u16, message: &[u8]) {
    let now = stage.world.now;
    let server = match port {
        OTHER => stage.world.others.get_mut(&OTHER).unwrap(),
        _ => &mut stage.world.server,
    };
    for (_, slot) in server.peers_mut() {
        assert!(slot.send_vital(message, now));
        slot.flush(now);
    }
}

/// Waits until the client is redirected, and returns the listen socket that it is sent to.
fn redirected(stage: &mut Stage) -> ListenerId {
    let end = stage.world.now + 30 * SECOND;
    loop {
        stage.step();
        let received = stage.client().delivered.iter();
        let ports: Vec<u16> = received
            .filter_map(|message| extended::redirect_port(&message.data))
            .collect();
        if let [port] = ports[..] {
            let known = (0..9).map(ListenerId).find(|id| listen_addr(*id).port() == port);
            return known.unwrap_or_else(|| panic!("{:?}: sent away to port {port}", stage.pair));
        }
        stage.check(stage.world.now < end, "no redirect");
    }
}

/// Leaves like DDNet's client, with a CLOSE, and joins at the listen socket from the same port.
fn follow(stage: &mut Stage, listener: ListenerId) {
    stage.leave("");
    stage.step();
    stage.world.clients[0].listener = listener;
    stage.restart();
    stage.run(3 * SECOND);
}

/// Checks that the client plays on the server at this port, and on no other.
fn assert_plays_at(stage: &mut Stage, port: u16, listener: ListenerId) {
    let pair = stage.pair;
    let client = ClientAddr {
        addr: client_addr(0),
        listener,
    };
    stage.check(stage.world.clients[0].peer.is_online(), "not online");
    let id = stage.world.hub().unwrap().session_of(client);
    assert!(
        id.is_some() && stage.online == [id.unwrap()],
        "{pair:?}: {id:?} of {:?}",
        stage.online
    );
    let up = format!("up at {}", stage.world.now).into_bytes();
    let down = format!("down at {}", stage.world.now).into_bytes();
    let now = stage.world.now;
    stage.client().send_vital(&up, now);
    stage.client().flush(now);
    says(stage, port, &down);
    stage.run(SECOND);
    let received = |peer: &Peer, text: &[u8]| peer.delivered.iter().any(|message| message.data == text);
    stage.check(
        received(&stage.world.clients[0].peer, &down),
        "the client does not hear",
    );
    let server = &stage.world.server;
    for (number, server) in [(8303, server), (OTHER, &stage.world.others[&OTHER])] {
        let slots: Vec<&Peer> = server.peers().map(|(_, slot)| slot).collect();
        assert_eq!(
            slots.len(),
            usize::from(number == port),
            "{pair:?}: slots at {number}"
        );
        assert!(
            slots
                .iter()
                .all(|slot| received(slot, &up) && received(slot, HELLO)),
            "{pair:?}"
        );
    }
}

#[test]
fn a_redirected_client_plays_on_the_other_server_and_comes_back() {
    for pair in Pair::ALL {
        let mut stage = joined(pair, 3, Options::default());
        says(&mut stage, 8303, &extended::redirect(OTHER));
        let there = redirected(&mut stage);
        assert_eq!(
            (there, &stage.world.wanted_listeners),
            (ListenerId(1), &vec![(there, OTHER)])
        );
        follow(&mut stage, there);
        assert_plays_at(&mut stage, OTHER, there);
        // To its own port.
        says(&mut stage, OTHER, &extended::redirect(OTHER));
        assert_eq!(redirected(&mut stage), there);
        follow(&mut stage, there);
        assert_plays_at(&mut stage, OTHER, there);
        // And back.
        says(&mut stage, OTHER, &extended::redirect(8303));
        let back = redirected(&mut stage);
        assert_eq!(back, ListenerId::FIRST);
        follow(&mut stage, back);
        assert_plays_at(&mut stage, 8303, back);
        assert_eq!(
            (stage.ever_online, stage.world.wanted_listeners.len()),
            (4, 1),
            "{pair:?}"
        );
        // The events of the second and the third session name their server.
        let servers: Vec<_> = stage
            .world
            .events
            .iter()
            .filter_map(|event| match &event.what {
                EventKind::Session(change) => Some((event.session.unwrap().0, change.server)),
                _ => None,
            })
            .collect();
        let other = Some("10.8.0.1:8305".parse().unwrap());
        assert!(
            servers
                .iter()
                .all(|(id, server)| *server == if matches!(id, 2 | 3) { other } else { None })
        );
        let sockets = &stage.world.sockets;
        assert!(sockets.len() == 1, "{pair:?}: {sockets:?}");
    }
}

/// A lost redirect is sent again, and every copy that arrives is rewritten.
#[test]
fn on_a_bad_line_no_redirect_gets_past() {
    let mut lost = 0;
    for pair in Pair::ALL {
        for (seed, packing) in
            (0..10).flat_map(|seed| [(seed, Packing::Clear), (seed, Packing::Always(Ending::Padded))])
        {
            let endless = Options::endless();
            let mut stage = joined(pair, seed, Options { packing, ..endless });
            stage.client().options.limits = false;
            stage.world.set_conditions(Conditions::bad(0.3));
            let before = stage.world.clients[0].down.lost + stage.world.down.lost;
            let port = if seed % 2 == 0 { OTHER } else { 8303 };
            says(&mut stage, 8303, &extended::redirect(port));
            let expected = ListenerId(u32::from(port == OTHER));
            assert_eq!(redirected(&mut stage), expected);
            lost += stage.world.clients[0].down.lost + stage.world.down.lost - before;
            stage.run(2 * SECOND);
            assert_eq!(redirected(&mut stage), expected, "{pair:?}");
        }
    }
    assert!(lost > 50, "{lost}");
}

/// The server retransmits until the listen socket is open; the client receives one redirect.
#[test]
fn a_slow_listen_socket_is_waited_for() {
    for pair in Pair::ALL {
        let mut stage = joined(pair, 4, Options::default());
        stage.world.listens = false;
        says(&mut stage, 8303, &extended::redirect(OTHER));
        stage.run(3 * SECOND);
        assert_eq!(stage.world.wanted_listeners, [(ListenerId(1), OTHER)], "{pair:?}");
        let received = |stage: &mut Stage| {
            let ports = stage
                .client()
                .delivered
                .iter()
                .filter_map(|one| extended::redirect_port(&one.data));
            ports.collect::<Vec<u16>>()
        };
        assert_eq!(received(&mut stage), [0; 0], "{pair:?}");
        let listener = ListenerId(1);
        let local = listen_addr(listener);
        stage.world.input(Input::ListenerOpened { listener, local });
        stage.run(2 * SECOND);
        assert_eq!(received(&mut stage), [local.port()], "{pair:?}");
        let slot = stage.slot();
        assert_eq!(slot.unacked(), 0, "{pair:?}");
    }
}

/// The server browser queries the server behind each listen socket.
#[test]
fn the_browser_sees_the_other_server_there() {
    const REQUEST: &[u8] = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffgie3\x07";
    const ANSWER: &[u8] = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffinf3\x07";
    let pair = Pair::ALL[4];
    let mut stage = joined(pair, 5, Options::default());
    says(&mut stage, 8303, &extended::redirect(OTHER));
    let there = redirected(&mut stage);
    let addr = client_addr(7);
    for (listener, counts) in [(there, [0, 1]), (ListenerId::FIRST, [1, 1]), (there, [1, 2])] {
        let bytes = REQUEST;
        stage.world.input(Input::FromClient {
            listener,
            addr,
            bytes,
        });
        stage.run(SECOND);
        let other = &stage.world.others[&OTHER];
        assert_eq!(
            [stage.world.server.counters.connless, other.counters.connless],
            counts
        );
    }
    let relays: Vec<UpstreamId> = stage.world.sockets.iter().skip(1).copied().collect();
    assert_eq!(relays.len(), 2);
    let mut answered = Vec::new();
    for upstream in relays {
        stage.world.network.sent = Some(Vec::new());
        stage.world.server_sends(upstream, ANSWER);
        let sent = stage.world.network.sent.take().unwrap();
        answered.extend(sent.into_iter().map(|sent| (sent.place, sent.addr, sent.bytes)));
    }
    assert_eq!(answered, vec![(Place::ToClient, addr, ANSWER.to_vec()); 2]);
}

/// Datagrams that would crash DDNet 16.4's client are not sent from another listen socket either.
#[test]
fn a_client_of_0_6_is_shielded_behind_every_listen_socket() {
    let pair = Pair::ALL[4];
    assert_eq!(pair.client, Variant::Ddnet);
    let mut stage = joined(pair, 6, Options::default());
    says(&mut stage, 8303, &extended::redirect(OTHER));
    let there = redirected(&mut stage);
    let bytes = &control::token_request([1, 2, 3, 4]);
    for (number, answers) in [(0, 0), (1, 1)] {
        stage.world.network.sent = Some(Vec::new());
        let (listener, addr) = (there, client_addr(number));
        stage.world.input(Input::FromClient {
            listener,
            addr,
            bytes,
        });
        assert_eq!(
            stage.count(Place::ToClient, control::TOKEN),
            answers,
            "client {number}"
        );
    }
}

/// `reconnect` is forwarded unchanged: the client connects again to the address that it was given, which is
/// the proxy's.
#[test]
fn a_reconnecting_client_replaces_its_session() {
    for pair in Pair::ALL {
        for leaves in [true, false] {
            let mut stage = joined(pair, 7, Options::default());
            says(&mut stage, 8303, &extended::RECONNECT);
            stage.run(SECOND);
            let received = stage
                .client()
                .delivered
                .last()
                .map(|message| message.data.clone());
            assert_eq!(received.as_deref(), Some(&extended::RECONNECT[..]), "{pair:?}");
            if !leaves && pair.client == Variant::D7 {
                // The client names no token from its second CONNECT on, so it cannot read the answers.
                continue;
            }
            if leaves {
                stage.leave("");
                stage.step();
            } else {
                stage.vanish();
            }
            stage.restart();
            if leaves {
                stage.run(3 * SECOND);
            } else {
                // The server decides how long it keeps the client's slot: 10 s, or 100 s in DDNet.
                stage.client().options.limits = false;
                while !stage.client().is_online() && stage.world.now < 130 * SECOND {
                    stage.step();
                }
                stage.run(SECOND);
            }
            let plays = stage.plays() && stage.talks(SECOND);
            stage.check(plays, format_args!("leaves: {leaves}"));
            if !leaves {
                continue;
            }
            // When the server's timeout for the old slot expires, the new session continues.
            stage.run(12 * SECOND);
            stage.assert_plays();
            assert_eq!(stage.ever_online, 2, "{pair:?}");
            for (addr, end) in stage.ended_slots() {
                let closed = matches!(end, PeerState::Closed { by_peer: true, .. });
                let gave_up = pair.is_tokenless() && matches!(end, PeerState::Dead(_));
                assert!(closed || gave_up, "{pair:?}: slot of {addr} ended {end:?}");
            }
        }
    }
}

/// A client on another port has another session. The old session lives until one of its peers ends it.
#[test]
fn a_client_that_reconnects_from_another_port_is_a_second_session() {
    for pair in Pair::ALL {
        let mut stage = joined(pair, 8, Options::default());
        says(&mut stage, 8303, &extended::RECONNECT);
        let options = Options::saying(HELLO);
        let world = &mut stage.world;
        let index = world.add(Peer::client(pair.client, options, 99), Conditions::GOOD, 99);
        world.clients[index].peer.connect(world.now);
        world.run(3 * SECOND);
        assert!(
            world.clients.iter().all(|client| client.peer.is_online()),
            "{pair:?}"
        );
        assert_eq!(
            (world.hub().unwrap().sessions(), world.server.peers().count()),
            (2, 2)
        );
        let restarts = |notice: &Notice| matches!(notice, Notice::Restart | Notice::Candidate);
        let events = world.events.iter();
        assert!(
            !events
                .clone()
                .any(|event| matches!(&event.what, EventKind::Notice(notice) if restarts(notice)))
        );
        let now = world.now;
        world.clients[0].peer.close("", now);
        world.run(3 * SECOND);
        assert!(world.clients[index].peer.is_online(), "{pair:?}");
        assert_eq!(
            (world.hub().unwrap().sessions(), world.server.peers().count()),
            (1, 1)
        );
    }
}
