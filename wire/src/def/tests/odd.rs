//! Oddities are reported, and messages are read as far as possible.

use super::*;

fn read(proto: Proto, dir: Dir, data: &[u8]) -> (Option<&'static Def>, Decoded) {
    let mut decoded = Decoded::new();
    let def = decoded.message(Registry::builtin(), proto, dir, data);
    (def, decoded)
}

/// Returns the notes of a message from the server: code, place and length.
fn odd(proto: Proto, data: &[u8]) -> Vec<(Code, usize, usize)> {
    let (_, decoded) = read(proto, Dir::S2c, data);
    decoded
        .notes()
        .iter()
        .map(|note| (note.code, note.at, note.len))
        .collect()
}

/// Returns the notes of an object of DDNet.
fn odd_object(name: &str, ints: &[i32]) -> Vec<Code> {
    let mut decoded = Decoded::new();
    decoded.object(def(Proto::Ddnet, Class::Object, name), ints);
    codes(&decoded)
}

#[test]
fn every_oddity_has_its_place() {
    // sv_chat of 0.6: team, client id, text.
    for (data, expected) in [
        (&b"\x06\x00\x00hi\x00"[..], vec![]),
        (b"\x06\x80\x00\x00hi\x00", vec![(Code::OverlongInt, 1, 2)]),
        (b"\x06\x00\x10hi\x00", vec![(Code::OutOfRange, 2, 1)]),
        (b"\x06\x00\x00hi\x00xyz", vec![(Code::SurplusBytes, 6, 3)]),
        (b"\x06\x00\x00hi", vec![(Code::UnterminatedText, 3, 2)]),
        (b"\x06\x00\x00", vec![(Code::MissingField, 3, 0)]),
        (b"\x06\x00\x80", vec![(Code::MissingField, 2, 1)]),
        (b"\x06", vec![(Code::MissingField, 1, 0)]),
        (b"\x06\x00\x00h\xffi\x00", vec![(Code::InvalidUtf8, 3, 3)]),
        (b"\x06\x00\x00h\x07i\x00", vec![(Code::TextCleaned, 3, 3)]),
        (b"\x06\x00\x00 hi\x00", vec![(Code::TextCleaned, 3, 3)]),
    ] {
        assert_eq!(odd(Proto::V6, data), expected, "{data:02x?}");
    }
    // A line feed is fine in a message of the day.
    assert_eq!(odd(Proto::V6, b"\x02a\nb\x00"), []);
    // Flags and enums: sv_game_info and sv_emoticon of 0.7.
    assert_eq!(
        odd(Proto::V7, &[0x26, 0x13, 0, 0, 0, 0]),
        [(Code::UnknownBits, 1, 1)]
    );
    assert_eq!(odd(Proto::V7, &[0x14, 0, 16]), [(Code::OutOfRange, 2, 1)]);
    // A number that 0.7.5 and 0.6 read differently.
    assert_eq!(
        odd(Proto::V6, b"\x06\x00\x80\x80\x80\x80\x70hi\x00"),
        [(Code::OverlongInt, 2, 5), (Code::IntPadding, 2, 5)]
    );
}

#[test]
fn unknown_messages() {
    let (def, decoded) = read(Proto::V6, Dir::S2c, &[0x7f, 1, 2]);
    assert_eq!((def, codes(&decoded)), (None, vec![Code::UnknownMessage]));
    let (def, decoded) = read(Proto::V6, Dir::S2c, &[]);
    assert_eq!((def, codes(&decoded)), (None, vec![Code::UnknownMessage]));
    let unknown = [&[1][..], &[0xab; 16], b"rest"].concat();
    let (def, decoded) = read(Proto::V7, Dir::S2c, &unknown);
    let def = def.unwrap();
    assert_eq!((&*def.name, codes(&decoded)), ("ex", vec![Code::UnknownMessage]));
    let rows: Vec<_> = decoded
        .view()
        .rows(def, Source::Bytes(&unknown), Secrets::Hide)
        .map(|row| row.value)
        .collect();
    assert_eq!(rows, ["abababab-abab-abab-abab-abababababab", "72657374"]);
}

#[test]
fn directions_and_vitality() {
    let (def, mut decoded) = read(Proto::V6, Dir::C2s, b"\x06\x00\x00hi\x00");
    let def = def.unwrap();
    assert_eq!(
        (&*def.name, codes(&decoded)),
        ("sv_chat", vec![Code::WrongDirection])
    );
    decoded.check_vital(def, true);
    assert_eq!(codes(&decoded).len(), 1);
    decoded.check_vital(def, false);
    assert_eq!(codes(&decoded)[1..], [Code::NotVital]);
    let (def, mut decoded) = read(Proto::Ddnet, Dir::S2c, &[0x13, 1, 1]);
    decoded.check_vital(def.unwrap(), true);
    assert_eq!(codes(&decoded), [Code::UnexpectedVital]);
}

#[test]
fn inputs_of_all_sizes() {
    let ints =
        |size: u8, ints: usize, after: &[u8]| [&[0x29, 5, 6, size][..], &vec![1; ints], after].concat();
    let found = |data: &[u8]| {
        let (def, decoded) = read(Proto::V7, Dir::C2s, data);
        let correction = def.unwrap().path("ping_correction").unwrap();
        (codes(&decoded), decoded.find(&correction).and_then(Record::int))
    };
    assert_eq!(found(&ints(40, 10, &[9])), (vec![], Some(9)));
    // The form that DDNet's client sends.
    assert_eq!(found(&ints(40, 10, &[])), (vec![], None));
    assert_eq!(found(&ints(44, 11, &[9])), (vec![Code::ObjectLong], Some(9)));
    assert_eq!(found(&ints(36, 9, &[9])), (vec![Code::ObjectShort], Some(9)));
    assert_eq!(found(&ints(40, 9, &[])), (vec![Code::MissingField], None));
    assert_eq!(found(&ints(44, 10, &[])), (vec![Code::MissingField], None));
    assert_eq!(found(&ints(42, 10, &[9])), (vec![Code::OutOfRange], Some(9)));
    assert_eq!(
        found(&ints(0x40, 0, &[9])).0,
        [Code::ObjectShort, Code::OutOfRange]
    );
}

#[test]
fn what_ddnet_sends_to_others_is_not_odd() {
    let input = |id: u8, flags: [u8; 2]| [&[id, 5, 6, 40, 1, 1, 1, 1, 1, 1][..], &flags, &[1, 1, 1]].concat();
    let sent = |proto, data: &[u8]| {
        let (def, decoded) = read(proto, Dir::C2s, data);
        let def = def.unwrap();
        let path = def.path("input.player_flags").unwrap();
        let flags = decoded.find(&path).unwrap();
        let text = decoded
            .view()
            .value_text(def, flags, Source::Bytes(data), Secrets::Hide);
        (codes(&decoded), text)
    };
    let shown = |flags: &str| (vec![], flags.to_owned());
    // Flags added by DDNet: its client sends them in all inputs of 0.6, and shows hook lines on 0.7.
    assert_eq!(
        sent(Proto::V6, &input(0x21, [0x81, 2])),
        shown("129 (playing|input_manual)")
    );
    assert_eq!(
        sent(Proto::V7, &input(0x29, [0x84, 2])),
        shown("132 (scoreboard|aim)")
    );
    // Numbers without limits in receivers: sv_map_window 100, and a future version.
    assert_eq!(odd(Proto::V7, b"\x05m\0\x01\x01\xa4\x01\x01"), []);
    let capabilities = [&[1][..], &uuid::uuid("capabilities@ddnet.tw"), &[6, 0x3f]].concat();
    assert_eq!(odd(Proto::Ddnet, &capabilities), []);
    assert_eq!(odd_object("ddnet_laser", &[0, 0, 0, 0, 9, -1, -1]), []);
    assert_eq!(odd_object("entity_ex", &[0, 0, 11]), []);
}

#[test]
fn a_missing_field_is_not_judged_by_the_one_before() {
    // The laser of 16.4, of type freeze: it has no flags, hence none unknown.
    assert_eq!(odd_object("ddnet_laser", &[0, 0, 0, 0, 9, -1, 3]), []);
    let of_later = [0, 0, 0, 0, 9, -1, 3, -1, -1, 2];
    assert_eq!(odd_object("ddnet_laser", &of_later), [Code::UnknownBits]);
}

/// DDNet's master server sends a request in every protocol that a server registers.
#[test]
fn challenges_are_secret_on_all_protocols() {
    let data = b"\xff\xff\xff\xffchaluuid:tw0.7/ipv4\0token\0";
    for proto in Proto::ALL {
        let (mut decoded, mut json) = (Decoded::new(), String::new());
        let def = decoded.connless(Registry::builtin(), proto, data).unwrap();
        assert_eq!(codes(&decoded), [], "{proto}");
        decoded
            .view()
            .json(def, Source::Bytes(data), Secrets::Hide, &mut json);
        assert_eq!(json, r#"{"secret_and_protocol":"•••","token":"•••"}"#, "{proto}");
    }
}

#[test]
fn lengths_that_lie() {
    // map_data of 0.6: last, crc, chunk, size, data.
    let found = |size: &[u8], data: &[u8]| odd(Proto::V6, &[&[0x07, 0, 0, 0], size, data].concat());
    assert_eq!(found(&[3], b"abc"), []);
    assert_eq!(found(&[3], b"ab"), [(Code::MissingField, 7, 0)]);
    assert_eq!(found(&[3], b""), [(Code::MissingField, 5, 0)]);
    assert_eq!(found(&[3], b"abcd"), [(Code::SurplusBytes, 8, 1)]);
    assert_eq!(
        found(&[0x40], b"ab"),
        [(Code::OutOfRange, 4, 1), (Code::SurplusBytes, 5, 2)]
    );
    assert_eq!(found(&[0xbf, 0xff, 0xff, 0xff, 0x0f], b"ab").len(), 2);
    // A count of texts.
    assert_eq!(odd(Proto::V7, b"\x18\x02a\0b\0"), []);
    assert_eq!(odd(Proto::V7, b"\x18\x02a\0"), [(Code::MissingField, 4, 0)]);
    assert_eq!(
        odd(Proto::V7, b"\x18\x40a\0"),
        [(Code::OutOfRange, 1, 1), (Code::SurplusBytes, 2, 2)]
    );
    // An announcement without a name: the number of its parameters is unknown.
    assert_eq!(odd(Proto::V7, &[0x2a, 9, 1, 2, 3]), []);
    assert_eq!(odd(Proto::V7, &[0x2a, 0, 1]), [(Code::SurplusBytes, 2, 1)]);
    assert_eq!(odd(Proto::V7, &[0x2a, 11, 1, 2]), [(Code::OutOfRange, 1, 1)]);
}

#[test]
fn numbers_as_text() {
    let info = |score: &str| {
        let text = format!("1\0v\0n\0m\0g\00\01\02\03\04\0tee\0clan\0-1\0{score}\01\0");
        let data = [&b"\xff\xff\xff\xffinf3"[..], text.as_bytes()].concat();
        let mut decoded = Decoded::new();
        let def = decoded.connless(Registry::builtin(), Proto::V6, &data).unwrap();
        let score = decoded
            .find(&def.path("clients[0].score").unwrap())
            .map(|record| record.value);
        let mut again = Vec::new();
        def.encode(&decoded.datum(def, Source::Bytes(&data)), &mut again)
            .unwrap();
        (codes(&decoded), score, again == data)
    };
    assert_eq!(info("-9999"), (vec![], Some(Value::Int(-9999)), true));
    assert_eq!(info("0"), (vec![], Some(Value::Int(0)), true));
    for odd in ["007", "+7", "-0"] {
        let (codes, score, same) = info(odd);
        assert_eq!((codes, same), (vec![Code::BadDecimal], false), "{odd}");
        assert!(matches!(score, Some(Value::Int(0 | 7))), "{odd}");
    }
    assert_eq!(info("x"), (vec![Code::BadDecimal], Some(Value::Text(1)), true));
}

#[test]
fn secrets_are_dots() {
    let json = |def: &Def, data: &[u8], secrets| {
        let (mut decoded, mut json) = (Decoded::new(), String::new());
        decoded.read(def, data, 1);
        decoded.view().json(def, Source::Bytes(data), secrets, &mut json);
        json
    };
    let auth = system(Proto::V6, "rcon_auth");
    let say = game(Proto::Ddnet, "cl_say");
    let command = game(Proto::V7, "cl_command");
    let cases: [(_, &[u8], _); 8] = [
        (
            auth,
            b"\x25\0hunter2\0\x01",
            r#"{"name":"","password":"•••","request_commands":1}"#,
        ),
        (
            auth,
            b"\x25\0\0\x01",
            r#"{"name":"","password":"","request_commands":1}"#,
        ),
        (
            auth,
            b"\x25alice\0\0\x01",
            r#"{"name":"•••","password":"","request_commands":1}"#,
        ),
        (
            say,
            b"\x22\0/register me pw\0",
            r#"{"team":false,"message":"/register •••"}"#,
        ),
        (
            say,
            b"\x22\0/timeout abc\0",
            r#"{"team":false,"message":"/timeout •••"}"#,
        ),
        (
            say,
            b"\x22\x01hi \"you\"\0",
            r#"{"team":true,"message":"hi \"you\""}"#,
        ),
        (
            command,
            b"\x4elogin\0me pw\0",
            r#"{"name":"login","arguments":"•••"}"#,
        ),
        (
            command,
            b"\x4epause\0me\0",
            r#"{"name":"pause","arguments":"me"}"#,
        ),
    ];
    for (def, data, hidden) in cases {
        assert_eq!(json(def, data, Secrets::Hide), hidden);
    }
    let shown = json(auth, b"\x25\0hunter2\0\x01", Secrets::Show);
    assert_eq!(shown, r#"{"name":"","password":"hunter2","request_commands":1}"#);
    for proto in [Proto::V6, Proto::Ddnet, Proto::V7] {
        let line = system(proto, "rcon_line");
        let hidden = json(line, b"\x17[config]: Value: hunter2\0", Secrets::Hide);
        assert_eq!(hidden, r#"{"line":"[config]: Value: •••"}"#);
    }
    // The range of the secret, for code that replaces it.
    let mut decoded = Decoded::new();
    let data = b"\x22\0/timeout abc\0";
    decoded.read(say, data, 1);
    let message = decoded.find(&say.path("message").unwrap()).unwrap();
    assert_eq!(
        decoded
            .view()
            .secret(say, message, Source::Bytes(data))
            .map(|range| &data[range]),
        Some(&b" abc"[..])
    );
}

/// Servers skip blanks around the name of a chat command, and the case of its letters.
#[test]
fn the_arguments_of_a_command_are_secret_however_its_name_is_written() {
    let command = game(Proto::V7, "cl_command");
    for (name, is_secret) in [
        ("login", true),
        ("LogIn", true),
        (" login", true),
        ("   login", true),
        ("login  ", true),
        (" \u{200b}\u{2800} LOGIN ", true),
        ("", false),
        (" ", false),
        ("logi", false),
        ("logins", false),
        ("log in", false),
        ("x login", false),
    ] {
        let data = [b"\x4e", name.as_bytes(), b"\0me pw\0"].concat();
        let mut decoded = Decoded::new();
        decoded.read(command, &data, 1);
        let arguments = decoded.find(&command.path("arguments").unwrap()).unwrap();
        let secret = decoded.view().secret(command, arguments, Source::Bytes(&data));
        let secret = secret.map(|range| &data[range]);
        assert_eq!(secret, is_secret.then_some(&b"me pw"[..]), "{name:?}");
    }
}

#[test]
fn nothing_reaches_a_terminal() {
    let chat = game(Proto::V6, "sv_chat");
    let data = "\u{6}\0\0\u{1b}[2J\u{9b}\u{202e}\n\0".as_bytes();
    let (mut decoded, mut json) = (Decoded::new(), String::new());
    decoded.read(chat, data, 1);
    decoded
        .view()
        .json(chat, Source::Bytes(data), Secrets::Show, &mut json);
    assert_eq!(
        json,
        r#"{"team":0,"client_id":0,"message":"\u001b[2J\u009b\u202e\n"}"#
    );
    let rows = decoded
        .view()
        .rows(chat, Source::Bytes(data), Secrets::Show)
        .map(|row| row.value)
        .collect::<String>();
    assert!(!rows.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\n']), "{rows:?}");
}
