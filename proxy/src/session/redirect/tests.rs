use std::net::SocketAddr;

use teetap_wire::{Proto, varint};

use super::{listeners::ListenerState, message::redirect_port, *};
use crate::session::{Events, ListenerId, Output, Route, outbox::Outbox};

fn listeners() -> Listeners {
    Listeners::new(Route {
        listen: "127.0.0.1:9000".parse().unwrap(),
        server: "192.0.2.1:8303".parse().unwrap(),
    })
}

fn message(port: i32, tail: &[u8]) -> Vec<u8> {
    let mut data = b"\x01\x4e\xfe\x40\x6a\x77\x74\x33\xf1\xbf\xde\x18\x06\xff\x6d\x15\x28".to_vec();
    varint::encode(port, &mut data);
    [&data, tail].concat()
}

/// Returns the listen sockets that are requested for these ports.
fn asks(listeners: &mut Listeners, ports: impl Iterator<Item = u16>) -> Vec<(ListenerId, u16)> {
    let mut out = Outbox::new(Events::Nothing);
    for port in ports {
        listeners.seek(port, &mut out);
    }
    let mut asked = Vec::new();
    while let Some(output) = out.poll() {
        match output {
            Output::OpenListener { listener, port } => asked.push((listener, port)),
            other => panic!("{other:?}"),
        }
    }
    asked
}

#[test]
fn eight_ports_beside_the_first_and_each_once() {
    let mut listeners = listeners();
    let asked = asks(&mut listeners, [8303].into_iter().chain(1..=9).chain(1..=9));
    let expected: Vec<_> = (1..=8)
        .map(|n| (ListenerId(n), u16::try_from(n).unwrap()))
        .collect();
    assert_eq!(asked, expected);
    let mut out = Outbox::new(Events::Nothing);
    assert_eq!(listeners.seek(8303, &mut out), ListenerState::Open(9000));
    assert_eq!(listeners.seek(8, &mut out), ListenerState::Opening);
    assert!(matches!(listeners.seek(9, &mut out), ListenerState::None(_)));
    // A failed socket makes room for another one with a new number.
    assert!(listeners.failed(ListenerId(3), "no port"));
    assert_eq!(listeners.seek(3, &mut out), ListenerState::None("no port".into()));
    for number in [1, 2, 4, 5, 6, 7, 8] {
        // Not while a request is pending.
        listeners.forget_failed();
        assert_eq!(listeners.seek(3, &mut out), ListenerState::None("no port".into()));
        let local = SocketAddr::from(([127, 0, 0, 1], 9100));
        assert!(listeners.opened(ListenerId(number), local).is_some());
    }
    listeners.forget_failed();
    assert_eq!(asks(&mut listeners, [9].into_iter()), [(ListenerId(9), 9)]);
}

#[test]
fn an_answer_counts_once() {
    let mut listeners = listeners();
    asks(&mut listeners, [5].into_iter());
    let local = "127.0.0.1:40000".parse().unwrap();
    assert_eq!(
        listeners.opened(ListenerId(1), local),
        Some("192.0.2.1:5".parse().unwrap())
    );
    assert_eq!(
        listeners.opened(ListenerId(1), "127.0.0.1:1".parse().unwrap()),
        None
    );
    assert_eq!(listeners.opened(ListenerId(0), local), None);
    assert_eq!(listeners.opened(ListenerId(7), local), None);
    assert!(!listeners.failed(ListenerId(1), "late"));
    assert_eq!(
        listeners.seek(5, &mut Outbox::new(Events::Nothing)),
        ListenerState::Open(40_000)
    );
}

#[test]
fn the_port_is_read_as_the_client_does() {
    for (int, port) in [
        (8305, 8305),
        (0, 8303),
        (65_536, 8303),
        (65_536 + 8305, 8305),
        (8305 - 65_536, 8305),
        (-1, 65_535),
    ] {
        assert_eq!(redirect_port(&message(int, b"")), Some(port), "{int}");
        assert_eq!(redirect_port(&message(int, b"tail")), Some(port), "{int}");
    }
    let whole = message(8305, b"");
    for end in 0..whole.len() {
        assert_eq!(redirect_port(&whole[..end]), None, "cut at {end}");
    }
    // A game message, another UUID, and an overlong id, which clients accept.
    let mut other = whole.clone();
    other[0] = 0;
    assert_eq!(redirect_port(&other), None);
    (other[0], other[5]) = (1, 0);
    assert_eq!(redirect_port(&other), None);
    assert_eq!(redirect_port(&[&[0x81, 0x00], &whole[1..]].concat()), Some(8305));
}

#[test]
fn only_the_port_changes_and_the_message_still_fits() {
    let listeners = listeners();
    for proto in Proto::ALL {
        let edited = redirected(proto, &message(8303, b"tail"), &listeners);
        assert_eq!(edited, Some(message(9000, b"tail")));
        assert_eq!(redirected(proto, &message(8304, b""), &listeners), None);
        // The port has three bytes instead of one or two.
        let long = [&message(8303 - 65_536, b"")[..], &[7; 1500]].concat();
        let max = proto.layout().max_chunk;
        let edited = redirected(proto, &long[..max], &listeners).unwrap();
        assert!(edited.len() <= max && edited.starts_with(&message(9000, &[7; 900])));
    }
    let same = Listeners::new(Route {
        listen: "127.0.0.1:8303".parse().unwrap(),
        server: "192.0.2.1:8303".parse().unwrap(),
    });
    assert_eq!(redirected(Proto::Ddnet, &message(8303, b""), &same), None);
}
