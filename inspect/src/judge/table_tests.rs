//! The findings of each notice and of each kind of stranger, and the selection of findings.

use std::fmt::Write as _;

use teetap_proxy::session::{Event, Notice, OpensNothing, SessionId};
use teetap_wire::{Code, Side, def::Registry};

use super::{
    known::{Ignored, Wanted},
    *,
};
use crate::Decoder;

/// Examples of each kind of notice, each as JSON, and its sentence in the next line.
const NOTICES: &str = include_str!("../../../proxy/src/session/notice_tests.txt");

/// Returns the findings of the only event of a session.
fn found(notice: Notice) -> Vec<Finding> {
    let mut decoder = Decoder::new(Registry::builtin());
    let mut judge = Judge::new(Secrets::Hide, decoder.stated().clone());
    judge.event(&decoder.decode(Event {
        at: Time(7000),
        session: Some(SessionId(1)),
        what: EventKind::Notice(notice),
    }));
    judge.findings().list
}

/// Returns the severity, code, side and role of each finding, or `nothing`, after a name.
fn line(name: &str, findings: &[Finding]) -> String {
    let mut line = name.to_owned();
    for one in findings {
        let client = one
            .first
            .client
            .map_or(String::new(), |client| format!(" of {client}"));
        let (severity, topic, by, role) = (one.severity.name(), one.topic, one.by, one.role.name());
        let _written = write!(line, "\n  {severity} {topic} {by:?}{client}, {role}");
    }
    line + if findings.is_empty() {
        "\n  nothing\n"
    } else {
        "\n"
    }
}

#[test]
fn each_notice_has_its_finding_side_and_role() {
    let notices = NOTICES.lines().filter(|line| line.starts_with('{'));
    let notices = notices.map(|json| line(json, &found(serde_json::from_str(json).unwrap())));
    let strangers = OpensNothing::ALL.iter().map(|what| {
        let notice = Notice::UnknownSender {
            client: ([192, 0, 2, 1], 5000).into(),
            len: 4,
            what: *what,
            start: "10000009".into(),
            bytes: Box::default(),
        };
        line(&format!("{what:?}"), &found(notice))
    });
    let got: String = notices.chain(strangers).collect();
    assert_eq!(got, include_str!("table_tests.txt"), "{got}");
}

#[test]
fn findings_are_selected_by_their_code_and_ignored_by_their_side() {
    let of_client = found(Notice::EarlyClose).remove(0);
    let (own, other) = (of_client.topic, Topic::Note(Code::WrongToken));
    let ignored = |topic, by| Ignored { topic, by };
    for (only, ignored, is_taken) in [
        (vec![], vec![], true),
        (vec![own], vec![], true),
        (vec![other, own], vec![], true),
        (vec![other], vec![], false),
        (vec![], vec![ignored(other, None)], true),
        (vec![], vec![ignored(own, None)], false),
        (vec![], vec![ignored(own, Some(Side::Server))], true),
        (
            vec![],
            vec![ignored(own, Some(Side::Server)), ignored(own, Some(Side::Client))],
            false,
        ),
        (vec![own], vec![ignored(own, None)], false),
        (vec![other], vec![ignored(own, Some(Side::Server))], false),
    ] {
        let wanted = Wanted { only, ignored };
        assert_eq!(wanted.includes(&of_client), is_taken, "{wanted:?}");
    }
}
