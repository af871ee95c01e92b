//! The findings of each notice and of each kind of stranger, and the selection of findings.

use std::fmt::Write as _;

use teetap_proxy::session::{Event, Notice, OpensNothing, SessionId, State};
use teetap_wire::{Code, Proto, Severity, Side, def::Registry};

use super::{
    finding_code::PossibleCause,
    known::{Ignored, Wanted},
    *,
};
use crate::{Decoder, testing::session};

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

/// The side that has to send the next message is at fault, or the other side if its last message was not acked. A
/// message that was sent but does not count is the fault of its sender, whatever was acked.
#[test]
fn a_stalled_join_is_the_fault_of_the_side_that_owes_the_next_message() {
    for from in [Side::Client, Side::Server] {
        for acked in [None, Some(false), Some(true)] {
            for (why, in_vain) in [
                (None, false),
                (Some("it is too long"), false),
                (Some("it is too long"), true),
            ] {
                for kept in [false, true] {
                    let notice = Notice::LoginStalled {
                        after: Some("map_change".into()),
                        acked,
                        from,
                        waits_for: "ready".into(),
                        why: why.map(Into::into),
                        in_vain,
                        kept,
                    };
                    let got: Vec<_> = found(notice)
                        .iter()
                        .map(|one| (one.topic.name(), one.by, one.role, one.led_by))
                        .collect();
                    let is_unheard = acked == Some(false) && !in_vain;
                    let side = if is_unheard { from.other() } else { from };
                    let (by, led_by) = if kept {
                        (Culprit::Proxy, PossibleCause::Proxy)
                    } else {
                        (Culprit::from(side), PossibleCause::Any)
                    };
                    assert_eq!(
                        got,
                        [("login-stalled", by, Role::Consequence, led_by)],
                        "{from:?} {acked:?} {why:?} {in_vain} {kept}"
                    );
                }
            }
        }
    }
}

/// A silent peer may be the cause of every consequence, except of a stalled join that waits for this peer.
#[test]
fn silence_is_no_cause_of_a_join_that_waits_for_the_silent_peer() {
    let silent = FindingCode::PeerSilent;
    let consequences = FindingCode::ALL.iter().copied();
    for end in consequences.filter(|code| Topic::FindingCode(*code).role() == Role::Consequence) {
        for (quiet, blamed) in [
            (Culprit::Client, Culprit::Client),
            (Culprit::Client, Culprit::Server),
            (Culprit::Client, Culprit::Proxy),
            (Culprit::Server, Culprit::Client),
            (Culprit::Server, Culprit::Server),
            (Culprit::Server, Culprit::Proxy),
        ] {
            let mut judge = Judge::default();
            for (code, by, severity, ms) in [
                (silent, quiet, None, 1000),
                (end, blamed, Some(Severity::Error), 2000),
            ] {
                judge.report(Report {
                    topic: Topic::FindingCode(code),
                    session: Some(SessionId(1)),
                    by,
                    severity,
                    text: "for a test".into(),
                    detail: None,
                    place: Occurrence::at(Time(ms * 1000)),
                });
            }
            let list = judge.findings().list;
            let got: Vec<_> = list.iter().map(|one| (one.topic.name(), one.by)).collect();
            let mut expected = vec![(silent.name(), quiet), (end.name(), blamed)];
            if end.is_about_login() && quiet == blamed {
                expected.reverse();
            }
            assert_eq!(got, expected);
        }
    }
}

/// A session of a run that ends without its end is judged before the next run starts.
#[test]
fn joins_in_progress_are_judged_at_the_end_of_their_run() {
    let mut decoder = Decoder::new(Registry::builtin());
    let mut judge = Judge::new(Secrets::Hide, decoder.stated().clone());
    for ms in [4000, 7000, 5000] {
        judge.record(Item::Start { wall: 0, run: None }, &mut decoder, drop);
        for at in [Time(0), Time(ms * 1000)] {
            let opening = EventKind::Session(session(State::Opening, Proto::V7));
            let notice = EventKind::Notice(Notice::EarlyClose);
            judge.record(
                Item::Event(Event {
                    at,
                    session: Some(SessionId(1)),
                    what: if at == Time(0) { opening } else { notice },
                }),
                &mut decoder,
                drop,
            );
        }
    }
    judge.finish(&mut decoder);
    let list = judge.findings().list;
    let got: Vec<_> = list
        .iter()
        .filter(|one| one.topic == Topic::FindingCode(FindingCode::NeverOnline))
        .map(|one| (one.run, one.session, one.last))
        .collect();
    let session = Some(SessionId(1));
    assert_eq!(
        got,
        [
            (1, session, Time(4_000_000)),
            (2, session, Time(7_000_000)),
            (3, session, Time(5_000_000))
        ]
    );
}
