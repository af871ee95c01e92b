//! Handshakes with one wrong token or size: the first finding names the packet, its side and both values.

use std::{io::Cursor, net::SocketAddr};

use teetap_capture::Playback;
use teetap_kit::{
    capture::Packet,
    codec::{Token, Variant, control},
    faulty,
};
use teetap_wire::def::Registry;

use super::*;
use crate::Decoder;

const CLIENT: Token = *b"\x4a\x44\x82\x61";
const SERVER: Token = *b"\xa1\xb2\xc3\xd4";

/// Returns the first error about a handshake in a recording of these packets; true marks packets of the client.
fn found(packets: &[(bool, Vec<u8>)]) -> Option<(Culprit, String, Option<String>)> {
    let [client, server] = [50123, 8303].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let packet = |(at, (is_client, payload)): (u64, &(bool, Vec<u8>))| {
        let (from, to) = if *is_client {
            (client, server)
        } else {
            (server, client)
        };
        let (time, payload) = (at * 20_000, payload.clone());
        Packet {
            time,
            from,
            to,
            payload,
        }
    };
    let packets: Vec<Packet> = (0..).zip(packets).map(packet).collect();
    let mut playback = Playback::pcap(Cursor::new(faulty::pcap(&packets))).unwrap();
    let mut decoder = Decoder::new(Registry::builtin());
    let mut judge = Judge::new(Secrets::Hide, decoder.stated().clone());
    while let Some(item) = playback.read().unwrap() {
        tests::take(&mut judge, &mut decoder, item);
    }
    judge.finish(&mut decoder);
    let findings = judge.findings();
    let first = findings
        .list
        .iter()
        .find(|one| matches!(one.topic, Topic::Note(_)))?;
    let detail = first.detail.as_ref();
    let part = |part: Option<&str>| part.map(str::to_owned);
    let got = part(detail.and_then(|detail| detail.got()))?;
    Some((first.by, got, part(detail.and_then(|detail| detail.expected()))))
}

#[test]
fn wrong_tokens_of_a_handshake_are_named_with_their_side() {
    let connect = |variant| control::connect(variant, CLIENT, SERVER);
    let accept = |variant, client| control::connect_accept(variant, client, SERVER);
    let expected = |by, got: &str, expected: &str| Some((by, got.to_owned(), Some(expected.to_owned())));
    // Without a mistake.
    for variant in [Variant::V6, Variant::V65, Variant::Ddnet] {
        let packets = [(true, connect(variant)), (false, accept(variant, CLIENT))];
        assert_eq!(found(&packets), None, "{variant:?}");
    }
    let exchange = |reply: Token| {
        [
            (true, control::token_request(CLIENT)),
            (false, control::token_reply(Variant::V7, reply, SERVER)),
        ]
    };
    let mut seven = exchange(CLIENT).to_vec();
    seven.extend([(true, connect(Variant::V7)), (false, accept(Variant::V7, CLIENT))]);
    assert_eq!(found(&seven), None);

    let of_server = [
        (true, connect(Variant::V65)),
        (false, accept(Variant::V65, SERVER)),
    ];
    let token = "4a448261, the token of the client in its connect";
    assert_eq!(found(&of_server), expected(Culprit::Server, "a1b2c3d4", token));

    // The token that follows the magic is missing, so that the magic is in its place.
    let mut magic = accept(Variant::Ddnet, CLIENT);
    magic.truncate(8);
    let magic = [(true, connect(Variant::Ddnet)), (false, magic)];
    let got = "TKEN as the last four bytes, which are read as the token";
    let both = "the word TKEN and then a token of four bytes";
    assert_eq!(found(&magic), expected(Culprit::Server, got, both));

    let mut early = connect(Variant::V65);
    early[4..12].rotate_left(4);
    let early = [(true, early), (false, accept(Variant::V65, [0; 4]))];
    let got = "00000000 at byte 8 and 4a448261 at byte 4";
    assert_eq!(
        found(&early),
        expected(Culprit::Client, got, "the token at byte 8")
    );

    let mut short = connect(Variant::V65);
    short.truncate(12);
    let short = [(true, short), (false, accept(Variant::V6, CLIENT))];
    let found_short = expected(Culprit::Client, "12 bytes with a token", "at least 516 bytes");
    assert_eq!(found(&short), found_short);

    let reply = exchange([0xff; 4]);
    let token = "4a448261, the token of the client in its token request";
    assert_eq!(found(&reply), expected(Culprit::Server, "ffffffff", token));

    let mut other = exchange(CLIENT).to_vec();
    let zero = [0; 4];
    other.extend([
        (true, control::connect(Variant::V7, zero, SERVER)),
        (false, accept(Variant::V7, zero)),
    ]);
    let token = "4a448261 as in the token request";
    assert_eq!(
        found(&other),
        expected(Culprit::Client, "the token 00000000", token)
    );
}

/// The server may have given several tokens to the client: each of them is right.
#[test]
fn a_connect_with_another_token_in_its_header_is_the_fault_of_the_client() {
    let request = || (true, control::token_request(CLIENT));
    let reply = |token| (false, control::token_reply(Variant::V7, CLIENT, token));
    let connect = |token| (true, control::connect(Variant::V7, CLIENT, token));
    let second = *b"\x05\x06\x07\x08";
    let got = |token: &str| format!("{token} in the header of connect");
    let given = "a1b2c3d4, the token that the server gave";
    for (token, expected) in [
        (SERVER, None),
        (
            *b"\xd4\xc3\xb2\xa1",
            Some((
                got("d4c3b2a1"),
                format!("{given}, with its bytes in reverse order"),
            )),
        ),
        (*b"\x01\x02\x03\x04", Some((got("01020304"), given.to_owned()))),
    ] {
        let expected = expected.map(|(got, expected)| (Culprit::Client, got, Some(expected)));
        assert_eq!(found(&[request(), reply(SERVER), connect(token)]), expected);
    }
    let two = [request(), reply(second), request(), reply(SERVER)];
    for token in [second, SERVER] {
        assert_eq!(found(&[&two[..], &[connect(token)]].concat()), None);
    }
}

#[test]
fn a_late_reply_in_a_flood_of_requests_is_no_mistake() {
    let token = |number: u8| [number, 1, 2, 3];
    let connects = (0..80).map(|number| (true, control::connect(Variant::V65, token(number), SERVER)));
    let mut packets: Vec<_> = connects.collect();
    packets.push((false, control::connect_accept(Variant::V65, token(0), SERVER)));
    assert_eq!(found(&packets), None);
    let requests = (0..80).map(|number| (true, control::token_request(token(number))));
    let mut packets: Vec<_> = requests.collect();
    packets.push((false, control::token_reply(Variant::V7, token(0), SERVER)));
    assert_eq!(found(&packets), None);
}

/// A client of 0.6 compares the map with the standard map of its name.
#[test]
fn a_refused_standard_map_is_the_fault_of_the_server() {
    let [client, server] = [50123, 8303].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let data = |ack: u8, seq: u8, message: &[u8]| {
        let size = u8::try_from(message.len()).unwrap();
        [&[0, ack, 1, 0x40 | size >> 4, size & 15, seq], message].concat()
    };
    for (name, by) in [
        (&b"\x05dm1\0"[..], Culprit::Server),
        (b"\x05dm11\0", Culprit::Client),
    ] {
        let packets = [
            (true, control::connect(Variant::V6, CLIENT, SERVER)),
            (false, control::connect_accept(Variant::V6, CLIENT, SERVER)),
            (true, data(0, 1, b"\x030.6 626fce9a778df4d4\0\0")),
            (
                false,
                data(1, 1, &[name, b"\xae\xe7\xaa\x97\x0d\xad\x5a"].concat()),
            ),
            (true, b"\x10\x01\0\x04invalid standard map\0".to_vec()),
        ];
        let packets: Vec<Packet> = (0..)
            .zip(packets)
            .map(|(at, (is_client, payload)): (u64, _)| {
                let (from, to) = if is_client {
                    (client, server)
                } else {
                    (server, client)
                };
                let time = at * 20_000;
                Packet {
                    time,
                    from,
                    to,
                    payload,
                }
            })
            .collect();
        let mut playback = Playback::pcap(Cursor::new(faulty::pcap(&packets))).unwrap();
        let mut decoder = Decoder::new(Registry::builtin());
        let mut judge = Judge::new(Secrets::Hide, decoder.stated().clone());
        while let Some(item) = playback.read().unwrap() {
            tests::take(&mut judge, &mut decoder, item);
        }
        judge.finish(&mut decoder);
        let list = judge.findings().list;
        let sentences: Vec<_> = list.iter().map(ToString::to_string).collect();
        let join = list
            .iter()
            .find(|one| one.topic.name() == "never-entered")
            .unwrap();
        assert_eq!(join.by, by, "{sentences:#?}");
        let is_named = join.sentence().contains("got dm1 with the crc ")
            && join
                .sentence()
                .contains("expected the crc f2159e6e and 5805 bytes");
        assert_eq!(is_named, by == Culprit::Server, "{sentences:#?}");
    }
}
