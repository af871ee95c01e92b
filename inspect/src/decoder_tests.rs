//! Tests of decoded messages: names, fields, notes and players.

use teetap_proxy::session::{Datagram, Origin, State};
use teetap_wire::def::Secrets;

use super::*;
use crate::{
    gist::GIST,
    testing::{chunks, session},
};

fn decoder() -> Decoder {
    Decoder::new(Registry::builtin())
}

const SESSION: SessionId = SessionId(1);

/// Reads a vital 0.7 message that is sent on.
fn read(decoder: &mut Decoder, dir: Dir, data: &[u8]) -> Option<Reading> {
    read_if(true, decoder, dir, data)
}

/// The same, sent on or not.
fn read_if(sent: bool, decoder: &mut Decoder, dir: Dir, data: &[u8]) -> Option<Reading> {
    let bytes = chunks(1, false, &[(Some(1), data)]);
    let left = sent.then_some(&*bytes);
    let datagram = Datagram::new(dir, Proto::V7, Origin::Peer, &bytes, left.into_iter());
    Reading::of_datagram(Time::ZERO, Some(SESSION), &datagram, decoder)
}

fn gist(decoder: &mut Decoder, dir: Dir, data: &[u8]) -> String {
    let reading = read(decoder, dir, data).unwrap();
    reading.gist(&reading.messages[0], Secrets::Hide)
}

/// 0.7's info with a password.
const INFO: &[u8] = b"\x030.7\0hunter2\0";

#[test]
fn secrets_are_dots_unless_shown_on_request() {
    let reading = read(&mut decoder(), Dir::C2s, INFO).unwrap();
    let info = &reading.messages[0];
    assert_eq!(info.name, Some("info"));
    assert_eq!(reading.gist(info, Secrets::Hide), r#""0.7", password •••"#);
    assert_eq!(reading.gist(info, Secrets::Show), r#""0.7", password "hunter2""#);
    assert_eq!(
        reading.json(info, Secrets::Hide).unwrap(),
        r#"{"version":"0.7","password":"•••"}"#
    );
    let tree = |secrets| {
        let rows = reading.tree(info, secrets);
        rows.map(|row| (row.name, row.value, row.at, row.len))
            .collect::<Vec<_>>()
    };
    let version = ("version", r#""0.7""#.to_owned(), 1, 4);
    assert_eq!(
        tree(Secrets::Hide),
        [version.clone(), ("password", "•••".to_owned(), 5, 8)]
    );
    assert_eq!(
        tree(Secrets::Show),
        [version, ("password", r#""hunter2""#.to_owned(), 5, 8)]
    );
    // After the chunk header.
    assert_eq!((info.range(), reading.data(info)), (3..16, INFO));
}

#[test]
fn a_gist_has_a_limited_length() {
    let mut motd = vec![2];
    motd.resize(1000, b'x');
    motd.push(0);
    let mut decoder = decoder();
    let fields = gist(&mut decoder, Dir::S2c, &motd);
    assert!(
        fields.ends_with("xxx\"…") && fields.chars().count() == GIST,
        "{fields}"
    );
    // 32 numbers.
    let mut tuning = vec![12];
    tuning.extend([1; 32]);
    let fields = gist(&mut decoder, Dir::S2c, &tuning);
    assert!(
        fields.ends_with(" …") && fields.chars().count() <= GIST + 2,
        "{fields}"
    );
}

/// 0.7's sv_client_info of player 3, cut off after the clan.
const CLIENT_INFO: &[u8] = b"\x24\x03\0\0nameless tee\0\0";
/// The same player leaves.
const CLIENT_DROP: &[u8] = b"\x28\x03bye\0\0";
/// A chat line to all.
const CHAT: &[u8] = b"\x06\x01\x03\x40gg\0";

#[test]
fn players_have_names_as_long_as_they_are_there() {
    let mut decoder = decoder();
    let mut line = |data: &[u8]| gist(&mut decoder, Dir::S2c, data);
    assert_eq!(line(CHAT), "3: gg");
    // Too short for its template.
    assert_eq!(
        line(CLIENT_INFO),
        r#"client_id=3 local=no team=0 (red) name="nameless tee" clan="""#
    );
    assert_eq!(line(CHAT), r#"3 "nameless tee": gg"#);
    assert_eq!(line(CLIENT_DROP), r#"3 "nameless tee": "bye""#);
    assert_eq!(line(CHAT), "3: gg");
    // Names in messages that are not sent on are not learned.
    read_if(false, &mut decoder, Dir::S2c, CLIENT_INFO);
    assert_eq!(gist(&mut decoder, Dir::S2c, CHAT), "3: gg");
    read(&mut decoder, Dir::S2c, CLIENT_INFO);
    decoder.on_session(Time(1), SESSION, &session(State::Closed, Proto::V7));
    assert_eq!(gist(&mut decoder, Dir::S2c, CHAT), "3: gg");
}

#[test]
fn a_session_has_the_name_of_its_player_even_if_no_message_is_shown() {
    let mut decoder = decoder();
    decoder.ignore_gists();
    let text = r#"cl_kill and sess.name == "nameless tee""#;
    decoder.show_only(Filter::parse(text, Registry::builtin()).unwrap().0);
    assert!(read(&mut decoder, Dir::C2s, b"\x38").is_none());
    assert_eq!(decoder.player(SESSION), None);
    assert!(read(&mut decoder, Dir::C2s, b"\x36nameless tee\0").is_none());
    assert!(read(&mut decoder, Dir::C2s, b"\x38").is_some());
    assert_eq!(decoder.player(SESSION).as_deref(), Some("nameless tee"));
    assert!(read(&mut decoder, Dir::C2s, b"\x36\x1b[2J\0").is_none());
    assert_eq!(decoder.player(SESSION).as_deref(), Some("\u{fffd}[2J"));
}

#[test]
fn a_message_without_a_definition_has_a_note_instead_of_a_name() {
    let reading = read(&mut decoder(), Dir::S2c, b"\x3f").unwrap();
    let message = &reading.messages[0];
    assert_eq!((message.name, &*reading.label(message)), (None, "sys.31"));
    assert_eq!(reading.gist(message, Secrets::Hide), "");
    assert_eq!(reading.json(message, Secrets::Hide), None);
    assert_eq!(message.notes.len(), 1);
}
