//! Joins without tokens at servers that require a proof, against the kit's own peers and against recorded ones.

use super::*;
use crate::capture::{self, Flow, flows};
use crate::peer::server::challenge;

const PAIRS: [(Variant, Variant); 5] = [
    (Variant::V6, Variant::V65),
    (Variant::Ddnet, Variant::V65),
    (Variant::V6, Variant::Ddnet),
    (Variant::V65, Variant::Ddnet),
    (Variant::V6, Variant::D7),
];

fn asking_policy() -> Policy {
    Policy {
        challenges: true,
        greeting: vec![b"map".to_vec()],
        ..Policy::default()
    }
}

fn joining() -> Options {
    Options {
        joins: true,
        ..Options::default()
    }
}

fn has(peer: &Peer, message: &[u8]) -> bool {
    peer.delivered.iter().any(|delivered| delivered.data == message)
}

/// Plays half a second of a client and a server on a line without delay.
fn play(client: &mut Peer, server: &mut Server, now: &mut u64) {
    for _ in 0..50 {
        exchange(client, server, *now);
        *now += 10 * MS;
        client.update(*now);
        server.update(*now);
    }
}

#[test]
fn clients_without_tokens_prove_their_address() {
    for (client, server) in PAIRS {
        let mut peer = Peer::client(client, joining(), 1);
        let mut server = Server::new(server, asking_policy(), 2);
        let mut now = 0;
        peer.connect(now);
        play(&mut peer, &mut server, &mut now);
        let slot = server.peer(client_address()).unwrap();
        assert!(peer.is_online() && slot.is_online(), "{client:?}");
        assert_eq!((peer.format(), slot.format()), (Variant::V6, Variant::V6));
        assert!(has(&peer, b"map"), "{client:?}");
        // Messages that the client sent before the proof do not reach the server until they are retransmitted.
        assert_eq!(slot.numbers().1, 0, "{client:?}");
        peer.send_vital(b"after the proof", now);
        peer.flush(now);
        // The server acks it within a second.
        for _ in 0..3 {
            play(&mut peer, &mut server, &mut now);
        }
        let slot = server.peer(client_address()).unwrap();
        assert!(has(slot, b"after the proof"), "{client:?}");
        assert_eq!((peer.unacked(), slot.unacked()), (0, 0), "{client:?}");
        assert_eq!(server.counters.opened, 1);
    }
}

#[test]
fn clients_without_the_number_do_not_get_in() {
    for (client, server) in PAIRS {
        let mut peer = Peer::client(client, Options::default(), 1);
        let mut server = Server::new(server, asking_policy(), 2);
        let mut now = 0;
        peer.connect(now);
        play(&mut peer, &mut server, &mut now);
        let number = challenge::number(server.token(client_address(), now));
        for tick in [number + 1, number - 1, 0, -1] {
            let input = game::input(tick);
            let chunk = Chunk::new(None, input);
            let bytes = Datagram::of_chunks(Variant::V6, 2, None, vec![chunk]).build();
            server.receive(client_address(), &bytes, now);
        }
        assert_eq!(server.peers().count(), 0, "{client:?}");
    }
}

/// Returns the recorded session without tokens.
fn recorded(name: &str) -> Flow {
    let mut sessions = flows(capture::recorded(name).unwrap()).into_iter();
    sessions.find(|flow| flow.variant() == Some(Variant::V6)).unwrap()
}

fn by(flow: &Flow, client: bool) -> impl Iterator<Item = &[u8]> {
    let packets = flow.packets.iter();
    packets
        .filter(move |packet| flow.is_from_client(packet) == client)
        .map(|packet| &packet.payload[..])
}

/// Returns the messages of a recorded challenge with their numbers.
fn chunks(bytes: &[u8]) -> Vec<Chunk> {
    codec::parse(Variant::V6, bytes).unwrap().chunks
}

fn tick(chunk: &Chunk) -> i32 {
    let (id, rest) = game::system(&chunk.data).unwrap();
    assert_eq!(id, game::SNAP_EMPTY);
    game::int(rest).unwrap().0
}

#[test]
fn the_challenge_of_0_6_5_equals_the_recorded_one() {
    let flow = recorded("dd16-to-tw06");
    let challenge = by(&flow, false).nth(1).unwrap();
    let number = tick(&chunks(challenge)[4]);
    assert_eq!(challenge::of_65(number), challenge);
}

/// Except for the map, which is DDNet's own.
#[test]
fn the_challenge_of_ddnet_equals_the_recorded_one() {
    let flow = recorded("tw06c-to-dd20-antispoof");
    let recorded = by(&flow, false).nth(1).unwrap();
    assert_eq!(recorded[..3], [0x80, 0, 6]);
    let recorded = chunks(recorded);
    let made = chunks(&challenge::of_ddnet(tick(&recorded[5]), &[0x5a; 290]));
    assert_eq!(made.len(), 6);
    for (made, recorded) in made.iter().zip(&recorded) {
        assert_eq!((made.seq, made.resend), (recorded.seq, recorded.resend));
        let ids = [made, recorded].map(|chunk| game::system(&chunk.data).unwrap().0);
        assert_eq!(ids[0], ids[1]);
        if ![game::MAP_CHANGE, game::MAP_DATA].contains(&ids[0]) {
            assert_eq!(made.data, recorded.data);
        }
    }
}

/// The recorded server admits the kit's client: both clients send the same.
#[test]
fn the_client_sends_what_recorded_clients_sent() {
    for (name, variant) in [
        ("dd16-to-tw06", Variant::Ddnet),
        ("tw06c-to-dd20-antispoof", Variant::V65),
    ] {
        let flow = recorded(name);
        let mut client = Peer::client(variant, joining(), 1);
        client.connect(0);
        let mut answers = by(&flow, false);
        let connect = &by(&flow, true).next().unwrap().to_vec();
        // The token that a 0.6.5 client offers is random.
        let without = |bytes: &[u8]| (bytes[..4].to_vec(), bytes.get(12..).unwrap_or_default().to_vec());
        assert_eq!(without(&client.outgoing.remove(0)), without(connect), "{name}");
        client.receive(answers.next().unwrap(), MS);
        if variant == Variant::Ddnet {
            let accept = by(&flow, true).nth(1).unwrap();
            assert_eq!(client.outgoing.remove(0), accept, "{name}");
        }
        client.receive(answers.next().unwrap(), MS);
        assert_eq!(
            client.outgoing[0],
            by(&flow, true).nth(variant_ready(variant)).unwrap(),
            "{name}"
        );
        client.update(2 * MS);
        let proofs: Vec<i32> = sent(&mut client)
            .iter()
            .flat_map(|datagram| &datagram.chunks)
            .filter_map(|chunk| game::acked_tick(&chunk.data))
            .collect();
        let proof = by(&flow, true).find_map(proven);
        assert_eq!(proofs, [proof.unwrap()], "{name}");
    }
}

/// Returns the index of the datagram by which a recorded client reports that it has the map: after CONNECT, and after
/// ACCEPT if there is one.
fn variant_ready(variant: Variant) -> usize {
    if variant == Variant::Ddnet { 2 } else { 1 }
}

/// Returns the tick that the first input in a datagram acks.
fn proven(bytes: &[u8]) -> Option<i32> {
    let datagram = codec::parse(Variant::V6, bytes).ok()?;
    let mut chunks = datagram.chunks.iter();
    chunks.find_map(|chunk| game::acked_tick(&chunk.data))
}

/// Returns the datagram of a recorded client with the number that the kit's server expects, and a matching ack.
fn translated(bytes: &[u8], recorded: i32, server: &Server) -> Vec<u8> {
    let mut datagram = codec::parse(Variant::V6, bytes).unwrap();
    if datagram.chunks.is_empty() {
        return bytes.to_vec();
    }
    let ours = challenge::number(server.token(client_address(), 0));
    for chunk in &mut datagram.chunks {
        if game::acked_tick(&chunk.data) == Some(recorded) {
            chunk.data = game::input(ours);
        }
    }
    if let Some(slot) = server.peer(client_address()) {
        datagram.head.ack = slot.numbers().0;
    }
    datagram.build()
}

/// The kit's server admits a recorded client at the same datagram as the recorded server, and sends the same acks.
#[test]
fn the_server_acks_what_recorded_servers_acked() {
    for (name, variant) in [
        ("dd16-to-tw06", Variant::V65),
        ("tw06c-to-dd20-antispoof", Variant::Ddnet),
    ] {
        let flow = recorded(name);
        let number = by(&flow, true).find_map(proven).unwrap();
        let mut server = Server::new(variant, asking_policy(), 2);
        let (mut before, mut answers) = (0, 0);
        for packet in flow.packets.iter().filter(|packet| packet.payload[0] & 0x20 == 0) {
            let bytes = &packet.payload;
            let ack = server.peer(client_address()).map(|slot| slot.numbers().1);
            if flow.is_from_client(packet) {
                before = ack.unwrap_or(0);
                server.receive(client_address(), &translated(bytes, number, &server), 0);
                // The datagram that repeats the number proves the address, and no other does.
                assert_eq!(
                    server.peers().count() > 0,
                    ack.is_some() || proven(bytes) == Some(number),
                    "{name}"
                );
            } else if let Some(ack) = ack {
                // A real server may answer a chunk before it reads the next one.
                assert!((before..=ack).contains(&u16::from(bytes[1])), "{name} {ack}");
                // The proof itself is not read.
                assert!(answers > 0 || ack == 0, "{name} {ack}");
                answers += 1;
            }
            if answers == 9 {
                break;
            }
        }
        assert_eq!(answers, 9, "{name}");
    }
}
