//! Limits on half-open sessions: which session is ended for which client.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use teetap_kit::{
    codec::{Chunk, Datagram, NO_TOKEN, Token, Variant, control, open},
    link::SECOND,
    rules::compiled,
    world::{Place, World, client_addr},
};
use teetap_proxy::session::{EventKind, Input, Notice, Origin, State, UpstreamId};
use teetap_wire::{Dir, Proto, Side};

use crate::stage::{Pair, Stage, pair};

/// Maximum number of half-open sessions of each standing.
const FULL: u16 = 256;
/// The token that the server gives.
const GIVEN: Token = [9, 8, 7, 6];

/// The address of the n-th client of a group.
pub(crate) fn address(group: u8, number: u16) -> SocketAddr {
    let [high, low] = number.to_be_bytes();
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, group, high, low)), 1000)
}

pub(crate) fn connect(world: &mut World, addr: SocketAddr, variant: Variant) {
    let bytes = control::connect(variant, [1, 2, 3, 4], NO_TOKEN);
    world.stranger_sends(addr, &bytes);
}

/// Requests a token of 0.7, and connects with it. Returns the token.
pub(crate) fn connect_proved(world: &mut World, addr: SocketAddr) -> Token {
    world.network.sent = Some(Vec::new());
    world.stranger_sends(addr, &control::token_request([1, 2, 3, 4]));
    let sent = world.network.sent.as_deref().unwrap();
    let token = *sent.last().unwrap().bytes.last_chunk::<4>().unwrap();
    world.stranger_sends(addr, &control::connect(Variant::V7, [1, 2, 3, 4], token));
    token
}

/// The socket that was opened last.
fn upstream(stage: &Stage) -> UpstreamId {
    *stage.world.sockets.last().unwrap()
}

/// Returns the clients of a group that have no session.
pub(crate) fn gone(stage: &mut Stage, group: u8, numbers: u16) -> Vec<u16> {
    let hub = stage.world.hub().unwrap();
    let is_gone = |number: &u16| hub.session_of(address(group, *number)).is_none();
    (0..numbers).filter(is_gone).collect()
}

/// Returns a player in a game whose server no longer receives anything, so that the test sends all answers of
/// the server.
pub(crate) fn deaf(pair: Pair) -> Stage {
    let mut stage = Stage::joined(pair, 1);
    stage.world.up.conditions.loss = 1.0;
    stage
}

/// Uses up all half-open sessions with CONNECTs. Returns the socket of each.
pub(crate) fn fill(stage: &mut Stage, group: u8, variant: Variant) -> Vec<UpstreamId> {
    let sockets = (0..FULL).map(|number| {
        connect(&mut stage.world, address(group, number), variant);
        upstream(stage)
    });
    sockets.collect()
}

/// For a kind with few clients, the youngest session of a kind with many clients is ended. Sessions that the
/// server has not answered are ended first, since they may be forged and cost least.
#[test]
fn sessions_that_the_server_has_answered_give_way_last() {
    let mut stage = Stage::joined(Pair::ALL[0], 1);
    let sockets = fill(&mut stage, 3, Variant::Ddnet);
    let answer = control::connect_accept(Variant::Ddnet, NO_TOKEN, GIVEN);
    for number in [0, 7, 254, 255] {
        stage.world.server_sends(sockets[number], &answer);
    }
    for (few, given_way) in [vec![253], vec![252, 253], vec![251, 252, 253]]
        .into_iter()
        .enumerate()
    {
        connect(
            &mut stage.world,
            address(4, u16::try_from(few).unwrap()),
            Variant::V65,
        );
        assert_eq!(gone(&mut stage, 3, FULL), given_way);
    }
    assert_eq!(gone(&mut stage, 4, 3), [0; 0]);
    // A kind that has its share gets no more.
    for number in 3..10 {
        connect(&mut stage.world, address(4, number), Variant::V65);
    }
    assert_eq!(gone(&mut stage, 4, 10), [8, 9]);
    assert_eq!(gone(&mut stage, 3, FULL), (246..254).collect::<Vec<_>>());
}

/// If the server has answered all sessions, the youngest of them is ended.
#[test]
fn among_answered_sessions_the_youngest_gives_way() {
    let mut stage = Stage::joined(Pair::ALL[0], 1);
    let answer = control::connect_accept(Variant::Ddnet, NO_TOKEN, GIVEN);
    for socket in fill(&mut stage, 3, Variant::Ddnet) {
        stage.world.server_sends(socket, &answer);
    }
    connect(&mut stage.world, address(4, 0), Variant::V65);
    assert_eq!(gone(&mut stage, 3, FULL), [255]);
}

/// A session that lingers after its CLOSE is ended before any half-open session, for every kind of client. No
/// notice is emitted for it.
#[test]
fn sessions_that_linger_give_way_first() {
    for newcomer in [Variant::Ddnet, Variant::V65, Variant::V6] {
        let mut stage = deaf(Pair::ALL[0]);
        let sockets = fill(&mut stage, 3, Variant::Ddnet);
        for number in [200, 100] {
            stage
                .world
                .server_sends(sockets[number], &control::close(Variant::V6, 0, None, "full"));
        }
        stage.run(SECOND / 10);
        assert_eq!(gone(&mut stage, 3, FULL), [0; 0], "{newcomer:?}");
        // The oldest is ended first.
        for (number, given_way) in [(0, vec![100]), (1, vec![100, 200])] {
            connect(&mut stage.world, address(4, number), newcomer);
            assert_eq!(gone(&mut stage, 3, FULL), given_way, "{newcomer:?}");
        }
        assert_eq!(gone(&mut stage, 4, 2), [0; 0], "{newcomer:?}");
        assert_eq!(stage.times(&Notice::HalfOpenLimit), 0, "{newcomer:?}");
    }
}

/// The same for clients that have proved their address. If no session lingers, the oldest is ended.
#[test]
fn of_proved_sessions_one_that_lingers_gives_way_before_the_oldest() {
    let mut stage = deaf(Pair::ALL[4]);
    let tokens: Vec<Token> = (0..FULL)
        .map(|number| connect_proved(&mut stage.world, address(3, number)))
        .collect();
    let close = control::close(Variant::V7, 0, Some(tokens[77]), "");
    stage.world.stranger_sends(address(3, 77), &close);
    assert_eq!(gone(&mut stage, 3, FULL), [0; 0]);
    stage.run(SECOND / 10);
    for (number, given_way) in [(0, vec![77]), (1, vec![0, 77]), (2, vec![0, 1, 77])] {
        connect_proved(&mut stage.world, address(4, number));
        assert_eq!(gone(&mut stage, 3, FULL), given_way);
    }
    assert_eq!(stage.times(&Notice::HalfOpenLimit), 2);
}

/// At the limit per address, the oldest session of the address is ended. At the total limit, the oldest
/// session of the address with the most clients is ended.
#[test]
fn proved_clients_of_a_crowded_address_give_way() {
    let mut stage = deaf(Pair::ALL[4]);
    let crowded = |port| SocketAddr::from(([10, 5, 0, 1], port));
    let first = |stage: &mut Stage| {
        let hub = stage.world.hub().unwrap();
        let ports: Vec<u16> = (1..=40)
            .filter(|port| hub.session_of(crowded(*port)).is_some())
            .collect();
        (ports[0], ports.len())
    };
    for port in 1..=40 {
        connect_proved(&mut stage.world, crowded(port));
    }
    assert_eq!(first(&mut stage), (9, 32));
    stage.run(SECOND);
    for number in 0..FULL - 32 {
        connect_proved(&mut stage.world, address(3, number));
    }
    assert_eq!(first(&mut stage), (9, 32));
    stage.run(SECOND);
    for (number, left) in [(0, (10, 31)), (1, (11, 30))] {
        connect_proved(&mut stage.world, address(4, number));
        assert_eq!(first(&mut stage), left);
    }
    assert_eq!(gone(&mut stage, 3, FULL - 32), [0; 0]);
}

/// Uses up all half-open sessions, and lets one more client connect. Returns the token in the answer that the
/// client gets without a session, and the first packet that it sends then.
fn answered(stage: &mut Stage, addr: SocketAddr, variant: Variant) -> (Option<Token>, Vec<u8>) {
    for number in 0..FULL {
        connect(&mut stage.world, address(3, number), variant);
    }
    stage.world.network.sent = Some(Vec::new());
    connect(&mut stage.world, addr, variant);
    let sent = stage.world.network.sent.as_deref().unwrap();
    let answer = sent.iter().find(|sent| sent.addr == addr).unwrap();
    let token = match (variant, open(variant, &answer.bytes).unwrap()) {
        // The header contains the token of the client.
        (Variant::V65, answer) => answer
            .payload
            .get(1..5)
            .and_then(|told| told.first_chunk().copied()),
        (_, answer) => answer.head.token,
    };
    let hello = vec![Chunk::new(Some(1), b"hello".to_vec())];
    (token, Datagram::of_chunks(variant, 0, token, hello).build())
}

/// The server answers the first client of a session in another protocol than the proxy did before it. The
/// session ends, and each peer gets a CLOSE in its protocol.
#[test]
fn a_client_whose_server_has_changed_its_protocol_is_closed() {
    const REASON: &str = "The server has changed, please connect again";
    for variant in [Variant::Ddnet, Variant::V65] {
        let mut stage = deaf(pair(variant, variant));
        let addr = address(4, 0);
        let (token, first) = answered(&mut stage, addr, variant);
        stage.world.stranger_sends(addr, &first);
        let upstream = upstream(&stage);
        stage.world.network.sent = Some(Vec::new());
        let accept = control::connect_accept(Variant::V6, NO_TOKEN, NO_TOKEN);
        stage.world.server_sends(upstream, &accept);
        let sent = stage.world.network.sent.take().unwrap();
        let sent: Vec<_> = sent.into_iter().map(|sent| (sent.place, sent.bytes)).collect();
        let to_server = control::close(Variant::V6, 0, None, REASON);
        let to_client = control::close(variant, 0, token, REASON);
        stage.equal(
            sent,
            vec![(Place::ToServer, to_server), (Place::ToClient, to_client)],
            "",
        );
        let closes = stage.world.events.iter().filter_map(|event| match &event.what {
            EventKind::Datagram(datagram) if datagram.origin == Origin::Proxy => {
                Some((datagram.leg, datagram.proto))
            }
            _ => None,
        });
        let [.., to_server, to_client] = closes.collect::<Vec<_>>()[..] else {
            panic!("two datagrams of the proxy");
        };
        stage.equal(to_server, (Some(Side::Server), Proto::V6), "CLOSE to the server");
        stage.equal(to_client.0, Some(Side::Client), "CLOSE to the client");
        let reasons = stage.world.events.iter().filter_map(|event| match &event.what {
            EventKind::Session(change) if change.state == State::Closing => {
                Some((change.by, change.reason.clone()))
            }
            _ => None,
        });
        let reasons: Vec<_> = reasons.collect();
        stage.equal(reasons, vec![(None, Some(REASON.as_bytes().into()))], "");
    }
}

/// An answer without a session is not stored. Its token is valid in the 10 s in which it was given and in the
/// following 10 s. Without tokens, a first packet is accepted for the same time.
#[test]
fn an_answer_without_a_session_is_good_for_up_to_20_seconds() {
    const EPOCH: u64 = 10 * SECOND;
    for (variant, late) in [(Variant::Ddnet, 0), (Variant::Ddnet, SECOND), (Variant::V6, 0)] {
        for (wait, is_good) in [
            (15 * SECOND, true),
            (20 * SECOND - SECOND / 10 - late, true),
            (20 * SECOND + SECOND / 10 - late, false),
        ] {
            let mut stage = Stage::joined(pair(variant, variant), 1);
            let start = stage.world.now.next_multiple_of(EPOCH) + late;
            stage.run(start - stage.world.now);
            let addr = address(4, 0);
            let (_, first) = answered(&mut stage, addr, variant);
            stage.run(wait);
            stage.world.stranger_sends(addr, &first);
            let session = stage.world.hub().unwrap().session_of(addr);
            assert_eq!(session.is_some(), is_good, "{variant:?} {late} {wait}");
        }
    }
}

/// A rule that closes the session also discards the packets that wait for the server's answer.
#[test]
fn nothing_that_waits_is_handled_after_a_close() {
    for (source, expected) in [
        ("log when c2s and vital", 2),
        ("log, close \"no\" when c2s and vital", 1),
    ] {
        let mut stage = deaf(pair(Variant::Ddnet, Variant::Ddnet));
        let addr = address(4, 0);
        let (token, first) = answered(&mut stage, addr, Variant::Ddnet);
        let program = compiled(source).unwrap();
        stage.world.input(Input::Program(Some(program)));
        stage.world.stranger_sends(addr, &first);
        let more = vec![Chunk::new(Some(2), b"more".to_vec())];
        let more = Datagram::of_chunks(Variant::Ddnet, 0, token, more).build();
        stage.world.stranger_sends(addr, &more);
        let upstream = upstream(&stage);
        let begun = stage.world.events.len();
        let accept = control::connect_accept(Variant::Ddnet, NO_TOKEN, GIVEN);
        stage.world.server_sends(upstream, &accept);
        let packets = stage.world.events.iter().skip(begun).filter(|event| {
            matches!(&event.what, EventKind::Datagram(datagram)
                if datagram.origin == Origin::Peer && datagram.dir == Dir::C2s)
        });
        assert_eq!(packets.count(), expected, "{source}");
    }
}

/// A first packet without a token may be forged. It opens a session only for an address that has none.
#[test]
fn a_first_packet_without_a_token_replaces_no_session() {
    let mut stage = Stage::joined(pair(Variant::Ddnet, Variant::Ddnet), 1);
    // The server answers a client without tokens.
    connect(&mut stage.world, address(5, 0), Variant::V6);
    stage.run(SECOND);
    let addr = address(4, 0);
    let (_, first) = answered(&mut stage, addr, Variant::V6);
    let player = stage.session();
    assert!(player.is_some());
    let other = address(6, 0);
    let session_of = |stage: &mut Stage, addr| stage.world.hub().unwrap().session_of(addr);
    stage.world.stranger_sends(client_addr(0), &first);
    let session = stage.session();
    stage.equal(session, player, "the session of the player");
    stage.run(SECOND);
    let (session, is_online) = (stage.session(), stage.client().is_online());
    stage.equal((session, is_online), (player, true), "a second later");
    for addr in [addr, other] {
        stage.world.stranger_sends(addr, &first);
        let session = session_of(&mut stage, addr);
        stage.check(session.is_some(), addr);
    }
}

/// If there is no room, the proxy drops the first packet of a client that it has answered. The notice does
/// not blame the client.
#[test]
fn a_first_packet_without_room_is_reported_as_dropped_by_the_proxy() {
    // Sessions that clients without tokens can open at once.
    const AT_ONCE: u16 = 64;
    let mut stage = Stage::joined(pair(Variant::V6, Variant::V6), 1);
    for number in 0..FULL {
        connect(&mut stage.world, address(3, number), Variant::V6);
    }
    for number in 0..=AT_ONCE {
        connect(&mut stage.world, address(4, number), Variant::V6);
    }
    let answered =
        |notice: &Notice| matches!(notice, Notice::AnsweredByProxy { proto, .. } if *proto == Proto::V6);
    assert!(stage.notices().iter().any(answered), "a notice about the answers");
    let hello = vec![Chunk::new(Some(1), b"hello".to_vec())];
    let first = Datagram::of_chunks(Variant::V6, 0, None, hello).build();
    for number in 0..=AT_ONCE {
        stage.world.stranger_sends(address(4, number), &first);
    }
    assert_eq!(gone(&mut stage, 4, AT_ONCE + 1), [AT_ONCE]);
    let client = address(4, AT_ONCE);
    assert_eq!(stage.times(&Notice::DroppedByProxy { client }), 1);
    let accuses = |notice: &Notice| matches!(notice, Notice::UnknownSender { .. });
    assert!(!stage.notices().iter().any(accuses), "{:?}", stage.notices());
}
