//! Tokens and map changes.

use teetap_proxy::session::State;
use teetap_wire::{Side, Token};

use super::*;

/// A client treats a map change with a new number as another map change, but not a retransmission.
#[test]
fn a_map_change_under_a_new_number_is_noted() {
    for proto in Proto::ALL {
        for (between, is_noted) in [(None, true), (Some("ready"), false), (Some("con_ready"), false)] {
            let mut script = Script::new(proto);
            let change = script.named("map_change");
            let first = script.send(Dir::S2c, 0, &[(Some(1), false, &change)]);
            script.at += 1_000_000;
            let resent = script.send(Dir::S2c, 0, &[(Some(1), true, &change)]);
            assert_eq!(first, [], "{proto}");
            assert!(
                !resent.iter().any(|(code, _)| *code == Code::MapAgain),
                "{proto} {resent:?}"
            );
            let mut next = 2;
            match between {
                Some("ready") => {
                    let ready = script.named("ready");
                    script.send(Dir::C2s, 1, &[(Some(1), false, &ready)]);
                }
                Some(name) => {
                    let message = script.named(name);
                    script.send(Dir::S2c, 0, &[(Some(2), false, &message)]);
                    next = 3;
                }
                None => {}
            }
            script.at += 20_000;
            let notes = script.send(Dir::S2c, 0, &[(Some(next), false, &change)]);
            let text = "number 2 has the message of number 1: a resend keeps the number".to_owned();
            let expected = is_noted.then_some((Code::MapAgain, text));
            assert_eq!(
                notes,
                expected.into_iter().collect::<Vec<_>>(),
                "{proto} {between:?}"
            );
        }
    }
}

/// A second ACCEPT, which a doubled CONNECT causes, makes a DDNet server start over with number 1.
#[test]
fn a_map_change_of_a_server_that_starts_over_is_not_noted() {
    let mut script = Script::new(Proto::Ddnet);
    let change = script.named("map_change");
    script.send(Dir::S2c, 0, &[(Some(4), false, &change)]);
    script.at += 20_000;
    let notes = script.send(Dir::S2c, 0, &[(Some(2), false, &change)]);
    assert!(
        !notes.iter().any(|(code, _)| *code == Code::MapAgain),
        "{notes:?}"
    );
}

/// A different map is a different message.
#[test]
fn another_map_is_not_noted() {
    let mut script = Script::new(Proto::Ddnet);
    let change = script.named("map_change");
    script.send(
        Dir::S2c,
        0,
        &[(Some(1), false, &[&change[..], b"dm1\0\0\0"].concat())],
    );
    let other = [&change[..], b"dm2\0\0\0"].concat();
    assert_eq!(script.send(Dir::S2c, 0, &[(Some(2), false, &other)]), []);
}

/// In 0.6.5 only CONNECTACCEPT has the token of the client: all later datagrams have the token of the server.
#[test]
fn a_wrong_token_is_never_the_expected_one() {
    let (client, server) = (Token(*b"\x0c\x4c\x78\x6a"), Token(*b"serv"));
    for dir in [Dir::C2s, Dir::S2c] {
        let mut script = Script::new(Proto::V65);
        script.token = client;
        script.control(Dir::S2c, &[&b"\x02"[..], &server.0].concat());
        let wrong = script.send_noted(dir, 0, &[(Some(1), false, READY)], Code::WrongToken);
        assert!(
            wrong.iter().any(|(code, _)| *code == Code::WrongToken),
            "{wrong:?}"
        );
        assert_eq!(script.expected.token, Some(server), "{dir}");
    }
    // If the expected token is unknown, none is named.
    let mut script = Script::new(Proto::V65);
    script.vital(Dir::C2s, 0, 1);
    script.send_noted(Dir::C2s, 0, &[(Some(2), false, READY)], Code::WrongToken);
    assert_eq!(script.expected.token, None);
}

/// The token that a handshake packet gives is expected of the other side before the other side has written it. If the
/// proxy writes a different token on each leg, the token that it wrote is expected.
#[test]
fn a_given_token_is_the_expected_one() {
    for (proto, dir, handshake) in [
        (Proto::V65, Dir::S2c, &b"\x02gave"[..]),
        (Proto::Ddnet, Dir::S2c, b"\x02TKEN"),
        (Proto::V7, Dir::S2c, b"\x05gave"),
        (Proto::V7, Dir::C2s, b"\x01gave"),
    ] {
        for is_proxied in [false, true] {
            let mut script = Script::before_accept(proto);
            script.token = Token([0; 4]);
            if proto == Proto::Ddnet {
                // Clients write `Token::NONE` here, and servers ignore it.
                script.control(Dir::C2s, b"\x01TKEN");
                script.token = Token(*b"gave");
            }
            let sent = script.control_bytes(handshake);
            if is_proxied {
                let received = script.control_bytes(&[&handshake[..1], b"peer"].concat());
                script.datagram(dir, &received, |datagram| datagram.leg = Some(dir.sender()));
                script.proxy_datagram(dir, &sent);
            } else {
                script.datagram(dir, &sent, |_| {});
            }
            script.token = Token(*b"\x1b[2J");
            script.send_noted(dir.reverse(), 0, &[(Some(1), false, READY)], Code::WrongToken);
            let given = Some(Token(*b"gave"));
            assert_eq!(script.expected.token, given, "{proto} {dir} {is_proxied}");
        }
    }
}

#[test]
fn a_token_in_another_byte_order_is_noted() {
    for (accept, is_noted) in [
        (*b"\x01\x02\x03\x04", true),
        (*b"\x04\x03\x02\x01", false),
        (*b"\x09\x02\x03\x04", false),
    ] {
        let mut script = Script::new(Proto::V7);
        let reply = [&b"\x05"[..], b"\x04\x03\x02\x01"].concat();
        assert_eq!(script.control(Dir::S2c, &reply), []);
        let notes = script.control(Dir::S2c, &[&b"\x02"[..], &accept].concat());
        let text = "got 01020304, expected 04030201".to_owned();
        let expected = is_noted.then_some((Code::TokenReversed, text));
        assert_eq!(notes, expected.into_iter().collect::<Vec<_>>());
    }
}

/// A server that reloads its map sends the map change again to clients that have acked the first one.
#[test]
fn an_acked_map_change_may_be_sent_again_by_a_reload() {
    for proto in Proto::ALL {
        let mut script = Script::new(proto);
        let change = script.named("map_change");
        script.send(Dir::S2c, 0, &[(Some(1), false, &change)]);
        script.keepalive(Dir::C2s, 1);
        assert_eq!(
            script.send(Dir::S2c, 0, &[(Some(2), false, &change)]),
            [],
            "{proto}"
        );
    }
}

/// A server of DDNet sends the map again after another ACCEPT (`ClientRejoinCallback` in server.cpp), which the network
/// may have duplicated.
#[test]
fn a_second_accept_brings_the_map_again() {
    for accepts_again in [true, false] {
        let mut script = Script::before_accept(Proto::Ddnet);
        script.control(Dir::C2s, b"\x03");
        if accepts_again {
            script.control(Dir::C2s, b"\x03");
        }
        let (change, capabilities) = (script.named("map_change"), script.named("capabilities"));
        let info = script.named("info");
        script.send(Dir::C2s, 0, &[(Some(1), false, &info)]);
        script.send(Dir::S2c, 0, &[(Some(1), false, &change)]);
        let late = script.send(Dir::S2c, 0, &[(Some(2), false, &capabilities)]);
        let again = script.send(Dir::S2c, 0, &[(Some(3), false, &change)]);
        let codes: Vec<_> = late.iter().chain(&again).map(|(code, _)| *code).collect();
        let expected: &[Code] = match accepts_again {
            true => &[],
            false => &[Code::OutOfTurn, Code::MapAgain],
        };
        assert_eq!(codes, expected, "another ACCEPT: {accepts_again}");
    }
}

/// A server of DDNet keeps a client in the game that joins again without a CLOSE.
#[test]
fn a_client_that_joins_again_may_get_snapshots_at_once() {
    for (closed_by, expected) in [(None, &[][..]), (Some(Side::Client), &[Code::OutOfTurn])] {
        let mut script = Script::new(Proto::Ddnet);
        script.state_by(State::Closed, closed_by);
        script.session = 2;
        script.state(State::Opening);
        script.state(State::Online);
        script.accept();
        let snapshot = script.named("snap_single");
        let notes = script.send(Dir::S2c, 0, &[(None, false, &snapshot)]);
        let codes: Vec<_> = notes.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes, expected, "the first session was closed by {closed_by:?}");
    }
}

/// A server of DDNet reads the token directly after the message.
#[test]
fn an_accept_with_bytes_before_its_token_is_noted() {
    for (accept, is_noted) in [(&b"\x03"[..], false), (b"\x03TKEN", true)] {
        let mut script = Script::before_accept(Proto::Ddnet);
        script.token = Token(*b"gave");
        let bytes = script.control_bytes(accept);
        let notes = script.every_note(Dir::C2s, &bytes);
        let found = notes.iter().find(|(code, _)| *code == Code::BadHandshake);
        let expected = "got 544b454e after the accept, expected the token 67617665 there: a server of DDNet reads the \
                        token there, and gives the client no slot";
        let texts = found.map(|(_, text)| text.as_str());
        assert_eq!(texts, is_noted.then_some(expected), "{accept:?}");
    }
}
