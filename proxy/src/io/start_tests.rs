//! Tests of the data thread with real sockets on the loopback.

#![expect(clippy::disallowed_methods, reason = "tests choose the built-in definitions")]

use std::{
    io,
    net::UdpSocket,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use teetap_rules::{Decide, Interest, Logic, Message, Opening, Program, RuleId, Shared, Verdict};
use teetap_wire::def::Registry;

use super::*;
use crate::{
    io::{Raw, Seen},
    session::{Event, EventKind, Notice, SessionId},
};

/// A 0.6 server browser request, and an answer to it.
const REQUEST: &[u8] = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffgie3\x07";
const ANSWER: &[u8] = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffinf37\0version\0name\0";

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    socket
}

fn start(target: SocketAddr, bus: &Bus<Event>) -> Running {
    start_with(target, bus, Raw)
}

fn start_with<S: Stage>(target: SocketAddr, bus: &Bus<S::Made>, stage: S) -> Running {
    Proxy::start(Settings {
        target,
        listen: Listen::At("127.0.0.1:0".parse().unwrap()),
        client_addresses: false,
        config: Config {
            seed: 0,
            secret: [7; 16],
            proto: None,
            patience: None,
            heals: false,
            events: crate::session::Events::All,
            registry: Registry::builtin(),
        },
        bus: bus.clone(),
        stage,
        nice: Nice::default(),
        clock: Clock::start(),
        input_log: None,
        journal: None,
        program: None,
    })
    .unwrap()
}

#[test]
fn datagrams_go_both_ways_and_the_watcher_sees_them() {
    let (server, client, bus) = (socket(), socket(), Bus::new());
    let mut watcher = bus.watch();
    let proxy = start(server.local_addr().unwrap(), &bus);
    let mut buffer = [0; 2048];
    client.send_to(REQUEST, proxy.addr).unwrap();
    let (len, upstream) = server.recv_from(&mut buffer).unwrap();
    assert_eq!(buffer[..len], *REQUEST);
    assert_ne!(upstream, client.local_addr().unwrap());
    server.send_to(ANSWER, upstream).unwrap();
    let (len, from) = client.recv_from(&mut buffer).unwrap();
    assert_eq!((&buffer[..len], from), (ANSWER, proxy.addr));
    proxy.commands().stop("end of the test");
    proxy.join().unwrap();
    let mut traffic = 0;
    while let Some(seen) = watcher.poll() {
        match seen {
            Seen::Event(event) => {
                traffic += u32::from(matches!(
                    event.what,
                    EventKind::Connless(_) | EventKind::Datagram(_)
                ))
            }
            Seen::Gap(lost) => panic!("{lost} events lost"),
        }
    }
    assert_eq!(traffic, 2);
}

#[test]
fn a_server_that_is_not_there_yet_ends_nothing() {
    let (first, client, bus) = (socket(), socket(), Bus::new());
    let target = first.local_addr().unwrap();
    drop(first);
    let mut watcher = bus.watch();
    let proxy = start(target, &bus);
    // The kernel answers each request with an ICMP error, which the next call on the socket reports.
    for _ in 0..20 {
        client.send_to(REQUEST, proxy.addr).unwrap();
        while watcher.poll().is_none() {
            assert!(!proxy.is_finished());
            thread::sleep(Duration::from_millis(1));
        }
    }
    let server = UdpSocket::bind(target).unwrap();
    server.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    let mut buffer = [0; 64];
    let arrived = (0..200).any(|_| {
        client.send_to(REQUEST, proxy.addr).unwrap();
        server.recv_from(&mut buffer).is_ok()
    });
    assert!(arrived);
    assert!(!proxy.is_finished());
    proxy.commands().stop("");
    let ended = proxy.join().unwrap();
    assert!(ended.counters.errors > 0, "{ended:?}");
}

/// The kernel reports the ICMP error of a server's port to the socket of the session.
#[test]
fn a_closed_port_of_the_server_is_reported_to_its_session() {
    let (first, client, bus) = (socket(), socket(), Bus::new());
    let target = first.local_addr().unwrap();
    drop(first);
    let mut watcher = bus.watch();
    let proxy = start(target, &bus);
    // A CONNECT of 0.6 without a token.
    client.send_to(&[0x10, 0, 0, 1], proxy.addr).unwrap();
    let end = Instant::now() + Duration::from_secs(10);
    let reported = loop {
        assert!(Instant::now() < end, "nothing is reported");
        let Some(seen) = watcher.poll() else {
            thread::sleep(Duration::from_millis(1));
            continue;
        };
        let Seen::Event(event) = seen else {
            panic!("{seen:?}");
        };
        if let EventKind::Notice(Notice::UpstreamUnreachable { error }) = &event.what {
            break (event.session, error.to_string());
        }
    };
    let refused = io::Error::from(rustix::io::Errno::CONNREFUSED).to_string();
    assert_eq!(reported, (Some(SessionId(1)), refused));
}

#[test]
fn the_proxy_ends_with_its_last_handle() {
    let server = socket();
    let proxy = start(server.local_addr().unwrap(), &Bus::new());
    proxy.join().unwrap();
}

/// Rules that panic on KEEPALIVE.
struct Broken;

impl Decide for Broken {
    fn decide(&mut self, message: &Message<'_>, _: &mut Shared) -> Verdict {
        assert_ne!(message.data, [0], "a bug, for the test");
        Verdict::PASS
    }
}

impl Logic for Broken {
    fn interest(&self) -> Interest {
        Interest {
            controls: true,
            ..Interest::default()
        }
    }

    fn open(self: Arc<Self>, _: Opening, _: Option<Box<dyn Decide>>) -> Box<dyn Decide> {
        Box::new(Self)
    }

    fn rule(&self, _: RuleId) -> Option<&str> {
        None
    }
}

#[test]
fn a_bug_in_a_task_ends_the_run() {
    let (server, client, bus) = (socket(), socket(), Bus::new());
    let proxy = start(server.local_addr().unwrap(), &bus);
    proxy
        .commands()
        .send(Request::Program(Some(Arc::new(Program::new("", Broken)))))
        .unwrap();
    // The rules see the client's KEEPALIVE in the task that reads the listen socket.
    let mut buffer = [0; 2048];
    client.send_to(b"\x10\0\0\x01", proxy.addr).unwrap();
    let (_, upstream) = server.recv_from(&mut buffer).unwrap();
    server.send_to(b"\x10\0\0\x02", upstream).unwrap();
    client.recv_from(&mut buffer).unwrap();
    client.send_to(b"\x10\0\0\0", proxy.addr).unwrap();
    wait_for_end(&proxy);
    assert!(proxy.join().is_err());
}

fn wait_for_end(proxy: &Running) {
    for _ in 0..1000 {
        if proxy.is_finished() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("the proxy does not end");
}

/// A stage that panics.
struct Faulty;

impl Stage for Faulty {
    type Made = Event;

    fn event(&mut self, _: Event) -> Event {
        panic!("a bug, for the test")
    }

    fn gap(&mut self) {}
}

#[test]
fn a_bug_in_the_stage_ends_the_run() {
    let (server, client, bus) = (socket(), socket(), Bus::new());
    let _watcher = bus.watch();
    let proxy = start_with(server.local_addr().unwrap(), &bus, Faulty);
    client.send_to(REQUEST, proxy.addr).unwrap();
    wait_for_end(&proxy);
    proxy.commands().stop("");
    assert!(proxy.join().is_err());
}
