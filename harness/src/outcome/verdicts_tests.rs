use std::{path::Path, sync::Arc};

use teetap_proxy::io::Ended;
use teetap_rules::{LineReport, Span, impair::Tally};
use teetap_wire::Dir;

use super::*;
use crate::outcome::{Joins, Last, Times, decide};

/// Returns the summary of a run with this end.
fn summary(cause: (EndedBy, Exit), last: Last<'_>) -> Summary {
    let (ended_by, exit) = decide(cause.0, cause.1, last);
    Summary {
        at: Time(2_000_000),
        ended: Some(Ended::default()),
        lost: 0,
        kernel_drops: 0,
        seed: 7,
        connect: "127.0.0.1:8304".parse().unwrap(),
        repeat: "teetap".to_owned(),
        rules_changed: false,
        exit,
        ended_by,
        cmd: last.cmd,
        recording: None,
        joins: Joins::default(),
        times: Times::default(),
        findings: None,
    }
}

fn ending(by: EndingBy) -> Arc<Ending> {
    Arc::new(Ending {
        by,
        at: Time(1_000_000),
        session: Some(SessionId(1)),
        message: Some((Dir::S2c, "sv_chat".to_owned())),
    })
}

fn cmd(code: i32, is_stopped: bool, is_killed: bool) -> Option<child::End> {
    Some(child::End {
        code,
        is_stopped,
        is_killed,
        left: 0,
    })
}

/// Returns the outcomes of the tests `run`, `until`, `fail on` and `command`: passed, failed, broken, skipped; `-` = no
/// such test.
fn marks(cases: &[Case]) -> String {
    let mark = |name: &str| {
        let case = cases.iter().find(|case| case.name.starts_with(name));
        case.map_or('-', |case| match case.outcome {
            Outcome::Passed => 'p',
            Outcome::Failed(_) => 'F',
            Outcome::Broken(_) => 'B',
            Outcome::Skipped(_) => 's',
        })
    };
    ["run", "until", "fail on", "command"].map(mark).iter().collect()
}

/// Every way in which a run may end. Columns: the cause that the main loop saw, and its exit; the message or rule that
/// ends the run; `until` if --until and --fail-on are given; how the command ended. Then the exit code, the kind in
/// JSON, and the tests.
const ENDS: &str = "
timeout        ok     -      -      -        0   timeout        p---
timeout        ok     -      until  -        4   timeout        pFp-
timeout        ok     -      -      stopped  4   timeout        p--F
timeout        ok     -      -      killed   4   timeout        p--F
timeout        ok     -      until  killed   4   timeout        pFps
timeout        ok     -      -      0        0   command        p--p
timeout        ok     -      until  139      1   command        pspF
timeout        ok     until  until  stopped  0   until          pppp
timeout        ok     until  until  killed   0   until          pppp
timeout        ok     failon until  stopped  1   fail_on        psFs
timeout        ok     unmet  until  killed   1   expect         Fsps
timeout        ok     exit0  until  killed   0   exit           pspp
timeout        ok     exit17 until  -        17  exit           Fsp-
command        ok     -      -      0        0   command        p--p
command        ok     -      until  0        4   command        pFpp
command        failed -      -      139      1   command        p--F
command        failed -      until  139      1   command        pspF
command        failed until  until  139      0   until          pppp
command        ok     failon until  0        1   fail_on        psFs
command        failed fail   until  139      1   fail           Fsps
signal         signal -      -      stopped  130 signal         B--s
signal         signal -      until  killed   130 signal         Bsss
signal         signal until  until  0        130 signal         Bsss
signal         signal exit17 -      -        130 signal         B---
control        ok     -      -      -        0   control        p---
control        ok     -      until  -        4   control        pFp-
stdin_closed   ok     -      -      -        0   stdin_closed   p---
stdin_closed   ok     -      until  -        4   stdin_closed   pFp-
stdin_closed   ok     until  until  -        0   until          ppp-
stdin_closed   ok     fail   -      -        1   fail           F---
stdout_closed  ok     -      until  -        0   stdout_closed  pss-
stdout_closed  ok     until  until  -        0   stdout_closed  pss-
user           ok     -      until  -        0   user           pss-
crash          crash  -      until  stopped  6   crash          Bsss
demo           ok     -      -      -        0   demo           p---
demo           ok     -      until  -        4   demo           pFp-
demo           failed -      -      -        1   demo           F---
demo           failed until  until  -        1   demo           Fsp-
demo           ok     failon until  -        1   fail_on        psF-
";

/// Returns the run of a row.
fn run(words: &[&str]) -> (Summary, Verdicts) {
    let exit = match words[1] {
        "ok" => Exit::Ok,
        "failed" => Exit::Failed,
        "signal" => Exit::Signal(2),
        _ => Exit::Internal,
    };
    let ended_by = match words[0] {
        "timeout" => EndedBy::Timeout,
        "command" => EndedBy::Command,
        "signal" => EndedBy::Signal(2),
        "control" => EndedBy::Control,
        "stdin_closed" => EndedBy::StdinClosed,
        "stdout_closed" => EndedBy::StdoutClosed,
        "user" => EndedBy::User,
        "crash" => EndedBy::Crash,
        _ => EndedBy::Demo,
    };
    let rule = |end| Some(EndingBy::Rule("r".into(), end));
    let by = match words[2] {
        "until" => Some(EndingBy::Until),
        "failon" => Some(EndingBy::FailOn),
        "fail" => rule(End::Fail("no".into())),
        "unmet" => rule(End::Unmet("no".into())),
        "exit0" => rule(End::Exit(0)),
        "exit17" => rule(End::Exit(17)),
        _ => None,
    };
    let cmd = match words[4] {
        "-" => None,
        "stopped" => cmd(143, true, false),
        "killed" => cmd(137, true, true),
        code => cmd(code.parse().unwrap(), false, false),
    };
    let has_until = words[3] == "until";
    let ending = by.map(ending);
    let last = Last {
        ending: ending.as_ref(),
        waits: has_until && ending.is_none(),
        cmd,
    };
    let verdicts = Verdicts {
        report: Some(Report::create(Path::new("/dev/null")).unwrap()),
        summary: None,
        target: "host".to_owned(),
        until: has_until.then(|| "sv_chat".to_owned()),
        fail_on: has_until.then(|| "close".to_owned()),
        wall: SystemTime::UNIX_EPOCH,
    };
    (summary((ended_by, exit), last), verdicts)
}

#[test]
fn exit_code_summary_report_and_json_agree_about_every_end() {
    for row in ENDS.trim().lines() {
        let words: Vec<&str> = row.split_whitespace().collect();
        let (summary, verdicts) = run(&words);
        let outcomes = marks(&verdicts.cases(&summary));
        let body = serde_json::to_value(summary.ended_by.body()).unwrap();
        let code = summary.exit.code().to_string();
        assert_eq!(
            [&*code, body["kind"].as_str().unwrap(), &outcomes],
            words[5..],
            "{row}"
        );
        // A run that fails has one failed test.
        let red = outcomes.matches(['F', 'B']).count();
        assert_eq!(red, usize::from(code != "0"), "{row}");
    }
}

#[test]
fn a_failed_test_has_the_likeliest_reason() {
    let last = Last {
        cmd: cmd(139, false, false),
        waits: true,
        ..Last::default()
    };
    let summary = summary((EndedBy::Command, Exit::Failed), last);
    let Outcome::Failed(why) = of_command(&summary, last.cmd.unwrap(), true) else {
        panic!("not failed");
    };
    assert_eq!(
        why,
        "exit code 139 (SIGSEGV): no datagram came from the command: it has to connect to 127.0.0.1:8304 ({addr}, or {host} and {port})"
    );
}

/// A command may browse, or send datagrams that open no session.
#[test]
fn a_command_is_silent_if_the_run_received_nothing() {
    let end = (EndedBy::Timeout, Exit::Ok);
    for has_command in [false, true] {
        for [opened, refused, datagrams] in [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]] {
            let last = Last {
                cmd: has_command.then(|| cmd(0, false, false)).flatten(),
                ..Last::default()
            };
            let mut summary = summary(end.clone(), last);
            let mut ended = Ended::default();
            (ended.stats.opened, ended.stats.refused) = (opened, refused);
            ended.stats.traffic.c2s.datagrams = datagrams;
            summary.ended = Some(ended);
            let is_silent = has_command && [opened, refused, datagrams] == [0; 3];
            let silent = "no datagram came from the command: it has to connect to 127.0.0.1:8304 ({addr}, or {host} and {port})";
            assert_eq!(
                summary.silent_command().as_deref(),
                is_silent.then_some(silent),
                "{has_command} {opened} {refused} {datagrams}"
            );
        }
    }
}

#[test]
fn the_summary_has_each_effect_of_a_link_line() {
    let mut summary = summary((EndedBy::Timeout, Exit::Ok), Last::default());
    let mut ended = Ended::default();
    ended.report.lines = vec![LineReport {
        id: 0,
        place: Span::default(),
        text: "link s2c loss 1%".into(),
        is_enabled: true,
        dir: Dir::S2c,
        tally: Tally {
            lost: 1,
            delayed: 2,
            duplicated: 3,
            reordered: 4,
            corrupted: 5,
        },
    }];
    summary.ended = Some(ended);
    let line: serde_json::Value = serde_json::from_slice(&summary.line()).unwrap();
    assert_eq!(
        line["links"].to_string(),
        r#"[{"corrupted":5,"delayed":2,"dir":"s2c","duplicated":3,"link":"link s2c loss 1%","lost":1,"reordered":4}]"#
    );
}
