use teetap_rules::{By, Decision, Drawn, impair::Impact, impair::Lost};
use teetap_wire::Dir;

use super::*;

fn decisions() -> Vec<Decision> {
    let of_rule = Decision {
        at: 1_204_001,
        session: 3,
        dir: Some(Dir::C2s),
        by: By::Rule {
            rule: "slow".into(),
            message: "input".into(),
            ordinal: 61,
            actions: "delay 80ms..120ms, corrupt 2 bits".into(),
            drawn: Drawn {
                delays: vec![93_123],
                corrupted: vec![vec![(0, 4), (7, 255)]],
            },
        },
    };
    let timer = Decision {
        dir: None,
        by: By::Rule {
            rule: "inject s2c sv_chat every 5s".into(),
            message: "timer".into(),
            ordinal: 1,
            actions: "inject s2c sv_chat".into(),
            drawn: Drawn::default(),
        },
        ..of_rule.clone()
    };
    let link = |impact: Impact| Decision {
        dir: Some(Dir::S2c),
        by: By::Link {
            line: "link both loss 5%".into(),
            datagram: 17,
            connless: impact.duplicate,
            impact,
        },
        ..of_rule.clone()
    };
    let lost = link(Impact {
        lost: Some(Lost::Queue),
        ..Impact::default()
    });
    let doubled = link(Impact {
        copy: 2,
        duplicate: true,
        delay: 43_100_000,
        overtakes: true,
        flip: Some(9),
        ..Impact::default()
    });
    vec![of_rule, timer, lost, doubled]
}

fn header() -> Header {
    Header {
        journal: VERSION,
        version: "0.1.0".to_owned(),
        seed: 7,
        rules: "slow: delay 80ms when input\n".to_owned(),
    }
}

fn written() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.jsonl");
    let (mut writer, writing) = start(&path, &header()).unwrap();
    writer.decisions(decisions());
    drop(writer);
    let faults = writing.faults();
    writing.finish();
    assert_eq!(faults.news(), None);
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let error = start(&path, &header()).unwrap_err().to_string();
    assert!(
        error.ends_with("exists: a journal overwrites nothing, name another file"),
        "{error}"
    );
    std::fs::read(&path).unwrap()
}

#[test]
fn a_journal_is_read_back() {
    let bytes = written();
    let journal = Journal::parse(&bytes).unwrap();
    assert_eq!((&journal.header, &journal.decisions), (&header(), &decisions()));
    assert_eq!(journal.with(&journal.decisions), bytes);
    let some = journal.with(journal.decisions.iter().skip(3));
    assert_eq!(Journal::parse(&some).unwrap().decisions, decisions()[3..]);
    let text = String::from_utf8(bytes).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[3],
        r#"{"t":1.204001,"session":3,"dir":"s2c","link":"link both loss 5%","datagram":17,"action":"lose","lost":"queue"}"#
    );
    assert_eq!(lines[5], r#"{"end":"complete","decisions":4}"#);
}

#[test]
fn hidden_characters_of_rules_are_escaped() {
    let mut hostile = header();
    hostile.rules = "drop when \"\u{9b}\u{202e}\u{200b}\u{e0041}\"\n".to_owned();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.jsonl");
    let (writer, writing) = start(&path, &hostile).unwrap();
    drop(writer);
    writing.finish();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(r"\u009b\u202e\u200b\udb40\udc41"), "{text}");
    let journal = Journal::parse(text.as_bytes()).unwrap();
    assert_eq!(journal.header, hostile);
    assert_eq!(journal.with(&[]), text.as_bytes());
}

#[test]
fn other_files_are_refused_with_their_cause() {
    let bytes = written();
    let text = String::from_utf8(bytes).unwrap();
    let refused = |text: &str| Journal::parse(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(refused(""), "the file is empty");
    for foreign in ["\n", "{}\n", "hello", "{\"input_log\":4}\n", "\u{0}\u{1}"] {
        let error = refused(foreign);
        assert!(
            error.starts_with("not a journal of teetap: "),
            "{foreign:?}: {error}"
        );
    }
    let later = text.replacen("\"journal\":1", "\"journal\":9", 1);
    assert!(refused(&later).starts_with("cannot read a journal of version 9: "));
    let cut = text.get(..text.len() - 3).unwrap();
    assert_eq!(refused(cut), "line 6 is damaged: the line is cut off");
    let less = text.replacen("\"session\":3,\"dir\":\"c2s\"", "\"dir\":\"c2s\"", 1);
    let error = refused(&less);
    assert!(
        error.starts_with("line 2 is damaged: missing field `session`"),
        "{error}"
    );
    let both = text.replacen("\"rule\":\"slow\"", "\"rule\":\"slow\",\"link\":\"x\"", 1);
    assert_eq!(
        refused(&both),
        "line 2 is damaged: expected a decision of a rule or of a link line"
    );
    let missing: String = text
        .split_inclusive('\n')
        .enumerate()
        .filter(|(at, _)| *at != 1)
        .map(|(_, line)| line)
        .collect();
    assert_eq!(
        refused(&missing),
        "line 5 is damaged: expected 4 decisions, got 3"
    );
    assert_eq!(
        refused(&(text.clone() + "{}\n")),
        "line 7 is damaged: the line follows the end line"
    );
    let (first, _) = text.split_once('\n').unwrap();
    let changed = format!("{first}\n{{\"t\":2.5,\"rules\":null}}\n");
    assert!(refused(&changed).starts_with("the rules changed 2.500 s after the start"));
}
