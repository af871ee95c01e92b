//! Runs of the built binary: their addresses, their ends, and their exit codes.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read},
    net::UdpSocket,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use teetap_kit::{binary, real::PATIENCE};

use crate::{
    TEETAP,
    command_line::{NO_SERVER, json},
    refused, run, teetap,
};

fn start(args: &[&str]) -> Child {
    teetap()
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Starts a proxy. Returns it with its first JSON line and the rest of its stdout.
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

/// Returns the last line of the remaining output.
fn last(mut stdout: impl Read) -> serde_json::Value {
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    json(rest.lines().last().unwrap())
}

#[test]
fn a_taken_port_is_refused() {
    let other = UdpSocket::bind("127.0.0.1:0").unwrap();
    let addr = other.local_addr().unwrap().to_string();
    refused(&[NO_SERVER, "-l", &addr], 3, &format!("{addr} is taken"));
}

#[test]
fn the_default_port_moves_on_with_a_warning_when_it_is_taken() {
    // The port is now taken, by this test or by another program.
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

/// A report would replace the rules, and a log would damage a recording.
#[test]
fn a_file_that_an_option_writes_serves_no_other_option() {
    let (_folder, path) = binary::place("rules.jsonl");
    let rules = "# rules\n";
    fs::write(&path, rules).unwrap();
    let link = path.with_file_name("link.jsonl");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let (path, link) = (path.to_str().unwrap(), link.to_str().unwrap());
    let new = link.replace("link.jsonl", "new.jsonl");
    let pairs = [
        (["--rules", path], ["--junit", path]),
        (["--rules", path], ["--log", link]),
        (["--messages", link], ["--junit", path]),
        (["--log", &new], ["--write", &new]),
        (["--log", path], ["--write", link]),
        (["--junit", &new], ["--input-log", &new]),
        (["--journal", &new], ["--log", &new]),
        (["--faults-from", path], ["--journal", path]),
    ];
    for (one, other) in pairs {
        let args = [&["run", NO_SERVER, "-l", ":0"][..], &one, &other, &["--", "true"]].concat();
        let (_, stderr) = run(&args, 2);
        assert!(
            stderr.contains("cannot use ") && stderr.contains("name another file"),
            "{stderr}"
        );
        assert!(stderr.contains(one[0]) && stderr.contains(other[0]), "{stderr}");
        assert_eq!(fs::read_to_string(path).unwrap(), rules, "{args:?}");
        assert!(!fs::exists(&new).unwrap(), "{args:?}");
    }
    let (_, stderr) = run(
        &[
            "run",
            NO_SERVER,
            "-l",
            ":0",
            "--log",
            "/dev/null",
            "--junit",
            "/dev/null",
            "--",
            "true",
        ],
        0,
    );
    assert!(!stderr.contains("cannot use"), "{stderr}");
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
            assert_eq!(child.try_wait().unwrap(), None, "the run ended too early");
            if let Ok(started) = fs::read_to_string(&file) {
                break started;
            }
            thread::sleep(Duration::from_millis(5));
        };
        // The line about the request is the first on stdout.
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..20 {
            client.send_to(REQUEST, started.trim()).unwrap();
            thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(child.try_wait().unwrap(), None, "the run ended too early");
        fs::write(&end, b"").unwrap();
        assert_eq!(
            binary::wait_end(&mut child, PATIENCE).unwrap(),
            Some(1),
            "the exit code"
        );
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
fn the_limit_of_open_files_is_raised_for_the_proxy_only() {
    // The command checks its own limit, and waits up to 20 s for its parent's limit.
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
        assert_eq!(
            binary::wait_end(&mut child, PATIENCE).unwrap(),
            Some(code),
            "{signal}"
        );
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
    // The proxy is stopped while more datagrams are sent than any usual receive buffer holds.
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
    binary::wait_end(&mut child, PATIENCE).unwrap();
    let last = last(stdout);
    let (dropped, read) = (&last["kernel_drops"], &last["datagrams"]["c2s"]);
    assert_eq!(dropped.as_u64().unwrap() + read.as_u64().unwrap(), 20_000);
}

#[test]
fn a_signal_ends_the_command_too() {
    let args = ["run", NO_SERVER, "-l", ":0", "--json", "--", "sleep", "1000"];
    let (mut child, _, stdout) = start_json(&args);
    kill(&child, "TERM");
    assert_eq!(
        binary::wait_end(&mut child, PATIENCE).unwrap(),
        Some(143),
        "the exit code"
    );
    let last = last(stdout);
    // Whether the command was started in time or not, no process is left; if it was started, TERM ended it.
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

    // If a message matches both, the run fails.
    let (last, line) = ended(&["--until", "sv_chat", "--fail-on", "sv_chat"], 1);
    assert_eq!(last["ended_by"]["kind"], "fail_on", "{last}");
    assert!(
        line.contains(" ended by --fail-on: sv_chat s→c in session "),
        "{line}"
    );

    // A message that is not shown also ends the run.
    let (last, _) = ended(&["-q", "-f", "c2s", "--fail-on", "sv_motd"], 1);
    assert_eq!(last["ended_by"]["message"], "sv_motd", "{last}");

    // The forbidden message was never received.
    let (last, line) = ended(&["--fail-on", "rcon_cmd"], 0);
    assert_eq!(last["ended_by"], serde_json::json!({"kind": "demo"}), "{last}");
    assert!(line.contains(" ended by the end of the demo, "), "{line}");

    let (last, line) = ended(&["--timeout", "300ms"], 0);
    assert_eq!(last["ended_by"], serde_json::json!({"kind": "timeout"}), "{last}");
    assert!(line.contains(" ended by --timeout, "), "{line}");
}

/// The client's second session starts later than the run.
#[test]
fn times_in_the_summary_are_on_the_clock_of_the_lines() {
    let client = "import os, socket, time
time.sleep(0.5)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(3): s.sendto(bytes([0x10, 0, 0, 1]), (os.sys.argv[1], int(os.sys.argv[2]))); time.sleep(0.15)
time.sleep(60)";
    let rules = [
        "-r",
        "m: log \"seen\" when connect and c2s",
        "-r",
        "e: exit 17 when connect and c2s and t > 0.2s",
    ];
    for (clock, least) in [("session", 0.2), ("run", 0.7)] {
        let options = ["run", NO_SERVER, "-q", "-l", ":0", "--time", clock];
        let command = ["--", "python3", "-c", client, "{host}", "{port}"];
        let (stdout, stderr) = run(&[&options[..], &rules, &command].concat(), 17);
        let mut logged = stdout
            .lines()
            .filter(|line| line.contains("note: rule \"m\": seen"));
        let last = logged.next_back().unwrap().split_whitespace().next().unwrap();
        assert!(last.parse::<f64>().unwrap() > least, "{clock}: {stdout}");
        assert!(
            stderr.contains(&format!("rule m: 3 hits, last at {last} s in session 1\n")),
            "{stdout}{stderr}"
        );
        let end = format!("ended by rule \"e\": connect c→s in session 1 at {last} s, ");
        assert!(stderr.contains(&end), "{stdout}{stderr}");
    }
}

#[test]
fn a_run_without_clients_says_where_they_connect() {
    let sentence = "teetap: no client sent a datagram: clients connect to the address of the proxy\n";
    let (_, stderr) = run(&["run", NO_SERVER, "-l", ":0", "--timeout", "300ms"], 0);
    assert!(stderr.contains(sentence), "without clients: {stderr}");
    let (_, stderr) = run(&["demo", "--seconds", "1", "-l", ":0"], 0);
    assert!(!stderr.contains(sentence), "with players: {stderr}");
}

#[test]
fn a_quiet_run_prints_what_its_rules_log_and_mark() {
    let rules = [
        "-r",
        "m: mark tea when sv_motd",
        "-r",
        "l: log \"hello\" when sv_motd",
    ];
    let (stdout, _) = run(
        &[&["demo", "-q", "--seconds", "1", "-l", ":0"], &rules[..]].concat(),
        0,
    );
    let count = |part: &str| stdout.lines().filter(|line| line.contains(part)).count();
    assert_eq!(
        (count("note: rule \"l\": hello"), count(" sv_motd ")),
        (2, 2),
        "{stdout}"
    );
    assert_eq!((count("#tea"), count("sv_chat")), (2, 0), "{stdout}");
}

#[test]
fn a_demo_does_not_fail_for_what_the_rules_of_its_user_did() {
    let (_, stderr) = run(
        &["demo", "--seconds", "1", "-l", ":0", "-r", "drop when cl_say"],
        0,
    );
    let lines = [
        "teetap: with these rules: seven: did not receive the chat of seven, each line once and in order\n",
        "teetap: the demo was changed by the rules, so it neither succeeded nor failed\n",
    ];
    assert!(lines.iter().all(|line| stderr.contains(line)), "{stderr}");
}

#[test]
fn sessions_that_never_came_online_are_counted() {
    // A client of 0.6.4 whose server does not exist.
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
    // Lines before the first session have no number.
    let has_session = stdout.by_ref().lines().any(|line| line.unwrap().contains("#1"));
    assert!(has_session, "no line is about session 1");
    drop(stdout);
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(
        binary::wait_end(&mut child, PATIENCE).unwrap(),
        Some(0),
        "{stderr}"
    );
    assert!(!stderr.contains("panicked"), "{stderr}");
}
