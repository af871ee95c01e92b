//! JSON lines checked against docs/json.schema.json, and docs/src/json.md against both.
//!
//! Law: the schema names every field of this version, so a field that is missing in the schema fails here.

#![expect(clippy::panic, reason = "a test fails by panicking")]

mod page;
mod strict;

use std::{
    collections::BTreeSet,
    fs,
    num::NonZeroU32,
    path::{Path, PathBuf},
    time::Duration,
};

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Value, json};
use strum::VariantArray as _;
use teetap_capture::Item;
use teetap_inspect::{Decoder, Style, Verbosity, jsonl};
use teetap_kit::binary;
use teetap_proxy::session::{
    Action, Answer, CommandId, Datagram, Event, EventKind, HeldId, HeldMessage, Level, Notice, Origin,
    Placed, SentAt, SessionId, Time, Transit,
};
use teetap_rules::{RuleId, impair::Lost};
use teetap_wire::{Dir, Proto, Seq, def::Registry};

use super::run;

/// Example values of each kind of notice.
const NOTICES: &[(&str, &str)] = &[
    ("upstream_silent", r#"{"for_s":2.5}"#),
    ("upstream_unreachable", r#"{"error":"Connection refused"}"#),
    ("upstream_failed", r#"{"error":"too many open files"}"#),
    (
        "unknown_sender",
        r#"{"client":"[::1]:5000","len":3,"what":"too_short","start":"1000"}"#,
    ),
    (
        "protocol_refused",
        r#"{"client":"127.0.0.1:5000","proto":"0.6.5"}"#,
    ),
    (
        "other_protocol",
        r#"{"client":"127.0.0.1:5000","client_speaks":"0.7","server_speaks":"0.6"}"#,
    ),
    ("candidate", "{}"),
    ("restart", "{}"),
    ("other_name", "{}"),
    ("legacy_join", "{}"),
    ("accept_repeated", "{}"),
    ("renumbered", r#"{"dir":"c2s"}"#),
    (
        "held",
        r#"{"dir":"c2s","held":3,"rule":"pause max 30s when c2s","for_s":30.0}"#,
    ),
    (
        "released",
        r#"{"dir":"c2s","held":3,"why":"timeout","edited":false}"#,
    ),
    ("hold_full", r#"{"dir":"s2c"}"#),
    ("link_full", r#"{"dir":"c2s"}"#),
    ("inject_refused", r#"{"why":"the session is not online"}"#),
    ("rules_set", r#"{"rules":["chatlog","drop when c2s"]}"#),
    (
        "rule_failed",
        r#"{"rule":"shout","why":"the value for `sv_chat.message` is missing"}"#,
    ),
    ("rule_log", r#"{"rule":"chatlog","logged":"nameless tee: hi"}"#),
    (
        "assertion_failed",
        r#"{"rule":"joins","expected":true,"why":"expected `sv_motd` within 5 s: it was not received","dir":"c2s","message":"enter_game"}"#,
    ),
    (
        "exit_requested",
        r#"{"rule":"stop","exit":17,"dir":null,"message":null}"#,
    ),
    ("resync", "{}"),
    ("resynced", "{}"),
    ("resync_refused", r#"{"why":"the session is not online"}"#),
    ("early_close", "{}"),
    (
        "login_stalled",
        r#"{"after":"map_change","acked":true,"from":"client","waits_for":"ready","why":null,"kept":false}"#,
    ),
    (
        "peer_silent",
        r#"{"side":"client","for_s":3.5,"unacked":"8 to 11, 8 was sent 4 times"}"#,
    ),
    ("half_open_limit", "{}"),
    (
        "answered_by_proxy",
        r#"{"client":"127.0.0.1:5000","proto":"ddnet"}"#,
    ),
    ("dropped_by_proxy", r#"{"client":"127.0.0.1:5000"}"#),
    ("relay_limit", r#"{"client":"127.0.0.1:5000"}"#),
    ("suppressed", r#"{"of":"unknown_sender","count":1990}"#),
    ("new_token", r#"{"side":"server"}"#),
    (
        "guessed",
        r#"{"proto":"0.7","client":"127.0.0.1:5000","server":"127.0.0.1:8303","sides_clear":false}"#,
    ),
    ("hole", "{}"),
    (
        "foreign",
        r#"{"from":"127.0.0.1:5000","to":"127.0.0.1:53","len":40}"#,
    ),
    (
        "listener_opened",
        r#"{"server":"127.0.0.1:8304","listen":"127.0.0.1:9001"}"#,
    ),
    ("redirected", r#"{"port":8304,"listen":9001}"#),
    ("redirect_passes", r#"{"port":8304,"why":"no port"}"#),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn schema_text() -> Value {
    let text = fs::read_to_string(root().join("docs/json.schema.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The schema, and statistics of the checked lines.
struct Checker {
    schemas: Schemas,
    index: SchemaIndex,
    lines: usize,
    /// Events and kinds of notices seen so far.
    seen: BTreeSet<String>,
}

impl Checker {
    fn new() -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let schema = schema_text();
        let id = schema["$id"].as_str().unwrap().to_owned();
        compiler.add_resource(&id, schema).unwrap();
        let index = compiler.compile(&id, &mut schemas).unwrap();
        Self {
            schemas,
            index,
            lines: 0,
            seen: BTreeSet::new(),
        }
    }

    fn is_valid(&self, line: &Value) -> bool {
        self.schemas.validate(line, self.index).is_ok()
    }

    fn check(&mut self, lines: &str) {
        for object in binary::objects(lines) {
            let valid = self.schemas.validate(&object, self.index);
            valid.unwrap_or_else(|error| panic!("not of the schema: {object}\n{error:#}"));
            self.lines += 1;
            let event = object["event"].as_str().unwrap();
            let kind = object["kind"].as_str().unwrap_or_default();
            self.seen.insert(format!("{event} {kind}").trim_end().to_owned());
        }
    }

    fn saw(&self, wanted: &[&str]) {
        for wanted in wanted {
            assert!(self.seen.contains(*wanted), "no {wanted} among {:?}", self.seen);
        }
    }
}

fn captures() -> Vec<PathBuf> {
    let folder = fs::read_dir(root().join("tests/captures")).unwrap();
    let mut files: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "pcap"));
    assert!(files.len() >= 14, "{files:?}");
    files
}

#[test]
fn every_line_of_every_capture_is_of_the_schema() {
    let mut checker = Checker::new();
    for path in captures() {
        let path = path.to_str().unwrap();
        for options in [&[][..], &["-v"], &["-vv", "--show-secrets"]] {
            let args = [&["open", "--json", path], options].concat();
            checker.check(&run(&args, 0).0);
        }
    }
    for path in captures() {
        checker.check(&run(&["judge", "--json", path.to_str().unwrap()], 0).0);
    }
    checker.saw(&["start", "session", "message", "datagram", "finding", "summary"]);
    assert!(checker.lines > 50_000, "{} lines", checker.lines);
}

/// Returns a pcap file without its first `count` packets.
fn without_first(count: usize, pcap: &[u8]) -> Vec<u8> {
    let (header, mut rest) = pcap.split_at(24);
    for _ in 0..count {
        let len = u32::from_le_bytes(rest[8..12].try_into().unwrap());
        rest = &rest[16 + usize::try_from(len).unwrap()..];
    }
    [header, rest].concat()
}

#[test]
fn every_line_of_recordings_with_missing_parts_is_of_the_schema() {
    let mut checker = Checker::new();
    let captures = root().join("tests/captures");
    let whole = fs::read(captures.join("tw07-session.pcap")).unwrap();
    let (_folder, file) = binary::place("part.pcap");
    fs::write(&file, without_first(40, &whole)).unwrap();
    let path = file.to_str().unwrap();
    checker.check(&run(&["open", "--json", "-vv", path], 0).0);
    fs::write(&file, &whole[..whole.len() - 1]).unwrap();
    checker.check(&run(&["open", "--json", "-vv", path], 5).0);

    let lines = fs::read_to_string(root().join("capture/src/own/v1.jsonl")).unwrap();
    let (_folder, file) = binary::place("part.jsonl");
    let mut lines: Vec<_> = lines.lines().collect();
    lines[9] = "{}";
    fs::write(&file, lines.join("\n")).unwrap();
    checker.check(&run(&["open", "--json", "-vv", file.to_str().unwrap()], 5).0);
    checker.saw(&["notice guessed", "gap", "summary"]);
}

#[test]
fn every_line_of_a_run_and_its_recordings_is_of_the_schema() {
    let mut checker = Checker::new();
    for name in ["run.jsonl", "run.pcapng"] {
        let (folder, file) = binary::place(name);
        let path = file.to_str().unwrap();
        let log = folder.path().join("inputs");
        let args = [
            "demo",
            "--json",
            "-vv",
            "--seconds",
            "1",
            "-l",
            ":0",
            "-w",
            path,
            "--input-log",
        ];
        let args = [&args[..], &[log.to_str().unwrap()]].concat();
        checker.check(&run(&args, 0).0);
        if name.ends_with("jsonl") {
            checker.check(&fs::read_to_string(&file).unwrap());
        }
        checker.check(&run(&["open", "--json", "-vv", path], 0).0);
        checker.check(&run(&["grep", "--json", "sv_chat", path], 0).0);
        checker.check(&run(&["replay", "--check", "--json", log.to_str().unwrap()], 0).0);
    }
    let command = [
        "run",
        "--json",
        "-vv",
        "-l",
        "127.0.0.1:0",
        "127.0.0.1:9",
        "--",
        "true",
    ];
    checker.check(&run(&command, 0).0);
    // Recordings of version 1, whose notices had no kinds.
    for name in ["v1.jsonl", "v1.pcapng"] {
        let path = root().join("capture/src/own").join(name);
        checker.check(&run(&["open", "--json", path.to_str().unwrap()], 0).0);
    }
    let datagram = "10000001544b454effffffff";
    checker.check(&run(&["explain", "--json", datagram], 0).0);
    checker.saw(&[
        "start", "session", "message", "datagram", "log", "notice", "replay", "explain", "summary",
    ]);
}

#[test]
fn every_line_about_rules_is_of_the_schema() {
    let mut checker = Checker::new();
    for (rule, exit, code, column) in [
        ("drop sv_chat", 2, "E001", 6),
        ("drop when c2s and sv_chat", 0, "W301", 11),
        ("drop when sv_chat", 0, "", 0),
    ] {
        let (lines, _) = run(&["check", "--json", rule], exit);
        checker.check(&lines);
        let found: Vec<Value> = binary::objects(&lines);
        let expected: Vec<Value> = if code.is_empty() {
            Vec::new()
        } else {
            vec![json!([code, "rule", 1, column])]
        };
        let places = found
            .iter()
            .map(|line| json!([line["code"], line["file"], line["line"], line["column"]]));
        assert_eq!(places.collect::<Vec<_>>(), expected, "{rule}");
    }
    checker.saw(&["diagnostic"]);
}

#[test]
fn every_line_of_a_comparison_is_of_the_schema() {
    let mut checker = Checker::new();
    let paths = captures();
    for (a, b) in paths.iter().zip(paths.iter().skip(1)) {
        let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
        // This capture has no session.
        if [a, b].iter().any(|path| path.contains("info-requests")) {
            continue;
        }
        checker.check(&run(&["diff", "--json", a, b], 1).0);
        checker.check(
            &run(
                &[
                    "diff",
                    "--json",
                    "--until",
                    "c2s and enter_game",
                    "--show-secrets",
                    a,
                    a,
                ],
                0,
            )
            .0,
        );
    }
    checker.saw(&[
        "diff",
        "difference changed",
        "difference only_a",
        "difference only_b",
    ]);
    checker.saw(&["difference order", "diff_summary"]);
    assert!(checker.lines > 500, "{} lines", checker.lines);
}

#[test]
fn every_kind_of_notice_and_answer_is_of_the_schema_and_read_back() {
    let mut checker = Checker::new();
    let kinds: Vec<_> = Notice::KINDS.iter().map(|(kind, ..)| *kind).collect();
    assert_eq!(kinds, NOTICES.iter().map(|(kind, _)| *kind).collect::<Vec<_>>());
    for (kind, values) in NOTICES {
        let mut values: Value = serde_json::from_str(values).unwrap();
        values["kind"] = json!(kind);
        let notice: Notice = serde_json::from_value(values).unwrap();
        assert!(!matches!(notice, Notice::Other { .. }), "{kind}: {notice:?}");
        let line = line_of(EventKind::Notice(notice.clone()));
        checker.check(&line);
        assert!(
            matches!(read(&line), EventKind::Notice(read) if read == notice),
            "{line}"
        );
    }
    checker.check(&line_of(EventKind::Notice(Notice::Other {
        kind: None,
        level: Level::Info,
        text: "of version 1".into(),
    })));
    for result in [Ok(()), Err("there is no such session".into())] {
        let answer = Answer {
            id: CommandId(7),
            held: result.is_ok().then(held),
            result,
        };
        let line = line_of(EventKind::Answer(answer.clone()));
        checker.check(&line);
        assert!(
            matches!(read(&line), EventKind::Answer(read) if read == answer),
            "{line}"
        );
    }
    let mut gap = Vec::new();
    jsonl::gap(Time(7), 3, &mut gap);
    checker.check(str::from_utf8(&gap).unwrap());
    checker.saw(&["answer", "gap"]);
}

/// Returns a list of held messages with every field.
fn held() -> Box<[HeldMessage]> {
    let waiting = HeldMessage {
        session: SessionId(2),
        dir: Dir::C2s,
        proto: Proto::Ddnet,
        held: HeldId(NonZeroU32::MIN),
        vital: true,
        rule: Some("chat".into()),
        until: Some(Time(30_125_000)),
        edited: true,
        data: b"hi".as_slice().into(),
    };
    let queued = HeldMessage {
        rule: None,
        until: None,
        ..waiting.clone()
    };
    [waiting, queued].into()
}

fn read(line: &str) -> EventKind {
    match jsonl::Lines::new(line.as_bytes()).read() {
        Ok(Some(Item::Event(event))) => event.what,
        other => panic!("{line}: {other:?}"),
    }
}

/// Returns the lines of an event as `-vv` prints them.
fn line_of(what: EventKind) -> String {
    let event = Event {
        at: Time(1_500_000),
        session: Some(SessionId(2)),
        what,
    };
    shown(event)
}

fn shown(event: Event) -> String {
    let style = Style {
        json: true,
        verbosity: Verbosity::Bytes,
        ..Style::default()
    };
    let mut out = Vec::new();
    let decoded = Decoder::new(Registry::builtin()).decode(event);
    jsonl::event(&decoded, style, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn the_rules_place_and_hold_of_messages_are_of_the_schema_and_read_back() {
    let mut checker = Checker::new();
    let bytes = [0x10, 0, 1, b't', b'o', b'k', b'n'];
    let most = Placed {
        rules: [RuleId(0), RuleId(u16::MAX)].into(),
        marks: ["odd".into()].into(),
        sent: Some(SentAt {
            datagram: u16::MAX,
            at: u16::MAX,
            len: u16::MAX,
        }),
        held: Some(HeldId(NonZeroU32::MAX)),
        ..Placed::new(Some(Seq::new(1023)), Action::Edit)
    };
    let mut placed = vec![most];
    placed.extend(Action::VARIANTS.iter().map(|action| Placed::new(None, *action)));
    let mut datagram = Datagram::new(
        Dir::C2s,
        Proto::V7,
        Origin::Rule,
        &bytes,
        [&bytes[..]].into_iter(),
    );
    datagram.placed = placed.clone().into();
    let line = line_of(EventKind::Datagram(datagram));
    checker.check(&line);
    assert!(
        line.contains(
            r#""rules":[0,65535],"marks":["odd"],"sent":{"datagram":65535,"at":65535,"len":65535},"held":4294967295}"#
        ),
        "{line}"
    );
    match read(&line) {
        EventKind::Datagram(datagram) => assert_eq!(*datagram.placed, placed),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_link_lines_did_is_of_the_schema_and_read_back() {
    let mut checker = Checker::new();
    let bytes = [0x10, 0, 1, b't', b'o', b'k', b'n'];
    let most = Transit {
        datagram: u16::MAX,
        duplicate: true,
        lost: None,
        delay: Duration::from_micros(60_000_001),
        reordered: true,
        corrupted: [0, u32::MAX].into(),
    };
    let mut link = vec![most];
    link.extend(Lost::VARIANTS.iter().map(|lost| Transit {
        lost: Some(*lost),
        ..Transit::default()
    }));
    let sent = [&bytes[..]].into_iter();
    let mut datagram = Datagram::new(Dir::C2s, Proto::V7, Origin::Rule, &bytes, sent);
    datagram.link = link.clone().into();
    let line = line_of(EventKind::Datagram(datagram));
    checker.check(&line);
    assert!(
        line.contains(
            r#""link":[{"datagram":65535,"duplicate":true,"delay_s":60.000001,"reordered":true,"corrupted":[0,4294967295]},{"datagram":0,"lost":"loss"}"#
        ),
        "{line}"
    );
    match read(&line) {
        EventKind::Datagram(datagram) => assert_eq!(*datagram.link, link),
        other => panic!("{other:?}"),
    }
}
