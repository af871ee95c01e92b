//! Recordings from stdin.

use std::{fs, path::Path, process::Stdio};

use assert_cmd::assert::OutputAssertExt as _;

use crate::{run, teetap};

#[test]
fn stdin_is_read_like_a_file() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures/dd-session.pcap");
    let name = path.to_string_lossy();
    let piped = |args: &[&str], bytes: &[u8], code| {
        let mut command = assert_cmd::Command::from_std(teetap());
        let output = command
            .args(args)
            .write_stdin(bytes)
            .assert()
            .code(code)
            .get_output()
            .clone();
        (
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let bytes = fs::read(&path).unwrap();
    let (wanted, told) = run(&["open", &name], 0);
    let told = told.replace(&*name, "stdin");
    assert_eq!(piped(&["open", "-"], &bytes, 0), (wanted.clone(), told));
    let file = Stdio::from(fs::File::open(&path).unwrap());
    let output = teetap()
        .args(["open", "-"])
        .stdin(file)
        .assert()
        .code(0)
        .get_output()
        .clone();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), wanted);
    let found = run(&["grep", "sv_chat", &name], 0).0;
    assert_eq!(piped(&["grep", "sv_chat", "-"], &bytes, 0).0, found);
    assert!(piped(&["open", "-"], b"", 5).1.contains("stdin: "));
}
