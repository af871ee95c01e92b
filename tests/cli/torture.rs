//! `teetap torture` with clients that cannot be tested, and without a server. Real clients: `tests/real/torture.rs`.

use std::{
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use teetap_kit::binary::{self, wait_end};

use crate::{command_line::NO_SERVER, run, teetap};

/// Returns the only line of stderr of a matrix whose baseline fails.
fn refused(options: &[&str], command: &[&str], code: i32) -> String {
    let args = [
        &["torture", NO_SERVER, "--stay", "100ms"],
        options,
        &["--"],
        command,
    ]
    .concat();
    let (stdout, stderr) = run(&args, code);
    assert_eq!(stdout, "");
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{stderr}");
    lines[0].to_owned()
}

#[test]
fn a_command_that_cannot_be_a_client_is_named_as_what_it_is() {
    let no_place =
        "no word of its command has {addr}, {host} or {port}, which become the address to connect to";
    let place = "does it connect to the address that it gets?";
    for (command, code, expected) in [
        (
            &["./nosuch"][..],
            3,
            "cannot start ./nosuch: No such file or directory (os error 2)".to_owned(),
        ),
        (
            &["true"],
            1,
            format!("the client ended at once with exit code 0, without a datagram to teetap; {no_place}"),
        ),
        (
            &["sh", "-c", "echo bad option >&2; exit 2", "{addr}"],
            1,
            format!(
                "the client ended at once with exit code 2, without a datagram to teetap; {place}; its last line: bad option"
            ),
        ),
        (
            &["sleep", "1000"],
            1,
            format!("no datagram came from the client to teetap; {no_place}"),
        ),
    ] {
        assert_eq!(
            refused(&["--timeout", "1s"], command, code),
            format!("teetap: {expected}"),
            "{command:?}"
        );
    }
}

#[test]
fn a_client_that_does_not_join_without_a_fault_is_explained() {
    // A CONNECT of 0.6.4.
    let client = "import os, socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM);
s.sendto(bytes([0x10, 0, 0, 1]), (os.sys.argv[1], int(os.sys.argv[2])))
print('x' * 1000000); print('waiting', flush=True); time.sleep(3)";
    let line = refused(
        &["--json", "--timeout", "50s"],
        &["python3", "-c", client, "{host}", "{port}"],
        1,
    );
    let why = "teetap: the client does not join without a fault: never joined: after connect the server never sent connect_accept";
    assert!(
        line.starts_with(why) && line.ends_with("; its last line: waiting"),
        "{line}"
    );
}

#[test]
fn a_signal_ends_the_runs_and_their_clients() {
    let mark = format!("torture-{}", std::process::id());
    let mut command = teetap();
    command.args([
        "torture",
        NO_SERVER,
        "--",
        "sh",
        "-c",
        "trap '' TERM; sleep 1000; sleep 1000",
        "{addr}",
    ]);
    command.env("TEST_MARK", &mark).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    thread::sleep(Duration::from_millis(700));
    binary::run(Command::new("kill").args(["-INT", &child.id().to_string()]), 0);
    assert_eq!(
        wait_end(&mut child, Duration::from_secs(30)).unwrap(),
        Some(130),
        "the exit code"
    );
    crate::processes::none_is_left(&mark, "torture");
}
