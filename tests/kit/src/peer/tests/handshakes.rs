//! Handshakes, refusals and repetitions.

use super::*;

fn greeting() -> Policy {
    Policy::greets(b"map")
}

fn saying_hello() -> Options {
    Options::saying(b"info")
}

/// Returns a client of one variant, joined to a server of another.
fn join(client: Variant, server: Variant) -> (Peer, Server) {
    let mut client = Peer::client(client, saying_hello(), 1);
    let mut server = Server::new(server, greeting(), 2);
    client.connect(0);
    exchange(&mut client, &mut server, 0);
    (client, server)
}

#[test]
fn every_combination_that_works_and_no_other() {
    use Variant::{D7, Ddnet, V6, V7, V65};
    let works = [
        (V6, V6, V6),
        (V65, V6, V6),
        (Ddnet, V6, V6),
        (V65, V65, V65),
        (V6, Ddnet, V6),
        (V65, Ddnet, V6),
        (Ddnet, Ddnet, Ddnet),
        (V7, Ddnet, V7),
        (D7, Ddnet, D7),
        (V7, V7, V7),
        (D7, V7, D7),
    ];
    for client_variant in Variant::ALL {
        for server_variant in [V6, V65, Ddnet, V7] {
            let (client, server) = join(client_variant, server_variant);
            let expected = works
                .iter()
                .find(|(client, server, _)| (*client, *server) == (client_variant, server_variant));
            let Some((.., format)) = expected else {
                assert!(
                    !client.is_online() && server.peers().count() == 0,
                    "{client_variant:?} {server_variant:?}"
                );
                continue;
            };
            assert_eq!(client.format(), *format);
            let slot = server.peer(client_address()).unwrap();
            assert!(
                client.is_online() && slot.is_online(),
                "{client_variant:?} {server_variant:?}"
            );
            assert_eq!((texts(slot), texts(&client)), (vec!["info"], vec!["map"]));
            let (own, other) = slot.tokens();
            assert!(*format == V6 || client.tokens() == (other, own));
            assert_eq!((client.numbers().0, client.numbers().1), (1, 1));
            assert_eq!(server.counters.opened, 1);
        }
    }
}

#[test]
fn clients_repeat_their_requests_every_half_second() {
    for variant in Variant::ALL {
        let mut client = Peer::client(variant, Options::default(), 3);
        client.connect(0);
        let first = client.outgoing[0].clone();
        assert_eq!(
            first.len(),
            [4, 516, 12, 520, 520][Variant::ALL.iter().position(|each| *each == variant).unwrap()]
        );
        for step in 1..=300 {
            client.update(step * 10 * MS);
        }
        let repeats = if variant == Variant::D7 { 0 } else { 5 };
        assert_eq!(client.outgoing.len(), 1 + repeats, "{variant:?}");
        assert!(client.outgoing.iter().all(|bytes| *bytes == first));
        for step in 301..=2000 {
            client.update(step * 10 * MS);
        }
        assert_eq!(client.is_over(), variant == Variant::V7, "{variant:?}");
    }
}

#[test]
fn a_ddnet_client_loses_its_token_when_it_repeats_connect_to_a_07_server() {
    for server in [Variant::V7, Variant::Ddnet] {
        let mut client = Peer::client(Variant::D7, saying_hello(), 1);
        let mut server = Server::new(server, Policy::default(), 2);
        client.connect(0);
        server.receive(client_address(), &client.outgoing.remove(0), 0);
        client.receive(&server.take_outgoing()[0].1, 0);
        assert_eq!(client.outgoing.remove(0).len(), 520, "this CONNECT gets lost");
        client.update(510 * MS);
        assert_eq!(client.outgoing[0][7..], [1, 0x54, 0x4b, 0x45, 0x4e]);
        exchange(&mut client, &mut server, 510 * MS);
        assert_eq!(server.peer(client_address()).unwrap().tokens().1, TKEN);
        assert_eq!(
            (client.state(), client.counters.wrong_token),
            (&State::Connecting, 1)
        );
    }
}

#[test]
fn the_slots_of_06_and_07_repeat_their_answer_until_data_comes() {
    for variant in [Variant::V6, Variant::V7] {
        let mut client = Peer::client(variant, Options::default(), 1);
        let mut server = Server::new(variant, Policy::default(), 2);
        client.connect(0);
        exchange(&mut client, &mut server, 0);
        assert!(client.is_online());
        let slot = |server: &Server| server.peer(client_address()).unwrap().clone();
        assert_eq!(*slot(&server).state(), State::Pending);
        let mut answers = 0;
        for step in 1..=200 {
            server.update(step * 10 * MS);
            answers += server
                .take_outgoing()
                .iter()
                .filter(|(_, bytes)| bytes.last() == Some(&2))
                .count();
        }
        assert_eq!(answers, 3);
        client.send_vital(b"info", 2 * SECOND);
        client.flush(2 * SECOND);
        exchange(&mut client, &mut server, 2 * SECOND);
        assert!(slot(&server).is_online());
    }
}

#[test]
fn ddnet_never_repeats_its_07_answer() {
    let mut client = Peer::client(Variant::V7, Options::default(), 1);
    let mut server = Server::new(Variant::D7, Policy::default(), 2);
    client.connect(0);
    server.receive(client_address(), &client.outgoing.remove(0), 0);
    client.receive(&server.take_outgoing()[0].1, 0);
    assert!(
        server
            .receive(client_address(), &client.outgoing.remove(0), 0)
            .online
    );
    assert_eq!(server.take_outgoing().len(), 1, "this ACCEPT gets lost");
    for step in 1..=500 {
        client.update(step * 10 * MS);
        server.update(step * 10 * MS);
        exchange(&mut client, &mut server, step * 10 * MS);
    }
    assert_eq!(*client.state(), State::Connecting);
    assert!(client.counters.keepalives > 2 && server.counters.repeated_connects > 5);
    assert_eq!(server.counters.opened, 1);
}

#[test]
fn accept_in_a_session_of_ddnet_starts_the_numbers_afresh() {
    let (mut client, mut server) = join(Variant::Ddnet, Variant::Ddnet);
    let token = server.token(client_address(), 0);
    server.receive(
        client_address(),
        &control::connect(Variant::Ddnet, NO_TOKEN, NO_TOKEN),
        SECOND,
    );
    assert_eq!(
        server.take_outgoing(),
        [(
            client_address(),
            control::connect_accept(Variant::Ddnet, NO_TOKEN, token)
        )]
    );
    assert_eq!(
        (server.counters.rejoins, server.counters.repeated_connects),
        (0, 1)
    );
    server.receive(client_address(), &control::accept(Some([9; 4])), SECOND);
    assert_eq!(server.counters.rejoins, 0);
    server.receive(client_address(), &control::accept(Some(token)), SECOND);
    assert_eq!(server.counters.rejoins, 1);
    let slot = server.peer(client_address()).unwrap();
    assert_eq!(
        (slot.numbers(), slot.counters.rejoined),
        ((1, 0, 0), 1),
        "restarted, and the map sent again"
    );
    exchange(&mut client, &mut server, SECOND);
    assert_eq!(client.counters.behind, 1, "it acks 0 where the client has seen 1");
}

#[test]
fn old_servers_ignore_connect_of_a_known_address() {
    for variant in [Variant::V6, Variant::V65] {
        let (_, mut server) = join(variant, variant);
        server.receive(
            client_address(),
            &control::connect(variant, [3; 4], NO_TOKEN),
            SECOND,
        );
        assert!(server.take_outgoing().is_empty());
        assert_eq!(
            (server.counters.repeated_connects, server.peers().count()),
            (1, 1)
        );
    }
}

/// Returns the reason with which a client of the variant is refused, and the server.
fn turned_away(client: Variant, server: Variant, policy: Policy, others: usize) -> (String, Server) {
    let mut server = Server::new(server, policy, 2);
    for port in 0..others {
        let mut other = Peer::client(client, saying_hello(), 9);
        other.connect(0);
        let address = SocketAddr::new(client_address().ip(), 6000 + u16::try_from(port).unwrap());
        for _ in 0..4 {
            for bytes in std::mem::take(&mut other.outgoing) {
                server.receive(address, &bytes, 0);
            }
            for (_, bytes) in server.take_outgoing() {
                other.receive(&bytes, 0);
            }
        }
        assert!(other.is_online());
    }
    let mut late = Peer::client(client, saying_hello(), 1);
    late.connect(0);
    exchange(&mut late, &mut server, 0);
    match late.state() {
        State::Closed {
            reason,
            by_peer: true,
        } => (reason.clone(), server),
        other => panic!("{client:?} is {other:?}"),
    }
}

#[test]
fn refusals_reach_the_client() {
    for variant in Variant::ALL {
        let policy = Policy {
            max_clients: 2,
            ..Policy::default()
        };
        let (reason, server) = turned_away(variant, variant, policy, 2);
        assert_eq!((&reason[..], server.counters.refused), ("This server is full", 1));
        let policy = Policy {
            max_clients_per_ip: 1,
            ..Policy::default()
        };
        let (reason, server) = turned_away(variant, variant, policy, 1);
        assert_eq!(
            (&reason[..], server.counters.opened),
            ("Only 1 players with the same IP are allowed", 1)
        );
        let policy = Policy::refuses(Refusal::WrongPassword);
        let (reason, mut server) = turned_away(variant, variant, policy, 0);
        server.update(10 * MS);
        assert_eq!(
            (&reason[..], server.finished.len(), server.peers().count()),
            ("Wrong password", 1, 0)
        );
    }
}

#[test]
fn bans_reach_the_clients_that_understand_them() {
    let policy = || Policy::refuses(Refusal::Banned("You have been banned".to_owned()));
    for variant in [Variant::V6, Variant::V65, Variant::Ddnet, Variant::V7] {
        let (reason, server) = turned_away(variant, variant, policy(), 0);
        assert_eq!(
            (&reason[..], server.counters.refused),
            ("You have been banned", 1)
        );
    }
    // DDNet answers every request in the form of 0.6.
    let mut server = Server::new(Variant::D7, policy(), 2);
    let mut client = Peer::client(Variant::V7, Options::default(), 1);
    client.connect(0);
    server.receive(client_address(), &client.outgoing.remove(0), 0);
    let answer = server.take_outgoing().remove(0).1;
    assert_eq!(
        answer,
        control::close(Variant::V6, 0, None, "You have been banned")
    );
    client.receive(&answer, 0);
    assert_eq!(*client.state(), State::WantToken);
}

#[test]
fn tokens_follow_the_address_and_the_time_as_the_servers_do() {
    let [a, same_ip, other_ip]: [SocketAddr; 3] =
        ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.2:1"].map(|text| text.parse().unwrap());
    for (variant, by_port, life) in [
        (Variant::V65, true, 10),
        (Variant::Ddnet, false, 1000),
        (Variant::V7, false, 16),
    ] {
        let server = Server::new(variant, Policy::default(), 5);
        assert_eq!(server.token(a, 0) != server.token(same_ip, 0), by_port);
        assert_ne!(server.token(a, 0), server.token(other_ip, 0));
        assert_eq!(server.token(a, 0), server.token(a, life * SECOND - 1));
        assert_eq!(
            server.token(a, 0) != server.token(a, life * SECOND),
            variant != Variant::Ddnet
        );
        assert_ne!(
            server.token(a, 0),
            Server::new(variant, Policy::default(), 6).token(a, 0)
        );
    }
}

#[test]
fn the_previous_token_is_valid_and_the_one_before_is_not() {
    for (variant, life) in [(Variant::V65, 10), (Variant::V7, 16)] {
        for (age, welcome) in [(life, true), (2 * life, false)] {
            let mut client = Peer::client(variant, saying_hello(), 1);
            let mut server = Server::new(variant, Policy::default(), 2);
            client.connect(0);
            server.receive(client_address(), &client.outgoing.remove(0), 0);
            client.receive(&server.take_outgoing()[0].1, 0);
            server.receive(client_address(), &client.outgoing.remove(0), age * SECOND);
            assert_eq!(server.peers().count() == 1, welcome, "{variant:?} {age}");
        }
    }
}

#[test]
fn short_token_requests_get_no_answer() {
    for variant in [Variant::V7, Variant::D7] {
        let mut server = Server::new(variant, Policy::default(), 2);
        let request = control::token_request([7; 4]);
        server.receive(client_address(), &request[..518], 0);
        assert!(server.take_outgoing().is_empty());
        server.receive(client_address(), &request[..519], 0);
        assert_eq!(server.take_outgoing()[0].1.len(), 12);
    }
}

#[test]
fn a_closed_slot_is_retired_and_the_address_may_come_again() {
    let (mut client, mut server) = join(Variant::V7, Variant::V7);
    client.close("bye", SECOND);
    exchange(&mut client, &mut server, SECOND);
    server.update(SECOND);
    assert_eq!(server.peers().count(), 0);
    let (address, ended) = &server.finished[0];
    assert_eq!((*address, texts(ended)), (client_address(), vec!["info"]));
    assert_eq!(
        *ended.state(),
        State::Closed {
            reason: "bye".to_owned(),
            by_peer: true
        }
    );
    let mut again = Peer::client(Variant::V7, saying_hello(), 8);
    again.connect(SECOND);
    exchange(&mut again, &mut server, SECOND);
    assert!(again.is_online());
}
