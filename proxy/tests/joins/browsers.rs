//! The server browser of 0.7: the exchange of tokens on both legs, the requests that wait for it, and rules on them.

use std::net::SocketAddr;

use teetap_kit::{
    codec::{NO_TOKEN, Token, Variant, control},
    link::{MS, SECOND},
    rules::compiled,
    world::{Middle, Place, config, route},
};
use teetap_proxy::session::{Config, EventKind, Events, Hub, Input};

use crate::crowds::deaf;
use crate::stage::{Stage, pair};

const CLIENTS: Token = *b"mine";
const SERVERS: Token = *b"srv!";

fn browser() -> SocketAddr {
    SocketAddr::from(([10, 7, 0, 1], 9000))
}

/// Returns a message of 0.7 outside a connection: the tokens of receiver and sender, and the data.
fn seven(receiver: Token, sender: Token, data: &[u8]) -> Vec<u8> {
    [&[0x21][..], &receiver, &sender, data].concat()
}

fn request(number: u8) -> Vec<u8> {
    [b"\xff\xff\xff\xffgie3".as_slice(), &[number]].concat()
}

fn answer() -> Vec<u8> {
    b"\xff\xff\xff\xffinf3\x010.7\0name\0".to_vec()
}

/// A browser that got a token from the proxy, in front of a server that the test plays.
struct Asking {
    stage: Stage,
    /// The token that the proxy gave to the browser.
    given: Token,
}

impl Asking {
    fn new() -> Self {
        let mut stage = deaf(pair(Variant::V7, Variant::V7));
        stage.vanish();
        stage.world.network.sent = Some(Vec::new());
        stage
            .world
            .stranger_sends(browser(), &control::token_request(CLIENTS));
        let mut asking = Self {
            stage,
            given: NO_TOKEN,
        };
        let replies = asking.sent(Place::ToClient);
        asking.given = *replies[0].last_chunk().unwrap();
        asking
    }

    /// Returns the datagrams sent to that place since the last call.
    fn sent(&mut self, place: Place) -> Vec<Vec<u8>> {
        let sent = self.stage.world.network.sent.replace(Vec::new()).unwrap();
        let of_place = sent.into_iter().filter(|sent| sent.place == place);
        of_place
            .map(|sent| sent.bytes)
            .filter(|bytes| is_of_browser(bytes))
            .collect()
    }

    fn ask(&mut self, number: u8) -> Vec<Vec<u8>> {
        let bytes = seven(self.given, CLIENTS, &request(number));
        self.stage.world.stranger_sends(browser(), &bytes);
        self.sent(Place::ToServer)
    }

    fn server(&mut self, bytes: &[u8], place: Place) -> Vec<Vec<u8>> {
        let relay = *self.stage.world.sockets.last().unwrap();
        self.stage.world.server_sends(relay, bytes);
        self.sent(place)
    }

    fn wait(&mut self, time: u64) -> Vec<Vec<u8>> {
        self.stage.run(time);
        self.sent(Place::ToServer)
    }
}

/// Returns true for TOKEN packets and messages outside a connection.
fn is_of_browser(bytes: &[u8]) -> bool {
    bytes[0] & 0x20 != 0 || control::message(bytes) == Some(control::TOKEN)
}

/// Returns the token that a TOKEN request names.
fn named(request: &[Vec<u8>]) -> Token {
    assert_eq!(request.len(), 1, "{request:02x?}");
    let token = request[0][8..12].try_into().unwrap();
    assert_eq!(request[0], control::token_request(token));
    token
}

#[test]
fn requests_wait_for_the_token_of_the_server_and_use_it_for_14_seconds() {
    let mut asking = Asking::new();
    let own = named(&asking.ask(1));
    for number in 2..=6 {
        assert!(asking.ask(number).is_empty(), "{number}");
    }
    let reply = control::token_reply(Variant::V7, own, SERVERS);
    let to_server = |number| seven(SERVERS, own, &request(number));
    // The oldest requests are discarded.
    assert_eq!(
        asking.server(&reply, Place::ToServer),
        [3, 4, 5, 6].map(to_server)
    );
    let given = asking.given;
    let answered = asking.server(&seven(own, SERVERS, &answer()), Place::ToClient);
    assert_eq!(answered, [seven(CLIENTS, given, &answer())]);
    for number in 7..=8 {
        assert_eq!(asking.ask(number), [to_server(number)]);
        assert!(asking.wait(6 * SECOND + 900 * MS).is_empty());
    }
    assert_eq!(asking.ask(9), [to_server(9)]);
    assert!(asking.wait(200 * MS).is_empty());
    assert_eq!(named(&asking.ask(10)), own);
    assert_eq!(asking.server(&reply, Place::ToServer), [to_server(10)]);
}

/// Without an answer the proxy repeats its request, and gives up like the game's client.
#[test]
fn the_token_of_the_server_is_requested_every_half_second_for_5_seconds() {
    let mut asking = Asking::new();
    let own = named(&asking.ask(1));
    for _ in 0..9 {
        assert!(asking.wait(490 * MS).is_empty());
        assert_eq!(named(&asking.wait(10 * MS)), own);
    }
    assert!(asking.wait(2 * SECOND).is_empty());
    let reply = control::token_reply(Variant::V7, own, SERVERS);
    assert!(
        asking.server(&reply, Place::ToServer).is_empty(),
        "the request is discarded"
    );
}

/// Tokens that the proxy did not give, or not to this address, pass in neither direction.
#[test]
fn wrong_tokens_reach_nobody() {
    let mut asking = Asking::new();
    let own = named(&asking.ask(1));
    asking.server(&control::token_reply(Variant::V7, own, SERVERS), Place::ToServer);
    for (receiver, sender) in [(SERVERS, CLIENTS), (NO_TOKEN, CLIENTS), ([0; 4], CLIENTS)] {
        asking
            .stage
            .world
            .stranger_sends(browser(), &seven(receiver, sender, &request(2)));
        assert!(
            asking.sent(Place::ToServer).is_empty(),
            "{receiver:02x?} {sender:02x?}"
        );
    }
    let other = SocketAddr::from(([10, 7, 0, 2], 9000));
    let foreign = seven(asking.given, CLIENTS, &request(2));
    asking.stage.world.stranger_sends(other, &foreign);
    assert!(asking.sent(Place::ToServer).is_empty());
    for token in [SERVERS, asking.given, NO_TOKEN] {
        let answers = asking.server(&seven(token, SERVERS, &answer()), Place::ToClient);
        assert!(answers.is_empty(), "{token:02x?}");
    }
}

/// Rules see the direction and the protocol of each message.
#[test]
fn rules_decide_about_the_browser_by_direction_and_protocol() {
    for (rule, drops) in [
        ("connless and c2s", [true, false]),
        ("connless and s2c", [false, true]),
        ("connless and sess.proto == 0.7", [true, true]),
        ("connless and sess.proto == ddnet", [false, false]),
        ("connless.request_info", [true, false]),
        ("connless.info", [false, true]),
    ] {
        let mut asking = Asking::new();
        let own = named(&asking.ask(1));
        asking.server(&control::token_reply(Variant::V7, own, SERVERS), Place::ToServer);
        let program = compiled(&format!("drop when {rule}")).unwrap();
        asking.stage.world.input(Input::Program(Some(program)));
        let asked = asking.ask(2).is_empty();
        let answered = asking
            .server(&seven(own, SERVERS, &answer()), Place::ToClient)
            .is_empty();
        assert_eq!([asked, answered], drops, "{rule}");
    }
}

/// Events of odd traffic have the messages of a server's game socket only if they were not forwarded.
#[test]
fn only_messages_that_are_not_forwarded_are_odd() {
    for pair in [
        pair(Variant::Ddnet, Variant::Ddnet),
        pair(Variant::V7, Variant::V7),
    ] {
        for (events, expected) in [(Events::Odd, [0, 1]), (Events::All, [1, 1])] {
            let config = Config {
                events,
                ..config(3, None, true)
            };
            let middle = Middle::Hub(Box::new(Hub::new(config, route())));
            let mut stage = Stage::with(pair, 3, teetap_kit::peer::Policy::default(), middle);
            stage.run(2 * SECOND);
            let upstream = stage.world.sockets[0];
            let (_, shown) = stage.slot().tokens();
            let (six, of_seven) = (
                [&[0xff; 6], &answer()[..]].concat(),
                seven(shown, SERVERS, &answer()),
            );
            let [own, foreign] = match pair.client {
                Variant::V7 => [of_seven, six],
                _ => [six, of_seven],
            };
            let counts = [own, foreign].map(|bytes| {
                let before = stage.world.events.len();
                stage.world.server_sends(upstream, &bytes);
                let new = stage.world.events.iter().skip(before);
                new.filter(|event| matches!(event.what, EventKind::Connless(_)))
                    .count()
            });
            stage.equal(counts, expected, format_args!("{events:?}"));
        }
    }
}
