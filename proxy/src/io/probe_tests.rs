//! Tests of the probe against a scripted server.

#![expect(clippy::disallowed_methods, reason = "tests choose the built-in definitions")]

use std::thread;

use super::*;

fn probe(target: SocketAddr, proto: Option<Proto>) -> Finding {
    super::probe(target, proto, Registry::builtin(), &Clock::start())
}

const LOCAL: ([u8; 4], u16) = ([127, 0, 0, 1], 0);
const SERVER_TOKEN: [u8; 4] = *b"serv";

/// Starts a server that sends these answers, until it has received nothing for two seconds.
fn server(six: Option<&'static [u8]>, seven: Option<&'static [u8]>) -> SocketAddr {
    let socket = UdpSocket::bind(SocketAddr::from(LOCAL)).unwrap();
    let addr = socket.local_addr().unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((len, from)) = socket.recv_from(&mut buffer) {
            let request = &buffer[..len];
            if request.starts_with(b"xe") {
                assert_eq!((len, &request[6..14]), (15, REQUEST_INFO));
                if let Some(body) = six {
                    socket
                        .send_to(
                            &[b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", body].concat(),
                            from,
                        )
                        .unwrap();
                }
            } else if let Some(body) = seven {
                if request[0] == 0x21 {
                    assert_eq!(request[1..5], SERVER_TOKEN);
                    let answer = [b"\x21", &request[5..9], &SERVER_TOKEN, b"\xff\xff\xff\xff", body].concat();
                    socket.send_to(&answer, from).unwrap();
                } else {
                    assert_eq!(
                        (len, &request[..8]),
                        (520, b"\x04\0\0\xff\xff\xff\xff\x05".as_slice())
                    );
                    let answer = [b"\x04\0\0", &request[8..12], b"\x05", &SERVER_TOKEN].concat();
                    socket.send_to(&answer, from).unwrap();
                }
            }
        }
    });
    addr
}

const INF3: &[u8] = b"inf3123\x000.6.4, 16.4\0a \x1b[31mname\0dm1\0DM\x000\x002\x0016\x003\x0016\0";
const IEXT: &[u8] =
    b"iext123\x0016.4\0ext\0Tutorial\x00123\x00456\0DDraceNetwork\x000\x000\x0063\x001\x0064\0\0";
const INF3_07: &[u8] = b"inf3\x010.7.5\0seven\0host\0ctf1\0CTF\0\x01\x00\x02\x08\x04\x10";

#[test]
fn both_protocols_are_found_and_their_texts_are_printable() {
    let finding = probe(server(Some(INF3), Some(INF3_07)), None);
    assert!(
        finding.has_info(Family::Six) && finding.has_info(Family::Seven),
        "{finding:?}"
    );
    let text = finding.to_string();
    // A recording contains only this line.
    assert_eq!(finding.version(), Some("0.6.4, 16.4"));
    assert_eq!(stated_version(&text), finding.version());
    assert_eq!(
        stated_version("connect 127.0.0.1:8303\", version 1, x on y"),
        None
    );
    assert!(
        text.contains("0.6 in") && text.contains("[31mname\", version 0.6.4, 16.4, DM on dm1, 3/16"),
        "{text}"
    );
    assert!(
        text.contains(") and 0.7 in ") && text.contains("(\"seven\", version 0.7.5, CTF on ctf1, 4/16"),
        "{text}"
    );
    assert!(!text.contains('\x1b'), "{text}");
}

#[test]
fn a_server_speaks_what_it_answers_and_not_what_was_asked_in_vain() {
    let found = |six, seven| Speaks { six, seven };
    for (six, seven, proto, expected) in [
        (Some(INF3), Some(INF3_07), None, found(Some(true), Some(true))),
        (Some(INF3), None, None, found(Some(true), Some(false))),
        (None, Some(INF3_07), None, found(Some(false), Some(true))),
        (Some(INF3), None, Some(Proto::V65), found(Some(true), None)),
        (None, None, None, Speaks::default()),
    ] {
        assert_eq!(probe(server(six, seven), proto).speaks(), expected);
    }
}

/// The first request is lost.
#[test]
fn a_request_that_was_lost_is_repeated_once() {
    let socket = UdpSocket::bind(SocketAddr::from(LOCAL)).unwrap();
    let addr = socket.local_addr().unwrap();
    let asked = thread::spawn(move || {
        let (mut buffer, mut requests) = ([0; 2048], 0);
        socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        while let Ok((len, from)) = socket.recv_from(&mut buffer) {
            let request = &buffer[..len];
            if request.starts_with(b"xe") {
                let answer = [b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", INF3].concat();
                socket.send_to(&answer, from).unwrap();
            } else if request[0] == 0x04 {
                requests += 1;
                if requests == 2 {
                    let answer = [b"\x04\0\0", &request[8..12], b"\x05", &SERVER_TOKEN].concat();
                    socket.send_to(&answer, from).unwrap();
                }
            }
        }
        requests
    });
    let finding = probe(addr, None);
    assert_eq!(
        finding.speaks(),
        Speaks {
            six: Some(true),
            seven: Some(true)
        }
    );
    assert_eq!(asked.join().unwrap(), 2);
}

#[test]
fn the_extended_form_is_read() {
    let finding = probe(server(Some(IEXT), None), Some(Proto::Ddnet));
    let [
        Answer {
            family: Family::Six,
            info: Some(info),
            ..
        },
    ] = finding.answers.as_slice()
    else {
        panic!("{finding:?}")
    };
    let expected = ("ext", "Tutorial", "DDraceNetwork", 1, 64);
    assert_eq!(
        (
            info.name.as_str(),
            info.map.as_str(),
            info.game_type.as_str(),
            info.clients,
            info.max_clients
        ),
        expected
    );
}

#[test]
fn only_the_wanted_protocol_is_requested() {
    let finding = probe(server(Some(INF3), Some(INF3_07)), Some(Proto::V7));
    assert!(
        finding.has_info(Family::Seven) && finding.answers.len() == 1,
        "{finding:?}"
    );
}

#[test]
fn an_answer_that_cannot_be_read_is_an_answer() {
    let finding = probe(server(Some(b"inf3123\0cut"), None), Some(Proto::V6));
    assert!(
        finding.is_answered() && !finding.has_info(Family::Six),
        "{finding:?}"
    );
}

#[test]
fn a_missing_server_is_reported() {
    let socket = UdpSocket::bind(SocketAddr::from(LOCAL)).unwrap();
    let addr = socket.local_addr().unwrap();
    drop(socket);
    let finding = probe(addr, None);
    assert!(!finding.is_answered());
    assert!(finding.to_string().contains("nothing listens there"), "{finding}");
}
