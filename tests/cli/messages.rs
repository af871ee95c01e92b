//! Message definitions through the built binary: the list, a single definition, a user's own, and the demo's
//! messages.

use std::{collections::BTreeSet, fs, path::Path};

use boon::{Compiler, Schemas};
use serde_json::Value;
use teetap_kit::binary;
use teetap_wire::def::{Class, Def, Dialect, Registry};

use crate::run;

/// Returns the messages of a demo with these options.
fn demo(options: &[&str]) -> Vec<Value> {
    let args = [
        &["demo", "--seconds", "1", "-l", "127.0.0.1:0", "--json"],
        options,
    ]
    .concat();
    let (stdout, _) = run(&args, 0);
    let objects = binary::objects(&stdout).into_iter();
    objects.filter(|object| object["event"] == "message").collect()
}

#[test]
fn the_list_has_every_class_and_all_three_ids() {
    let (list, _) = run(&["messages"], 0);
    for class in ["CONTROL", "SYSTEM", "GAME", "CONNLESS", "OBJECT"] {
        let header = format!("{class:<38} {:>5} {:>5} {:>5}", "0.6", "ddnet", "0.7");
        assert!(
            list.lines().any(|line| line == header),
            "no line {header:?} in {list}"
        );
    }
    let line = list
        .lines()
        .find(|line| line.starts_with("  enter_game "))
        .unwrap();
    let words: Vec<&str> = line.split_whitespace().take(5).collect();
    assert_eq!(words, ["enter_game", "c2s", "15", "15", "19"]);
}

#[test]
fn a_definition_has_many_names_and_a_wrong_name_gets_a_suggestion() {
    let (snake, _) = run(&["messages", "sv_chat"], 0);
    let (macro_name, _) = run(&["messages", "NETMSGTYPE_SV_CHAT"], 0);
    assert_eq!(snake, macro_name);
    assert!(snake.contains("game 3 sv_chat s2c vital"), "{snake}");
    let (stdout, stderr) = run(&["messages", "sv_cat"], 2);
    assert_eq!(stdout, "");
    assert_eq!(
        stderr,
        "teetap: unknown message or object 'sv_cat'; did you mean 'sv_chat'?\n"
    );
    let (_, stderr) = run(&["messages", "chat"], 2);
    assert!(
        stderr.contains("'chat'; names with it: ") && stderr.contains("sv_chat"),
        "{stderr}"
    );
}

#[test]
fn a_definition_is_printed_by_its_name_in_filters() {
    for (name, holds, lacks) in [
        ("snap.character", "object 9 character", "system"),
        ("sys.4", "system 4 ", "game 4"),
        ("game.4", "game 4 ", "system 4"),
        ("connless.info", "connless inf3 info", "system 1 info"),
        ("game.sv_chat", "game 3 sv_chat", "object"),
        ("ctrl.close", "control 4 close", "system"),
        (
            "sys.ex.245e5097-9fe0-39d6-bf7d-9a29e1691e4c",
            "what-is@ddnet.tw",
            "game",
        ),
    ] {
        let (text, _) = run(&["messages", name], 0);
        assert!(text.contains(holds), "{name}: {text}");
        let mut lines = text.lines();
        assert!(!lines.any(|line| line.starts_with(lacks)), "{name}: {text}");
    }
    for (name, help) in [
        ("snap.charcter", "did you mean 'snap.character'?"),
        (
            "snap.character[3].x",
            "for a field see the definition of snap.character",
        ),
        ("sv_chat.message", "for a field see the definition of sv_chat"),
        ("4", "a number needs a class: sys.4, game.4, ctrl.4 or snap.4"),
    ] {
        let (_, stderr) = run(&["messages", name], 2);
        let expected = format!("teetap: unknown message or object '{name}'; {help}\n");
        assert_eq!(stderr, expected);
    }
}

#[test]
fn the_syntax_is_explained_by_a_file_that_can_be_used() {
    let (form, _) = run(&["messages", "--form"], 0);
    assert_eq!(form, teetap_wire::def::FORM);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.tw");
    fs::write(&file, &form).unwrap();
    let path = file.to_str().unwrap();
    let (list, _) = run(&["messages", "--messages", path], 0);
    assert!(list.contains("  sv_pet "), "{list}");
    assert!(list.ends_with("teetap messages --form\n"), "{list}");
    // This also works if the file for which the user needs the help is wrong.
    fs::write(&file, "nonsense").unwrap();
    run(&["messages", "--messages", path, "--form"], 0);
    run(&["messages", "--form", "sv_chat"], 2);
}

#[test]
fn names_with_another_meaning_in_filters_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.tw");
    let path = file.to_str().unwrap();
    for (definition, place, name) in [
        ("game 900 lint s2c", "3:10", "lint"),
        ("connless abcd and both", "3:15", "and"),
        ("system 900 n c2s", "3:12", "n"),
        ("object 900 tick", "3:12", "snap.tick"),
    ] {
        fs::write(&file, format!("for 0.7\n\n{definition}\n")).unwrap();
        let (_, stderr) = run(&["messages", "--messages", path], 2);
        let expected = format!(
            "teetap: invalid definitions\nerror: `{name}` means something else in filters: choose another name\n \
             --> {path}:{place}\n  |\n3 | {definition}\n  | "
        );
        assert!(stderr.starts_with(&expected), "{stderr}");
    }
    // A message called snap may be replaced.
    fs::write(&file, "for 0.7\nsystem 8 snap s2c\nobject 900 lint\n").unwrap();
    run(&["messages", "--messages", path], 0);
}

#[test]
fn every_message_of_the_demo_is_decoded_whole() {
    let messages = demo(&[]);
    assert!(messages.len() > 50, "{}", messages.len());
    for message in &messages {
        assert!(
            message["name"].is_string() && message["fields"].is_object(),
            "{message}"
        );
        assert_eq!(message["notes"], serde_json::json!([]), "{message}");
    }
    let named = |name: &str| messages.iter().find(|message| message["name"] == name).unwrap();
    assert_eq!(named("sv_motd")["fields"]["message"], "Welcome to the demo.");
    assert_eq!(named("cl_start_info")["fields"]["clan"], "demo");
    assert_eq!(named("client_version")["fields"]["connection_id"], "•••");
    let shown = demo(&["--show-secrets"]);
    let version = shown
        .iter()
        .find(|message| message["name"] == "client_version")
        .unwrap();
    assert_ne!(version["fields"]["connection_id"], "•••");
}

#[test]
fn definitions_of_the_user_replace_built_in_ones() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.tw");
    let text = "for 0.6 ddnet 0.7\n\n# Mine.\ngame 1 my_motd s2c vital\n  words  str\n";
    fs::write(&file, text).unwrap();
    let path = file.to_str().unwrap();
    let messages = demo(&["--messages", path]);
    let mine = messages
        .iter()
        .find(|message| message["name"] == "my_motd")
        .unwrap();
    assert_eq!(mine["fields"]["words"], "Welcome to the demo.");
    let (text, _) = run(&["messages", "--messages", path, "my_motd"], 0);
    assert!(text.contains("# Mine.\ngame 1 my_motd s2c vital"), "{text}");
}

#[test]
fn a_line_has_the_summary_of_the_definition() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.tw");
    let text =
        "for 0.6 ddnet 0.7\ngame 1 sv_motd s2c vital\n  message  str\n  gist \"today: {message:raw}\"\n";
    fs::write(&file, text).unwrap();
    let path = file.to_str().unwrap();
    let args = ["demo", "--seconds", "2", "-l", "127.0.0.1:0"];
    let (built_in, _) = run(&args, 0);
    let (mine, _) = run(&[&args[..], &["--messages", path]].concat(), 0);
    let prints = |lines: &str, what: &str| lines.lines().any(|line| line.ends_with(what));
    assert!(
        prints(&built_in, r#" bytes "Welcome to the demo.""#),
        "{built_in}"
    );
    // The names of players: 0.7 sends them in messages, DDNet in snapshots.
    for session in [" #1 ", " #2 "] {
        let mut lines = built_in.lines().filter(|line| line.contains(session));
        let named = lines.any(|line| line.ends_with(r#" "ddnet": line 1 of ddnet"#));
        assert!(named, "{session} {built_in}");
    }
    assert!(prints(&mine, " bytes today: Welcome to the demo."), "{mine}");
    let (text, _) = run(&["messages", "--messages", path, "sv_motd"], 0);
    assert!(text.ends_with("  gist \"today: {message:raw}\"\n"), "{text}");
    fs::write(&file, text.replace("message:raw", "mesage:raw")).unwrap();
    let (_, stderr) = run(&["messages", "--messages", path], 2);
    assert!(
        stderr.contains("`sv_motd` has no field `mesage`\n")
            && stderr.contains("  = help: did you mean `message`?\n"),
        "{stderr}"
    );
}

#[test]
fn a_wrong_definition_is_refused_with_its_place_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.tw");
    fs::write(
        &file,
        "for 0.7\n\ngame 1 mine s2c vital\n  words  strr\n  more  int\n",
    )
    .unwrap();
    let path = file.to_str().unwrap();
    for args in [
        &["messages", "--messages", path][..],
        &["demo", "--messages", path],
        &["run", "127.0.0.1:1", "--messages", path],
    ] {
        let (stdout, stderr) = run(args, 2);
        assert_eq!(stdout, "", "{args:?}");
        let expected = format!(
            "teetap: invalid definitions\nerror: unknown type `strr`\n --> {path}:4:10\n  |\n\
             4 |   words  strr\n  |          ^^^^\n  |\n  = help: did you mean `str`?\n"
        );
        assert_eq!(stderr, expected, "{args:?}");
    }
    let missing = folder.path().join("none.tw");
    let (_, stderr) = run(&["messages", "--messages", missing.to_str().unwrap()], 2);
    assert!(
        stderr.contains("none.tw") && stderr.lines().count() == 1,
        "{stderr}"
    );
    fs::write(&file, [0xff, 0xfe]).unwrap();
    run(&["messages", "--messages", path], 2);
}

#[test]
fn a_hostile_definition_sends_nothing_to_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("own.tw");
    let path = file.to_str().unwrap();
    let text =
        "for 0.7\ngame 900 a\u{1b}[31mb\u{9b}31m\u{202e} s2c\n\u{1b}[2Jgame\u{200b}\0 901 b\t\r\u{7}\n";
    fs::write(&file, text).unwrap();
    for colour in ["never", "always"] {
        let (_, stderr) = run(&["messages", "--messages", path, "--color", colour], 2);
        assert!(
            stderr.contains("invalid name") && stderr.contains("unknown definition"),
            "{stderr}"
        );
        let plain = stderr.replace("\u{1b}[0m", "").replace("\u{1b}[1m", "");
        let plain = plain.replace("\u{1b}[91m", "").replace("\u{1b}[94m", "");
        let is_bad = |c: char| c != '\n' && (teetap_wire::is_deceptive(c) || teetap_wire::is_invisible(c));
        assert!(!plain.chars().any(is_bad), "{colour}: {stderr:?}");
        assert_eq!(stderr != plain, colour == "always");
    }
}

/// Returns the definitions that `messages --json` prints, after a check against their schema.
fn json(args: &[&str]) -> Value {
    let (text, _) = run(&[&["messages", "--json"], args].concat(), 0);
    let schema = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/messages.schema.json"));
    let schema: Value = serde_json::from_str(&schema.unwrap()).unwrap();
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    let id = schema["$id"].as_str().unwrap().to_owned();
    compiler.add_resource(&id, schema).unwrap();
    let index = compiler.compile(&id, &mut schemas).unwrap();
    let object: Value = serde_json::from_str(&text).unwrap();
    let valid = schemas
        .validate(&object, index)
        .map_err(|error| format!("{error:#}"));
    assert_eq!(valid, Ok(()));
    assert_eq!(text.lines().count(), 1);
    object
}

#[test]
fn the_json_object_has_every_definition_of_each_variant() {
    let object = json(&[]);
    let variants = object["variants"].as_array().unwrap();
    let dialects = [Dialect::V6, Dialect::Ddnet, Dialect::V7, Dialect::V7];
    for (variant, dialect) in variants.iter().zip(dialects) {
        let listed = |part: &str| variant[part].as_array().unwrap().iter();
        let listed: Vec<&str> = listed("messages")
            .chain(listed("objects"))
            .map(|def| def["name"].as_str().unwrap())
            .collect();
        let is_object = |def: &&Def| def.class == Class::Object;
        let (objects, messages): (Vec<&Def>, Vec<&Def>) =
            Registry::builtin().defs(dialect).partition(is_object);
        let expected: Vec<&str> = messages.iter().chain(&objects).map(|def| &*def.name).collect();
        assert_eq!(listed, expected, "{dialect}");
    }
    // A type that a field refers to is there; a field has a text.
    for variant in variants {
        let types: BTreeSet<&str> = variant["types"]
            .as_array()
            .unwrap()
            .iter()
            .map(|ty| ty["name"].as_str().unwrap())
            .collect();
        let mut open: Vec<&Value> = ["messages", "objects"]
            .iter()
            .flat_map(|part| variant[*part].as_array().unwrap())
            .collect();
        let mut fields = 0;
        while let Some(holder) = open.pop() {
            for field in holder["fields"].as_array().into_iter().flatten() {
                let of = field["of"].as_str().unwrap_or_default();
                assert!(
                    field["type"] == "group" || of.is_empty() || types.contains(of),
                    "{field}"
                );
                assert!(field["text"].is_string(), "{field}");
                fields += 1;
                open.push(field);
            }
        }
        assert!(fields > 400, "{fields} fields");
    }
}

#[test]
fn the_json_object_of_one_message() {
    let object = json(&["game.sv_game_msg"]);
    let variants = object["variants"].as_array().unwrap();
    let messages: Vec<usize> = variants
        .iter()
        .map(|variant| variant["messages"].as_array().unwrap().len())
        .collect();
    assert_eq!(messages, [0, 0, 1, 1]);
    let seven = &variants[2];
    assert_eq!(seven["types"][0]["name"], "gamemsg");
    assert_eq!(seven["messages"][0]["id"], serde_json::json!({"number": 21}));
    assert_eq!(
        seven["messages"][0]["fields"][1]["list"],
        serde_json::json!({"kind": "params", "field": "game_msg_id"})
    );
    // DDNet keeps longer names of commands than Teeworlds.
    let object = json(&["rcon_cmd_add"]);
    let limit = |variant: usize| object["variants"][variant]["messages"][0]["fields"][0]["limit"].as_u64();
    assert_eq!(
        [limit(0), limit(1), limit(2), limit(3)],
        [Some(32), Some(64), Some(48), Some(64)]
    );
    let (stdout, stderr) = run(&["messages", "--json", "sv_cat"], 2);
    assert_eq!(stdout, "");
    assert!(stderr.contains("did you mean 'sv_chat'?"), "{stderr}");
}
