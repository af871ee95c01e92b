//! Tests of runs, on the loopback interface.

use std::{
    net::UdpSocket,
    time::{Duration, Instant},
};

use teetap_inspect::{EndingBy, control::RuleCommand};
use teetap_proxy::{
    io::Seen,
    session::{EventKind, Level},
};

use super::*;
use crate::Origin;

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
