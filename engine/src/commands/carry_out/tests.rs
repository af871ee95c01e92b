use serde_json::json;
use teetap_proxy::session::HeldId;
use teetap_rules::{Draft, Made};

use super::*;

fn form(line: Value) -> Result<Made, MessageError> {
    let wanted: Inject = serde_json::from_value(line).unwrap();
    super::form(&wanted, Registry::builtin()).and_then(|(form, _)| form.made(Proto::V7))
}

#[test]
fn a_message_is_the_same_in_each_form() {
    let text =
        form(json!({"message": "s2c sv_chat{mode: all, client_id: -1, message: \"a \\\"b\\\" \u{fc}\"}"}));
    let made = text.unwrap();
    let fields = json!({"mode": "all", "client_id": -1, "message": "a \"b\" \u{fc}"});
    let named = form(json!({"dir": "s2c", "name": "sv_chat", "fields": fields}));
    assert_eq!(named.unwrap(), made);
    let hex: String = made.data.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(form(json!({"dir": "s2c", "hex": hex})).unwrap(), made);
    let bytes = form(json!({"message": format!("s2c vital 0x{hex}")}));
    assert_eq!(bytes.unwrap(), made);
    let nonvital = form(json!({"dir": "s2c", "name": "sv_chat", "fields": fields, "vital": false}));
    assert!(!nonvital.unwrap().vital);
}

#[test]
fn a_text_of_any_characters_is_a_field() {
    for text in ["", "\n\t\u{1b}\u{85}", "\\\"{}$", "all", "\u{1f600}"] {
        let made = form(json!({"dir": "c2s", "name": "cl_say", "fields": {"message": text}})).unwrap();
        let shown = String::from_utf8_lossy(&made.data).into_owned();
        assert!(shown.contains(text), "{shown:?}");
    }
}

#[test]
fn a_wrong_message_is_refused_with_the_cause() {
    for (line, why) in [
        (
            json!({}),
            "invalid inject: expected message alone, or dir and name, or dir and hex",
        ),
        (json!({"message": "s2c sv_chat", "hex": "00"}), "invalid inject: "),
        (json!({"dir": "s2c", "hex": "0"}), "invalid hex: "),
        (json!({"dir": "s2c", "hex": "0x00"}), "invalid hex: "),
        (json!({"dir": "s2c", "hex": ""}), "invalid hex: "),
        (json!({"message": "s2c vital 0xzz"}), "invalid hex: "),
        (
            json!({"dir": "s2c", "hex": "00".repeat(1401)}),
            "the message is longer than 1400 bytes",
        ),
        (
            json!({"dir": "s2c", "name": "sv_chat}"}),
            "invalid name \"sv_chat}\"",
        ),
        (
            json!({"dir": "s2c", "name": "sv_chat", "fields": {"a b": 1}}),
            "invalid field \"a b\"",
        ),
        (
            json!({"dir": "s2c", "name": "sv_chat", "fields": {"mode": [1]}}),
            "invalid value of the field mode: ",
        ),
        (json!({"dir": "s2c", "name": "sv_caht"}), "[E101] "),
        (
            json!({"dir": "s2c", "name": "sv_chat", "fields": {"mesage": "x"}}),
            "[E103] message `sv_chat` has no field `mesage`; did you mean `message`?",
        ),
        (json!({"dir": "c2s", "name": "sv_chat"}), "[E102] "),
        (
            json!({"message": "s2c sv_chat{team: 1}"}),
            "sv_chat is not a message of 0.7 with these fields",
        ),
    ] {
        let found = form(line.clone()).unwrap_err().to_string();
        assert!(found.starts_with(why), "{line}: {found}");
    }
}

fn held_message(session: u32, dir: Dir, held: u32, proto: Proto, data: Vec<u8>) -> HeldMessage {
    HeldMessage {
        session: SessionId(session),
        dir,
        proto,
        held: HeldId(held.try_into().unwrap()),
        vital: true,
        rule: None,
        until: None,
        edited: false,
        data: data.into(),
    }
}

#[test]
fn a_held_message_is_named_by_its_number_and_by_its_place_if_needed() {
    let held = |session, dir, held| held_message(session, dir, held, Proto::V7, Vec::new());
    let list = [
        held(1, Dir::C2s, 1),
        held(1, Dir::S2c, 1),
        held(2, Dir::C2s, 1),
        held(2, Dir::C2s, 2),
    ];
    let only = |wanted: Value| {
        let found = only(&list, serde_json::from_value(wanted).unwrap());
        let place = found.map(|found| (found.session.0, found.dir));
        place.map_err(|error| error.to_string())
    };
    assert_eq!(only(json!({"held": 2})), Ok((2, Dir::C2s)));
    assert_eq!(only(json!({"held": 1, "dir": "s2c"})), Ok((1, Dir::S2c)));
    assert_eq!(only(json!({"held": 1, "session": 2})), Ok((2, Dir::C2s)));
    assert_eq!(only(json!({"held": 3})).unwrap_err(), "no held message 3");
    assert_eq!(
        only(json!({"held": 1})).unwrap_err(),
        "3 messages are held under 1; name session and direction: 1/c2s, 1/s2c, 2/c2s"
    );
}

#[test]
fn a_held_message_is_edited_in_each_form() {
    let registry = Registry::builtin();
    let draft = |text: &str| {
        Draft::inject(text, registry)
            .unwrap()
            .0
            .made(Proto::Ddnet)
            .unwrap()
            .data
    };
    let (one, two) = (
        draft("c2s cl_say{team: 1, message: \"one\"}"),
        draft("c2s cl_say{team: 1, message: \"two\"}"),
    );
    let held = held_message(1, Dir::C2s, 1, Proto::Ddnet, one);
    let hex: String = two.iter().map(|byte| format!("{byte:02x}")).collect();
    let edit = |line: Value| {
        let wanted = serde_json::from_value(line).unwrap();
        let edited = edited(&wanted, &held, registry).map(|(data, _)| data);
        edited.map_err(|error| error.to_string())
    };
    assert_eq!(
        edit(json!({"held": 1, "message": "cl_say{message: \"two\"}"})),
        Ok(two.clone())
    );
    assert_eq!(
        edit(json!({"held": 1, "fields": {"message": "two"}})),
        Ok(two.clone())
    );
    assert_eq!(edit(json!({"held": 1, "hex": hex})), Ok(two));
    for (line, why) in [
        (
            json!({"held": 1}),
            "invalid edit: expected one of message, fields and hex",
        ),
        (json!({"held": 1, "hex": "00", "fields": {}}), "invalid edit: "),
        (
            json!({"held": 1, "message": "sv_motd{message: \"x\"}"}),
            "the message is cl_say, not sv_motd",
        ),
        (
            json!({"held": 1, "fields": {"text": "x"}}),
            "[E103] message `cl_say` has no field `text`",
        ),
    ] {
        let found = edit(line.clone()).unwrap_err();
        assert!(found.starts_with(why), "{line}: {found}");
    }
    let unknown = held_message(1, Dir::C2s, 1, Proto::Ddnet, vec![0x7f]);
    let wanted = serde_json::from_value(json!({"held": 1, "fields": {}})).unwrap();
    assert_eq!(
        edited(&wanted, &unknown, registry).unwrap_err().to_string(),
        "the message is unknown: replace its bytes with hex"
    );
}
