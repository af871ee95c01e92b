//! Tests of notices: their JSON, their levels and their sentences.

use super::*;

#[test]
fn kinds_and_values_are_read_back_and_later_kinds_keep_their_name() {
    let server: SocketAddr = "127.0.0.1:8303".parse().unwrap();
    let silent = Notice::UpstreamSilent {
        time: Duration::from_millis(2500),
    };
    let refused = Notice::ProtocolRefused {
        client: server,
        proto: Proto::V65,
    };
    for (notice, json) in [
        (silent, r#"{"kind":"upstream_silent","for_s":2.5}"#),
        (
            refused,
            r#"{"kind":"protocol_refused","client":"127.0.0.1:8303","proto":"0.6.5"}"#,
        ),
        (Notice::Candidate, r#"{"kind":"candidate"}"#),
        (
            Notice::Other {
                kind: Some("later".into()),
                level: Level::Info,
                text: Box::default(),
            },
            r#"{"kind":"later"}"#,
        ),
        (
            Notice::Other {
                kind: None,
                level: Level::Info,
                text: Box::default(),
            },
            r#"{"kind":null}"#,
        ),
    ] {
        assert_eq!(serde_json::to_string(&notice).unwrap(), json);
        assert_eq!(serde_json::from_str::<Notice>(json).unwrap(), notice);
    }
    // A notice with an unknown value is read as [`Notice::Other`].
    let later: Notice = serde_json::from_str(r#"{"kind":"renumbered","dir":"p2p"}"#).unwrap();
    assert_eq!(later.kind(), Some("renumbered"));
    assert!(matches!(later, Notice::Other { .. }));
}

#[test]
fn kinds_are_plain_and_none_stands_twice() {
    let mut kinds: Vec<_> = Notice::KINDS.iter().map(|(kind, ..)| *kind).collect();
    let plain = |kind: &&str| kind.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    assert!(kinds.iter().all(plain), "{kinds:?}");
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds.len(), Notice::KINDS.len());
}

/// Each kind with its values as JSON, its level and its sentence.
const LIST: &str = include_str!("notice_tests.txt");

#[test]
fn each_kind_has_its_values_its_level_and_its_sentence() {
    let mut kinds = std::collections::BTreeSet::new();
    for entry in LIST.split_terminator("\n\n") {
        let [json, sentence] = entry.trim_end().split('\n').collect::<Vec<_>>()[..] else {
            panic!("a JSON line and a sentence: {entry}");
        };
        let notice: Notice = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&notice).unwrap(), json);
        assert_eq!(format!("{}: {notice}", notice.level()), sentence, "{json}");
        kinds.extend(notice.kind().map(str::to_owned));
    }
    let all = Notice::KINDS.iter().map(|(kind, ..)| (*kind).to_owned());
    assert_eq!(kinds, all.collect(), "the list has every kind");
}
