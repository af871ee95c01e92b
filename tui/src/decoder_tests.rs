//! Tests of what a message is said to say.

use super::*;

fn decoder(secrets: Secrets, form: Form) -> Decoder {
    Decoder::new(Registry::builtin(), secrets, form)
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
        let content = decoder(secrets, form).chunk(Proto::V7, Dir::C2s, true, INFO);
        assert_eq!((content.name, content.fields.as_str()), (Some("info"), fields));
    }
}

#[test]
fn a_line_is_not_longer_than_a_line() {
    let mut motd = vec![2];
    motd.resize(1000, b'x');
    motd.push(0);
    let mut decoder = decoder(Secrets::Hide, Form::Gist);
    let fields = decoder.chunk(Proto::V7, Dir::S2c, true, &motd).fields;
    assert!(
        fields.ends_with("xxx…") && fields.chars().count() < 80,
        "{fields}"
    );
    // 32 numbers.
    let mut tuning = vec![12];
    tuning.extend([1; 32]);
    let fields = decoder.chunk(Proto::V7, Dir::S2c, true, &tuning).fields;
    assert!(
        fields.ends_with(" …") && fields.chars().count() <= GIST + 2,
        "{fields}"
    );
}

#[test]
fn what_has_no_definition_has_no_name_and_a_note() {
    let content = decoder(Secrets::Hide, Form::Json).chunk(Proto::V7, Dir::S2c, true, b"\x3f");
    assert_eq!((content.name, content.fields.as_str()), (None, ""));
    assert_eq!(content.notes.len(), 1);
}
