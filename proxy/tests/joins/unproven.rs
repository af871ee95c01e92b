//! Requests of 0.7 that DDNet servers answer although their senders have proved nothing, and that Teeworlds
//! servers drop. The proxy recognises a DDNet server by its answers to the probe: it speaks 0.6 and 0.7.

use teetap_kit::{
    codec::{Head, NO_TOKEN, Packing, Token, Variant, control, parse, seal},
    huffman::Ending,
    link::{MS, SECOND},
    world::{Place, client_addr},
};
use teetap_proxy::session::{EventKind, Input, Notice, OpensNothing, Speaks, UpstreamId};
use teetap_wire::Proto;

use crate::stage::{Stage, pair};

const OWN: Token = *b"mine";
const OTHER: Token = *b"also";
const FOREIGN: Token = *b"none";
const SERVERS: Token = *b"srv!";

/// A hub whose client has sent nothing yet, in front of a server that may also speak 0.6. The test sends the
/// server's answers.
struct Strangers {
    stage: Stage,
}

impl Strangers {
    fn before(is_ddnet: bool) -> Self {
        let mut stage = Stage::new(pair(Variant::V7, Variant::V7), 3);
        stage.vanish();
        stage.world.input(Input::Probed(Speaks {
            six: Some(is_ddnet),
            seven: Some(true),
        }));
        Self { stage }
    }

    /// Returns the datagrams that the proxy sends to one place because of an action.
    fn sent(&mut self, place: Place, act: impl FnOnce(&mut Stage)) -> Vec<Vec<u8>> {
        self.stage.world.network.sent = Some(Vec::new());
        act(&mut self.stage);
        let sent = self.stage.world.network.sent.take().unwrap();
        let of_place = sent.into_iter().filter(|sent| sent.place == place);
        of_place.map(|sent| sent.bytes).collect()
    }

    fn client(&mut self, place: Place, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.sent(place, |stage| stage.world.client_sends(0, bytes))
    }

    fn server(&mut self, place: Place, bytes: &[u8]) -> Vec<Vec<u8>> {
        self.sent(place, |stage| stage.world.server_sends(UpstreamId(1), bytes))
    }
}

/// Returns the token in the header of 0.7, and the token after the id of the control message.
fn tokens(bytes: &[u8]) -> (Token, Token) {
    let datagram = parse(Variant::V7, bytes).unwrap();
    let told = datagram.payload.get(1..).and_then(<[u8]>::first_chunk);
    (datagram.head.token.unwrap(), told.copied().unwrap_or(NO_TOKEN))
}

#[test]
fn a_connect_with_a_foreign_token_reaches_a_server_that_answers_it() {
    let mut world = Strangers::before(true);
    let connect = control::connect(Variant::V7, OWN, FOREIGN);
    let asked = world.client(Place::ToServer, &connect);
    assert_eq!(
        asked.len(),
        1,
        "the server's token is requested first: {asked:02x?}"
    );
    let (_, own) = tokens(&asked[0]);
    let reply = control::token_reply(Variant::D7, own, SERVERS);
    let passed = world.server(Place::ToServer, &reply);
    assert_eq!(passed.len(), 1, "{passed:02x?}");
    let (shown, named) = tokens(&passed[0]);
    assert_eq!(shown, FOREIGN, "the token is as wrong as it came");
    assert_eq!(named, own);
    let accept = control::connect_accept(Variant::D7, own, SERVERS);
    let answers = world.server(Place::ToClient, &accept);
    assert_eq!(answers.len(), 1, "{answers:02x?}");
    let (shown, told) = tokens(&answers[0]);
    assert_eq!(shown, OWN);
    assert!(told != SERVERS && told != NO_TOKEN, "the token is the proxy's");
    // The token in the answer is valid, as without the proxy.
    let connect = control::connect(Variant::V7, OWN, told);
    let passed = world.client(Place::ToServer, &connect);
    assert_eq!(passed.len(), 1, "{passed:02x?}");
    assert_eq!(tokens(&passed[0]), (SERVERS, own));
}

#[test]
fn a_server_of_teeworlds_gets_no_connect_with_a_foreign_token() {
    let mut world = Strangers::before(false);
    for shown in [FOREIGN, NO_TOKEN, [0; 4]] {
        let connect = control::connect(Variant::V7, OWN, shown);
        assert!(world.client(Place::ToServer, &connect).is_empty(), "{shown:02x?}");
    }
    world.stage.assert_clear("is not clear");
}

#[test]
fn a_token_request_behind_such_a_connect_is_answered_behind_it() {
    let mut world = Strangers::before(true);
    let connect = control::connect(Variant::V7, OWN, NO_TOKEN);
    let (_, own) = tokens(&world.client(Place::ToServer, &connect)[0]);
    let request = control::token_request(OWN);
    assert!(
        world.client(Place::ToClient, &request).is_empty(),
        "it overtakes the CONNECT"
    );
    let passed = world.server(Place::ToServer, &control::token_reply(Variant::D7, own, SERVERS));
    let ids: Vec<_> = passed.iter().map(|bytes| control::message(bytes)).collect();
    assert_eq!(ids, [Some(control::CONNECT), Some(control::TOKEN)]);
    let answers = world.server(
        Place::ToClient,
        &control::connect_accept(Variant::D7, own, SERVERS),
    );
    let (_, told) = tokens(&answers[0]);
    let answers = world.server(Place::ToClient, &control::token_reply(Variant::D7, own, SERVERS));
    assert_eq!(answers.len(), 1, "{answers:02x?}");
    assert_eq!(tokens(&answers[0]), (OWN, told), "both answers have one token");
}

#[test]
fn a_client_that_has_proved_its_address_is_not_disturbed() {
    let mut stage = Stage::joined(pair(Variant::V7, Variant::D7), 3);
    stage.world.input(Input::Probed(Speaks {
        six: Some(true),
        seven: Some(true),
    }));
    let mut world = Strangers { stage };
    let passed = world.client(Place::ToServer, &control::connect(Variant::V7, OWN, FOREIGN));
    assert!(passed.is_empty(), "{passed:02x?}");
    world.stage.world.network.sent = Some(Vec::new());
    world.stage.run(SECOND);
    world.stage.assert_plays();
}

/// A client may name another token in each CONNECT. The server's answer shows which of them it has accepted.
#[test]
fn the_client_is_addressed_with_the_token_that_the_server_has_chosen() {
    for chosen in [0, 1] {
        let mut world = Strangers::before(true);
        let connect = |named| control::connect(Variant::V7, named, FOREIGN);
        let asked = world.client(Place::ToServer, &connect(OWN));
        let (_, own) = tokens(&asked[0]);
        let asked_again = world.client(Place::ToServer, &connect(OTHER));
        assert_eq!(asked_again, asked, "the CONNECT waits");
        let passed = world.server(Place::ToServer, &control::token_reply(Variant::D7, own, SERVERS));
        let named: Vec<Token> = passed.iter().map(|bytes| tokens(bytes).1).collect();
        assert!(named.len() == 2 && named[0] != named[1], "{passed:02x?}");
        let accept = control::connect_accept(Variant::D7, named[chosen], SERVERS);
        let answers = world.server(Place::ToClient, &accept);
        let shown: Vec<Token> = answers.iter().map(|bytes| tokens(bytes).0).collect();
        assert_eq!(shown, [[OWN, OTHER][chosen]]);
        let close = control::close(Variant::D7, 0, Some(named[chosen]), "bye");
        let closed = world.server(Place::ToClient, &close);
        let shown: Vec<Token> = closed.iter().map(|bytes| tokens(bytes).0).collect();
        assert_eq!(shown, [[OWN, OTHER][chosen]], "the CLOSE");
    }
}

/// A session that lingers after its CLOSE does not keep the next client of its address out.
#[test]
fn such_a_connect_after_the_close_of_a_session_opens_another() {
    for is_proved in [false, true] {
        let mut world = if is_proved {
            let mut stage = Stage::joined(pair(Variant::V7, Variant::D7), 3);
            stage.world.input(Input::Probed(Speaks {
                six: Some(true),
                seven: Some(true),
            }));
            stage.leave("bye");
            stage.run(100 * MS);
            stage.vanish();
            Strangers { stage }
        } else {
            let mut world = Strangers::before(true);
            let connect = control::connect(Variant::V7, OWN, FOREIGN);
            let (_, own) = tokens(&world.client(Place::ToServer, &connect)[0]);
            world.server(Place::ToServer, &control::token_reply(Variant::D7, own, SERVERS));
            let close = control::close(Variant::D7, 0, Some(own), "bye");
            assert_eq!(world.server(Place::ToClient, &close).len(), 1);
            world
        };
        let before = world.stage.session();
        let asked = world.client(Place::ToServer, &control::connect(Variant::V7, OTHER, FOREIGN));
        let ids: Vec<_> = asked.iter().map(|bytes| control::message(bytes)).collect();
        assert_eq!(ids, [Some(control::TOKEN)], "proved {is_proved}");
        let after = world.stage.session();
        assert!(
            after.is_some() && after != before,
            "proved {is_proved}: {before:?} {after:?}"
        );
    }
}

#[test]
fn one_that_gets_no_further_leaves_nothing_behind() {
    let mut world = Strangers::before(true);
    world.client(Place::ToServer, &control::connect(Variant::V7, OWN, FOREIGN));
    world.stage.run(8 * SECOND);
    world.stage.assert_clear("is not clear");
}

#[test]
fn a_token_request_is_answered_as_the_server_answers_it() {
    let plain = control::token_request(OWN);
    let mut shows = plain.clone();
    shows[3..7].fill(0);
    let mut compressed = parse(Variant::V7, &plain).unwrap();
    compressed.head.flags.compressed = true;
    let compressed = compressed.build();
    let nameless = control::token_request(NO_TOKEN);
    for (is_ddnet, request, expected) in [
        (true, &plain, Some(12)),
        (false, &plain, Some(12)),
        // DDNet ignores the token in the header.
        (true, &shows, Some(12)),
        (false, &shows, None),
        // DDNet drops compressed control packets.
        (true, &compressed, None),
        (false, &compressed, Some(12)),
        // DDNet pads the answer to a request that names no token.
        (true, &nameless, Some(520)),
        (false, &nameless, Some(12)),
    ] {
        let mut world = Strangers::before(is_ddnet);
        let answers = world.client(Place::ToClient, request);
        let sizes: Vec<_> = answers.iter().map(Vec::len).collect();
        assert_eq!(
            sizes,
            Vec::from_iter(expected),
            "DDNet {is_ddnet}: {request:02x?}"
        );
        assert!(sizes.iter().all(|size| *size <= request.len()), "{sizes:?}");
        world.stage.run(10 * MS);
        assert_eq!(world.stage.world.hub().unwrap().session_of(client_addr(0)), None);
    }
}

/// A Teeworlds server accepts the tokens of the last 16 to 32 s, a DDNet server all of them.
#[test]
fn a_token_of_more_than_32_seconds_opens_nothing_before_a_server_of_teeworlds() {
    for (is_ddnet, age, is_taken) in [(false, 15, true), (false, 33, false), (true, 33, true)] {
        let mut world = Strangers::before(is_ddnet);
        let answers = world.client(Place::ToClient, &control::token_request(OWN));
        let (_, token) = tokens(&answers[0]);
        world.stage.run(age * SECOND);
        let connect = control::connect(Variant::V7, OWN, token);
        let asked = world.client(Place::ToServer, &connect);
        assert_eq!(
            asked.len(),
            usize::from(is_taken),
            "DDNet {is_ddnet}, after {age} s"
        );
        // A new request renews the token.
        world.client(Place::ToClient, &control::token_request(OWN));
        world.client(Place::ToServer, &connect);
        let session = world.stage.world.hub().unwrap().session_of(client_addr(0));
        assert!(session.is_some(), "DDNet {is_ddnet}, after {age} s");
    }
}

/// Returns a compressed control packet.
fn compressed(variant: Variant, token: Option<Token>, payload: &[u8]) -> Vec<u8> {
    let mut head = Head::new(variant, 0, token);
    head.flags.control = true;
    seal(&head, payload, Packing::Always(Ending::Padded))
}

/// Returns the kinds of the datagrams that opened no session.
fn readings(stage: &Stage) -> Vec<OpensNothing> {
    let events = stage.world.events.iter();
    let readings = events.filter_map(|event| match event.what {
        EventKind::Notice(Notice::UnknownSender { what, .. }) => Some(what),
        _ => None,
    });
    readings.collect()
}

/// A compressed handshake packet is forwarded or answered; all others are reported with their kind.
#[test]
fn compressed_handshakes_are_admitted_or_named() {
    let own = [&[5][..], &OWN, &[0; 508]].concat();
    let connect = |variant| {
        let bytes = control::connect(variant, OWN, NO_TOKEN);
        parse(variant, &bytes).unwrap().payload
    };
    let (six, header, ddnet) = (
        compressed(Variant::V6, None, &connect(Variant::V6)),
        compressed(Variant::V65, None, &connect(Variant::V65)),
        compressed(Variant::Ddnet, Some(NO_TOKEN), &connect(Variant::Ddnet)),
    );
    let request = compressed(Variant::V7, Some(NO_TOKEN), &own);
    for bytes in [&six, &header, &ddnet, &request] {
        assert_eq!(
            OpensNothing::classify(bytes),
            OpensNothing::Compressed,
            "{bytes:02x?}"
        );
    }
    // The server decides about a CONNECT of 0.6.
    for (bytes, proto) in [(&six, Proto::V6), (&header, Proto::V65), (&ddnet, Proto::Ddnet)] {
        let mut world = Strangers::before(true);
        let passed = world.client(Place::ToServer, bytes);
        assert_eq!(passed.len(), 1, "{proto:?}");
        assert_eq!(passed[0][0], bytes[0], "{proto:?}: it stays compressed");
        assert_eq!(readings(&world.stage), [], "{proto:?}");
    }
    // The proxy answers a TOKEN request.
    for (is_ddnet, expected) in [(true, vec![OpensNothing::Compressed]), (false, vec![])] {
        let mut world = Strangers::before(is_ddnet);
        let answers = world.client(Place::ToClient, &request);
        assert_eq!(answers.is_empty(), is_ddnet);
        assert_eq!(readings(&world.stage), expected, "DDNet {is_ddnet}");
    }
}

/// DDNet drops a compressed control packet unread, so a client whose ACCEPT is compressed does not join.
#[test]
fn a_compressed_accept_does_not_reach_the_server() {
    let mut world = Strangers {
        stage: Stage::new(pair(Variant::Ddnet, Variant::Ddnet), 3),
    };
    world.stage.vanish();
    let connect = control::connect(Variant::Ddnet, OWN, NO_TOKEN);
    assert_eq!(world.client(Place::ToServer, &connect).len(), 1);
    let accept = control::connect_accept(Variant::Ddnet, OWN, SERVERS);
    let answers = world.server(Place::ToClient, &accept);
    let token = parse(Variant::Ddnet, &answers[0]).unwrap().head.token;
    let packed = compressed(Variant::Ddnet, token, &[control::ACCEPT]);
    let passed = world.client(Place::ToServer, &packed);
    assert!(passed.is_empty(), "{passed:02x?}");
    let passed = world.client(Place::ToServer, &control::accept(token));
    assert_eq!(passed, [control::accept(Some(SERVERS))]);
}
