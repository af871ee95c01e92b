//! The whole page, for a matrix with each kind of cell.

use std::ffi::OsString;

use serde_json::{Value, json};
use teetap_harness::{junit::Outcome, torture::Judged};
use teetap_wire::{Dir, Proto, Severity};

use super::*;
use crate::cli::parse;

/// Returns the table of results, which lists all cells that did not join at once, or only the failed cells.
fn table(results: Results, all: bool) -> Table {
    let words = [
        "teetap",
        "torture",
        "host:1",
        "--timeout",
        "5s",
        "--",
        "./c",
        "{addr}",
    ]
    .map(OsString::from);
    let crate::cli::Command::Torture(options) = parse(words).unwrap().command.unwrap() else {
        panic!("another command");
    };
    let options = TortureOptions { all, ..options };
    let prepare = |_: Option<&str>| Err("nothing is run".into());
    let plan = Plan {
        prepare: &prepare,
        command: &options.command,
        timeout: options.timeout,
        stay: options.stay,
        only: &options.only,
    };
    Table::new(&options, &plan, results)
}

fn tried(name: &str, fault: Fault, verdict: Verdict, why: Option<&str>) -> CellResult {
    let (dir, name) = name.split_once(' ').unwrap();
    let is_control = name.starts_with("ctrl");
    CellResult {
        cell: Cell {
            step: LoginMessage {
                dir: if dir == "c2s" { Dir::C2s } else { Dir::S2c },
                name: name.to_owned(),
                vital: !is_control,
                is_control,
                proto: Proto::Ddnet,
            },
            fault,
        },
        judged: Judged {
            verdict,
            why: why.map(str::to_owned),
            said: why.map(|_| "Error: no".to_owned()),
        },
        first: None,
        took: Duration::from_secs(2),
    }
}

fn results() -> Results {
    let joined = |ms| Verdict::Joined(Duration::from_millis(ms));
    let late = Duration::from_millis(900);
    let (connect, ready) = ("c2s ctrl.connect", "s2c sys.con_ready");
    let twice = |tried: CellResult, first| CellResult {
        first: Some(first),
        ..tried
    };
    Results {
        baseline: Baseline::new([300, 310, 340].map(Duration::from_millis).to_vec()),
        tried: vec![
            tried(connect, Fault::Lose, joined(800), None),
            tried(connect, Fault::Drop, joined(400), None),
            twice(tried(connect, Fault::Dup, joined(310), None), Verdict::Never),
            tried("c2s ctrl.accept", Fault::Lose, Verdict::Never, Some("no answer")),
            tried(
                "c2s ctrl.accept",
                Fault::Delay,
                Verdict::Refused,
                Some("the server is full"),
            ),
            twice(
                tried(ready, Fault::Lose, Verdict::Never, Some("no con_ready")),
                Verdict::Never,
            ),
            tried(ready, Fault::Drop, Verdict::Ended(7), Some("no con_ready")),
            twice(
                tried(ready, Fault::Dup, Verdict::Ended(139), Some("it had joined")),
                Verdict::Ended(139),
            ),
            tried(
                ready,
                Fault::Delay,
                Verdict::Faulty(late, Severity::Error),
                Some("ack-ahead: x"),
            ),
            tried(ready, Fault::Swap, Verdict::Untried, Some("nothing was sent")),
            tried(
                ready,
                Fault::Corrupt,
                Verdict::Faulty(late, Severity::Warning),
                Some("odd: y"),
            ),
        ],
        cells: 11,
        halted: None,
    }
}

/// Returns the line that repeats a cell of the matrix.
fn line(rule: &str) -> String {
    let name = std::env::current_exe().unwrap();
    let name = name.file_name().unwrap().to_string_lossy().into_owned();
    format!(
        "  {name} run host:1 --until 'any_snap and since(enter_game) > 1000ms' --timeout 6000ms --seed 1 -r '{rule}' -- ./c '{{addr}}'\n"
    )
}

#[test]
fn the_page_has_the_matrix_with_failures_first_and_what_failed() {
    let table = table(results(), false);
    let failed = |sentence: &str, rule: &str| {
        format!(
            "\ns2c con_ready {sentence}\n  the client printed: Error: no\n{}",
            line(rule)
        )
    };
    let page = "\
without a fault: joined after 0.31 s, the median of 3 (0.30 to 0.34 s)

              lose     drop     dup      delay    swap     corrupt
s2c con_ready never!   exit 7   crashed! faulty!  -        faulty
c2s connect   +0.5 s   joined   2nd try  -        -        -
c2s accept    never    -        -        refused  -        -
"
    .to_owned()
        + &failed("lose: twice: never joined: no con_ready", "lose when s2c and sys.con_ready once")
        + &failed(
            "dup: twice: the client ended with exit code 139 (SIGSEGV): it had joined",
            "dup when s2c and sys.con_ready once",
        )
        + &failed("delay: joined after 0.90 s, but ack-ahead: x", "delay 500ms when s2c and sys.con_ready once")
        + "
11 cells: 3 failed that peers survive (!), 2 failed that no peer survives, 1 joined with an oddity, 1 joined late, \
1 joined at the second try, 1 refused by the server, 1 not tried (-)
--all lists the cells that did not fail, too
";
    assert_eq!(table.text(None), page);
    assert_eq!(table.exit(), Exit::Failed);
    assert!(page.lines().take(6).all(|line| line.chars().count() <= 80));

    let narrow = table.text(Some(80));
    let rows = |text: &str| {
        text.lines()
            .skip(2)
            .take(4)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(rows(&narrow), rows(&page), "80 columns have no room for reasons");
    assert_eq!(
        rows(&table.text(Some(110))),
        [
            "              lose     drop     dup      delay    swap     corrupt  why",
            "s2c con_ready never!   exit 7   crashed! faulty!  -        faulty   lose: no con_ready",
            "c2s connect   +0.5 s   joined   2nd try  -        -        -",
            "c2s accept    never    -        -        refused  -        -        lose: no answer",
        ]
    );
    let cut = table.text(Some(64));
    assert!(cut.contains("\ns2c con_rea… never!   exit 7   crashed!"), "{cut}");

    let all = self::table(results(), true).text(None);
    for sentence in [
        "\nc2s connect lose: joined after 0.80 s\n",
        "\nc2s connect dup: never joined; when tried again, joined after 0.31 s\n",
        "\nc2s accept lose: never joined: no answer\n",
        "\nc2s accept delay: refused by the server: the server is full\n",
        "\ns2c con_ready drop: the client ended with exit code 7: no con_ready\n",
        "\ns2c con_ready swap: not tried: nothing was sent\n",
        "\ns2c con_ready corrupt: joined after 0.90 s, but odd: y\n",
    ] {
        assert!(all.contains(sentence), "{sentence}: {all}");
    }
    assert!(
        !all.contains("c2s connect drop:") && !all.contains("--all"),
        "{all}"
    );
}

#[test]
fn sentences_are_broken_between_words_on_a_terminal_and_lines_to_copy_are_not() {
    let table = table(results(), true);
    let (whole, narrow) = (table.text(None), table.text(Some(70)));
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(&whole), words(&narrow), "the words are the same");
    let is_repeat = |line: &&str| line.contains(" run host:1 --until ");
    let repeats = |text: &str| {
        text.lines()
            .filter(is_repeat)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        repeats(&whole),
        repeats(&narrow),
        "lines that repeat a run are whole"
    );
    let is_row = |line: &&str| {
        line.starts_with("c2s ") && !line.contains(": ") || line.starts_with("s2c ") && !line.contains(": ")
    };
    for line in narrow
        .lines()
        .filter(|line| !is_repeat(line) && !is_row(line) && !line.starts_with("     "))
    {
        assert!(line.chars().count() <= 70, "wider than the terminal: {line}");
    }
}

#[test]
fn the_exit_code_follows_from_the_cells() {
    let exit = |tried: Vec<CellResult>, halted: Option<&str>| {
        let results = Results {
            tried,
            halted: halted.map(str::to_owned),
            ..results()
        };
        table(results, false).exit()
    };
    let cell = |name: &str, fault, verdict| vec![tried(name, fault, verdict, None)];
    let never = |name: &str, fault| exit(cell(name, fault, Verdict::Never), None);
    assert_eq!(never("s2c sys.con_ready", Fault::Lose), Exit::Failed);
    assert_eq!(never("s2c sys.con_ready", Fault::Drop), Exit::Ok);
    assert_eq!(never("c2s ctrl.accept", Fault::Lose), Exit::Ok);
    for (verdict, expected) in [
        (Verdict::Ended(139), Exit::Failed),
        (Verdict::Ended(3), Exit::Failed),
        (Verdict::Faulty(Duration::ZERO, Severity::Error), Exit::Failed),
        (Verdict::Faulty(Duration::ZERO, Severity::Warning), Exit::Ok),
        (Verdict::Joined(Duration::from_secs(9)), Exit::Ok),
        (Verdict::Refused, Exit::Ok),
        (Verdict::Untried, Exit::Ok),
    ] {
        assert_eq!(
            exit(cell("s2c sys.con_ready", Fault::Dup, verdict.clone()), None),
            expected,
            "{verdict}"
        );
    }
    assert_eq!(exit(Vec::new(), Some("gone")), Exit::Network);
}

#[test]
fn a_matrix_that_was_stopped_says_so() {
    let mut results = results();
    results.tried.truncate(2);
    results.halted = Some("the client no longer joins".to_owned());
    let table = table(results, false);
    let end = "\n2 cells: none failed that peers survive, 1 joined late\n--all lists the cells that did not fail, too\n\
               stopped, 9 cells not tried: the client no longer joins\n";
    assert!(table.text(None).ends_with(end), "{}", table.text(None));
    let lines: Vec<Value> = table
        .json()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        lines[3],
        json!({"event": "summary", "cells": 2, "failed": 0, "untried": 9, "halted": "the client no longer joins", "seed": 1, "exit": 3})
    );
    let suite = table.suite(SystemTime::UNIX_EPOCH, Duration::ZERO);
    assert_eq!(
        suite.cases[2].outcome,
        Outcome::Broken("the client no longer joins".to_owned())
    );
}

#[test]
fn json_lines_and_the_report_have_the_verdict_of_each_cell() {
    let table = table(results(), false);
    let lines: Vec<Value> = table
        .json()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(
        lines[0],
        json!({"event": "baseline", "joined_s": 0.31, "joins_s": [0.3, 0.31, 0.34]})
    );
    let outcomes: Vec<&str> = lines[1..12]
        .iter()
        .map(|line| line["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(
        outcomes,
        [
            "late", "joined", "joined", "never", "refused", "never", "exited", "crashed", "faulty",
            "untried", "faulty"
        ]
    );
    let rule = "dup when s2c and sys.con_ready once";
    assert_eq!(
        lines[8],
        json!({"event": "cell", "dir": "s2c", "message": "sys.con_ready", "proto": "ddnet", "fault": "dup", "outcome": "crashed",
            "why": "it had joined", "printed": "Error: no", "first_try": "crashed", "late_s": null, "cmd_exit": 139,
            "survived_by_peers": true, "failed": true, "rule": rule, "repeat": line(rule).trim()})
    );
    let suite = table.suite(SystemTime::UNIX_EPOCH, Duration::ZERO);
    let marks: String = suite
        .cases
        .iter()
        .map(|case| match case.outcome {
            Outcome::Passed => 'p',
            Outcome::Failed(_) => 'F',
            Outcome::Broken(_) => 'B',
            Outcome::Skipped(_) => 's',
        })
        .collect();
    assert_eq!(marks, "pppssFsFFsp");
    let failed = "s2c con_ready lose: twice: never joined: no con_ready";
    assert_eq!(suite.cases[5].outcome, Outcome::Failed(failed.to_owned()));
    assert!(
        suite.cases[5]
            .output
            .starts_with(&format!("{failed}\nthe client printed: Error: no\n"))
    );
}
