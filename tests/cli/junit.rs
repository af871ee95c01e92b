//! JUnit reports of runs.

use std::fs;
use std::process::Command;

use teetap_kit::binary::{self, place};

use crate::{command_line::NO_SERVER, refused, run, teetap};

#[test]
fn a_report_has_a_test_for_each_expectation_and_the_line_that_repeats_the_run() {
    let (_folder, file) = place("it's.xml");
    let mut command = teetap();
    command.args(["run", NO_SERVER, "-l", ":0", "--seed", "9", "--until", "sv_chat"]);
    command.args(["--fail-on", "sv_motd", "--junit"]).arg(&file);
    binary::run(command.args(["--", "sh", "-c", "exit 7"]), 1);
    let report = fs::read_to_string(&file).unwrap();
    let has = |text: &str| assert!(report.contains(text), "{text}\n{report}");
    // One test fails because of the cause; the other could not be completed.
    has("tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"1\"");
    has("<property name=\"seed\" value=\"9\"/>");
    has("name=\"until sv_chat\"");
    has("<skipped message=\"the run was ended by the end of the command\"/>");
    has("name=\"fail on sv_motd\"");
    let silent = "no datagram came from the command: it has to connect to 127.0.0.1:";
    has(&format!("<failure message=\"exit code 7: {silent}"));

    // The line repeats the run: the same report except for its times.
    let line = report.split("name=\"repeat\" value=\"").nth(1).unwrap();
    let line = line.split("\"/>").next().unwrap();
    fs::remove_file(&file).unwrap();
    binary::run(Command::new("bash").args(["-c", line]), 1);
    let again = fs::read_to_string(&file).unwrap();
    let timeless = |report: &str| -> Vec<String> {
        let parts = report.split(" time=\"").map(|part| part.split_once('"'));
        parts
            .map(|part| part.unwrap_or_default().1.replace("Z\"", ""))
            .map(|part| part.split(" timestamp=").next().unwrap().to_owned())
            .map(|part| {
                part.split("127.0.0.1:")
                    .map(|part| part.trim_start_matches(char::is_numeric))
                    .collect()
            })
            .collect()
    };
    assert_eq!(timeless(&again), timeless(&report));
}

#[test]
fn a_message_that_ends_the_run_passes_one_test_and_fails_the_other() {
    let (_folder, file) = place("junit.xml");
    let path = file.to_string_lossy();
    let demo = ["demo", "--seconds", "2", "-q", "-l", ":0", "--junit", &path];
    run(&[&demo[..], &["--until", "sv_chat"]].concat(), 0);
    let report = fs::read_to_string(&file).unwrap();
    assert!(
        report.contains("tests=\"2\" failures=\"0\" errors=\"0\""),
        "{report}"
    );
    run(&[&demo[..], &["--fail-on", "sv_chat"]].concat(), 1);
    let report = fs::read_to_string(&file).unwrap();
    assert!(
        report.contains("<failure message=\"sv_chat s→c in session "),
        "{report}"
    );
    run(
        &[&demo[..], &["-r", "stop: fail \"no\" when sv_chat"]].concat(),
        1,
    );
    let report = fs::read_to_string(&file).unwrap();
    let failure = "<failure message=\"no: sv_chat s→c in session ";
    assert!(report.contains(failure), "{report}");
}

#[test]
fn a_command_that_does_not_end_in_time_fails_the_run() {
    let (_folder, file) = place("junit.xml");
    let path = file.to_string_lossy();
    let limits = [
        "run",
        NO_SERVER,
        "-l",
        ":0",
        "--timeout",
        "700ms",
        "--junit",
        &path,
    ];
    for (script, end, killed) in [
        ("exec sleep 1000", "143 (stopped by teetap)", ""),
        (
            "trap '' TERM; while :; do sleep 1; done",
            "137 (killed by teetap)",
            "; TERM did not end it, so it was killed",
        ),
    ] {
        let (_, stderr) = run(&[&limits[..], &["--", "sh", "-c", script]].concat(), 4);
        let summary = format!("ended by --timeout, cmd_exit {end}, ");
        assert!(stderr.contains(&summary), "{stderr}");
        let report = fs::read_to_string(&file).unwrap();
        assert!(
            report.contains("tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\""),
            "{report}"
        );
        let why =
            format!("<failure message=\"the command had not ended by --timeout{killed}: no datagram came");
        assert!(report.contains(&why), "{report}");
    }
    // Without a command the timeout is the normal length of a run.
    run(&limits, 0);
}

#[test]
fn each_rule_that_tests_the_run_is_a_test() {
    let (_folder, file) = place("junit.xml");
    let path = file.to_string_lossy();
    let rules = [
        "stop: fail \"no\" when rcon_cmd",
        "met: expect input within 60s when enter_game",
        "late: expect rcon_cmd within 1s when enter_game",
        "unused: expect sv_chat within 1s when rcon_cmd",
        "log when sv_chat",
    ];
    let mut args = vec!["demo", "--seconds", "4", "-q", "-l", ":0", "--junit", &path];
    for rule in rules {
        args.extend(["-r", rule]);
    }
    run(&args, 1);
    let report = fs::read_to_string(&file).unwrap();
    assert!(
        report.contains("tests=\"5\" failures=\"1\" errors=\"0\" skipped=\"1\""),
        "{report}"
    );
    let case = |name: &str| {
        let start = format!("<testcase classname=\"teetap.rules\" name=\"{name}\"");
        let rest = report
            .split(&start)
            .nth(1)
            .unwrap_or_else(|| panic!("{name}: {report}"));
        rest.split("</testcase>").next().unwrap().to_owned()
    };
    for passed in ["stop", "met"] {
        let case = case(passed);
        assert!(!case.contains("<failure") && !case.contains("<skipped"), "{case}");
    }
    let late = case("late");
    let why =
        "<failure message=\"expected `rcon_cmd` within 1 s: it was not received: enter_game c→s in session ";
    assert!(late.contains(why) && late.contains("repeat: "), "{late}");
    let unused = "<skipped message=\"the rule never acted, so it expected nothing\"/>";
    assert!(case("unused").contains(unused), "{report}");
}

#[test]
fn a_report_that_cannot_be_written_is_refused_before_the_start() {
    let args = [
        "run",
        NO_SERVER,
        "-l",
        ":0",
        "--junit",
        "/nowhere/junit.xml",
        "--",
        "true",
    ];
    refused(&args, 3, "cannot write the JUnit report /nowhere/junit.xml: ");
    let (_, stderr) = run(
        &["run", NO_SERVER, "-l", ":0", "--junit", "/dev/full", "--", "true"],
        3,
    );
    let warning = "warning: cannot write the JUnit report /dev/full: No space left";
    assert!(stderr.contains(warning) && stderr.contains("exit 3"), "{stderr}");
}
