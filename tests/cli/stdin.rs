//! Recordings from stdin, and runs that end with it.

use std::{
    fs,
    path::Path,
    process::Stdio,
    time::{Duration, Instant},
};

use teetap_kit::binary;

use crate::{
    command_line::{NO_SERVER, json},
    refused, run, teetap,
};

#[test]
fn stdin_is_read_like_a_file() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures/dd-session.pcap");
    let name = path.to_string_lossy();
    let piped = |args: &[&str], bytes: &[u8], code| binary::piped(teetap().args(args), bytes, code);
    let bytes = fs::read(&path).unwrap();
    let (wanted, status) = run(&["open", &name], 0);
    let status = status.replace(&*name, "stdin");
    assert_eq!(piped(&["open", "-"], &bytes, 0), (wanted.clone(), status));
    let file = Stdio::from(fs::File::open(&path).unwrap());
    let output = binary::run(teetap().args(["open", "-"]).stdin(file), 0);
    assert_eq!(output.0, wanted);
    let found = run(&["grep", "sv_chat", &name], 0).0;
    assert_eq!(piped(&["grep", "sv_chat", "-"], &bytes, 0).0, found);
    let (_, stderr) = piped(&["open", "-"], b"", 5);
    assert!(stderr.contains("stdin: "), "{stderr}");
}

/// Maximum time between the end of stdin and the end of the run.
const SOON: Duration = Duration::from_secs(2);

#[test]
fn a_closed_stdin_ends_a_run_with_the_option() {
    for (command, options, code) in [
        (["run", NO_SERVER], [].as_slice(), 0),
        (["run", NO_SERVER], &["--until", "sv_chat"], 4),
        (["demo", "--seconds=60"], &[], 0),
    ] {
        let args = [&command, ["--until-stdin-closes", "--json"].as_slice(), options].concat();
        let mut child = teetap()
            .args(&args)
            .args(["-l", ":0"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut stdin, b"bytes that are ignored\n").unwrap();
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(child.try_wait().unwrap(), None, "{args:?}: an open stdin");
        drop(stdin);
        let closed = Instant::now();
        let output = child.wait_with_output().unwrap();
        assert!(closed.elapsed() < SOON, "{args:?}: {:?}", closed.elapsed());
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let summary = json(text.lines().last().unwrap());
        assert_eq!(summary["ended_by"]["kind"], "stdin_closed", "{args:?}: {summary}");
    }
}

#[test]
fn a_closed_stdin_ends_no_other_run() {
    let (stdout, _) = run(&["run", NO_SERVER, "--json", "--timeout", "300ms", "-l", ":0"], 0);
    let summary = json(stdout.lines().last().unwrap());
    assert_eq!(summary["ended_by"]["kind"], "timeout", "{summary}");
}

#[test]
fn a_reader_of_stdin_excludes_the_option() {
    let args = ["run", NO_SERVER, "--until-stdin-closes", "--", "cat"];
    refused(&args, 2, "cannot use --until-stdin-closes with CMD");
}
