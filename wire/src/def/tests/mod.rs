//! Tests of definitions and interpreter together.

mod edit;
mod form;
mod fuzz;
mod gist;
mod list;
mod odd;
mod properties;
mod same;
mod text;

use super::*;
use crate::note::Code;
use crate::{Dir, Proto};

fn def(proto: Proto, class: Class, name: &str) -> &'static Def {
    let found = Registry::builtin().named(proto, Some(class), name).next();
    found.unwrap_or_else(|| panic!("{proto} has no {name}"))
}

fn game(proto: Proto, name: &str) -> &'static Def {
    def(proto, Class::Game, name)
}

fn system(proto: Proto, name: &str) -> &'static Def {
    def(proto, Class::System, name)
}

fn codes(decoded: &Decoded) -> Vec<Code> {
    decoded.notes().iter().map(|note| note.code).collect()
}

/// Returns a message as bytes, and decoded.
fn made(def: &Def, values: &Datum) -> (Vec<u8>, Decoded) {
    let mut data = Vec::new();
    def.encode(values, &mut data).unwrap();
    let mut decoded = Decoded::new();
    let body = match (def.class, &def.id) {
        (Class::Connless, _) => 8,
        (_, Id::Uuid { .. }) => 17,
        (_, Id::Number(32..)) => 2,
        _ => 1,
    };
    decoded.read(def, &data, body);
    (data, decoded)
}

#[test]
fn what_is_built_in_is_right() {
    if let Err(errors) = Registry::load(&[]) {
        let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
        panic!("{}", errors.join("\n"));
    }
}

#[test]
fn an_index_has_only_digits_and_is_within_its_list() {
    let info = game(Proto::V7, "sv_client_info");
    let is_right = |index: &&str| info.path(&format!("skin_part_names[{index}]")).is_ok();
    let indexes = [
        "0", "5", "6", "-1", "+1", "", " 1", "1 ", "a", "0x1", "1.", "65536",
    ];
    let right: Vec<_> = indexes.into_iter().filter(is_right).collect();
    assert_eq!(right, ["0", "5"]);
    for path in [
        "skin_part_names[1",
        "skin_part_names1]",
        "skin_part_names[1]]",
        "client_id[0]",
    ] {
        assert!(info.path(path).is_err(), "{path}");
    }
}

#[test]
fn names_as_people_write_them() {
    let registry = Registry::builtin();
    for (proto, written, name) in [
        (Proto::Ddnet, "NETMSG_CON_READY", "con_ready"),
        (Proto::V7, "NETMSGTYPE_SV_CHAT", "sv_chat"),
        (Proto::V7, "NETMSG_NULL", "ex"),
        (Proto::V6, "CNetMsg_Sv_Chat", "sv_chat"),
        (
            Proto::V6,
            "cnetmsg_sv_voteoptionlistadd",
            "sv_vote_option_list_add",
        ),
        (Proto::V65, "NETMSG_SNAPSINGLE", "snap_single"),
        (Proto::Ddnet, "NETMSG_CLIENTVER", "client_version"),
        (Proto::Ddnet, "NETOBJTYPE_PLAYERINFO", "player_info"),
        (Proto::V7, "NET_CTRLMSG_ACCEPT", "connect_accept"),
        (Proto::V7, "SERVERBROWSE_CHALLENGE", "challenge"),
        (Proto::V7, "accept", "connect_accept"),
        (Proto::V6, "accept", "accept"),
    ] {
        let found: Vec<_> = registry
            .named(proto, None, written)
            .map(|def| &*def.name)
            .collect();
        assert_eq!(found, [name], "{proto} {written}");
    }
    let info: Vec<_> = registry
        .named(Proto::V6, None, "info")
        .map(|def| def.class)
        .collect();
    assert_eq!(info, [Class::System, Class::Connless]);
    // The 0.7 message is first, followed by DDNet's extended message of the same name.
    let race: Vec<_> = registry
        .named(Proto::V7, None, "sv_race_finish")
        .map(|def| def.id.clone())
        .collect();
    assert!(matches!(race[..], [Id::Number(35), Id::Uuid { .. }]), "{race:?}");
    assert_eq!(registry.named(Proto::V7, None, "rcon_auth_status").count(), 0);
    assert_eq!(registry.suggest(None, "sv_caht"), Some("sv_chat"));
}

#[test]
fn ids_on_the_wire() {
    let registry = Registry::builtin();
    let name = |proto, dir, data: &[u8]| {
        registry
            .message(proto, dir, data)
            .map(|found| (&*found.def.name, found.body))
    };
    assert_eq!(name(Proto::V6, Dir::S2c, &[0x09]), Some(("con_ready", 1)));
    assert_eq!(name(Proto::V7, Dir::S2c, &[0x0b]), Some(("con_ready", 1)));
    assert_eq!(name(Proto::Ddnet, Dir::C2s, &[0xff, 0x7f]), None);
    let ping = [&[1][..], &uuid::uuid("ping@ddnet.tw"), &[0; 16]].concat();
    for proto in Proto::ALL {
        assert_eq!(name(proto, Dir::C2s, &ping), Some(("ping_ex", 17)), "{proto}");
    }
    // A UUID of the engine does not belong to the game.
    let other = [&[0][..], &ping[1..]].concat();
    assert_eq!(name(Proto::Ddnet, Dir::C2s, &other), Some(("ex", 1)));
    assert_eq!(
        registry.control(Proto::V7, Dir::C2s, 5).map(|def| &*def.name),
        Some("token")
    );
    assert_eq!(registry.control(Proto::V7, Dir::C2s, 3), None);
    assert_eq!(
        registry
            .connless(Proto::V7, b"\xff\xff\xff\xffinf3")
            .map(|def| &*def.name),
        Some("info")
    );
    assert_eq!(registry.connless(Proto::V7, b"\xff\xff\xff\xffiext"), None);
}

#[test]
fn values_and_places() {
    let (data, decoded) = made(
        game(Proto::V7, "sv_skin_change"),
        &Datum::group([
            ("client_id", 70.into()),
            ("use_custom_colors", Datum::List(vec![Datum::Int(1); 6])),
        ]),
    );
    let def = game(Proto::V7, "sv_skin_change");
    let at = |path: &str| {
        decoded
            .find(&def.path(path).unwrap())
            .map(|record| (record.at, record.len, record.value))
    };
    assert_eq!(at("client_id"), Some((2, 2, Value::Int(70))));
    assert_eq!(at("skin_part_names[5]"), Some((9, 1, Value::Text(0))));
    assert_eq!(at("use_custom_colors"), Some((10, 6, Value::List(6))));
    assert_eq!(at("use_custom_colors[1]"), Some((11, 1, Value::Int(1))));
    assert_eq!(at("skin_part_colors[5]"), Some((21, 1, Value::Int(0))));
    assert_eq!((data.len(), decoded.known_end()), (22, 22));
    assert_eq!(codes(&decoded), [Code::OutOfRange]);
    let ones = decoded.find_map(&def.path("use_custom_colors").unwrap(), |record| Some(record.len));
    assert_eq!(ones, Some(6));
}

#[test]
fn paths_into_groups() {
    let def = system(Proto::V7, "input");
    let direction = def.path("direction").unwrap();
    assert_eq!(direction, def.path("input.direction").unwrap());
    let values = Datum::group([(
        "input",
        Datum::group([("direction", (-1).into()), ("fire", 9.into())]),
    )]);
    let (data, decoded) = made(def, &values);
    assert_eq!(decoded.find(&direction).and_then(Record::int), Some(-1));
    assert_eq!(data, [0x29, 0, 0, 40, 0x40, 0, 0, 0, 9, 0, 0, 0, 0, 0]);
    let info = self::def(Proto::V7, Class::Connless, "info");
    let clients = vec![
        Datum::group([("name", "a".into())]),
        Datum::group([("name", "b".into()), ("score", 7.into())]),
    ];
    let (_, decoded) = made(info, &Datum::group([("clients", Datum::List(clients))]));
    let score = |path: &str| decoded.find(&info.path(path).unwrap()).and_then(Record::int);
    assert_eq!(
        (score("clients[1].score"), score("clients[2].score")),
        (Some(7), None)
    );
    let scores = info.path("clients.score").unwrap();
    let found = decoded.find_map(&scores, |record| record.int().filter(|score| *score > 0));
    assert_eq!(found, Some(7));
}

#[test]
fn paths_that_lead_nowhere() {
    let def = game(Proto::V7, "sv_chat");
    let Err(PathError::Unknown { meant, known, at, .. }) = def.path("mesage") else {
        panic!("found")
    };
    assert_eq!((meant.as_deref(), at), (Some("message"), 0));
    assert_eq!(known.len(), 4);
    let skin = game(Proto::V7, "sv_skin_change");
    for wrong in [
        "client_id[0]",
        "client_id.x",
        "skin_part_names[6]",
        "skin_part_names[x]",
        "skin_part_names[0",
        "",
        ".",
    ] {
        assert!(skin.path(wrong).is_err(), "{wrong}");
    }
    let registry = Registry::builtin();
    assert!(registry.field(Proto::V6, None, "sv_chat", "target_id").is_err());
    let found = registry.field(Proto::Ddnet, None, "sv_chat", "team").unwrap();
    assert!(matches!(found[..], [(_, field, _)] if (field.bounds.min, field.bounds.max) == (-2, 3)));
    assert_eq!(
        registry.field(Proto::Ddnet, None, "sv_caht", "team"),
        Ok(Vec::new())
    );
}

#[test]
fn what_is_not_given_takes_its_default() {
    // The legal value nearest 0, text empty, a count that fits the list.
    let (data, _) = made(game(Proto::V6, "sv_vote_option_list_add"), &Datum::group([]));
    assert_eq!(data, [&[0x18, 1][..], &[0; 15]].concat());
    let list = Datum::List(vec!["a".into(), "b".into()]);
    let (data, _) = made(
        game(Proto::V7, "sv_vote_option_list_add"),
        &Datum::group([("description", list)]),
    );
    assert_eq!(data, b"\x18\x02a\0b\0");
    let (data, _) = made(
        system(Proto::V6, "map_data"),
        &Datum::group([("data", "abc".into())]),
    );
    assert_eq!(data, b"\x07\0\0\0\x03abc");
    // An optional field is omitted unless it has a default.
    let (data, _) = made(system(Proto::V7, "info"), &Datum::group([]));
    assert_eq!(data, [0x03, 0, 0, 0x85, 0x1c]);
    let (data, _) = made(system(Proto::V6, "info"), &Datum::group([]));
    assert_eq!(data, [0x03, 0]);
    let (data, _) = made(
        game(Proto::V7, "sv_game_msg"),
        &Datum::group([("game_msg_id", "ctf_capture".into())]),
    );
    assert_eq!(data, [0x2a, 9, 0, 0, 0]);
}

#[test]
fn what_cannot_be_written() {
    let chat = game(Proto::V7, "sv_chat");
    let mut out = vec![7];
    for (wrong, values) in [
        ("no such field", Datum::group([("mesage", "x".into())])),
        ("text for a number", Datum::group([("client_id", "x".into())])),
        ("a number for text", Datum::group([("message", 1.into())])),
        ("a list", Datum::group([("message", Datum::List(Vec::new()))])),
        ("too large", Datum::group([("client_id", (1_i64 << 31).into())])),
        ("a NUL", Datum::group([("message", "a\0b".into())])),
        ("no such label", Datum::group([("mode", "al".into())])),
        ("a hole", Datum::group([("mode", Datum::Absent)])),
        ("no fields", 1.into()),
    ] {
        assert!(chat.encode(&values, &mut out).is_err(), "{wrong}");
        assert_eq!(out, [7], "{wrong}");
    }
    let skin = game(Proto::V7, "cl_skin_change");
    let short = Datum::group([("skin_part_colors", Datum::List(vec![Datum::Int(0); 5]))]);
    assert!(skin.encode(&short, &mut out).is_err());
    let tee = def(Proto::V6, Class::Object, "client_info");
    assert!(tee.encode(&Datum::group([]), &mut out).is_err());
    let mut ints = Vec::new();
    assert!(
        tee.encode_object(&Datum::group([("name", "sixteen letters!".into())]), &mut ints)
            .is_err()
    );
}

#[test]
fn objects() {
    let registry = Registry::builtin();
    let client = registry.object(Proto::V6, 11).unwrap();
    let race = registry.object(Proto::V7, 24).unwrap();
    let tee = registry
        .object_uuid(Proto::Ddnet, &uuid::uuid("character@netobj.ddnet.tw"))
        .unwrap();
    for (def, full, least, agreed) in [(client, 17, 17, Some(17)), (race, 3, 3, None), (tee, 11, 0, None)] {
        assert_eq!(def.size, Some(Size { full, least, agreed }), "{}", def.name);
    }
    assert_eq!(registry.object(Proto::Ddnet, 0x7fff), None);
    let (mut ints, mut decoded) = (Vec::new(), Decoded::new());
    let values = Datum::group([("name", "nameless tee".into()), ("country", (-1).into())]);
    client.encode_object(&values, &mut ints).unwrap();
    assert_eq!(ints.len(), 17);
    // "name" as the reference packs it.
    assert_eq!(ints[0], i32::from_be_bytes(*b"\xee\xe1\xed\xe5"));
    decoded.object(client, &ints);
    let source = Source::Ints(&ints);
    let mut json = String::new();
    decoded.view().json(client, source, Secrets::Hide, &mut json);
    assert_eq!(
        json,
        r#"{"name":"nameless tee","clan":"","country":-1,"skin":"","use_custom_color":0,"color_body":0,"color_feet":0}"#
    );
    assert_eq!(decoded.view().scales_json(client), None);
    let moving = registry.object(Proto::V6, 9).unwrap();
    let mut other = Decoded::new();
    other.object(moving, &[0; 22]);
    assert_eq!(
        other.view().scales_json(moving).as_deref(),
        Some(r#"{"vel_x":256,"vel_y":256,"angle":256,"hook_dx":256,"hook_dy":256}"#)
    );
    let mut edited = ints.clone();
    decoded
        .splice_object(client, &mut edited, &client.path("clan").unwrap(), &"gg".into())
        .unwrap();
    assert_eq!(
        ints.iter().zip(&edited).filter(|(old, new)| old != new).count(),
        1
    );
    decoded.object(client, &edited[..16]);
    assert_eq!(codes(&decoded), [Code::ObjectShort]);
    decoded.object(client, &[&edited[..], &[1]].concat());
    assert_eq!(codes(&decoded), [Code::ObjectLong]);
    decoded.object(tee, &[1, 2, 3]);
    assert_eq!((codes(&decoded), decoded.records().len()), (Vec::new(), 3));
}
