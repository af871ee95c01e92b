//! Tests of every way in which a run of a client may end.

use teetap_inspect::joins::{Ended as JoinEnd, JoinOutcome};
use teetap_proxy::{
    io::Ended,
    session::{Origin, SessionId, State},
};
use teetap_rules::{Hits, Report, RuleId, RuleReport, Span};
use teetap_wire::{Dir, Proto, Side};

use super::*;
use crate::torture::{
    login::LoginMessage,
    watch::{
        End,
        tests::{change, join, stopped},
    },
};

fn cell(fault: Fault) -> Cell {
    Cell {
        step: LoginMessage {
            dir: Dir::S2c,
            name: "sys.con_ready".to_owned(),
            vital: true,
            is_control: false,
            proto: Proto::Ddnet,
        },
        fault,
    }
}

/// Part of a run: the opening of its session, a finding, a refusal, a held message, another message, its end.
#[derive(Clone, Copy, Debug)]
enum Part {
    Opened,
    Found(Severity),
    Full,
    Held,
    Other,
    /// Cause of the end, exit code of the client, outcome of its join and hits of the rule.
    Ended(Cause, i32, Option<JoinOutcome>, u64),
}

use self::Part::{Found as Finding, Full, Held, Opened, Other};

const ENTERED: Option<JoinOutcome> = Some(JoinOutcome::Entered);
const STOPPED: Option<JoinOutcome> = Some(JoinOutcome::NeverEntered);

fn add(part: Part, watched: &mut Watched) {
    let place = (Some(SessionId(1)), Dir::S2c);
    match part {
        Part::Opened => watched.change(&change(State::Opening, None, None)),
        Part::Found(severity) => watched.findings.push(ClientFinding {
            code: "ack-ahead",
            is_error: severity == Severity::Error,
            text: "ack-ahead: ack of 9".to_owned(),
        }),
        Part::Full => {
            let full = change(State::Closing, Some(Side::Server), Some("This server is full"));
            watched.change(&full);
        }
        Part::Held => watched.order(place, Some("con_ready"), (false, true, Origin::Peer)),
        Part::Other => watched.order(place, Some("sv_motd"), (false, false, Origin::Peer)),
        Part::Ended(cause, code, outcome, hits) => {
            if let Some(outcome) = outcome {
                let (end, ended) = match outcome {
                    JoinOutcome::Entered => (1000, JoinEnd::Entered),
                    _ => (9000, stopped()),
                };
                watched.join(&join(500, end, outcome, ended));
            }
            let rule = RuleReport {
                id: RuleId(0),
                place: Span::default(),
                name: None,
                text: Box::default(),
                is_enabled: true,
                hits: Hits {
                    count: hits,
                    last: None,
                },
                test: None,
            };
            let ended = Ended {
                report: Report {
                    rules: vec![rule],
                    ..Report::default()
                },
                ..Ended::default()
            };
            let client = child::End {
                is_stopped: cause != Cause::Client,
                ..child::End::with(code)
            };
            watched.end = Some(End::new(cause, client, Some(&ended)));
        }
    }
}

fn judge(parts: &[Part], fault: Fault, known: &[&str]) -> (Verdict, Option<String>) {
    let mut run = Run::default();
    parts.iter().for_each(|part| add(*part, &mut run.watched));
    run.said = Some("Error: no".to_owned());
    let judged = Judged::from_run(&run, Some(&cell(fault)), known);
    let has_words = !matches!(judged.verdict, Verdict::Joined(_) | Verdict::Untried);
    assert_eq!(judged.said.is_some(), has_words, "{judged:?}");
    (judged.verdict, judged.why)
}

const fn end(cause: Cause, code: i32, outcome: Option<JoinOutcome>, hits: u64) -> Part {
    Part::Ended(cause, code, outcome, hits)
}

#[test]
fn a_client_that_joins_has_its_verdict_and_its_sentence() {
    let half = Duration::from_millis(500);
    let rows: [(&[Part], Verdict, Option<&str>); 6] = [
        (
            &[Opened, end(Cause::Message, 143, ENTERED, 1)],
            Verdict::Joined(half),
            None,
        ),
        (
            &[Opened, end(Cause::Client, 0, ENTERED, 1)],
            Verdict::Joined(half),
            None,
        ),
        (
            &[Opened, end(Cause::Message, 143, ENTERED, 0)],
            Verdict::Untried,
            Some("the message was not sent"),
        ),
        (
            &[
                Opened,
                Finding(Severity::Error),
                end(Cause::Message, 143, ENTERED, 1),
            ],
            Verdict::Faulty(half, Severity::Error),
            Some("ack-ahead: ack of 9"),
        ),
        (
            &[
                Opened,
                Finding(Severity::Warning),
                end(Cause::Message, 143, ENTERED, 1),
            ],
            Verdict::Faulty(half, Severity::Warning),
            Some("ack-ahead: ack of 9"),
        ),
        (
            &[Opened, end(Cause::Timeout, 143, ENTERED, 1)],
            Verdict::Faulty(half, Severity::Error),
            Some("it stayed deaf: no snapshot came to it later"),
        ),
    ];
    for (lines, verdict, why) in rows {
        let got = judge(lines, Fault::Lose, &[]);
        assert_eq!((got.0, got.1.as_deref()), (verdict, why), "{lines:?}");
    }
}

#[test]
fn a_client_that_does_not_join_has_its_verdict_and_its_sentence() {
    let never = "the server never sent con_ready";
    let rows: [(&[Part], Verdict, Option<&str>); 7] = [
        (
            &[Opened, end(Cause::Timeout, 143, STOPPED, 1)],
            Verdict::Never,
            Some(never),
        ),
        (
            &[Opened, end(Cause::Client, 0, STOPPED, 1)],
            Verdict::Never,
            Some(never),
        ),
        (
            &[Opened, end(Cause::Client, 7, STOPPED, 1)],
            Verdict::Ended(7),
            Some(never),
        ),
        (
            &[Opened, end(Cause::Client, 139, STOPPED, 0)],
            Verdict::Ended(139),
            Some(never),
        ),
        (
            &[Opened, end(Cause::Client, 139, ENTERED, 1)],
            Verdict::Ended(139),
            Some("it had joined after 0.50 s"),
        ),
        (
            &[Opened, Full, end(Cause::Timeout, 143, STOPPED, 0)],
            Verdict::Refused,
            Some("the server is full"),
        ),
        (
            &[end(Cause::Timeout, 143, None, 0)],
            Verdict::Never,
            Some("no datagram came from the client"),
        ),
    ];
    for (lines, verdict, why) in rows {
        let got = judge(lines, Fault::Lose, &[]);
        assert_eq!((got.0, got.1.as_deref()), (verdict, why), "{lines:?}");
    }
}

#[test]
fn a_finding_that_the_client_has_without_a_fault_is_not_of_the_fault() {
    let lines = [
        Opened,
        Finding(Severity::Error),
        end(Cause::Message, 143, ENTERED, 1),
    ];
    let known = ["ack-ahead"];
    assert_eq!(
        judge(&lines, Fault::Lose, &known).0,
        Verdict::Joined(Duration::from_millis(500))
    );
}

/// The judge sees a reply to a message that teetap has delayed.
#[test]
fn a_warning_that_a_delay_explains_is_not_of_the_client() {
    let half = Duration::from_millis(500);
    let joined = end(Cause::Message, 143, ENTERED, 1);
    let warned = [Opened, Finding(Severity::Warning), joined];
    for fault in [Fault::Delay, Fault::Swap] {
        let swapped = [Opened, Held, Other, Finding(Severity::Warning), joined];
        assert_eq!(judge(&swapped, fault, &[]), (Verdict::Joined(half), None));
    }
    assert_eq!(
        judge(&warned, Fault::Dup, &[]).0,
        Verdict::Faulty(half, Severity::Warning)
    );
    let failed = [Opened, Finding(Severity::Error), joined];
    assert_eq!(
        judge(&failed, Fault::Delay, &[]).0,
        Verdict::Faulty(half, Severity::Error)
    );
    // The warning explains why a client did not join.
    let never = [
        Opened,
        Finding(Severity::Warning),
        end(Cause::Timeout, 143, STOPPED, 1),
    ];
    let why = "the server never sent con_ready; ack-ahead: ack of 9";
    assert_eq!(
        judge(&never, Fault::Lose, &[]),
        (Verdict::Never, Some(why.to_owned()))
    );
}

#[test]
fn a_swap_that_nothing_overtook_was_not_tried() {
    let joined = end(Cause::Message, 143, ENTERED, 1);
    let alone = judge(&[Opened, Held, joined], Fault::Swap, &[]);
    let why = "nothing was sent after it that could overtake it";
    assert_eq!(alone, (Verdict::Untried, Some(why.to_owned())));
    let overtaken = judge(&[Opened, Held, Other, joined], Fault::Swap, &[]);
    assert_eq!(overtaken.0, Verdict::Joined(Duration::from_millis(500)));
}

#[test]
fn a_verdict_is_bad_if_the_client_did_not_cope() {
    let half = Duration::from_millis(500);
    for (verdict, is_bad, name, text) in [
        (Verdict::Joined(half), false, "joined", "joined after 0.50 s"),
        (
            Verdict::Faulty(half, Severity::Error),
            true,
            "faulty",
            "joined after 0.50 s, but",
        ),
        (
            Verdict::Faulty(half, Severity::Warning),
            false,
            "faulty",
            "joined after 0.50 s, but",
        ),
        (Verdict::Never, true, "never", "never joined"),
        (
            Verdict::Ended(3),
            true,
            "exited",
            "the client ended with exit code 3",
        ),
        (
            Verdict::Ended(139),
            true,
            "crashed",
            "the client ended with exit code 139 (SIGSEGV)",
        ),
        (Verdict::Refused, false, "refused", "refused by the server"),
        (Verdict::Untried, false, "untried", "not tried"),
    ] {
        assert_eq!((verdict.is_bad(), verdict.name(false)), (is_bad, name));
        assert_eq!(verdict.to_string(), text);
    }
    assert_eq!(Verdict::Joined(half).name(true), "late");
}

/// A client that exits when its run is over has not failed.
#[test]
fn an_exit_after_the_end_of_the_run_is_not_judged() {
    let verdict = |cause| {
        let mut watched = Watched::default();
        add(end(cause, 7, ENTERED, 1), &mut watched);
        let client = child::End::with(7);
        assert!(!client.is_stopped);
        watched.end = watched.end.map(|end| End { client, ..end });
        let run = Run {
            watched,
            ..Run::default()
        };
        Judged::from_run(&run, Some(&cell(Fault::Lose)), &[]).verdict
    };
    assert_eq!(
        verdict(Cause::Message),
        Verdict::Joined(Duration::from_millis(500))
    );
    assert_eq!(verdict(Cause::Client), Verdict::Ended(7));
}

/// The server drops a corrupt CONNECT, which must not count as its limit.
#[test]
fn only_a_corrupt_connect_is_no_refusal() {
    for fault in Fault::ALL.iter().copied() {
        for name in ["ctrl.connect", "sys.con_ready"] {
            let mut run = Run::default();
            let parts = [Opened, Full, end(Cause::Timeout, 143, STOPPED, 1)];
            parts.iter().for_each(|part| add(*part, &mut run.watched));
            let mut cell = cell(fault);
            cell.step.name = name.to_owned();
            let expected = match (fault, name) {
                (Fault::Corrupt, "ctrl.connect") => Verdict::Never,
                _ => Verdict::Refused,
            };
            let found = Judged::from_run(&run, Some(&cell), &[]).verdict;
            assert_eq!(found, expected, "{fault:?} {name}");
        }
    }
}
