//! Servers that go on sending, but never answer a login or pings, or send no more snapshots, and servers that close a
//! session for a false reason.

use teetap_kit::{
    codec::Variant,
    faulty::{Act, Fault, Habit, SECOND, Setting, Step},
    link::Conditions,
};
use teetap_proxy::session::{Event, EventKind, Notice, SessionId, Time};
use teetap_wire::{Severity, Side, def::Registry, receiver::JoinKind};

use super::{Culprit, Finding, Judge, Role, faulty_tests::findings};
use crate::{
    Decoder,
    joins::{Ended, Join, JoinOutcome},
};

const ALL: &[Variant] = &[Variant::V6, Variant::V65, Variant::Ddnet, Variant::V7];

/// A client that logs in to the console.
const LOGIN: Fault = Fault {
    name: "login",
    variants: ALL,
    act: Act::Message(Step::Say, |variant, _| {
        let login = match variant.is_seven() {
            true => &b"\x2dsecret\0"[..],
            false => b"\x25\0secret\0\x01",
        };
        vec![(true, login.to_vec())]
    }),
};

/// A client that pings the server twice in each second.
const PING: Fault = Fault {
    name: "ping",
    variants: ALL,
    act: Act::Message(Step::Input, |variant, input| {
        let ping = if variant.is_seven() { 26 } else { 22 };
        vec![(false, input), (false, vec![ping << 1 | 1])]
    }),
};

fn setting(variant: Variant) -> Setting {
    Setting {
        length: 8 * SECOND,
        talks: true,
        ..Setting::new(variant, 1)
    }
}

fn unanswered(setting: &Setting, fault: Option<&Fault>) -> Vec<Finding> {
    let mut list = findings(setting, fault).0.list;
    list.retain(|one| one.topic.name() == "unanswered");
    list
}

#[test]
fn what_a_server_never_answers_is_named() {
    for variant in ALL {
        let silent = Setting {
            habit: Habit::NoMoreSnapshots,
            ..setting(*variant)
        };
        for (setting, fault, message, texts) in [
            (
                setting(*variant),
                Some(&LOGIN),
                Some("rcon_auth"),
                ["got no answer for ", "or rcon_line with the reason"],
            ),
            (
                setting(*variant),
                Some(&PING),
                Some("ping"),
                ["got no ping_reply to ", "expected one for each ping"],
            ),
            (
                silent,
                None,
                None,
                ["got no snapshot for ", "expected one or more in each second"],
            ),
        ] {
            let list = findings(&setting, fault).0.list;
            let sentences: Vec<_> = list.iter().map(ToString::to_string).collect();
            let first = list.first().unwrap_or_else(|| panic!("{variant:?} {message:?}"));
            let is_right = (first.topic.name(), first.by, first.role, first.severity)
                == ("unanswered", Culprit::Server, Role::Fault, Severity::Warning)
                && first.first.message.as_deref() == message
                && texts.iter().all(|text| first.sentence().contains(text));
            assert!(is_right, "{variant:?} {message:?}: {sentences:#?}");
        }
    }
}

/// A session that ends soon, and a network that loses datagrams without numbers.
#[test]
fn what_may_be_answered_later_or_was_lost_is_not_named() {
    for variant in ALL {
        let short = Setting {
            length: 5 * SECOND,
            ..setting(*variant)
        };
        let half = Conditions {
            loss: 0.1,
            ..Conditions::GOOD
        };
        let lossy = Setting {
            halves: [half; 2],
            habit: Habit::NoMoreSnapshots,
            ..setting(*variant)
        };
        for (setting, fault) in [
            (short, Some(&LOGIN)),
            (short, Some(&PING)),
            (lossy, Some(&PING)),
            (setting(*variant), None),
        ] {
            let list = unanswered(&setting, fault);
            assert!(list.is_empty(), "{variant:?}: {list:#?}");
        }
    }
}

/// A server that closes the session of a healthy client as if it were silent, soon or later.
#[test]
fn a_false_reason_of_a_close_is_the_fault_of_its_sender() {
    for variant in ALL {
        for snapshots in [60, 170] {
            for (reason, texts) in [
                (
                    "Timeout",
                    [
                        "got a datagram of the client 0.0 s before",
                        "expected 10 s or more of silence",
                    ],
                ),
                (
                    "Too weak connection (not acked for 10 seconds)",
                    [
                        "got acks of the client for all messages",
                        "expected a message that is not acked",
                    ],
                ),
            ] {
                let setting = Setting {
                    habit: Habit::Closes(reason, snapshots),
                    items: Some(4),
                    ..setting(*variant)
                };
                let list = findings(&setting, None).0.list;
                let sentences: Vec<_> = list.iter().map(ToString::to_string).collect();
                let is_right = |first: &Finding| {
                    (first.topic.name(), first.by, first.role) == ("timed-out", Culprit::Server, Role::Fault)
                        && texts.iter().all(|text| first.sentence().contains(text))
                };
                let case = format!("{variant:?} {snapshots} {reason}");
                assert!(list.first().is_some_and(is_right), "{case}: {sentences:#?}");
                let ends = list.iter().filter(|one| one.topic.name() == "timed-out");
                assert_eq!(ends.count(), 1, "{case}: {sentences:#?}");
            }
        }
    }
}

/// Without a sign of the server that it hears the client, the datagrams of the client may have been lost.
#[test]
fn a_reason_of_a_close_that_may_be_true_is_not_doubted() {
    for variant in ALL {
        let setting = Setting {
            // Empty snapshots are no answer to inputs.
            habit: Habit::Closes("Timeout", 170),
            talks: false,
            ..setting(*variant)
        };
        let list = findings(&setting, None).0.list;
        let ends: Vec<_> = list
            .iter()
            .filter(|one| one.topic.name() == "timed-out")
            .map(|one| (one.by, one.role))
            .collect();
        assert_eq!(ends, [(Culprit::Nobody, Role::Consequence)], "{variant:?}");
    }
}

/// Returns the side and the severity of a stall of a join, which waits for the server.
fn stall(is_silent: bool, join: &Join) -> (Culprit, Severity) {
    let mut judge = Judge::default();
    let mut decoder = Decoder::new(Registry::builtin());
    let stalled = Notice::LoginStalled {
        after: Some("ready".into()),
        acked: join.acked,
        from: Side::Server,
        waits_for: "con_ready".into(),
        why: None,
        in_vain: false,
        kept: false,
    };
    let silent = Notice::PeerSilent {
        side: Side::Server,
        time: std::time::Duration::from_secs(4),
        unacked: None,
    };
    for notice in std::iter::once(stalled).chain(is_silent.then_some(silent)) {
        judge.event(&decoder.decode(Event {
            at: Time(1_000_000),
            session: Some(join.session),
            what: EventKind::Notice(notice),
        }));
    }
    judge.joined(join, None);
    let list = judge.findings().list;
    let found = list
        .iter()
        .find(|one| one.topic.name() == "login-stalled")
        .unwrap();
    (found.by, found.severity)
}

/// No peer is blamed for a join that stalled and then went on, nor for a join that stalled because the other peer was
/// silent.
#[test]
fn a_slow_or_silent_server_blames_no_client_for_a_stall() {
    let join = |outcome, acked| Join {
        session: SessionId(1),
        kind: JoinKind::Plain,
        begin: Time::ZERO,
        end: Time(9_000_000),
        outcome,
        steps: Vec::new(),
        stalls: 1,
        is_by_loss: false,
        is_resent: false,
        ended: Ended::Open,
        after: Some("ready"),
        acked: Some(acked),
        awaited: Some(("con_ready", Side::Server)),
        misstep: None,
        kept: false,
        note: None,
        cause: None,
        parts: None,
        blamed: None,
    };
    let entered = join(JoinOutcome::Entered, true);
    assert_eq!(stall(false, &entered), (Culprit::Server, Severity::Info));
    let failed = join(JoinOutcome::NeverEntered, false);
    assert_eq!(stall(true, &failed), (Culprit::Nobody, Severity::Warning));
    assert_eq!(stall(false, &failed), (Culprit::Client, Severity::Warning));
}
