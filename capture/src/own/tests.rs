//! Tests of recordings of the first version, in which notices had no kinds: the same run in both formats, cut to its
//! first and last milliseconds. Both are read as the lines that were written, except for changes of version 2.

use std::{fs::File, io::BufReader, num::NonZeroU32, path::PathBuf};

use serde_json::{Value, json};
use teetap_inspect::{
    Decoder, Style, Verbosity,
    jsonl::{self, Lines},
};
use teetap_proxy::session::{Action, Answer, CommandId, Datagram, HeldId, Origin, Placed, SentAt};
use teetap_rules::RuleId;
use teetap_wire::{Code, Note, Proto, Seq, def::Registry};

use super::*;
use crate::{Item, Playback};

fn file(name: &str) -> BufReader<File> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/own");
    BufReader::new(File::open(folder.join(name)).unwrap())
}

/// Returns the lines of a recording, without the lines about its start and end.
fn lines(mut read: impl FnMut() -> Option<Item>) -> Vec<Value> {
    let style = Style {
        json: true,
        verbosity: Verbosity::Bytes,
        items: true,
        ..Style::default()
    };
    let mut decoder = Decoder::new(Registry::builtin());
    let mut out = Vec::new();
    while let Some(item) = read() {
        match item {
            Item::Start { run, .. } => assert_eq!(run.unwrap().target, "demo"),
            Item::Event(event) => jsonl::event(&decoder.decode(event), style, &mut out),
            Item::Log { at, level, text } => jsonl::log(at, level, &text, &mut out),
            Item::Gap { at, lost } => jsonl::gap(at, lost, &mut out),
        }
    }
    let mut lines = values(&String::from_utf8(out).unwrap());
    lines.iter_mut().for_each(without_derived);
    lines
}

fn values(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Removes the scales of fields, and the values behind notes, which are derived from the bytes in any version.
fn without_derived(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.remove("scale");
            if object.contains_key("severity") {
                for name in ["detail", "got", "expected"] {
                    object.remove(name);
                }
            }
            object.values_mut().for_each(without_derived);
        }
        Value::Array(list) => list.iter_mut().for_each(without_derived),
        _ => {}
    }
}

/// Returns the lines in the form of version 2.
fn expected() -> Vec<Value> {
    let mut lines = values(&std::io::read_to_string(file("v1.jsonl")).unwrap());
    lines.retain(|line| line["event"] != "start" && line["event"] != "summary");
    for line in &mut lines {
        without_derived(line);
        let line = line.as_object_mut().unwrap();
        assert_eq!(line.insert("v".to_owned(), json!(2)), Some(json!(1)));
        if line["event"] == "log" && line.remove("program").is_some() {
            line.remove("session");
        } else if line["event"] == "log" {
            line.insert("event".to_owned(), json!("notice"));
            line.insert("kind".to_owned(), Value::Null);
        }
    }
    lines
}

#[test]
fn json_lines_of_the_first_version_are_read() {
    let mut reader = Lines::new(file("v1.jsonl"));
    assert_eq!(lines(|| reader.read().unwrap()), expected());
    assert_eq!(reader.tally().sessions, 3);
}

#[test]
fn captures_of_the_first_version_are_read() {
    let mut reader = Playback::pcapng(file("v1.pcapng"));
    let (mut lines, mut expected) = (lines(|| reader.read().unwrap()), expected());
    // In the pcapng file the program's last report is the summary.
    let summary = lines.pop().unwrap();
    assert!(summary["text"].as_str().unwrap().contains("exit 0"), "{summary}");
    // Every watcher of a run sees its events in the same order, but the program's own reports at different positions.
    for lines in [&mut lines, &mut expected] {
        lines.sort_by_key(|line| line["event"] == "log");
    }
    assert_eq!(lines, expected);
    assert_eq!(reader.tally().sessions, 3);
}

#[test]
fn lists_of_the_first_version_are_read() {
    let text = r#"{"at":7,"session":2,"datagram":{"dir":"s2c","proto":"0.7","origin":"peer","leg":"server","ordinal":3,"packets":[true,2],"placed":[["edit",218],["hold",null]],"notes":[["wrong-token",3,4],["later",0,1]]}}"#;
    let own = Own::read(text.as_bytes()).unwrap();
    assert_eq!((own.at(), own.packets()), (Time(7), 3));
    let packets: [Box<[u8]>; 3] = ["one", "two", "three"].map(|part| part.as_bytes().into());
    let Some(OwnItem::Event(event)) = own.join(packets.iter().cloned().map(OwnPacket::of_no_leg).collect())
    else {
        panic!("no event");
    };
    let EventKind::Datagram(datagram) = &event.what else {
        panic!("{event:?}");
    };
    let placed = [(Some(218), Action::Edit), (None, Action::Hold)]
        .map(|(seq, action)| Placed::new(seq.map(Seq::new), action));
    assert_eq!(*datagram.placed, placed);
    let note = Note {
        code: Code::WrongToken,
        at: 3,
        len: 4,
    };
    assert!(datagram.notes.iter().eq([note]));
    assert_eq!(datagram.received(), Some(&b"one"[..]));
    assert!(datagram.sent().eq([&b"two"[..], b"three"]));
    // The current version writes and reads the same event.
    let again = read_back(&event, &packets);
    assert_eq!(format!("{again:?}"), format!("{event:?}"));
}

/// Writes an event as an option, and returns the event read from it and its packets.
fn read_back(event: &Event, packets: &[Box<[u8]>]) -> Event {
    match Own::read(&Own::from_event(event).write())
        .unwrap()
        .join(packets.iter().cloned().map(OwnPacket::of_no_leg).collect())
    {
        Some(OwnItem::Event(event)) => event,
        other => panic!("{other:?}"),
    }
}

#[test]
fn answers_and_the_rules_place_and_hold_of_a_message_are_read_back() {
    let bytes = b"bytes";
    let mut datagram = Datagram::new(Dir::C2s, Proto::V7, Origin::Peer, bytes, [&bytes[..]].into_iter());
    datagram.placed = [
        Placed {
            rules: [RuleId(0), RuleId(u16::MAX)].into(),
            marks: ["odd".into()].into(),
            sent: Some(SentAt {
                datagram: 0,
                at: 3,
                len: 2,
            }),
            ..Placed::new(Some(Seq::new(9)), Action::Edit)
        },
        Placed {
            held: NonZeroU32::new(4).map(HeldId),
            ..Placed::new(None, Action::Hold)
        },
    ]
    .into();
    let answer = |result| {
        EventKind::Answer(Answer {
            id: CommandId(u64::MAX),
            result,
            held: None,
        })
    };
    for (what, packets) in [
        (EventKind::Datagram(datagram), 2),
        (answer(Ok(())), 0),
        (answer(Err("the message is not held".into())), 0),
    ] {
        let event = Event {
            at: Time(7),
            session: Some(SessionId(2)),
            what,
        };
        assert_eq!(Own::from_event(&event).packets(), packets);
        let packets = vec![bytes[..].into(); packets];
        let again = read_back(&event, &packets);
        assert_eq!(format!("{again:?}"), format!("{event:?}"));
    }
}

#[test]
fn kinds_and_names_of_a_later_version() {
    let later =
        r#"{"at":7,"notice":{"kind":"later","level":"warning","text":"as it was","port":5,"packets":0}}"#;
    let Some(OwnItem::Event(event)) = Own::read(later.as_bytes()).unwrap().join(Vec::new()) else {
        panic!("no event");
    };
    assert!(
        matches!(&event.what, EventKind::Notice(notice @ Notice::Other { .. })
            if notice.kind() == Some("later") && notice.to_string() == "as it was" && notice.level() == Level::Warning),
        "{event:?}"
    );
    for unknown in [
        r#"{"at":7,"later":{}}"#,
        r#"{"at":7,"log":{"level":"later","text":""}}"#,
    ] {
        assert!(Own::read(unknown.as_bytes()).is_none());
    }
}
