//! Tests of what a message is said to say.

use super::*;
use crate::gist::GIST;

fn decoder(secrets: Secrets, form: Form) -> Decoder {
    Decoder::new(Registry::builtin(), secrets, form)
}

const SESSION: SessionId = SessionId(1);

/// What a vital 0.7 message says.
fn read(decoder: &mut Decoder, dir: Dir, data: &[u8]) -> Content {
    read_if(true, decoder, dir, data)
}

/// The same, whether its receiver hears it or not.
fn read_if(heard: bool, decoder: &mut Decoder, dir: Dir, data: &[u8]) -> Content {
    let place = Place {
        at: Time::ZERO,
        session: Some(SESSION),
        proto: Proto::V7,
        dir,
        around: PacketView::default(),
    };
    let seq = Some(Seq::new(1));
    let chunk = Chunk {
        seq,
        seq_out: seq,
        resend: false,
        heard,
        data,
    };
    decoder.chunk(place, chunk)
}

/// 0.7's info with a password.
const INFO: &[u8] = b"\x030.7\0hunter2\0";

#[test]
fn secrets_are_dots_unless_asked_for() {
    for (secrets, form, fields) in [
        (Secrets::Hide, Form::Gist, r#""0.7", password •••"#),
        (Secrets::Show, Form::Gist, r#""0.7", password "hunter2""#),
        (Secrets::Hide, Form::Json, r#"{"version":"0.7","password":"•••"}"#),
    ] {
        let content = read(&mut decoder(secrets, form), Dir::C2s, INFO);
        assert_eq!((content.name, content.fields.as_str()), (Some("info"), fields));
    }
}

#[test]
fn a_line_is_not_longer_than_a_line() {
    let mut motd = vec![2];
    motd.resize(1000, b'x');
    motd.push(0);
    let mut decoder = decoder(Secrets::Hide, Form::Gist);
    let fields = read(&mut decoder, Dir::S2c, &motd).fields;
    assert!(
        fields.ends_with("xxx\"…") && fields.chars().count() == GIST,
        "{fields}"
    );
    // 32 numbers.
    let mut tuning = vec![12];
    tuning.extend([1; 32]);
    let fields = read(&mut decoder, Dir::S2c, &tuning).fields;
    assert!(
        fields.ends_with(" …") && fields.chars().count() <= GIST + 2,
        "{fields}"
    );
}

/// 0.7's sv_client_info of player 3, cut off behind the clan.
const CLIENT_INFO: &[u8] = b"\x24\x03\0\0nameless tee\0\0";
/// The same player leaves.
const CLIENT_DROP: &[u8] = b"\x28\x03bye\0\0";
/// It says something: to all.
const CHAT: &[u8] = b"\x06\x01\x03\x40gg\0";

#[test]
fn players_have_names_as_long_as_they_are_there() {
    let mut decoder = decoder(Secrets::Hide, Form::Gist);
    let mut said = |data: &[u8]| read(&mut decoder, Dir::S2c, data).fields;
    assert_eq!(said(CHAT), "3: gg");
    // Too short for its template.
    assert_eq!(
        said(CLIENT_INFO),
        r#"client_id=3 local=no team=0 (red) name="nameless tee" clan="""#
    );
    assert_eq!(said(CHAT), r#"3 "nameless tee": gg"#);
    assert_eq!(said(CLIENT_DROP), r#"3 "nameless tee": "bye""#);
    assert_eq!(said(CHAT), "3: gg");
    // What is not sent on is nobody's name.
    read_if(false, &mut decoder, Dir::S2c, CLIENT_INFO);
    assert_eq!(read(&mut decoder, Dir::S2c, CHAT).fields, "3: gg");
    read(&mut decoder, Dir::S2c, CLIENT_INFO);
    decoder.on_session(Time(1), SESSION, State::Closed);
    assert_eq!(read(&mut decoder, Dir::S2c, CHAT).fields, "3: gg");
}

#[test]
fn a_session_has_the_name_of_its_player_also_when_nobody_looks_at_it() {
    let mut decoder = decoder(Secrets::Hide, Form::Json);
    let text = r#"cl_kill and sess.name == "nameless tee""#;
    decoder.show_only(Filter::parse(text, Registry::builtin()).unwrap().0);
    assert!(!read(&mut decoder, Dir::C2s, b"\x38").shown);
    assert_eq!(decoder.player(SESSION), None);
    assert!(!read(&mut decoder, Dir::C2s, b"\x36nameless tee\0").shown);
    assert!(read(&mut decoder, Dir::C2s, b"\x38").shown);
    assert_eq!(decoder.player(SESSION).as_deref(), Some("nameless tee"));
    assert!(!read(&mut decoder, Dir::C2s, b"\x36\x1b[2J\0").shown);
    assert_eq!(decoder.player(SESSION).as_deref(), Some("\u{fffd}[2J"));
}

#[test]
fn what_has_no_definition_has_no_name_and_a_note() {
    let content = read(&mut decoder(Secrets::Hide, Form::Json), Dir::S2c, b"\x3f");
    assert_eq!((content.name, content.fields.as_str()), (None, ""));
    assert_eq!(content.notes.len(), 1);
}
