//! Tests of runs, on the loopback interface.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::UdpSocket,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use teetap_inspect::{EndingBy, control::RuleCommand};
use teetap_proxy::{
    io::Seen,
    session::{EventKind, Level},
};
use tempfile::TempDir;

#[path = "script_tests.rs"]
mod script;

use super::*;
use crate::{Origin, control::Control};

/// DDNet's CONNECT: control flag, no chunks, id 1, magic, no token yet.
const CONNECT: [u8; 12] = [0x10, 0, 0, 1, b'T', b'K', b'E', b'N', 0xff, 0xff, 0xff, 0xff];

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket
}

/// Returns true once an event fulfils the condition; false if none does within 5 s.
fn sees(run: &mut Run, is_meant: impl Fn(&EventKind) -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(5);
    while Instant::now() < end {
        if let Some(Seen::Event(decoded)) = run.wait(Duration::from_millis(100))
            && is_meant(&decoded.event.what)
        {
            return true;
        }
    }
    false
}

#[test]
fn a_datagram_reaches_the_server_and_the_events() {
    let (server, client) = (socket(), socket());
    let builder = Builder::new(server.local_addr().unwrap()).seed(7).secret([3; 16]);
    let mut run = builder.start().unwrap();
    assert_eq!(run.seed(), 7);
    client.send_to(&CONNECT, run.addr()).unwrap();
    let mut buffer = [0; 1400];
    let (len, _) = server.recv_from(&mut buffer).unwrap();
    assert_eq!(buffer[..len], CONNECT);
    assert!(
        sees(&mut run, |what| matches!(what, EventKind::Datagram(_))),
        "no event of the CONNECT"
    );
    let summary = run.stop("test");
    assert!(summary.ended.is_some(), "the data thread crashed");
    let findings = summary.findings.unwrap();
    let texts: Vec<&str> = findings.list.iter().map(|finding| &*finding.text).collect();
    assert_eq!(
        texts,
        ["never came online: after connect the server never sent connect_accept; closed \"test\""]
    );
}

/// Returns the token that a client receives in a run with this secret.
fn token(client: &UdpSocket, secret: [u8; 16]) -> [u8; 4] {
    let server = socket();
    let builder = Builder::new(server.local_addr().unwrap()).secret(secret);
    let run = builder.start().unwrap();
    client.send_to(&CONNECT, run.addr()).unwrap();
    let mut buffer = [0; 1400];
    let (_, from) = server.recv_from(&mut buffer).unwrap();
    let accept = [0x10, 0, 0, 2, b'T', b'K', b'E', b'N'];
    server.send_to(&[&accept[..], b"ownt"].concat(), from).unwrap();
    let (len, _) = client.recv_from(&mut buffer).unwrap();
    let (start, token) = buffer[..len].split_last_chunk().unwrap();
    assert_eq!(start, accept, "the ACCEPT of the server");
    let token = *token;
    // The run closes the session at its end.
    drop(run);
    client.recv_from(&mut buffer).unwrap();
    token
}

/// Only the timer of the proxy ends these delays, since there is no other traffic.
#[test]
fn one_delay_after_another_ends_without_further_datagrams() {
    let (server, client) = (socket(), socket());
    let builder = Builder::new(server.local_addr().unwrap());
    let run = builder.rules("link c2s delay 60ms").start().unwrap();
    let mut buffer = [0; 1400];
    for number in 1..=3 {
        let sent = Instant::now();
        client.send_to(&CONNECT, run.addr()).unwrap();
        let received = server.recv_from(&mut buffer);
        assert!(received.is_ok(), "CONNECT {number} is still in the link");
        let waited = sent.elapsed();
        assert!(
            waited >= Duration::from_millis(60),
            "CONNECT {number} waited {waited:?}"
        );
    }
}

#[test]
fn tokens_are_derived_from_the_secret() {
    let client = socket();
    let [one, again, other] = [[3; 16], [3; 16], [4; 16]].map(|secret| token(&client, secret));
    assert_eq!(one, again, "the same secret");
    assert!(
        one != other && one != *b"ownt",
        "{one:?}, {other:?}: each secret has its own tokens"
    );
}

#[test]
fn rules_act_from_the_start_and_a_changed_file_is_read_again() {
    let (server, client) = (socket(), socket());
    server.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules.tap");
    std::fs::write(&path, "drop when ctrl.connect").unwrap();
    let builder = Builder::new(server.local_addr().unwrap());
    let mut run = builder.rules_file(&path).unwrap().start().unwrap();
    let mut buffer = [0; 1400];
    client.send_to(&CONNECT, run.addr()).unwrap();
    assert!(
        server.recv_from(&mut buffer).is_err(),
        "the CONNECT was not dropped"
    );
    std::fs::write(&path, "# none").unwrap();
    let lines = run.reload_rules();
    assert_eq!(lines.len(), 1, "{lines:?}");
    client.send_to(&CONNECT, run.addr()).unwrap();
    assert!(server.recv_from(&mut buffer).is_ok(), "the CONNECT was dropped");
}

#[test]
fn a_handle_changes_the_rules_and_the_user_is_told() {
    let (server, client) = (socket(), socket());
    server.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let run = Builder::new(server.local_addr().unwrap()).start().unwrap();
    let handle = run.handle(Origin::Program);
    let text = "drop when ctrl.connect".to_owned();
    let reply = handle.carry_out(&RuleCommand::Add { text }.into());
    assert!(reply.result.is_ok(), "{reply:?}");
    client.send_to(&CONNECT, run.addr()).unwrap();
    let mut buffer = [0; 1400];
    assert!(
        server.recv_from(&mut buffer).is_err(),
        "the CONNECT was not dropped"
    );
    let news: Vec<_> = run.news().collect();
    let line = "program: added drop when ctrl.connect".to_owned();
    assert_eq!(news, [(Level::Info, line)]);
    let unknown = RuleCommand::Remove { name: "x".to_owned() };
    let why = handle.carry_out(&unknown.into()).result.unwrap_err().to_string();
    assert!(why.starts_with("there is no rule x"), "{why}");
}

#[test]
fn an_event_after_a_message_that_is_waited_for_names_it() {
    let (server, client) = (socket(), socket());
    let (until, _) = Filter::parse("ctrl.connect", Registry::builtin()).unwrap();
    let builder = Builder::new(server.local_addr().unwrap()).until(until);
    let mut run = builder.start().unwrap();
    client.send_to(&CONNECT, run.addr()).unwrap();
    let end = Instant::now() + Duration::from_secs(5);
    let ending = loop {
        assert!(Instant::now() < end, "no event with an ending");
        let seen = run.wait(Duration::from_millis(100));
        if let Some(Seen::Event(decoded)) = seen
            && let Some(ending) = &decoded.ending
        {
            break Arc::clone(ending);
        }
    };
    assert_eq!(ending.by, EndingBy::Until);
}

#[test]
fn wrong_rules_start_nothing() {
    let builder = Builder::new(socket().local_addr().unwrap()).rules("drup when c2s");
    let error = builder.start().unwrap_err();
    assert!(
        matches!(error, RunError::Rules(RulesError::Invalid(_))),
        "{error}"
    );
}

/// A program may stop a run without polling it before.
#[test]
fn the_summary_has_the_events_that_were_not_polled() {
    let (server, client) = (socket(), socket());
    let run = Builder::new(server.local_addr().unwrap()).start().unwrap();
    client.send_to(&CONNECT, run.addr()).unwrap();
    let mut buffer = [0; 1400];
    server.recv_from(&mut buffer).unwrap();
    let summary = run.stop("test");
    let events: Vec<String> = summary
        .events
        .iter()
        .map(|seen| match seen {
            Seen::Event(decoded) => match &decoded.event.what {
                EventKind::Datagram(datagram) => format!("{:?} {:?}", datagram.dir, datagram.origin),
                EventKind::Session(change) => format!("{:?}", change.state),
                other => format!("{other:?}"),
            },
            Seen::Gap(lost) => format!("{lost} lost"),
        })
        .collect();
    // The client sends CONNECT, the proxy sends its own CONNECT, and at the end a CLOSE to each peer.
    let datagrams = ["C2s Peer", "C2s Proxy", "S2c Proxy", "C2s Proxy"];
    let expected = [&["Opening"][..], &datagrams, &["Closing", "Closed"]].concat();
    assert_eq!(events, expected);
}

/// A connection to the control socket of a run.
struct Script(BufReader<UnixStream>);

impl Script {
    fn new(path: &Path) -> Self {
        let stream = crate::control::connect(path, Duration::from_secs(5)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        Self(BufReader::new(stream))
    }

    fn send(&mut self, line: &str) {
        self.0.get_mut().write_all(line.as_bytes()).unwrap();
    }

    /// Returns the next line that contains `part`.
    fn line(&mut self, part: &str) -> String {
        let mut line = String::new();
        while !line.contains(part) {
            line.clear();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "no line has {part}");
        }
        line
    }
}

/// Starts a run with a control socket.
fn controlled(builder: Builder) -> (Run, Control, TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.sock");
    let builder = builder.control(Socket::bind(&path).unwrap());
    let mut run = builder.start().unwrap();
    let control = run.serve(Vec::new()).unwrap().unwrap();
    (run, control, folder, path)
}

#[test]
fn connections_and_subscribers_are_counted_apart() {
    let server = socket();
    let (_run, _control, _folder, path) = controlled(Builder::new(server.local_addr().unwrap()));
    let mut scripts: Vec<Script> = Vec::new();
    for (connections, subscribers) in [(1, 0), (2, 1), (3, 1), (4, 2)] {
        scripts.push(Script::new(&path));
        let script = scripts.last_mut().unwrap();
        if connections % 2 == 0 {
            script.send("{\"id\":1,\"cmd\":\"subscribe\"}\n");
            script.line("\"id\":1");
        }
        script.send("{\"id\":2,\"cmd\":\"stats\"}\n");
        let line = script.line("\"id\":2");
        let counts = format!("\"connections\":{connections},\"subscribers\":{subscribers}");
        assert!(line.contains(&counts), "{line}");
    }
}

/// Secrets are hidden from subscribers unless the run shows them.
#[test]
fn the_control_socket_shows_secrets_only_on_request() {
    // A CONNECT of 0.6 without a token, its answer, and `rcon_auth` in the vital chunk 1.
    let (connect, accept) = ([0x10, 0, 0, 1], [0x10, 0, 0, 2]);
    let login = b"\x00\x00\x01\x40\x0b\x01\x25\0hunter2\0\x01";
    for (secrets, password) in [
        (None, "•••"),
        (Some(Secrets::Hide), "•••"),
        (Some(Secrets::Show), "hunter2"),
    ] {
        let (server, client) = (socket(), socket());
        let mut builder = Builder::new(server.local_addr().unwrap());
        if let Some(secrets) = secrets {
            builder = builder.secrets(secrets);
        }
        let (run, _control, _folder, path) = controlled(builder);
        let mut script = Script::new(&path);
        script.send("{\"id\":1,\"cmd\":\"subscribe\",\"filter\":\"rcon_auth\"}\n");
        script.line("\"id\":1");
        let mut buffer = [0; 1400];
        client.send_to(&connect, run.addr()).unwrap();
        let (_, from) = server.recv_from(&mut buffer).unwrap();
        server.send_to(&accept, from).unwrap();
        client.recv_from(&mut buffer).unwrap();
        client.send_to(login, run.addr()).unwrap();
        let line = script.line("rcon_auth");
        assert!(
            line.contains(&format!("\"password\":\"{password}\"")),
            "{secrets:?}: {line}"
        );
    }
}

/// The journal has the entries of clients into the game, whether or not rules observe the messages of clients.
#[test]
fn the_journal_has_the_entries_into_the_game_under_any_rules() {
    // A CONNECT of 0.6 without a token, its answer, and `enter_game` in the vital chunk 1.
    let (connect, accept) = ([0x10, 0, 0, 1], [0x10, 0, 0, 2]);
    let enter = b"\x00\x00\x01\x40\x01\x01\x1f";
    for rules in ["", "drop when sv_chat", "drop when cl_say", "link s2c loss 1%"] {
        let (server, client) = (socket(), socket());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let builder = Builder::new(server.local_addr().unwrap()).rules(rules);
        let journal = LogFile {
            path: path.clone(),
            version: "1",
        };
        let mut run = builder.journal(journal).start().unwrap();
        let mut buffer = [0; 1400];
        client.send_to(&connect, run.addr()).unwrap();
        let (_, from) = server.recv_from(&mut buffer).unwrap();
        server.send_to(&accept, from).unwrap();
        client.recv_from(&mut buffer).unwrap();
        client.send_to(enter, run.addr()).unwrap();
        let (len, _) = server.recv_from(&mut buffer).unwrap();
        assert_eq!(buffer[..len], *enter, "{rules}");
        run.commands().stop("test");
        assert!(run.join().is_some(), "the data thread crashed");
        let text = std::fs::read_to_string(&path).unwrap();
        let entries = text.lines().filter(|line| line.contains("\"entered_us\":"));
        assert_eq!(entries.count(), 1, "{rules}: {text}");
    }
}
