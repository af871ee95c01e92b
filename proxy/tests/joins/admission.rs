//! Details of admission: which packets count as a first packet, and CONNECTs during a session.

use std::net::SocketAddr;

use teetap_kit::{
    codec::{Chunk, Datagram, NO_TOKEN, Token, Variant, control, open},
    link::SECOND,
    world::Place,
};
use teetap_proxy::session::Notice;

use crate::{
    crowds::{address, connect, fill},
    stage::{Stage, pair},
};

/// A client that the proxy has answered without a session, because there was no room.
struct Answered {
    stage: Stage,
    variant: Variant,
    addr: SocketAddr,
    token: Option<Token>,
}

impl Answered {
    fn new(variant: Variant) -> Self {
        let mut stage = Stage::joined(pair(variant, variant), 1);
        fill(&mut stage, 3, variant);
        let addr = address(4, 0);
        stage.world.network.sent = Some(Vec::new());
        connect(&mut stage.world, addr, variant);
        let sent = stage.world.network.sent.as_deref().unwrap();
        let answer = sent.iter().find(|sent| sent.addr == addr).unwrap();
        let token = match variant {
            // The header contains the token of the client.
            Variant::V65 => answer.bytes.last_chunk().copied(),
            _ => open(variant, &answer.bytes).unwrap().head.token,
        };
        Self {
            stage,
            variant,
            addr,
            token,
        }
    }

    /// Returns a packet with one message.
    fn packet(&self, ack: u16, seq: Option<u16>) -> Datagram {
        let chunks = vec![Chunk::new(seq, b"hello hello hello hello".to_vec())];
        Datagram::of_chunks(self.variant, ack, self.token, chunks)
    }

    /// Returns true if the packet opens a session.
    fn opens(&mut self, bytes: &[u8]) -> bool {
        self.stage.world.stranger_sends(self.addr, bytes);
        self.stage.world.hub().unwrap().session_of(self.addr).is_some()
    }
}

/// A client sends ACCEPT or its first vital message first, and cannot have received anything to ack.
#[test]
fn only_a_first_packet_opens_a_session() {
    for variant in [Variant::V6, Variant::V65, Variant::Ddnet] {
        let mut client = Answered::new(variant);
        for (ack, seq) in [
            (0, None),
            (0, Some(2)),
            (0, Some(1023)),
            (1, Some(1)),
            (1023, Some(1)),
        ] {
            let bytes = client.packet(ack, seq).build();
            assert!(!client.opens(&bytes), "{variant:?} {ack} {seq:?}");
        }
        let keepalive = control::control(variant, 0, client.token, control::KEEPALIVE, &[]);
        assert!(!client.opens(&keepalive), "{variant:?}");
        let bytes = client.packet(0, Some(1)).build();
        assert!(client.opens(&bytes), "{variant:?}");
    }
}

/// The number of packets of strangers that are inflated to read their token is limited per second.
#[test]
fn packets_that_may_be_first_are_not_inflated_without_end() {
    let mut client = Answered::new(Variant::Ddnet);
    let mut first = client.packet(0, Some(1));
    first.head.flags.compressed = true;
    let mut forged = first.clone();
    forged.head.token = Some([0x55; 4]);
    let (first, forged) = (first.build(), forged.build());
    for number in 0..200 {
        client.stage.world.stranger_sends(address(5, number), &forged);
    }
    let at_once = client.opens(&first);
    client.stage.run(SECOND / 10);
    assert_eq!(
        (at_once, client.opens(&first)),
        (false, true),
        "opened at once, and later"
    );
}

/// The proxy does not keep the token that a client named if it answered without a session. While that client
/// may repeat its CONNECT, any CONNECT counts as a copy.
#[test]
fn after_an_answer_without_a_session_a_connect_is_a_copy_for_a_while() {
    for (wait, candidates) in [(SECOND, 0), (4 * SECOND, 0), (6 * SECOND, 1)] {
        let mut client = Answered::new(Variant::V65);
        let bytes = client.packet(0, Some(1)).build();
        assert!(client.opens(&bytes), "no session is opened");
        client.stage.world.run(wait);
        let again = control::connect(Variant::V65, [4, 3, 2, 1], NO_TOKEN);
        client.stage.world.stranger_sends(client.addr, &again);
        assert_eq!(client.stage.times(&Notice::Candidate), candidates, "{wait}");
    }
}

/// For one second, another CONNECT does not replace a candidate that waits for the server's answer, so that no host can
/// end each candidate before it is answered. The candidate shares the socket of the session.
#[test]
fn a_candidate_gets_a_second_for_its_answer() {
    let mut stage = Stage::joined(pair(Variant::Ddnet, Variant::Ddnet), 1);
    stage.world.up.conditions.loss = 1.0;
    let [ddnet, six] =
        [Variant::Ddnet, Variant::V65].map(|variant| control::connect(variant, [1, 2, 3, 4], NO_TOKEN));
    let own = stage.world.sockets.clone();
    stage.world.client_sends(0, &ddnet);
    for _ in 0..9 {
        stage.run(SECOND / 10);
        stage.world.client_sends(0, &six);
        assert_eq!(stage.times(&Notice::Candidate), 1);
    }
    stage.run(SECOND / 5);
    stage.world.client_sends(0, &six);
    assert_eq!(stage.times(&Notice::Candidate), 2);
    // The server sees one address, as without the proxy.
    assert_eq!(stage.world.sockets, own);
}

/// A kind of CONNECT that the server has answered without tokens has no advantage over the CONNECT of the current session, so
/// it opens no further session.
#[test]
fn a_connect_that_leads_to_no_tokens_either_is_tried_once() {
    let mut stage = Stage::joined(pair(Variant::V6, Variant::V6), 1);
    let addr = address(4, 0);
    connect(&mut stage.world, addr, Variant::Ddnet);
    stage.run(SECOND / 5);
    for _ in 0..5 {
        connect(&mut stage.world, addr, Variant::V65);
        stage.run(SECOND / 5);
        assert_eq!(stage.world.sockets.len(), 2);
    }
    assert_eq!(stage.times(&Notice::Candidate), 1);
}

/// A TOKEN request of 0.7 in the name of a player of 0.6 is not answered until the server has given the
/// player up.
#[test]
fn an_address_of_0_6_gets_a_token_of_0_7_after_its_server_gave_it_up() {
    for (server, patience) in [(Variant::V6, 10 * SECOND), (Variant::Ddnet, 100 * SECOND)] {
        let mut stage = Stage::joined(pair(Variant::V6, server), 1);
        // The server itself keeps sending, so that its silence is not the reason.
        let now = stage.world.now;
        let slot = stage.slot();
        slot.options.limits = false;
        if server == Variant::Ddnet {
            // A message with a UUID, by which the proxy recognises DDNet.
            slot.send_vital(b"\x01 of DDNet", now);
            slot.flush(now);
        }
        stage.run(SECOND / 5);
        stage.vanish();
        let begun = stage.world.now;
        for (wait, replies) in [(SECOND, 0), (patience - SECOND, 0), (patience + SECOND, 1)] {
            stage.run(begun + wait - stage.world.now);
            stage.world.network.sent = Some(Vec::new());
            stage.world.client_sends(0, &control::token_request([1, 2, 3, 4]));
            let answered = stage.count(Place::ToClient, control::TOKEN);
            assert_eq!(answered, replies, "{server:?} {wait}");
        }
    }
}
