//! Recordings from stdin.

use std::{fs, path::Path, process::Stdio};

use teetap_kit::binary;

use crate::{run, teetap};

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
