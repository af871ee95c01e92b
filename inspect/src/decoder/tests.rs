//! Tests of decoded messages: names, fields, notes and players.

use std::{
    fs::{self, File},
    io::BufReader,
    path::Path,
};

use teetap_capture::Playback;
use teetap_proxy::session::{Datagram, Origin, SessionId, State, Time};
use teetap_rules::Filter;
use teetap_wire::{
    Code, Dir, Proto,
    def::{Id, Registry, Secrets},
};

use super::Decoder;
use crate::{
    Reading, Subscribers,
    gist::GIST,
    testing::{chunks, session},
};

fn decoder() -> Decoder {
    Decoder::new(Registry::builtin())
}

const SESSION: SessionId = SessionId(1);

/// Decodes a vital 0.7 message that is forwarded.
fn read(decoder: &mut Decoder, dir: Dir, data: &[u8]) -> Option<Reading> {
    read_if(true, decoder, dir, data)
}

/// Decodes a vital 0.7 message, forwarded if `sent` is true.
fn read_if(sent: bool, decoder: &mut Decoder, dir: Dir, data: &[u8]) -> Option<Reading> {
    let bytes = chunks(1, false, &[(Some(1), data)]);
    let left = sent.then_some(&*bytes);
    // Forgets all sequence numbers, so that the number of the message causes no note.
    decoder.streams().gap();
    let datagram = Datagram::new(dir, Proto::V7, Origin::Peer, &bytes, left.into_iter());
    Reading::of_datagram(Time::ZERO, Some(SESSION), &datagram, decoder)
}

fn gist(decoder: &mut Decoder, dir: Dir, data: &[u8]) -> String {
    let reading = read(decoder, dir, data).unwrap();
    reading.gist(&reading.messages[0], Secrets::Hide)
}

/// The 0.7 `info` message with a password.
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
    // The data begins after the 3-byte chunk header.
    assert_eq!((info.ranges.range(), reading.data(info)), (3..16, INFO));
}

/// Returns the notes of each message that a decoder shows.
fn notes(decoder: &mut Decoder, dir: Dir, data: &[u8]) -> Vec<Vec<Code>> {
    let shown = read(decoder, dir, data);
    let messages = shown.iter().flat_map(|reading| &reading.messages);
    messages
        .filter(|message| message.visibility.shown)
        .map(|message| message.notes.iter().map(|note| note.code).collect())
        .collect()
}

/// Returns the bytes of the DDNet message `name`, which is identified by a UUID.
fn extended(name: &str) -> Vec<u8> {
    let mut defs = Registry::builtin().named(Proto::V7, None, name);
    match defs.next().map(|def| &def.id) {
        Some(Id::Uuid { uuid, .. }) => [&[1][..], uuid, &[0; 40]].concat(),
        other => panic!("{name} has the id {other:?}"),
    }
}

#[test]
fn texts_are_limited_by_what_their_receiver_has_shown_that_it_is() {
    let (client, server) = (extended("client_version"), extended("capabilities"));
    // The 0.7 `rcon_cmd_add`: receivers keep 128 bytes of help there, and 192 in DDNet.
    let add = |help: usize| [b"\x1dname\0", &vec![b'h'; help][..], b"\0params\0"].concat();
    // `rcon_auth`: only the 0.7 server limits its length.
    let auth = [b"\x2d", &[b'p'; 40][..], b"\0"].concat();
    let too_long = vec![vec![Code::TextTooLong]];
    let fine = vec![vec![]];
    for filter in [
        None,
        Some("rcon_cmd_add or rcon_auth"),
        Some("lint.text_too_long"),
    ] {
        let mut decoder = decoder();
        if let Some(filter) = filter {
            decoder.show_only(Filter::parse(filter, Registry::builtin()).unwrap().0);
        }
        let hidden = if filter.is_some_and(|filter| filter.starts_with("lint")) {
            Vec::new()
        } else {
            fine.clone()
        };
        decoder.on_session(Time::ZERO, SESSION, &session(State::Opening, Proto::V7));
        assert_eq!(notes(&mut decoder, Dir::S2c, &add(150)), too_long);
        assert_eq!(notes(&mut decoder, Dir::C2s, &auth), too_long);
        notes(&mut decoder, Dir::S2c, &server);
        assert_eq!(notes(&mut decoder, Dir::C2s, &auth), hidden, "{filter:?}");
        assert_eq!(notes(&mut decoder, Dir::S2c, &add(150)), too_long);
        // A message of the server does not identify the client.
        notes(&mut decoder, Dir::S2c, &client);
        assert_eq!(notes(&mut decoder, Dir::S2c, &add(150)), too_long);
        notes(&mut decoder, Dir::C2s, &client);
        assert_eq!(notes(&mut decoder, Dir::S2c, &add(150)), hidden, "{filter:?}");
        assert_eq!(notes(&mut decoder, Dir::S2c, &add(200)), too_long);
        // A new session begins.
        decoder.on_session(Time::ZERO, SESSION, &session(State::Opening, Proto::V7));
        assert_eq!(notes(&mut decoder, Dir::S2c, &add(150)), too_long);
    }
}

#[test]
fn a_large_payload_is_odd_only_for_a_receiver_that_refuses_it() {
    let motd = |len| [&[2][..], &vec![b'x'; len], b"\0"].concat();
    let large = chunks(1, false, &[(Some(1), &motd(1298)), (Some(2), &motd(84))]);
    // A 7-byte header, and a payload one byte larger than the maximum of Teeworlds.
    assert_eq!(large.len(), 7 + 1392);
    let notes = |decoder: &mut Decoder| -> Vec<Code> {
        let datagram = Datagram::new(Dir::S2c, Proto::V7, Origin::Peer, &large, [&*large].into_iter());
        decoder.streams().gap();
        let reading = Reading::of_datagram(Time::ZERO, Some(SESSION), &datagram, decoder).unwrap();
        assert_eq!(reading.messages.len(), 2);
        assert!(reading.messages.iter().all(|message| message.notes.is_empty()));
        reading.notes.iter().map(|note| note.code).collect()
    };
    let mut decoder = decoder();
    assert_eq!(notes(&mut decoder), [Code::PayloadOversized]);
    read(&mut decoder, Dir::C2s, &extended("client_version"));
    assert_eq!(notes(&mut decoder), []);
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

/// The 0.7 `sv_client_info` of player 3, cut after the clan.
const CLIENT_INFO: &[u8] = b"\x24\x03\0\0nameless tee\0\0";
/// The same player leaves the game.
const CLIENT_DROP: &[u8] = b"\x28\x03bye\0\0";
/// A chat line to all.
const CHAT: &[u8] = b"\x06\x01\x03\x40gg\0";

#[test]
fn players_have_names_as_long_as_they_are_there() {
    let mut decoder = decoder();
    let mut line = |data: &[u8]| gist(&mut decoder, Dir::S2c, data);
    assert_eq!(line(CHAT), "3: gg");
    // The message lacks fields that its gist template needs.
    assert_eq!(
        line(CLIENT_INFO),
        r#"client_id=3 local=no team=0 (game/red) name="nameless tee" clan="""#
    );
    assert_eq!(line(CHAT), r#"3 "nameless tee": gg"#);
    assert_eq!(line(CLIENT_DROP), r#"3 "nameless tee": "bye""#);
    assert_eq!(line(CHAT), "3: gg");
    // Names in messages that are not forwarded are not learned.
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

/// Returns the state of the streams after a capture, and the number of messages that pass the filter.
fn streams_after(path: &Path, filter: &str, until: Option<&str>) -> (String, u64) {
    let parse = |text| Filter::parse(text, Registry::builtin()).unwrap().0;
    let mut decoder = decoder();
    decoder.ignore_sessions();
    decoder.ignore_gists();
    decoder.show_only(parse(filter));
    if let Some(until) = until {
        decoder.wait_for(parse(until));
    }
    let mut playback = Playback::pcap(BufReader::new(File::open(path).unwrap())).unwrap();
    while let Some(item) = playback.read().unwrap() {
        // The item type is from another build of this crate, but the event in it is not.
        if let teetap_capture::Item::Event(event) = item {
            let _decoded = decoder.decode(event);
        }
    }
    // Contents are checked only while every message is decoded.
    decoder.streams.forget_contents();
    (format!("{:?}", decoder.streams), decoder.matches())
}

#[test]
fn datagrams_that_are_only_counted_leave_the_same_behind() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures");
    let mut matches = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "pcap") {
            continue;
        }
        for filter in ["rcon_cmd", "rcon_line", "lint.seq_again and sv_chat"] {
            // This filter never matches, so every message is decoded.
            let read = streams_after(&path, filter, Some("pkt.size > 9999"));
            let skimmed = streams_after(&path, filter, None);
            assert_eq!(skimmed, read, "{filter} in {}", path.display());
            matches += skimmed.1;
        }
    }
    assert!(matches > 50, "{matches}");
}

/// A run that shows no snapshots follows them only while a subscriber receives its events.
#[test]
fn snapshots_that_only_a_subscriber_shows_are_followed_for_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures/rich-tw07.pcap");
    let mut playback = Playback::pcap(BufReader::new(File::open(path).unwrap())).unwrap();
    let items = std::iter::from_fn(|| playback.read().unwrap());
    let events: Vec<_> = items
        .filter_map(|item| match item {
            teetap_capture::Item::Event(event) => Some(event),
            _ => None,
        })
        .collect();
    let halves = events.split_at(events.len() / 2);
    for (is_blind, has_subscriber, expected) in [
        (false, false, [true, true]),
        (false, true, [true, true]),
        (true, false, [false, false]),
        (true, true, [true, false]),
    ] {
        let mut decoder = decoder();
        if is_blind {
            decoder.ignore_snapshots();
        }
        let subscribers = Subscribers::default();
        decoder.serve(subscribers.clone());
        // The subscription ends after the first half.
        let mut subscription = has_subscriber.then(|| subscribers.subscribe(None).unwrap());
        let found = [halves.0, halves.1].map(|events| {
            let mut snapshots = 0;
            for event in events {
                let decoded = decoder.decode(event.clone());
                let messages = decoded.reading.iter().flat_map(|reading| &reading.messages);
                snapshots += messages
                    .filter(|message| message.completed.snapshot.is_some())
                    .count();
            }
            subscription = None;
            snapshots > 20
        });
        assert_eq!(found, expected, "blind {is_blind}, subscriber {has_subscriber}");
    }
}
