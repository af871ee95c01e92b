//! The command line of the built binary: options, errors and exit codes.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read},
    net::UdpSocket,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use teetap_kit::binary;

use crate::{TEETAP, refused, run, teetap};

pub(crate) const OPTIONS: [&str; 28] = [
    "NO_HEAL",
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
    "JOURNAL",
    "FAULTS_FROM",
    "WRITE",
];

/// An address of documentation: nothing is there, and it can be resolved without a name server.
pub(crate) const NO_SERVER: &str = "192.0.2.1:8303";

fn start(args: &[&str]) -> Child {
    teetap()
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// A running proxy, its first JSON line and the rest of its stdout.
fn start_json(args: &[&str]) -> (Child, serde_json::Value, BufReader<std::process::ChildStdout>) {
    let mut child = start(args);
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    (child, serde_json::from_str(&line).unwrap(), stdout)
}

/// Sends a signal.
fn kill(child: &Child, signal: &str) {
    let (signal, id) = (format!("-{signal}"), child.id().to_string());
    binary::run(Command::new("kill").args([signal, id]), 0);
}

/// Returns the last line of what is still to be printed.
fn last(mut stdout: impl Read) -> serde_json::Value {
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    json(rest.lines().last().unwrap())
}

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
    assert!(short.len() < long.len());
    assert_eq!(
        run(&["-V"], 0).0,
        format!("teetap {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn bad_input_is_refused_in_one_line_before_anything_starts() {
    let cases: [(&[&str], i32, &str); 24] = [
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
        (&["127.0.0.1:8303", "-l", "127.0.0.1:8303"], 3, "talk to itself"),
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
fn a_taken_port_is_refused() {
    let other = UdpSocket::bind("127.0.0.1:0").unwrap();
    let addr = other.local_addr().unwrap().to_string();
    refused(&[NO_SERVER, "-l", &addr], 3, &format!("{addr} is taken"));
}

#[test]
fn the_default_port_moves_on_with_a_warning_when_it_is_taken() {
    // The port is taken now, by this test or by another program.
    let _own_or_foreign = UdpSocket::bind("127.0.0.1:8303");
    let (stdout, stderr) = run(&["run", NO_SERVER, "--json", "--", "true"], 0);
    let listen = json(stdout.lines().next().unwrap())["listen"]
        .as_str()
        .unwrap()
        .to_owned();
    let port: u16 = listen.strip_prefix("127.0.0.1:").unwrap().parse().unwrap();
    assert!((8304..8403).contains(&port), "{listen}");
    assert!(
        stderr.contains(&format!("port 8303 is taken: listening on {listen}")),
        "{stderr}"
    );
    assert!(stderr.contains(&format!("connect {listen}")), "{stderr}");
    assert!(
        stderr.contains(&format!("connect tw-0.7+udp://{listen}")),
        "{stderr}"
    );
}

#[test]
fn a_listen_address_of_this_machine_is_taken_with_the_flag() {
    let (stdout, _) = run(
        &[
            "run",
            NO_SERVER,
            "-l",
            "0.0.0.0:0",
            "--allow-remote",
            "--json",
            "--",
            "true",
        ],
        0,
    );
    let first = json(stdout.lines().next().unwrap());
    assert!(
        first["listen"].as_str().unwrap().starts_with("0.0.0.0:"),
        "{first}"
    );
}

#[test]
fn the_command_of_run_gets_the_address_and_decides_how_it_ends() {
    let script = "echo to:{host}:{port}:{addr}; exit 7";
    let args = [
        "run", NO_SERVER, "-l", ":0", "--json", "--seed", "9", "--", "sh", "-c", script,
    ];
    let (stdout, stderr) = run(&args, 1);
    let lines: Vec<_> = stdout.lines().map(json).collect();
    let (first, last) = (lines.first().unwrap(), lines.last().unwrap());
    let addr = first["listen"].as_str().unwrap();
    assert!(stderr.contains(&format!("to:{addr}:{addr}\n")), "{stderr}");
    assert_eq!(
        (&first["event"], &first["v"], &first["seed"]),
        (&"start".into(), &2.into(), &9.into())
    );
    assert_eq!(
        (&last["event"], &last["cmd_exit"], &last["exit"], &last["seed"]),
        (&"summary".into(), &7.into(), &1.into(), &9.into())
    );
    assert_eq!(last["ended_by"]["kind"], "command", "{last}");
    assert_eq!(last["cmd_stopped"], false, "{last}");
    let (_, stderr) = run(&["run", NO_SERVER, "-l", ":0", "-q", "--", "no-such-command"], 3);
    assert!(stderr.contains("cannot start no-such-command"), "{stderr}");
}

#[test]
fn a_full_disk_behind_stdout_ends_no_run() {
    const REQUEST: &[u8] = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffgie3\x07";
    let (folder, file) = binary::place("started");
    let end = folder.path().join("end");
    let script = "echo {addr} > \"$0.part\"; mv \"$0.part\" \"$0\"; while ! [ -e \"$1\" ]; do sleep 0.01; done; exit 7";
    for json in [&["--json"][..], &[]] {
        let mut command = teetap();
        command.arg("run").args(json);
        command.args([NO_SERVER, "-l", "127.0.0.1:0", "--", "sh", "-c", script]);
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let errors = folder.path().join("errors");
        let stderr = fs::File::create(&errors).unwrap();
        command.arg(&file).arg(&end).stdout(full).stderr(stderr);
        let mut child = command.spawn().unwrap();
        let started = loop {
            assert_eq!(child.try_wait().unwrap(), None);
            if let Ok(started) = fs::read_to_string(&file) {
                break started;
            }
            thread::sleep(Duration::from_millis(5));
        };
        // The line of the request is the first on stdout.
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..20 {
            client.send_to(REQUEST, started.trim()).unwrap();
            thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(child.try_wait().unwrap(), None);
        fs::write(&end, b"").unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(1));
        let stderr = fs::read_to_string(&errors).unwrap();
        let warnings: Vec<&str> = stderr.lines().filter(|line| line.contains("stdout")).collect();
        assert_eq!(warnings.len(), 1, "{stderr}");
        assert!(
            warnings[0].starts_with("teetap: warning: cannot write to stdout: No space left on device")
                && warnings[0].ends_with("the run continues, but the rest of it is not printed"),
            "{stderr}"
        );
        fs::remove_file(&file).unwrap();
        fs::remove_file(&end).unwrap();
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
fn the_limit_of_open_files_is_raised_for_the_proxy_only() {
    // The command sees its own limit, and waits up to 20 s for that of its parent.
    const SEEN: &str = r#"
        [ "$(ulimit -Sn)" = 64 ] || exit 5
        for _ in $(seq 2000); do
            grep -q "^Max open files *$(ulimit -Hn) " /proc/$PPID/limits && exit 0
            sleep 0.01
        done
        exit 6"#;
    let mut limited = Command::new("sh");
    limited.args(["-c", r#"ulimit -Sn 64; exec "$@""#, "sh", TEETAP]);
    limited.args([
        "run",
        NO_SERVER,
        "--listen",
        "127.0.0.1:0",
        "--",
        "sh",
        "-c",
        SEEN,
    ]);
    binary::run(&mut limited, 0);
}

#[test]
fn signals_end_it_with_a_summary_and_their_code() {
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let (mut child, _, stdout) = start_json(&[NO_SERVER, "-l", ":0", "--json"]);
        // Twice at once, as timeout signals its child and its group.
        let (signal, id) = (format!("-{signal}"), child.id().to_string());
        binary::run(Command::new("kill").args([&signal, &id, &id]), 0);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        let last = last(stdout);
        assert!(
            last["event"] == "summary" && last["exit"] == code,
            "{signal}: {last}"
        );
    }
}

#[test]
fn datagrams_dropped_by_the_kernel_are_reported() {
    let (mut child, first, mut stdout) = start_json(&[NO_SERVER, "-l", "127.0.0.1:0", "--json", "-q"]);
    // The proxy stands still while more comes than any usual receive buffer holds.
    kill(&child, "STOP");
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..20_000 {
        socket
            .send_to(&[0; 1024], first["listen"].as_str().unwrap())
            .unwrap();
    }
    kill(&child, "CONT");
    let mut line = String::new();
    while !line.contains("the kernel dropped") {
        line.clear();
        assert_ne!(stdout.read_line(&mut line).unwrap(), 0, "no line reports it");
    }
    assert_eq!(json(&line)["level"], "warning");
    kill(&child, "TERM");
    child.wait().unwrap();
    let last = last(stdout);
    let (dropped, read) = (&last["kernel_drops"], &last["datagrams"]["c2s"]);
    assert_eq!(dropped.as_u64().unwrap() + read.as_u64().unwrap(), 20_000);
}

#[test]
fn a_signal_ends_the_command_too() {
    let args = ["run", NO_SERVER, "-l", ":0", "--json", "--", "sleep", "1000"];
    let (mut child, _, stdout) = start_json(&args);
    kill(&child, "TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let last = last(stdout);
    // Started in time or not, none is left; if started, TERM ended it.
    let is_stopped = last["cmd_exit"] == 143 && last["cmd_stopped"] == true;
    assert!(last["cmd_exit"].is_null() || is_stopped, "{last}");
    assert_eq!(
        last["ended_by"],
        serde_json::json!({"kind": "signal", "signal": 15}),
        "{last}"
    );
}

/// Returns the JSON summary and the last line of stderr of a demo that ends with `code`.
pub(crate) fn ended(options: &[&str], code: i32) -> (serde_json::Value, String) {
    let demo = ["demo", "--json", "--seconds", "2", "-l", ":0"];
    let (stdout, stderr) = run(&[&demo, options].concat(), code);
    let last = json(stdout.lines().last().unwrap());
    (last, stderr.lines().last().unwrap().to_owned())
}

#[test]
fn the_summary_names_what_ended_the_run() {
    let (last, line) = ended(&["--until", "sv_chat"], 0);
    let by = &last["ended_by"];
    assert_eq!(
        (&by["kind"], &by["message"], &by["dir"]),
        (&"until".into(), &"sv_chat".into(), &"s2c".into()),
    );
    assert!(
        by["at"].as_f64().unwrap() > 0.0 && by["session"].is_u64(),
        "{last}"
    );
    assert!(
        line.contains(" ended by --until: sv_chat s→c in session "),
        "{line}"
    );

    // Where a message matches both, it fails.
    let (last, line) = ended(&["--until", "sv_chat", "--fail-on", "sv_chat"], 1);
    assert_eq!(last["ended_by"]["kind"], "fail_on", "{last}");
    assert!(
        line.contains(" ended by --fail-on: sv_chat s→c in session "),
        "{line}"
    );

    // A message that is not shown ends the run, too.
    let (last, _) = ended(&["-q", "-f", "c2s", "--fail-on", "sv_motd"], 1);
    assert_eq!(last["ended_by"]["message"], "sv_motd", "{last}");

    // What must not come has not come.
    let (last, line) = ended(&["--fail-on", "rcon_cmd"], 0);
    assert_eq!(last["ended_by"], serde_json::json!({"kind": "demo"}), "{last}");
    assert!(line.contains(" ended by the end of the demo, "), "{line}");

    let (last, line) = ended(&["--timeout", "300ms"], 0);
    assert_eq!(last["ended_by"], serde_json::json!({"kind": "timeout"}), "{last}");
    assert!(line.contains(" ended by --timeout, "), "{line}");
}

#[test]
fn sessions_that_never_came_online_are_counted() {
    // A client of 0.6.4 before a server that is not there.
    let client = "import os, socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM);
s.sendto(bytes([0x10, 0, 0, 1]), (os.sys.argv[1], int(os.sys.argv[2])))
import time; time.sleep(0.5)";
    let script = ["--", "python3", "-c", client, "{host}", "{port}"];
    let args = [&["run", NO_SERVER, "-l", ":0", "--json"], &script[..]].concat();
    let (stdout, stderr) = run(&args, 0);
    let last = json(stdout.lines().last().unwrap());
    assert_eq!(
        (&last["sessions"], &last["never_online"]),
        (&0.into(), &1.into()),
        "{last}"
    );
    assert!(stderr.contains(" 0 sessions, 1 never online, "), "{stderr}");
}

#[test]
fn a_closed_pipe_is_success() {
    let mut child = start(&["demo", "--seconds", "60", "-l", ":0"]);
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    // What comes before a session has no number.
    let has_session = stdout.by_ref().lines().any(|line| line.unwrap().contains("#1"));
    assert!(has_session);
    drop(stdout);
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
}

#[test]
fn completions_and_man_page_are_made_from_the_definition() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let (script, stderr) = run(&["completions", shell], 0);
        assert!(
            script.contains("allow-remote") && script.contains("completions"),
            "{shell}"
        );
        assert_eq!(stderr, "");
    }
    refused(&["completions", "tcsh"], 2, "zsh");
    // An option that a command does not take is not offered either.
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
