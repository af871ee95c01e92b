//! Tests of what a message is said to say.

use super::*;
use crate::gist::GIST;

fn decoder(secrets: Secrets, form: Form) -> Decoder {
    Decoder::new(Registry::builtin(), secrets, form)
}

/// What a vital 0.7 message says.
fn read(decoder: &mut Decoder, dir: Dir, data: &[u8]) -> Content {
    let place = Place {
        at: Time::ZERO,
        session: None,
        proto: Proto::V7,
        dir,
        around: Around::default(),
    };
    let seq = Some(Seq::new(1));
    let chunk = Chunk {
        seq,
        seq_out: seq,
        resend: false,
        data,
    };
    decoder.chunk(place, chunk)
}

/// 0.7's info with a password.
const INFO: &[u8] = b"\x030.7\0hunter2\0";

#[test]
fn secrets_are_dots_unless_asked_for() {
    for (secrets, form, fields) in [
        (Secrets::Hide, Form::Gist, r#"version="0.7" password=•••"#),
        (Secrets::Show, Form::Gist, r#"version="0.7" password="hunter2""#),
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
        fields.ends_with("xxx…") && fields.chars().count() < 80,
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

#[test]
fn what_has_no_definition_has_no_name_and_a_note() {
    let content = read(&mut decoder(Secrets::Hide, Form::Json), Dir::S2c, b"\x3f");
    assert_eq!((content.name, content.fields.as_str()), (None, ""));
    assert_eq!(content.notes.len(), 1);
}
