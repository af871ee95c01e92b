//! Files, pipes and sockets that commands read and write: none of them blocks a command forever, fills the memory, or
//! exposes a recording to other users.

use std::{
    fs,
    io::Write as _,
    os::unix::{
        fs::{PermissionsExt as _, symlink},
        net::UnixListener,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use teetap_kit::binary::{self, place};

use crate::{command_line::NO_SERVER, teetap};

/// Longer than the program waits for a pipe or an answer, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

/// Memory limit of a command in KiB: more than it needs, less than an endless file would fill.
const MEMORY: &str = "ulimit -v 2000000; exec \"$@\"";

fn pipe(path: &Path) {
    let status = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(status.success(), "mkfifo: {status}");
}

/// Returns the exit code and stderr of a command with limited memory, which must end in time.
fn ended(command: &Command, stdin: Stdio) -> (Option<i32>, String) {
    let mut limited = binary::command("bash");
    limited
        .args(["-c", MEMORY, "-"])
        .arg(command.get_program())
        .args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        limited.current_dir(folder);
    }
    limited.stdin(stdin).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = limited.spawn().unwrap();
    let end = binary::wait_end(&mut child, PATIENCE);
    if end.is_err() {
        let _killed = child.kill();
    }
    let mut stderr = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut stderr).unwrap();
    assert!(end.is_ok(), "{command:?} does not end: {stderr}");
    (end.unwrap(), stderr)
}

/// Commands that read a file, with the place of its name.
const READERS: [&[&str]; 8] = [
    &[NO_SERVER, "-R", "{}"],
    &[NO_SERVER, "--messages", "{}"],
    &[NO_SERVER, "--faults-from", "{}"],
    &["check", "{}"],
    &["fmt", "{}"],
    &["explain", "{}"],
    &["judge", "none.pcap", "--ignore-file", "{}"],
    &["shrink", "{}", "--", "true", "{faults}"],
];

fn reader(words: &[&str], path: &Path) -> Command {
    let mut command = teetap();
    command.args(words.iter().map(|word| match *word {
        "{}" => path.as_os_str(),
        other => other.as_ref(),
    }));
    command
}

#[test]
fn no_command_waits_for_a_pipe_without_a_writer() {
    let (folder, path) = place("pipe");
    pipe(&path);
    thread::scope(|scope| {
        for words in READERS {
            let path = &path;
            scope.spawn(move || {
                let (code, stderr) = ended(&reader(words, path), Stdio::null());
                assert_eq!(code, Some(2), "{words:?}: {stderr}");
                assert!(
                    stderr.contains("its writer did not close it within 10 s"),
                    "{words:?}: {stderr}"
                );
            });
        }
        // A file of a project, or one shown on the screen, must be a regular file.
        scope.spawn(|| {
            let folder = folder.path().join("project");
            fs::create_dir(&folder).unwrap();
            pipe(&folder.join("teetap.toml"));
            for words in [&[NO_SERVER][..], &["open", "x.pcap"], &["config"]] {
                let mut command = teetap();
                command.args(words).current_dir(&folder);
                let (code, stderr) = ended(&command, Stdio::null());
                assert_eq!(code, Some(2), "{words:?}: {stderr}");
                assert_eq!(stderr, "teetap: cannot read teetap.toml: not a regular file\n");
            }
            fs::remove_file(folder.join("teetap.toml")).unwrap();
            pipe(&folder.join("rules.tap"));
            fs::write(folder.join("teetap.toml"), "rules = \"rules.tap\"\n").unwrap();
            let mut command = teetap();
            command.arg(NO_SERVER).current_dir(&folder);
            let (code, stderr) = ended(&command, Stdio::null());
            assert_eq!(code, Some(2), "{stderr}");
            let why = "teetap.toml:1: 'rules' of a project must name a regular file, and 'rules.tap' is none";
            assert!(stderr.contains(why), "{stderr}");
        });
    });
}

#[test]
fn no_endless_file_fills_the_memory() {
    for words in READERS {
        let (code, stderr) = ended(&reader(words, Path::new("/dev/zero")), Stdio::null());
        assert_eq!(code, Some(2), "{words:?}: {stderr}");
        assert!(stderr.contains("larger than "), "{words:?}: {stderr}");
    }
    for words in [["check", "-"], ["explain", "-"]] {
        let zero = fs::File::open("/dev/zero").unwrap();
        let mut command = teetap();
        let (code, stderr) = ended(command.args(words), zero.into());
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("larger than "), "{stderr}");
    }
    let (folder, _) = place("x");
    symlink("/dev/zero", folder.path().join("teetap.toml")).unwrap();
    let mut command = teetap();
    command.arg(NO_SERVER).current_dir(folder.path());
    let (code, stderr) = ended(&command, Stdio::null());
    assert_eq!(
        (code, &*stderr),
        (Some(2), "teetap: cannot read teetap.toml: not a regular file\n")
    );
}

#[test]
fn rules_come_from_the_output_of_a_command_once() {
    let script = "\"$0\" run \"$1\" -l :0 --json -R <(sleep 0.3; echo 'a: log when c2s') -- sleep 1";
    let mut command = binary::command("bash");
    command.args(["-c", script, crate::TEETAP, NO_SERVER]);
    let (stdout, stderr) = binary::run(&mut command, 0);
    assert!(
        stdout.lines().last().unwrap().contains("\"name\":\"a\""),
        "{stdout}"
    );
    let warnings: Vec<_> = stderr.lines().filter(|line| line.contains("warning")).collect();
    // A network namespace may have no route to the server.
    assert!(
        warnings.iter().all(|line| line.contains("did not answer")),
        "{stderr}"
    );
}

/// The main loop reads changed files.
#[test]
fn a_rules_file_that_becomes_a_pipe_stops_no_run() {
    let (_folder, path) = place("rules.tap");
    fs::write(&path, "a: log when c2s\n").unwrap();
    let mut command = teetap();
    command
        .args(["run", NO_SERVER, "-l", ":0", "--timeout", "4s", "-R"])
        .arg(&path);
    command
        .args(["--", "sh", "-c", "rm \"$0\"; mkfifo \"$0\"; exec sleep 20"])
        .arg(&path);
    let start = Instant::now();
    let (_, stderr) = ended(&command, Stdio::null());
    assert!(start.elapsed() < Duration::from_secs(15), "{stderr}");
    let warning = "any more, its last rules stay: not a regular file";
    assert_eq!(stderr.matches(warning).count(), 1, "{stderr}");
    assert!(stderr.contains("ended by --timeout"), "{stderr}");
}

/// Runs `teetap ctl` with a socket on which another program listens.
fn with_socket(path: &Path) -> (Option<i32>, String) {
    let mut command = teetap();
    command.arg("ctl").arg(path).arg("stats");
    ended(&command, Stdio::null())
}

#[test]
fn a_hostile_control_socket_fills_no_memory_and_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let serve = |name: &str, line: &'static [u8]| -> PathBuf {
        let path = folder.path().join(name);
        let listener = UnixListener::bind(&path).unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            while stream.write_all(line).is_ok() {}
        });
        path
    };
    let (endless, other) = (
        serve("endless", &[b'x'; 4096]),
        serve("other", b"{\"event\":\"start\"}\n"),
    );
    // Two connections are pending, so that there is no room for a third one.
    let full = folder.path().join("full");
    let listener = rustix::net::socket_with(
        rustix::net::AddressFamily::UNIX,
        rustix::net::SocketType::STREAM,
        rustix::net::SocketFlags::CLOEXEC,
        None,
    )
    .unwrap();
    rustix::net::bind(&listener, &rustix::net::SocketAddrUnix::new(&full).unwrap()).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let _waiting = std::os::unix::net::UnixStream::connect(&full).unwrap();
    thread::scope(|scope| {
        for (path, why) in [
            (&endless, "a line is longer than 16777216 bytes"),
            (&other, "no answer for 10 s"),
            (&full, "the run does not accept connections"),
        ] {
            scope.spawn(move || {
                let (code, stderr) = with_socket(path);
                assert_eq!(code, Some(3), "{stderr}");
                assert!(stderr.contains(why), "{why}: {stderr}");
            });
        }
    });
    // A run that wants the path for its own socket does not wait either.
    let mut command = teetap();
    command.args([NO_SERVER, "-l", ":0", "--control"]).arg(&full);
    let (code, stderr) = ended(&command, Stdio::null());
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stderr.contains("another run listens on it"), "{stderr}");
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn other_users_cannot_read_what_a_run_writes_to_a_file_that_they_could_read() {
    let folder = tempfile::tempdir().unwrap();
    for (option, name) in [
        ("-w", "run.pcapng"),
        ("-w", "run.jsonl"),
        ("--log", "log"),
        ("--junit", "junit.xml"),
    ] {
        let path = folder.path().join(name);
        let run = || {
            let mut command = teetap();
            command
                .args(["run", NO_SERVER, "-l", ":0", option])
                .arg(&path)
                .args(["--", "true"]);
            binary::run(&mut command, 0).1
        };
        run();
        assert_eq!(mode(&path), 0o600, "{name}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let stderr = run();
        assert_eq!(mode(&path), 0o600, "{name}");
        let warns = stderr.contains("could be read by other users; now it cannot");
        assert_eq!(warns, option == "-w", "{stderr}");
        // A link made by another user would lead the run to a file of its own user.
        let link = folder.path().join(format!("link-{name}"));
        symlink(&path, &link).unwrap();
        if std::os::unix::fs::lchown(&link, Some(12_345), None).is_err() {
            continue;
        }
        let mut command = teetap();
        command.args([NO_SERVER, "-l", ":0", option]).arg(&link);
        binary::refused(
            &mut command,
            2,
            "the symbolic link belongs to another user; name another file",
        );
    }
}

/// The file of a project may be written by another person.
#[test]
fn the_settings_of_a_project_are_named_and_repeated() {
    let (folder, junit) = place("junit.xml");
    fs::write(
        folder.path().join("teetap.toml"),
        "rule = [\"its: fail \\\"no\\\" when c2s\", \"log when s2c\"]\nlink = \"both delay 5ms\"\nverbose = 2\ncolor = \"never\"\n",
    )
    .unwrap();
    let mut command = teetap();
    command.args([
        "run",
        NO_SERVER,
        "-l",
        ":0",
        "--seed",
        "3",
        "--junit",
        "junit.xml",
        "--",
        "true",
    ]);
    let (_, stderr) = binary::run(command.current_dir(folder.path()), 0);
    assert_eq!(
        stderr.lines().next(),
        Some("teetap: ./teetap.toml sets rule, link, verbose (see teetap config)"),
        "{stderr}"
    );
    let repeat = "run 192.0.2.1:8303 -l :0 --seed 3 --junit junit.xml --rule 'its: fail \"no\" when c2s' \
                  --rule 'log when s2c' --link 'both delay 5ms' --verbose --verbose --color never -- true";
    let line = stderr
        .lines()
        .find(|line| line.starts_with("teetap: repeat: "))
        .unwrap();
    assert!(line.ends_with(repeat), "{line}");
    let report = fs::read_to_string(&junit).unwrap();
    let escaped = repeat.replace('"', "&quot;");
    assert!(report.contains(&escaped), "{report}");
    // In another folder the line has the same effect.
    let elsewhere = tempfile::tempdir().unwrap();
    let mut again = binary::command("bash");
    let line = line.trim_start_matches("teetap: repeat: ");
    let (_, again) = binary::run(again.args(["-c", line]).current_dir(elsewhere.path()), 0);
    assert!(again.contains(line) && !again.contains("teetap.toml"), "{again}");
    // A project cannot remove a secret.
    fs::write(folder.path().join("teetap.toml"), "messages = \"theirs.tw\"\n").unwrap();
    let mut command = teetap();
    command.args(["open", "x.pcap"]).current_dir(folder.path());
    binary::refused(
        &mut command,
        2,
        "teetap.toml:1: 'messages' cannot be set in the file of a project; set it on the command line or for the user",
    );
}
