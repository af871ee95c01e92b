//! The options that each command accepts, typed or from the environment.

use teetap_kit::binary;

use crate::{
    command_line::{NO_SERVER, OPTIONS, json},
    refused, run, teetap,
};

#[test]
fn the_environment_mirrors_the_options() {
    let variables = [
        ("TEETAP_LISTEN", ":0"),
        ("TEETAP_JSON", "1"),
        ("TEETAP_SEED", "77"),
        ("TEETAP_QUIET", "yes"),
    ];
    let (stdout, stderr) = binary::run(teetap().args(["run", NO_SERVER, "--", "true"]).envs(variables), 0);
    assert_eq!(json(stdout.lines().next().unwrap())["seed"], 77);
    assert!(!stderr.contains("in the client"), "{stderr}");
    for (name, value) in [("TEETAP_PROTO", "0.9"), ("TEETAP_LISTEN", "0.0.0.0:0")] {
        binary::run(teetap().arg(NO_SERVER).env(name, value), 2);
    }
}

/// Returns the options in a command's help.
fn taken(command: &str) -> Vec<String> {
    let (help, _) = run(&[command, "--help"], 0);
    let words = help.lines().filter_map(|line| {
        let at = line.find("--")?;
        let is_option = line
            .get(..at)?
            .trim_matches(|c: char| c == ',' || c == ' ' || c == '-')
            .len()
            < 2;
        let word = line.get(at + 2..)?.split([' ', '.', '[']).next()?;
        (is_option && line.starts_with(' ')).then(|| word.to_owned())
    });
    words
        .filter(|word| !["help", "version"].contains(&word.as_str()))
        .collect()
}

/// Options of grep only, and options that select a part of a recording.
const SEARCHED: [&str; 7] = [
    "from",
    "to",
    "after-context",
    "before-context",
    "context",
    "count",
    "max-count",
];

/// Values of options that need one.
const VALUES: &[(&str, &str)] = &[
    ("listen", ":0"),
    ("seed", "1"),
    ("history", "16"),
    ("rule", "drop when c2s"),
    ("link", "both delay 5ms"),
    ("profile", "3g"),
    ("rules", "x"),
    ("control", "x"),
    ("proto", "0.7"),
    ("filter", "c2s"),
    ("until", "c2s"),
    ("fail-on", "c2s"),
    ("timeout", "1s"),
    ("input-log", "x"),
    ("junit", "x"),
    ("summary", "x"),
    ("journal", "x"),
    ("faults-from", "x"),
    ("log", "x"),
    ("write", "x.pcapng"),
    ("keep", "5s"),
    ("save-on", "c2s"),
    ("messages", "x"),
    ("time", "run"),
];

/// Options of the commands that print recordings.
const SHOWN: [&str; 10] = [
    "quiet",
    "verbose",
    "json",
    "until",
    "wide",
    "fold",
    "no-fold",
    "time",
    "show-secrets",
    "messages",
];

/// Options of open only.
const OPENED: [&str; 7] = ["filter", "from", "to", "tui", "theme", "history", "write"];

/// Options of diff.
const COMPARED: [&str; 8] = [
    "filter",
    "until",
    "ignore",
    "verbose",
    "quiet",
    "json",
    "show-secrets",
    "messages",
];

/// Options of the command that lists findings.
const JUDGED: [&str; 11] = [
    "leg",
    "quiet",
    "verbose",
    "json",
    "junit",
    "summary",
    "only",
    "ignore",
    "ignore-file",
    "show-secrets",
    "messages",
];

/// Options of the command that reads one datagram.
const EXPLAINED: [&str; 6] = ["dir", "frame", "proto", "json", "show-secrets", "messages"];

/// Options of every command.
const LOOK: [&str; 2] = ["color", "ascii"];

#[test]
fn each_command_takes_only_its_own_options() {
    let mirrored = OPTIONS
        .iter()
        .map(|option| option.to_lowercase().replace('_', "-"));
    // TEETAP_LOG is the filter of the log. A variable would end runs that a person starts.
    let others = ["log", "until-stdin-closes"].map(str::to_owned);
    let all: Vec<String> = mirrored.chain(others).collect();
    let cases: [(&str, Vec<&str>, &[&str]); 16] = [
        ("run", all.iter().map(String::as_str).collect(), &["127.0.0.1:1"]),
        ("open", [&SHOWN[..], &OPENED[..]].concat(), &["FILE"]),
        ("grep", [&SHOWN[..], &SEARCHED[..]].concat(), &["c2s", "FILE"]),
        ("diff", COMPARED.to_vec(), &["A", "B"]),
        ("judge", JUDGED.to_vec(), &["FILE"]),
        (
            "report",
            vec!["for", "output", "keep-text", "quiet", "show-secrets", "messages"],
            &["FILE"],
        ),
        (
            "scrub",
            vec!["output", "keep-unknown", "keep-text", "quiet", "messages"],
            &["FILE", "-o", "OUT"],
        ),
        ("replay", vec!["check", "quiet", "json"], &["FILE"]),
        (
            "shrink",
            vec!["output", "runs", "fails", "verbose"],
            &["JOURNAL", "--", "CMD"],
        ),
        (
            "messages",
            vec!["form", "import", "json", "libtw2", "messages"],
            &[],
        ),
        ("explain", EXPLAINED.to_vec(), &["00"]),
        (
            "check",
            vec!["against", "explain", "json", "messages", "quiet"],
            &["FILE"],
        ),
        ("fmt", vec!["check", "write"], &["FILE"]),
        (
            "torture",
            vec![
                "all", "jobs", "json", "junit", "only", "seed", "stay", "summary", "timeout",
            ],
            &["127.0.0.1:1", "--", "true"],
        ),
        ("completions", vec![], &["bash"]),
        ("man", vec![], &[]),
    ];
    for (command, mut wanted, arguments) in cases {
        let mut listed = taken(command);
        listed.sort();
        wanted.extend(LOOK);
        wanted.sort_unstable();
        assert_eq!(listed, wanted, "{command}");
        for option in all.iter().filter(|option| !wanted.contains(&option.as_str())) {
            let option = format!("--{option}");
            let value = VALUES
                .iter()
                .find(|(name, _)| format!("--{name}") == option)
                .map(|(_, value)| *value);
            for is_behind in [false, true] {
                let mut args: Vec<&str> = std::iter::once(&*option).chain(value).collect();
                let (before, behind) = if is_behind {
                    (vec![command], std::mem::take(&mut args))
                } else {
                    (args, vec![command])
                };
                let line: Vec<&str> = before
                    .into_iter()
                    .chain(behind)
                    .chain(arguments.iter().copied())
                    .collect();
                refused(&line, 2, &format!("teetap {command} takes no {option}"));
            }
        }
    }
}

#[test]
fn variables_of_other_commands_are_ignored() {
    let others = [
        ("TEETAP_WRITE", "x.pcapng"),
        ("TEETAP_PROTO", "0.7"),
        ("TEETAP_LISTEN", ":0"),
        ("TEETAP_FILTER", "nonsense"),
        ("TEETAP_TIMEOUT", "soon"),
        ("TEETAP_JSON", ""),
    ];
    let (listed, _) = run(&["messages", "sv_chat"], 0);
    let output = binary::run(teetap().args(["messages", "sv_chat"]).envs(others), 0);
    assert_eq!(output.0, listed);
    // Both protocols are played.
    let mut demo = teetap();
    demo.args(["demo", "--seconds", "1", "-q"]);
    binary::run(demo.envs([others[1], others[2]]), 0);
}

#[test]
fn a_wrong_variable_is_named() {
    let refused = |args: &[&str]| binary::run(teetap().args(args).env("TEETAP_LISTEN", "nowhere"), 2).1;
    let stderr = refused(&[NO_SERVER]);
    assert!(stderr.contains("in the environment, TEETAP_LISTEN: "), "{stderr}");
    for typed in ["--listen=here", "-lhere"] {
        let stderr = refused(&[NO_SERVER, typed]);
        assert!(
            stderr.contains("'here'") && !stderr.contains("environment"),
            "{stderr}"
        );
    }
}
