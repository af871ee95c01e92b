//! The command line of the built binary: help, errors and completions.

use crate::{refused, run};

pub(crate) const OPTIONS: [&str; 32] = [
    "HEAL",
    "CLIENT_ADDRESSES",
    "LISTEN",
    "ALLOW_REMOTE",
    "SEED",
    "RULE",
    "LINK",
    "PROFILE",
    "RULES",
    "CONTROL",
    "PROTO",
    "QUIET",
    "VERBOSE",
    "JSON",
    "FILTER",
    "UNTIL",
    "WIDE",
    "FOLD",
    "NO_FOLD",
    "TIME",
    "FAIL_ON",
    "TIMEOUT",
    "SHOW_SECRETS",
    "MESSAGES",
    "INPUT_LOG",
    "JUNIT",
    "SUMMARY",
    "JOURNAL",
    "FAULTS_FROM",
    "WRITE",
    "KEEP",
    "SAVE_ON",
];

/// An address for documentation: it has no server, and can be resolved without a name server.
pub(crate) const NO_SERVER: &str = "192.0.2.1:8303";

pub(crate) fn json(line: &str) -> serde_json::Value {
    serde_json::from_str(line).unwrap()
}

#[test]
fn help_names_options_sub_commands_and_exit_codes() {
    let (long, stderr) = run(&["--help"], 0);
    assert_eq!(stderr, "");
    for option in OPTIONS {
        let long_option = option.to_lowercase().replace('_', "-");
        assert!(
            long.contains(&format!("--{long_option}")) && long.contains(&format!("TEETAP_{option}")),
            "{option}"
        );
    }
    for word in [
        "run",
        "demo",
        "replay",
        "open",
        "grep",
        "judge",
        "scrub",
        "explain",
        "completions",
        "man",
        "Exit codes:",
        "128+n",
    ] {
        assert!(long.contains(word), "{word}");
    }
    let (short, _) = run(&["-h"], 0);
    assert!(
        short.len() < long.len(),
        "-h has {} bytes, --help {}",
        short.len(),
        long.len()
    );
    assert_eq!(
        run(&["-V"], 0).0,
        format!("teetap {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn bad_input_is_refused_in_one_line_before_anything_starts() {
    let cases: [(&[&str], i32, &str); 25] = [
        (&["run"], 2, "HOST[:PORT]"),
        (&[""], 2, "empty"),
        (&["host:0"], 2, "expected 1-65535"),
        (&["host:65536"], 2, "expected 1-65535"),
        (&["[::1"], 2, "IPv6"),
        (&["two words"], 2, "invalid host name"),
        (&[NO_SERVER, "--lissten", ":0"], 2, "'--listen'"),
        (&[NO_SERVER, "-l", "8303"], 2, "127.0.0.1:8303"),
        (&[NO_SERVER, "-l", "0.0.0.0:0"], 2, "--allow-remote"),
        (&[NO_SERVER, "-l", "[::]:0"], 2, "--allow-remote"),
        (&["demo", "-l", "0.0.0.0:0"], 2, "--allow-remote"),
        (&[NO_SERVER, "--proto", "0.8"], 2, "0.6.5"),
        (&[NO_SERVER, "--seed", "x"], 2, "number"),
        (&[NO_SERVER, "-q", "-v"], 2, "--quiet"),
        (&[NO_SERVER, "run", NO_SERVER], 2, "is before the command"),
        (&["demo", "--proto", "0.7"], 2, "takes no --proto"),
        (&["opne", "FILE"], 2, "did you mean 'open'"),
        // `x` is like `explain`.
        (&["opne", "x"], 2, "did you mean 'open'"),
        (&[NO_SERVER, "opne"], 2, "'opne'"),
        (&["man", "opne"], 2, "'opne'"),
        (&["help", "opne"], 2, "'opne'"),
        (&["gerp"], 3, "did you mean the command 'grep'"),
        (&["nosuch.invalid"], 3, "cannot resolve 'nosuch.invalid'"),
        (&["127.0.0.1:8303", "-l", "127.0.0.1:8303"], 3, "send to itself"),
        (
            &["[::1]:9", "-l", ":0", "--client-addresses"],
            2,
            "needs a server at 127.0.0.1 or another 127.x.y.z, not ::1",
        ),
    ];
    for (args, code, fragment) in cases {
        refused(args, code, fragment);
    }
}

#[test]
fn without_words_it_prints_its_usage_and_two_examples() {
    let (stdout, stderr) = run(&[], 2);
    assert_eq!(stdout, "");
    assert!(
        stderr.starts_with("Usage: teetap [OPTIONS] HOST[:PORT]\n"),
        "{stderr}"
    );
    let examples = stderr.lines().filter(|line| line.starts_with("  teetap "));
    assert_eq!(examples.count(), 2, "{stderr}");
}

#[test]
fn the_help_begins_with_examples() {
    for args in [&["--help"][..], &["-h"], &["grep", "--help"], &["help", "run"]] {
        let (help, _) = run(args, 0);
        let (examples, usage) = (help.find("\nExamples:\n  teetap "), help.find("\nUsage: teetap "));
        assert!(examples.is_some() && examples < usage, "{args:?}: {help}");
    }
}

#[test]
fn names_in_errors_hide_nothing() {
    let (_, stderr) = run(&["open", "a\nteetap: all is well\u{200b}\x1b[2J"], 2);
    assert!(
        stderr.contains(r"a\nteetap: all is well\u{200b}\u{1b}[2J"),
        "{stderr}"
    );
    let (_, stderr) = run(&["\u{3164}\u{202e}.invalid"], 2);
    assert!(
        !stderr.contains('\u{3164}') && !stderr.contains('\u{202e}'),
        "{stderr}"
    );
}

#[test]
fn completions_and_man_page_are_made_from_the_definition() {
    for (shell, first) in [
        ("bash", "_teetap() {"),
        ("elvish", "use builtin;"),
        ("fish", "# Print an optspec for argparse to handle"),
        ("powershell", "using namespace System.Management.Automation"),
        ("zsh", "#compdef teetap"),
    ] {
        let (script, stderr) = run(&["completions", shell], 0);
        assert!(script.trim_start().starts_with(first), "{shell}: {script}");
        assert!(
            script.contains("allow-remote") && script.contains("completions"),
            "{shell}"
        );
        assert_eq!(stderr, "");
    }
    refused(&["completions", "tcsh"], 2, "zsh");
    // An option that a command does not accept is not offered either.
    let (script, _) = run(&["completions", "bash"], 0);
    let of = |command: &str| {
        let (_, rest) = script
            .split_once(&format!("        teetap__subcmd__{command})"))
            .unwrap();
        rest.lines().nth(1).unwrap().to_owned()
    };
    assert!(
        of("grep").contains("--until") && !of("grep").contains("--filter"),
        "{}",
        of("grep")
    );
    assert!(
        of("man").contains("scrub") && !of("man").contains("--json"),
        "{}",
        of("man")
    );
    let (page, _) = run(&["man"], 0);
    for word in [
        ".TH teetap",
        "allow\\-remote",
        "EXIT STATUS",
        "ENVIRONMENT",
        "EXAMPLES",
        ".nf",
        "TEETAP_LISTEN",
        "demo",
    ] {
        assert!(page.contains(word), "{word}: {page}");
    }
    let (page, _) = run(&["man", "scrub"], 0);
    assert!(
        page.contains(".TH teetap-scrub") && page.contains("keep\\-unknown"),
        "{page}"
    );
    assert!(!page.contains("allow\\-remote"), "{page}");
}

#[test]
fn the_terminal_ui_needs_a_terminal_and_no_other_output() {
    refused(
        &["--tui", NO_SERVER],
        2,
        "cannot open the terminal UI: this is not a terminal",
    );
    for option in ["--json", "--quiet", "-v"] {
        refused(&["--tui", option, NO_SERVER], 2, "cannot be used with");
    }
    let (stdout, _) = run(&["--help"], 0);
    assert!(stdout.contains("--tui"), "{stdout}");
}
