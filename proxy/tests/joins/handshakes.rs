//! Handshakes byte for byte on both legs, written out as the references send them (network.cpp,
//! network_conn.cpp and network_server.cpp of Teeworlds 0.6.4, 0.6.5, 0.7.5, and of DDNet). Recorded
//! handshakes are compared in `tests/transparency`.
//!
//! In the lines, `aaaaaaaa` is the token of the requesting side of the leg (the client or the proxy),
//! `bbbbbbbb` is the token of the answering side (the proxy or the server), and `..504` means 504 zeros.

use teetap_kit::{
    codec::{Variant, control},
    link::SECOND,
    world::Place,
};
use teetap_proxy::session::UpstreamId;

use crate::stage::{Pair, Stage, pair};

/// The handshake of one pair up to the first data of either side.
struct Expected {
    pair: Pair,
    /// The messages of the requesting side, equal on both legs.
    asks: &'static [&'static str],
    /// The answers of the proxy to the client, and of the server to the proxy.
    answers: [&'static [&'static str]; 2],
}

const ASKS_7: &[&str] = &[
    "040000ffffffff05aaaaaaaa..508",
    "040000bbbbbbbb01aaaaaaaa..508",
    "000001bbbbbbbb400501'hello'",
];
const ANSWERS_7: &[&str] = &[
    "040000aaaaaaaa05bbbbbbbb",
    "040000aaaaaaaa02",
    "000101aaaaaaaa400801'greeting'",
];
/// DDNet adds its token to ACCEPT, which no client reads.
const DDNET_ANSWERS_7: &[&str] = &[
    "040000aaaaaaaa05bbbbbbbb",
    "040000aaaaaaaa02bbbbbbbb",
    "000101aaaaaaaa400801'greeting'",
];
const ASKS_DDNET: &[&str] = &[
    "10000001544b454effffffff",
    "10000003bbbbbbbb",
    "000001400501'hello'bbbbbbbb",
];
const ANSWERS_DDNET: &[&str] = &["10000002544b454ebbbbbbbb", "000101400801'greeting'bbbbbbbb"];
const ASKS_65: &[&str] = &["1000000100000000aaaaaaaa..504", "080001bbbbbbbb400501'hello'"];
const ANSWERS_65: &[&str] = &["180000aaaaaaaa02bbbbbbbb", "080101bbbbbbbb400801'greeting'"];
const ASKS_6: &[&str] = &["10000001", "10000003", "000001400501'hello'"];
const DDNET_ASKS_6: &[&str] = &["10000001544b454effffffff", "10000003", "000001400501'hello'"];
/// 0.6.5 sends no ACCEPT.
const V65_ASKS_6: &[&str] = &["1000000100000000aaaaaaaa..504", "000001400501'hello'"];
const ANSWERS_6: &[&str] = &["10000002", "000101400801'greeting'"];

const fn expected(
    pair: Pair,
    asks: &'static [&'static str],
    answers: [&'static [&'static str]; 2],
) -> Expected {
    Expected { pair, asks, answers }
}

const EXPECTED: [Expected; 12] = [
    expected(pair(Variant::V7, Variant::V7), ASKS_7, [ANSWERS_7; 2]),
    expected(pair(Variant::V7, Variant::D7), ASKS_7, [DDNET_ANSWERS_7; 2]),
    expected(pair(Variant::D7, Variant::V7), ASKS_7, [ANSWERS_7; 2]),
    expected(pair(Variant::D7, Variant::D7), ASKS_7, [DDNET_ANSWERS_7; 2]),
    expected(
        pair(Variant::Ddnet, Variant::Ddnet),
        ASKS_DDNET,
        [ANSWERS_DDNET; 2],
    ),
    expected(pair(Variant::V65, Variant::V65), ASKS_65, [ANSWERS_65; 2]),
    expected(pair(Variant::V6, Variant::V6), ASKS_6, [ANSWERS_6; 2]),
    expected(pair(Variant::Ddnet, Variant::V6), DDNET_ASKS_6, [ANSWERS_6; 2]),
    expected(pair(Variant::V65, Variant::V6), V65_ASKS_6, [ANSWERS_6; 2]),
    expected(pair(Variant::V65, Variant::Ddnet), V65_ASKS_6, [ANSWERS_6; 2]),
    expected(pair(Variant::V6, Variant::Ddnet), ASKS_6, [ANSWERS_6; 2]),
    expected(pair(Variant::D7, Variant::Ddnet), ASKS_7, [DDNET_ANSWERS_7; 2]),
];

/// Returns the bytes in hex, with letters for tokens, quotes around texts, and long runs of zeros counted.
fn line(bytes: &[u8], names: &[([u8; 4], char)]) -> String {
    let mut line = String::new();
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        let zeros = rest.iter().take_while(|byte| **byte == 0).count();
        let name = names.iter().find(|(token, _)| rest.starts_with(token));
        let known = ["hello", "greeting"]
            .into_iter()
            .find(|known| rest.starts_with(known.as_bytes()));
        let (text, len) = match (name, known) {
            (Some((_, name)), _) => (name.to_string().repeat(8), 4),
            (_, Some(known)) => (format!("'{known}'"), known.len()),
            _ if zeros >= 16 => (format!("..{zeros}"), zeros),
            _ => (format!("{first:02x}"), 1),
        };
        line.push_str(&text);
        rest = &rest[len..];
    }
    line
}

/// Returns the datagrams sent at a place, up to the first data.
fn begun(stage: &Stage, place: Place) -> Vec<Vec<u8>> {
    let sent = stage.world.network.sent.iter().flatten();
    let mut begun = Vec::new();
    for sent in sent.filter(|sent| sent.place == place) {
        begun.push(sent.bytes.clone());
        if control::message(&sent.bytes).is_none() {
            break;
        }
    }
    begun
}

/// Returns the token that the first packet of a side names. In a handshake with tokens it is at the same
/// place for both sides.
fn named(datagrams: &[Vec<u8>]) -> Option<[u8; 4]> {
    let token = datagrams.first()?.get(8..12)?.try_into().ok()?;
    (token != [0xff; 4]).then_some(token)
}

#[test]
fn both_legs_are_written_as_the_games_write_them() {
    assert_eq!(EXPECTED.map(|expected| expected.pair), Pair::ALL);
    for Expected { pair, asks, answers } in EXPECTED {
        let mut stage = Stage::new(pair, 8);
        stage.run(2 * SECOND);
        stage.assert_plays();
        let legs = [
            (Place::FromClient, Place::ToClient),
            (Place::ToServer, Place::FromServer),
        ];
        let mut tokens = Vec::new();
        for ((asking, answering), answers) in legs.into_iter().zip(answers) {
            let (requested, answered) = (begun(&stage, asking), begun(&stage, answering));
            let names = [(named(&requested), 'a'), (named(&answered), 'b')];
            let names: Vec<([u8; 4], char)> = names
                .into_iter()
                .filter_map(|(token, name)| Some((token?, name)))
                .collect();
            let lines = |datagrams: &[Vec<u8>]| -> Vec<String> {
                datagrams.iter().map(|bytes| line(bytes, &names)).collect()
            };
            assert_eq!(lines(&requested), asks, "{pair:?} {asking:?}");
            assert_eq!(lines(&answered), answers, "{pair:?} {answering:?}");
            tokens.extend(names.into_iter().map(|(token, _)| token));
        }
        // All sides have different tokens: each leg has its own.
        let count = tokens.len();
        tokens.sort_unstable();
        tokens.dedup();
        assert_eq!(tokens.len(), count, "{pair:?}");
        assert!(count > 0 || pair.is_tokenless(), "{pair:?}");
    }
}

/// A server of 0.6.5 parses a long CONNECT of DDNet as a CONNECT of 0.6.5. The proxy forwards its answer
/// unchanged, and the client cannot read the answer, as without the proxy.
#[test]
fn an_answer_in_another_form_reaches_the_client() {
    let mut stage = Stage::new(pair(Variant::Ddnet, Variant::V65), 8);
    stage.vanish();
    let mut connect = control::connect(Variant::Ddnet, *b"mine", *b"srv!");
    connect.resize(connect.len() + 600, 0);
    stage.world.client_sends(0, &connect);
    stage.world.network.sent = Some(Vec::new());
    let answer = control::connect_accept(Variant::V65, [0; 4], *b"srv!");
    stage.world.server_sends(UpstreamId(1), &answer);
    let sent = stage.world.network.sent.take().unwrap();
    let sent: Vec<_> = sent.into_iter().map(|sent| (sent.place, sent.bytes)).collect();
    assert_eq!(sent, [(Place::ToClient, answer)]);
}
