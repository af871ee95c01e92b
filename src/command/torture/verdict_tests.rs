//! Each way in which a run of a client may go.

use serde_json::{Value, json};

use super::*;
use crate::command::torture::login::Step;

fn cell(fault: Fault) -> Cell {
    Cell {
        step: Step {
            dir: "s2c".to_owned(),
            name: "sys.con_ready".to_owned(),
            vital: true,
            is_control: false,
            proto: "ddnet".to_owned(),
        },
        fault,
    }
}

fn opened() -> Value {
    json!({"event": "session", "state": "opening"})
}

fn finding(severity: &str) -> Value {
    json!({"event": "finding", "code": "ack-ahead", "severity": severity, "role": "fault", "by": "client", "text": "ack of 9"})
}

fn summary(ended_by: &str, code: Value, joins: Value, hits: u64) -> Value {
    let is_stopped = ended_by != "command";
    json!({"event": "summary", "ended_by": {"kind": ended_by}, "cmd_exit": code, "cmd_stopped": is_stopped, "joins": joins,
        "rules": [{"hits": hits}]})
}

fn entered() -> Value {
    json!([{"begin": 0.5, "end": 1.0, "outcome": "entered", "why": null}])
}

fn stopped() -> Value {
    json!([{"begin": 0.5, "end": 9.0, "outcome": "never-entered", "why": "after ready the server never sent con_ready"}])
}

fn judge(lines: &[Value], fault: Fault, known: &[String]) -> (Verdict, Option<String>) {
    let mut run = Run::default();
    lines.iter().for_each(|line| run.watched.line(line.clone()));
    run.said = Some("Error: no".to_owned());
    let judged = Judged::of(&run, Some(&cell(fault)), known);
    let has_words = !matches!(judged.verdict, Verdict::Joined(_) | Verdict::Untried);
    assert_eq!(judged.said.is_some(), has_words, "{judged:?}");
    (judged.verdict, judged.why)
}

#[test]
fn a_client_that_joins_has_its_verdict_and_its_sentence() {
    let half = Duration::from_millis(500);
    let rows: [(&[Value], Verdict, Option<&str>); 6] = [
        (
            &[opened(), summary("until", json!(143), entered(), 1)],
            Verdict::Joined(half),
            None,
        ),
        (
            &[opened(), summary("command", json!(0), entered(), 1)],
            Verdict::Joined(half),
            None,
        ),
        (
            &[opened(), summary("until", json!(143), entered(), 0)],
            Verdict::Untried,
            Some("the message was not sent"),
        ),
        (
            &[
                opened(),
                finding("error"),
                summary("until", json!(143), entered(), 1),
            ],
            Verdict::Faulty(half, Severity::Error),
            Some("ack-ahead: ack of 9"),
        ),
        (
            &[
                opened(),
                finding("warning"),
                summary("until", json!(143), entered(), 1),
            ],
            Verdict::Faulty(half, Severity::Warning),
            Some("ack-ahead: ack of 9"),
        ),
        (
            &[opened(), summary("timeout", json!(143), entered(), 1)],
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
    let never = "after ready the server never sent con_ready";
    let full =
        json!({"event": "session", "state": "closing", "by": "server", "reason": "This server is full"});
    let rows: [(&[Value], Verdict, Option<&str>); 7] = [
        (
            &[opened(), summary("timeout", json!(143), stopped(), 1)],
            Verdict::Never,
            Some(never),
        ),
        (
            &[opened(), summary("command", json!(0), stopped(), 1)],
            Verdict::Never,
            Some(never),
        ),
        (
            &[opened(), summary("command", json!(7), stopped(), 1)],
            Verdict::Ended(7),
            Some(never),
        ),
        (
            &[opened(), summary("command", json!(139), stopped(), 0)],
            Verdict::Ended(139),
            Some(never),
        ),
        (
            &[opened(), summary("command", json!(139), entered(), 1)],
            Verdict::Ended(139),
            Some("it had joined after 0.50 s"),
        ),
        (
            &[opened(), full, summary("timeout", json!(143), stopped(), 0)],
            Verdict::Refused,
            Some("the server is full"),
        ),
        (
            &[summary("timeout", json!(143), json!([]), 0)],
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
        opened(),
        finding("error"),
        summary("until", json!(143), entered(), 1),
    ];
    let known = ["ack-ahead".to_owned()];
    assert_eq!(
        judge(&lines, Fault::Lose, &known).0,
        Verdict::Joined(Duration::from_millis(500))
    );
}

/// The judge sees an answer to a message that teetap has delayed.
#[test]
fn a_warning_that_a_delay_explains_is_not_of_the_client() {
    let half = Duration::from_millis(500);
    let end = summary("until", json!(143), entered(), 1);
    let warned = [opened(), finding("warning"), end.clone()];
    assert_eq!(judge(&warned, Fault::Delay, &[]), (Verdict::Joined(half), None));
    assert_eq!(
        judge(&warned, Fault::Dup, &[]).0,
        Verdict::Faulty(half, Severity::Warning)
    );
    let failed = [opened(), finding("error"), end];
    assert_eq!(
        judge(&failed, Fault::Delay, &[]).0,
        Verdict::Faulty(half, Severity::Error)
    );
    // It explains a client that did not join.
    let never = [
        opened(),
        finding("warning"),
        summary("timeout", json!(143), stopped(), 1),
    ];
    let why = "after ready the server never sent con_ready; ack-ahead: ack of 9";
    assert_eq!(
        judge(&never, Fault::Lose, &[]),
        (Verdict::Never, Some(why.to_owned()))
    );
}

#[test]
fn a_swap_that_nothing_overtook_was_not_tried() {
    let message = |name: &str, action: Option<&str>| {
        let actions: Vec<Value> = action.iter().map(|action| json!({"action": action})).collect();
        json!({"event": "message", "t": 0.5, "session": 1, "dir": "s2c", "layer": "system", "name": name, "actions": actions})
    };
    let held = message("con_ready", Some("hold"));
    let end = summary("until", json!(143), entered(), 1);
    let alone = judge(&[opened(), held.clone(), end.clone()], Fault::Swap, &[]);
    let why = "nothing was sent after it that could overtake it";
    assert_eq!(alone, (Verdict::Untried, Some(why.to_owned())));
    let overtaken = judge(&[opened(), held, message("sv_motd", None), end], Fault::Swap, &[]);
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
